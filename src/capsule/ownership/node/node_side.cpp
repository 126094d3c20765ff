#include "ownership/node/node_side.hpp"

#include <algorithm>

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "link/connection.hpp"
#include "os/file.hpp"
#include "overlay/snapshot/method.hpp"
#include "overlay/snapshot_store.hpp"
#include "ownership/capsules.hpp"
#include "ownership/node/detail/change_listeners.hpp"
#include "ownership/node/detail/layer.hpp"
#include "ownership/node/left_behind.hpp"
#include "run/config/overlay_spec.hpp"
#include "run/control.hpp"
#include "run/running.hpp"
#include "run/sync.hpp"

namespace underway::ownership {
namespace detail {

const model::Task& task_of(const CapsuleRequest& request) {
  const auto* group = request.job.find_group(request.group);
  const auto* task = group != nullptr ? capsule_task(*group) : nullptr;
  if (task == nullptr) throw Error(Code::invalid, fmt::format("'{}' is no capsule", request.name));
  return *task;
}

Layer layer_of(const NodeOptions& options, const CapsuleRequest& request) {
  const auto config = run::parse_config(task_of(request).config);
  return {run::capsule_directory(options.capsules, request.ns, request.name) + "/overlay",
          run::overlay_spec(config.overlay.value_or(run::OverlayConfig{}))};
}

overlay::Mounted open(const NodeOptions& options, const CapsuleRequest& request,
                      std::function<void(bool)> stop_writers) {
  const auto layer = layer_of(options, request);
  os::make_directories(layer.directory, 0700);
  overlay::Options how;
  how.ledger = options.ledger;
  how.owner = request.ns + "/" + request.name;
  how.stop_writers = std::move(stop_writers);
  return overlay::open_overlay(layer.spec, layer.directory, how);
}

std::string copy_of(const overlay::Mounted& mounted) { return mounted.layer() + "/copy"; }

}  // namespace detail

using namespace detail;

namespace {

/// That the files below take on their disk, if there are any.
std::uint64_t disk_bytes(const std::string& directory) {
  return os::exists(directory) ? overlay::disk_bytes(directory) : 0;
}

constexpr Duration kStepPatience = std::chrono::minutes(10);
constexpr const char* kStopped = "stopped-capsule";  // in the ledger

/// All processes of a capsule, held up while its overlay is copied. If we die meanwhile they go on with the next start.
class Writers {
 public:
  Writers(run::Run run, os::Ledger* ledger) : run_(std::move(run)), ledger_(ledger) {}
  void stop(bool on) {
    if (on && ledger_ != nullptr)
      entry_ = ledger_->record({kStopped, run_.name, run_.ns, "the copy of capsule " + run_.ns + "/" + run_.name});
    run::freeze(run_, on);
    if (on || !entry_) return;
    entry_->settle();
    entry_.reset();
  }

 private:
  run::Run run_;
  os::Ledger* ledger_;
  std::optional<os::Ledger::Entry> entry_;
};

}  // namespace

std::vector<std::string> obstacles(const NodeOptions& options, const CapsuleRequest& request) {
  std::vector<std::string> out;
  const auto& task = task_of(request);
  const auto config = run::parse_config(task.config);
  for (const auto& network : config.networks) {
    if (!os::exists("/sys/class/net/" + network.bridge_name()))
      out.push_back(fmt::format("there is no bridge '{}' for network '{}'", network.bridge_name(), network.name));
  }
  for (const auto& bind : config.binds) {
    const auto& source = bind.source.empty() ? bind.path : bind.source;
    if (!os::exists(source)) out.push_back(fmt::format("there is no '{}' to be bound at '{}'", source, bind.path));
  }
  try {
    if (config.protect && config.protect->sync) run::require_sync();
  } catch (const Error& error) {
    out.push_back(error.one_line());
  }
  try {
    auto mounted = open(options, request);
    // A directory's disk has others that write to it; and what lies there of it already takes no more space.
    constexpr std::uint64_t kSpare = std::uint64_t{64} << 20;
    const auto needs = static_cast<std::uint64_t>(std::max<std::int64_t>(0, request.bytes)) +
                       (mounted.kind() == overlay::Kind::directory ? kSpare : 0);
    const auto free = mounted.space().free_bytes + disk_bytes(mounted.upper()) + disk_bytes(copy_of(mounted));
    if (free < needs)
      out.push_back(fmt::format("'{}' has {} free for it, and it needs {}", mounted.layer(), human_bytes(free),
                                human_bytes(needs)));
    mounted.release();
  } catch (const Error& error) {
    out.push_back(error.one_line());
  }
  return out;
}

std::function<void(bool)> writers_of(const NodeOptions& options, const run::Run& run) {
  return [writers = std::make_shared<Writers>(run, options.ledger)](bool on) { writers->stop(on); };
}

void install(const NodeOptions& options, const CapsuleRequest& request) {
  const auto run = run::find_run(options.capsules, request.ns, request.name);
  const auto directory = layer_of(options, request).directory;
  try {
    if (run && !run->running()) bring_back(options, *run, directory);
  } catch (const Error& error) {
    if (!request.with_what_is_there) throw;
    log::warn("node: {}", error.one_line());
  }
  auto mounted = open(options, request);
  const std::string copy = copy_of(mounted);
  const auto state = overlay::find_copy(copy);
  if (state && state->consistent) {
    leave_aside(directory);
    overlay::install_copy(copy, mounted.upper());
  } else if (state) {
    log::warn("node: the copy of capsule {} cannot be started from, and is left alone", request.name);
  }
  mounted.close();
}

NodeSide::NodeSide(NodeOptions options)
    : options_(std::move(options)), change_listeners_(std::make_unique<ChangeListeners>()) {}
NodeSide::~NodeSide() = default;

awaitable<void> NodeSide::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  tasks_.emplace(context_->executor, "moves");
  if (options_.ledger == nullptr) co_return;
  // What an earlier agent held up when it died.
  options_.ledger->on_undo(kStopped, [capsules = options_.capsules](const os::LedgerItem& item) {
    if (const auto run = run::find_run(capsules, item.context, item.object)) run::freeze(*run, false);
  });
  for (const auto& failure : options_.ledger->undo([](const auto& item) { return item.kind == kStopped; }))
    log::error("node: {}", failure.one_line());
}

awaitable<void> NodeSide::stop() {
  if (tasks_) co_await tasks_->stop();
}

awaitable<boost::json::value> NodeSide::answer(std::string method, boost::json::value) {
  throw Error(Code::unsupported, fmt::format("this node does not answer '{}'", method));
  co_return nullptr;
}

awaitable<void> NodeSide::serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
  if (method == "move.send") {
    auto request = json::decode<CopyRequest>(header);
    co_return co_await send(std::move(request), std::move(stream));
  }
  if (method == "move.receive") {
    auto request = json::decode<CopyRequest>(header);
    co_return co_await receive(std::move(request), std::move(stream));
  }
  if (method == "move.watch") {
    auto request = json::decode<WatchRequest>(header);
    co_return co_await watch(std::move(request), std::move(stream));
  }
  if (method == "move.stage") {
    const auto request = json::decode<CapsuleRequest>(header);
    co_await stage(request);
  } else if (method == "move.install") {
    const auto request = json::decode<CapsuleRequest>(header);
    auto work = [&] { install(options_, request); };
    co_await async::on_pool(context_->pool, work);
  } else if (method == "move.measure") {
    const auto request = json::decode<CapsuleRequest>(header);
    CopyReply reply;
    auto work = [&] {
      auto mounted = open(options_, request);
      reply.bytes = static_cast<std::int64_t>(disk_bytes(mounted.upper()));
      mounted.release();
    };
    co_await async::on_pool(context_->pool, work);
    co_await stream->write_control(json::to_value(reply));
  } else if (method == "move.look") {
    const auto reply = co_await look(json::decode<LookRequest>(header));
    co_await stream->write_control(json::to_value(reply));
  } else if (method == "move.save") {
    const auto reply = co_await save(json::decode<SaveRequest>(header));
    co_await stream->write_control(json::to_value(reply));
  } else if (method == "move.restore") {
    const auto reply = co_await restore(json::decode<RestoreRequest>(header));
    co_await stream->write_control(json::to_value(reply));
  } else if (method == "move.steps") {
    auto request = json::decode<StepsRequest>(header);
    co_await run_steps(std::move(request));
  } else {
    throw Error(Code::unsupported, fmt::format("this node has no stream '{}'", method));
  }
  stream->end();
}

awaitable<void> NodeSide::stage(const CapsuleRequest& request) {
  const auto directory = layer_of(options_, request).directory;
  const bool fresh = !overlay::find_overlay(directory);
  auto look = [&] { return obstacles(options_, request); };
  auto found = co_await async::on_pool(context_->pool, look);
  co_await bring_image(request, found);
  if (found.empty()) co_return;
  auto clear = [&] {
    if (fresh) overlay::remove_overlay(directory);
  };
  co_await async::on_pool(context_->pool, clear);
  throw Error(Code::invalid, fmt::format("{} cannot run capsule '{}'", context_->self.name, request.name))
      .because(found);
}

/// Not on the pool: the link could not come back while a thread waits for what comes over it.
awaitable<void> NodeSide::bring_image(const CapsuleRequest& request, std::vector<std::string>& missing) {
  const auto& task = task_of(request);
  const std::string image = run::parse_config(task.config).image;
  // An image that its job fetches comes with the allocation.
  if (!options_.bring_image || (!image.starts_with('/') && !task.artifacts.empty())) co_return;
  try {
    co_await options_.bring_image(image);
  } catch (const Error& error) {
    missing.push_back(error.one_line());
  }
}

struct NodeSide::Steps {
  bool over = false;
  std::optional<Error> failure;
  async::Event changed;
};

/// They may take minutes, and the link may break meanwhile: they go on without it, and who asks again hears of them.
awaitable<void> NodeSide::run_steps(StepsRequest request) {
  auto& slot = steps_[fmt::format("{}/{}/{}", request.alloc, request.task, request.moment)];
  if (!slot) {
    slot = std::make_shared<Steps>();
    std::string what = "the step " + request.moment;
    tasks_->spawn(std::move(what), do_steps(std::move(request), slot));
  }
  const auto steps = slot;
  while (!steps->over) co_await steps->changed.wait();
  if (steps->failure) throw Error(*steps->failure);
}

namespace {

/// Who a check that fails may have asked in vain: of a database that is still being converted its clients only say that
/// nobody listens.
std::vector<std::string> services_not_ready(run::Control& control) {
  std::vector<std::string> out;
  for (const auto& service : control.status().services) {
    if (service.state == "ready" || service.state == "done") continue;
    out.push_back(
        fmt::format("its service '{}' is {} for {}{}", service.name, service.state, human_duration(service.since),
                    service.restarts > 0 ? fmt::format(", and was started {} times", service.restarts + 1) : ""));
  }
  return out;
}

Error step_failed(const std::string& moment, const run::StepResult& result, const std::vector<std::string>& not_ready) {
  Error error(Code::unavailable, fmt::format("the step {} ended with {}", moment, result.result));
  if (!not_ready.empty()) error.because(not_ready);
  return error.because(result.output.empty() ? "it said nothing" : std::string(trim(result.output)));
}

}  // namespace

awaitable<void> NodeSide::do_steps(StepsRequest request, std::shared_ptr<Steps> steps) {
  auto work = [&] {
    for (const auto& run : run::list_runs(options_.capsules)) {
      if (run.allocation != request.alloc || run.task != request.task || !run.running()) continue;
      auto control = run::Control::connect(run.keeper_dir);
      const auto moment = image::description(describe::Tag<image::Moment>{}).parse(request.moment);
      if (!moment) throw Error(Code::invalid, fmt::format("there are no steps '{}'", request.moment));
      const auto result = control.run_step(static_cast<image::Moment>(*moment), kStepPatience, request.since);
      const bool checks = static_cast<image::Moment>(*moment) == image::Moment::check;
      const auto not_ready = checks ? services_not_ready(control) : std::vector<std::string>();
      if (!result.succeeded()) throw step_failed(request.moment, result, not_ready);
      // Steps of a check may ask for anything, or there may be none: what it is there for has to be ready, too.
      if (checks && !control.status().healthy())
        throw Error(Code::unavailable, "its services are not all ready").because(not_ready);
      return;
    }
    throw Error(Code::unavailable, fmt::format("allocation {} does not run here", request.alloc.substr(0, 8)));
  };
  try {
    co_await async::on_pool(context_->pool, work);
  } catch (const Error& error) {
    steps->failure = error;
  }
  steps_.erase(fmt::format("{}/{}/{}", request.alloc, request.task, request.moment));
  steps->over = true;
  steps->changed.notify_all();
}

}  // namespace underway::ownership

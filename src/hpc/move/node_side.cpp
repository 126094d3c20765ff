#include "move/node_side.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "capsule/control.hpp"
#include "capsule/overlay_spec.hpp"
#include "capsule/running.hpp"
#include "link/connection.hpp"
#include "move/capsules.hpp"
#include "os/file.hpp"
#include "overlay/shelf.hpp"

namespace underway::move {
namespace {

const model::Task& task_of(const CapsuleRequest& request) {
  const auto* group = request.job.find_group(request.group);
  const auto* task = group != nullptr ? capsule_task(*group) : nullptr;
  if (task == nullptr) throw Error(Code::invalid, fmt::format("'{}' is no capsule", request.name));
  return *task;
}

/// Where the overlay lies, and the copy that is to become it.
struct Layer {
  std::string directory;
  overlay::Spec spec;
};
Layer layer_of(const NodeOptions& options, const CapsuleRequest& request) {
  const auto config = capsule::parse_config(task_of(request).config);
  return {capsule::capsule_directory(options.capsules, request.ns, request.name) + "/overlay",
          capsule::overlay_spec(config.overlay.value_or(capsule::OverlayConfig{}))};
}

overlay::Mounted open(const NodeOptions& options, const CapsuleRequest& request,
                      std::function<void(bool)> stop_writers = {}) {
  const auto layer = layer_of(options, request);
  os::make_directories(layer.directory, 0700);
  overlay::Options how;
  how.ledger = options.ledger;
  how.owner = request.ns + "/" + request.name;
  how.stop_writers = std::move(stop_writers);
  return overlay::open_overlay(layer.spec, layer.directory, how);
}

std::string copy_of(const overlay::Mounted& mounted) { return mounted.layer() + "/copy"; }

/// That the files below take on their disk.
std::uint64_t disk_bytes(const std::string& directory) {
  namespace fs = std::filesystem;
  std::uint64_t blocks = 0;
  std::error_code gone;
  for (auto at = fs::recursive_directory_iterator(directory, gone); at != fs::recursive_directory_iterator();
       at.increment(gone)) {
    struct stat found = {};
    if (::lstat(at->path().c_str(), &found) == 0) blocks += static_cast<std::uint64_t>(found.st_blocks);
  }
  return 512 * blocks;  // inode(7)
}

constexpr const char* kStopped = "stopped-capsule";  // in the ledger

/// All processes of a capsule, held up while its overlay is copied. If we die meanwhile they go on with the next start.
class Writers {
 public:
  Writers(capsule::Run run, os::Ledger* ledger) : run_(std::move(run)), ledger_(ledger) {}
  void stop(bool on) {
    if (on && ledger_ != nullptr)
      entry_ = ledger_->record({kStopped, run_.name, run_.ns, "the copy of capsule " + run_.ns + "/" + run_.name});
    capsule::freeze(run_, on);
    if (on || !entry_) return;
    entry_->settle();
    entry_.reset();
  }

 private:
  capsule::Run run_;
  os::Ledger* ledger_;
  std::optional<os::Ledger::Entry> entry_;
};

}  // namespace

std::vector<std::string> obstacles(const NodeOptions& options, const CapsuleRequest& request) {
  std::vector<std::string> out;
  const auto& task = task_of(request);
  const auto config = capsule::parse_config(task.config);
  for (const auto& network : config.networks) {
    if (!os::exists("/sys/class/net/" + network.bridge_name()))
      out.push_back(fmt::format("there is no bridge '{}' for network '{}'", network.bridge_name(), network.name));
  }
  for (const auto& bind : config.binds) {
    const auto& source = bind.source.empty() ? bind.path : bind.source;
    if (!os::exists(source)) out.push_back(fmt::format("there is no '{}' to be bound at '{}'", source, bind.path));
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

std::function<void(bool)> writers_of(const NodeOptions& options, const capsule::Run& run) {
  return [writers = std::make_shared<Writers>(run, options.ledger)](bool on) { writers->stop(on); };
}

void install(const NodeOptions& options, const CapsuleRequest& request) {
  auto mounted = open(options, request);
  const std::string copy = copy_of(mounted);
  const auto state = overlay::find_copy(copy);
  if (state && state->consistent)
    overlay::install_copy(copy, mounted.upper());
  else if (state)
    log::warn("node: the copy of capsule {} cannot be started from, and is left alone", request.name);
  mounted.close();
}

awaitable<void> NodeSide::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  tasks_.emplace(context_->executor, "moves");
  if (options_.ledger == nullptr) co_return;
  // What an earlier agent held up when it died.
  options_.ledger->on_undo(kStopped, [capsules = options_.capsules](const os::LedgerItem& item) {
    if (const auto run = capsule::find_run(capsules, item.context, item.object)) capsule::freeze(*run, false);
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
  Error error(Code::invalid, fmt::format("{} cannot run capsule '{}'", context_->self.name, request.name));
  for (const auto& one : found) error.because(one);
  throw error;
}

/// Not on the pool: the link could not come back while a thread waits for what comes over it.
awaitable<void> NodeSide::bring_image(const CapsuleRequest& request, std::vector<std::string>& missing) {
  const auto& task = task_of(request);
  const std::string image = capsule::parse_config(task.config).image;
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

awaitable<void> NodeSide::do_steps(StepsRequest request, std::shared_ptr<Steps> steps) {
  auto work = [&] {
    for (const auto& run : capsule::list_runs(options_.capsules)) {
      if (run.allocation != request.alloc || run.task != request.task || !run.running()) continue;
      auto control = capsule::Control::connect(run.keeper_dir);
      const auto moment = image::description(describe::Tag<image::Moment>{}).parse(request.moment);
      if (!moment) throw Error(Code::invalid, fmt::format("there are no steps '{}'", request.moment));
      auto result = control.run_step(static_cast<image::Moment>(*moment));
      // Steps of a check may ask for anything, or there may be none: what it is there for has to be ready, too.
      if (static_cast<image::Moment>(*moment) == image::Moment::check && result.succeeded() &&
          !control.status().healthy())
        throw Error(Code::unavailable, "its services are not all ready");
      return result;
    }
    throw Error(Code::unavailable, fmt::format("allocation {} does not run here", request.alloc.substr(0, 8)));
  };
  try {
    const auto result = co_await async::on_pool(context_->pool, work);
    if (!result.succeeded())
      throw Error(Code::unavailable, fmt::format("the step {} ended with {}", request.moment, result.result))
          .because(result.output.empty() ? "it said nothing" : std::string(trim(result.output)));
  } catch (const Error& error) {
    steps->failure = error;
  }
  steps_.erase(fmt::format("{}/{}/{}", request.alloc, request.task, request.moment));
  steps->over = true;
  steps->changed.notify_all();
}

awaitable<void> NodeSide::carry(overlay::Party& party, link::Stream& stream) {
  auto next = [&] { return party.next(); };
  std::optional<Error> failure;
  try {
    while (!party.done()) {
      auto bytes = co_await async::on_pool(context_->pool, next);
      if (!bytes.empty()) {
        co_await stream.write(std::move(bytes));
        continue;
      }
      if (party.done()) break;
      auto chunk = co_await stream.read();
      if (!chunk) throw Error(Code::unavailable, "the other node ended the copy before it was complete");
      if (chunk->channel != link::Channel::data) continue;
      auto take = [&] { party.receive(chunk->bytes); };
      co_await async::on_pool(context_->pool, take);
    }
  } catch (const Error& error) {
    failure = error;
  }
  if (!failure) co_return;
  // The other side is told why, if it still listens.
  try {
    auto why = co_await async::on_pool(context_->pool, next);
    if (!why.empty()) co_await stream.write(std::move(why));
  } catch (const Error&) {  // what matters is what failed first
  }
  throw *failure;
}

awaitable<void> NodeSide::send(CopyRequest request, std::shared_ptr<link::Stream> stream) {
  struct Source {
    Source(overlay::Mounted opened, bool in_use) : mounted(std::move(opened)), running(in_use) {}
    ~Source() {
      if (running) mounted.release();  // the capsule goes on using it
    }
    std::optional<os::FileLock> turn;  ///< with those who take snapshots
    overlay::Mounted mounted;
    bool running;
    std::string seen;
    Duration held{0};
    std::optional<overlay::Frozen> frozen;
    std::unique_ptr<overlay::Sender> sender;
  };
  auto begin = [&] {
    const auto run = capsule::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    const bool running = run && run->running();
    std::function<void(bool)> stop_writers;
    if (running) stop_writers = writers_of(options_, *run);
    auto source = std::make_unique<Source>(open(options_, request.capsule, stop_writers), running);
    if (running && request.consistent) {
      const auto place = capsule::capsule_directory(options_.capsules, request.capsule.ns, request.capsule.name);
      source->turn = overlay::take_turn(place, options_.turn_patience, "a copy of " + request.capsule.name);
    }
    overlay::SendOptions how;
    how.consistent = request.consistent;
    how.quick = request.quick;
    how.label = std::to_string(request.capsule.epoch);
    if (request.consistent && running) {
      how.hold = [this, at = source.get()] { at->frozen.emplace(at->mounted.freeze(options_.freeze_limit)); };
      how.release = [at = source.get()] { at->held = at->frozen->thaw(); };
    }
    // Before the round: what is written from here on is seen to differ.
    source->seen = overlay::look_at(source->mounted.upper());
    source->sender = std::make_unique<overlay::Sender>(source->mounted.upper(), std::move(how));
    return source;
  };
  auto source = co_await async::on_pool(context_->pool, begin);
  std::optional<Error> failure;
  try {
    co_await carry(*source->sender, *stream);
  } catch (const Error& error) {
    failure = error;
  }
  CopyReply reply;
  reply.bytes = static_cast<std::int64_t>(source->sender->round().sent_bytes);
  reply.files = static_cast<std::int64_t>(source->sender->round().files);
  reply.consistent = request.consistent;
  reply.seen = source->seen;
  reply.held = source->held;
  auto finish = [&] {
    source->frozen.reset();
    source->sender.reset();
    source->turn.reset();
    if (!source->running) source->mounted.close();
  };
  co_await async::on_pool(context_->pool, finish);
  if (failure) throw *failure;
  const auto told = json::to_value(reply);
  co_await stream->write_control(told);
  stream->end();
  while (co_await stream->read()) {  // until the other side has ended, too
  }
}

/// Looks at names and times, and holds nothing up. Whoever asks has enough when he breaks it off.
awaitable<void> NodeSide::watch(WatchRequest request, std::shared_ptr<link::Stream> stream) {
  auto find = [&] {
    auto mounted = open(options_, request.capsule);
    auto upper = mounted.upper();
    mounted.release();
    return upper;
  };
  const auto upper = co_await async::on_pool(context_->pool, find);
  const auto look = [&] { return overlay::look_at(upper); };
  auto told = std::chrono::steady_clock::now();
  while (true) {
    const auto begun = std::chrono::steady_clock::now();
    const bool changed = co_await async::on_pool(context_->pool, look) != request.seen;
    const auto now = std::chrono::steady_clock::now();
    if (changed || now - told >= options_.tell_every) {
      const auto reply = json::to_value(WatchReply{changed, now - begun});
      co_await stream->write_control(reply);
      told = now;
    }
    if (changed) break;
    // A large overlay takes its time: it may have a hundredth of a core.
    co_await async::sleep_for(std::max<Duration>(options_.look_every, 100 * (now - begun)));
  }
  stream->end();
}

awaitable<void> NodeSide::receive(CopyRequest request, std::shared_ptr<link::Stream> stream) {
  struct Target {
    overlay::Mounted mounted;
    std::unique_ptr<overlay::Receiver> receiver;
    bool was_here = false;  ///< the capsule, once
  };
  auto begin = [&] {
    const auto run = capsule::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    if (run && run->running())
      throw Error(Code::conflict, fmt::format("capsule '{}' runs on {}", request.capsule.name, context_->self.name));
    auto target = std::make_unique<Target>(Target{open(options_, request.capsule), nullptr, run.has_value()});
    const std::string copy = copy_of(target->mounted);
    // What it wrote when it was here is the beginning: the way back sends differences only.
    if (run) {
      const auto until = run->ended > 0 ? from_unix_nanos(run->ended) : SystemClock().now();
      overlay::keep_as_copy(target->mounted.upper(), copy, "left behind", until);
    }
    target->receiver = std::make_unique<overlay::Receiver>(copy);
    return target;
  };
  auto target = co_await async::on_pool(context_->pool, begin);
  std::optional<Error> failure;
  try {
    co_await carry(*target->receiver, *stream);
  } catch (const Error& error) {
    failure = error;
  }
  auto finish = [&] {
    target->receiver.reset();
    const bool full = failure && failure->code() == Code::exhausted;
    const std::string copy = copy_of(target->mounted);
    const auto state = overlay::find_copy(copy);
    // What nobody can start from would keep the disk full.
    if (full && !(state && state->consistent)) overlay::remove_copy(copy);
    const std::string directory = target->mounted.dir();
    target->mounted.close();
    if (full && !target->was_here && !(state && state->consistent)) overlay::remove_overlay(directory);
  };
  co_await async::on_pool(context_->pool, finish);
  if (failure) throw *failure;
  stream->end();
  while (co_await stream->read()) {  // until the other side has ended, too
  }
}

}  // namespace underway::move

#include "move/node_side.hpp"

#include <signal.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <set>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "capsule/control.hpp"
#include "capsule/overlay_spec.hpp"
#include "capsule/running.hpp"
#include "link/connection.hpp"
#include "move/capsules.hpp"
#include "os/file.hpp"

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

/// Everything in the capsule but its init, which has to answer.
class Writers {
 public:
  explicit Writers(std::int64_t init) : init_(init) {}
  void stop(bool on) {
    const auto own = namespace_of(init_);
    // What is forked while we look is found in the next pass.
    for (std::size_t before = stopped_.size() + 1; before != stopped_.size();) {
      before = stopped_.size();
      for (const auto& entry : os::list_directory("/proc")) {
        if (entry.name.find_first_not_of("0123456789") != std::string::npos) continue;
        const pid_t pid = std::stoi(entry.name);
        if (pid == init_ || (on && stopped_.contains(pid))) continue;
        if (own.empty() || namespace_of(pid) != own) continue;
        ::kill(pid, on ? SIGSTOP : SIGCONT);
        if (on) stopped_.insert(pid);
      }
      if (!on) return stopped_.clear();
    }
  }

 private:
  static std::string namespace_of(std::int64_t pid) {
    std::error_code gone;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/pid", pid), gone).string();
  }
  std::int64_t init_;
  std::set<pid_t> stopped_;
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
  // An image that its job fetches comes with the allocation.
  if (options.bring_image && (config.image.starts_with('/') || task.artifacts.empty())) {
    try {
      options.bring_image(config.image);
    } catch (const Error& error) {
      out.push_back(error.one_line());
    }
  }
  try {
    auto mounted = open(options, request);
    struct statvfs space{};
    constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
    if (::statvfs(mounted.layer().c_str(), &space) == 0 && space.f_bavail * space.f_frsize < kLeast)
      out.push_back(fmt::format("'{}' has {} free, and it needs {}", mounted.layer(),
                                human_bytes(space.f_bavail * space.f_frsize), human_bytes(kLeast)));
    mounted.release();
  } catch (const Error& error) {
    out.push_back(error.one_line());
  }
  return out;
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
  co_return;
}

awaitable<void> NodeSide::stop() { co_return; }

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
  if (method == "move.stage") {
    const auto request = json::decode<CapsuleRequest>(header);
    co_await stage(request);
  } else if (method == "move.install") {
    const auto request = json::decode<CapsuleRequest>(header);
    auto work = [&] { install(options_, request); };
    co_await async::on_pool(context_->pool, work);
  } else if (method == "move.steps") {
    const auto request = json::decode<StepsRequest>(header);
    co_await run_steps(request);
  } else {
    throw Error(Code::unsupported, fmt::format("this node has no stream '{}'", method));
  }
  stream->end();
}

awaitable<void> NodeSide::stage(const CapsuleRequest& request) {
  auto look = [&] { return obstacles(options_, request); };
  const auto found = co_await async::on_pool(context_->pool, look);
  if (found.empty()) co_return;
  Error error(Code::invalid, fmt::format("{} cannot run capsule '{}'", context_->self.name, request.name));
  for (const auto& one : found) error.because(one);
  throw error;
}

awaitable<void> NodeSide::run_steps(const StepsRequest& request) {
  auto work = [&] {
    for (const auto& run : capsule::list_runs(options_.capsules)) {
      if (run.allocation != request.alloc || run.task != request.task || !run.running()) continue;
      auto control = capsule::Control::connect(run.keeper_dir);
      const auto moment = image::description(describe::Tag<image::Moment>{}).parse(request.moment);
      if (!moment) throw Error(Code::invalid, fmt::format("there are no steps '{}'", request.moment));
      return control.run_step(static_cast<image::Moment>(*moment));
    }
    throw Error(Code::unavailable, fmt::format("allocation {} does not run here", request.alloc.substr(0, 8)));
  };
  const auto result = co_await async::on_pool(context_->pool, work);
  if (result.succeeded()) co_return;
  throw Error(Code::unavailable, fmt::format("the step {} ended with {}", request.moment, result.result))
      .because(result.output.empty() ? "it said nothing" : std::string(trim(result.output)));
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
    overlay::Mounted mounted;
    bool running;
    std::optional<overlay::Frozen> frozen;
    std::unique_ptr<overlay::Sender> sender;
  };
  auto begin = [&] {
    const auto run = capsule::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    const bool running = run && run->running();
    std::function<void(bool)> stop_writers;
    if (running) stop_writers = [writers = std::make_shared<Writers>(run->pid)](bool on) mutable { writers->stop(on); };
    auto source = std::make_unique<Source>(open(options_, request.capsule, stop_writers), running);
    overlay::SendOptions how;
    how.consistent = request.consistent;
    how.label = std::to_string(request.capsule.epoch);
    if (request.consistent && running) {
      source->frozen.emplace(source->mounted.freeze(options_.freeze_limit));
      how.release = [frozen = &*source->frozen] { frozen->thaw(); };
    }
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
  auto finish = [&] {
    source->frozen.reset();
    source->sender.reset();
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

awaitable<void> NodeSide::receive(CopyRequest request, std::shared_ptr<link::Stream> stream) {
  struct Target {
    overlay::Mounted mounted;
    std::unique_ptr<overlay::Receiver> receiver;
  };
  auto begin = [&] {
    const auto run = capsule::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    if (run && run->running())
      throw Error(Code::conflict, fmt::format("capsule '{}' runs on {}", request.capsule.name, context_->self.name));
    auto target = std::make_unique<Target>(Target{open(options_, request.capsule), nullptr});
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
    target->mounted.close();
  };
  co_await async::on_pool(context_->pool, finish);
  if (failure) throw *failure;
  stream->end();
  while (co_await stream->read()) {  // until the other side has ended, too
  }
}

}  // namespace underway::move

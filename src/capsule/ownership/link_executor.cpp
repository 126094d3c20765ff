#include "ownership/link_executor.hpp"

#include "async/event.hpp"
#include "async/group.hpp"
#include "base/json/json.hpp"
#include "rehearsal/rehearsal.hpp"

namespace underway::ownership {
namespace {

using link::Channel;
using link::Stream;

CapsuleRequest request_of(const model::Capsule& capsule, const model::Job& job) {
  CapsuleRequest request;
  request.ns = capsule.ns;
  request.name = capsule.name;
  request.job = job;
  request.group = capsule.group;
  request.epoch = capsule.epoch;
  return request;
}

/// Two streams tied together: what one side says the other hears, until both have told how it went.
class Relay {
 public:
  Relay(std::shared_ptr<Stream> source, std::shared_ptr<Stream> target)
      : source_(std::move(source)), target_(std::move(target)) {}

  /// What the source told at its end, with what it cost both. Throws the first failure, and breaks both off.
  awaitable<CopyReply> run(async::Executor executor) {
    async::TaskGroup tasks(std::move(executor), "relay of an overlay");
    tasks.spawn("to the target", carry(source_, target_, true));
    tasks.spawn("to the source", carry(target_, source_, false));
    std::exception_ptr cancelled;
    try {
      while (running_ > 0) co_await changed_.wait();
    } catch (...) {
      cancelled = std::current_exception();
    }
    if (cancelled) co_await asio::this_coro::throw_if_cancelled(false);
    co_await tasks.stop();
    if (cancelled) {
      break_off(Error(Code::unavailable, "the copy was given up"));
      std::rethrow_exception(cancelled);
    }
    if (failure_) throw *failure_;
    if (!told_) throw Error(Code::unavailable, "the copy ended before it was complete");
    told_->cost = cost_;
    co_return *told_;
  }

 private:
  awaitable<void> carry(std::shared_ptr<Stream> from, std::shared_ptr<Stream> to, bool from_source) {
    std::optional<Error> failure;
    try {
      while (auto chunk = co_await from->read()) {
        if (chunk->channel == Channel::control) {
          auto reply = json::decode<CopyReply>(json::parse(chunk->bytes));
          cost_ += reply.cost;
          if (from_source) told_ = std::move(reply);
          continue;
        }
        co_await to->write(std::move(chunk->bytes));
      }
      to->end();
    } catch (const Error& error) {
      failure = error;
    }
    if (failure && !failure_) {
      failure_ = failure;
      break_off(*failure);
    }
    --running_;
    changed_.notify_all();
  }

  void break_off(const Error& error) {
    source_->reset(error);
    target_->reset(error);
  }

  std::shared_ptr<Stream> source_, target_;
  std::optional<CopyReply> told_;
  Duration cost_{0};
  std::optional<Error> failure_;
  int running_ = 2;
  async::Event changed_;
};

}  // namespace

/// Until the node's end, which says that it is done.
awaitable<boost::json::value> LinkExecutor::ask(std::string node, std::string method, boost::json::value header) {
  const auto stream = co_await server_.open_stream(std::move(node), std::move(method), std::move(header));
  stream->end();
  boost::json::value told;
  while (const auto chunk = co_await stream->read()) {
    if (chunk->channel == Channel::control) told = json::parse(chunk->bytes);
  }
  co_return told;
}

awaitable<void> LinkExecutor::stage(model::Capsule capsule, tables::Row<model::Job> job, std::string target) {
  auto request = request_of(capsule, *job);
  if (target != capsule.owner) request.bytes = co_await measure(capsule.owner, request);
  auto header = json::to_value(request);
  co_await ask(std::move(target), "move.stage", std::move(header));
}

/// A node of an earlier version does not say.
awaitable<std::int64_t> LinkExecutor::measure(std::string owner, CapsuleRequest request) {
  try {
    auto header = json::to_value(request);
    const auto told = co_await ask(std::move(owner), "move.measure", std::move(header));
    co_return json::decode<CopyReply>(told).bytes;
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
  }
  co_return 0;
}

awaitable<void> LinkExecutor::install(model::Capsule capsule, tables::Row<model::Job> job, std::string target) {
  auto request = request_of(capsule, *job);
  request.with_what_is_there = capsule.move && capsule.move->without_overlay;
  auto header = json::to_value(request);
  co_await ask(std::move(target), "move.install", std::move(header));
}

awaitable<Copied> LinkExecutor::copy(model::Capsule capsule, tables::Row<model::Job> job, std::string target,
                                     CopyKind kind) {
  const bool quick = kind == CopyKind::following, brief = quick || kind == CopyKind::whole;
  const CopyRequest request{request_of(capsule, *job), kind != CopyKind::running, quick, brief};
  const auto header = json::to_value(request);
  const auto begun = async::LoopClock::now();
  const auto receiving = co_await server_.open_stream(std::move(target), "move.receive", header);
  const auto sending = co_await server_.open_stream(capsule.owner, "move.send", header);
  Relay relay(sending, receiving);
  const auto reply = co_await relay.run(executor_);
  Copied copied;
  copied.round.bytes = reply.bytes;
  copied.round.files = reply.files;
  copied.round.took = async::LoopClock::now() - begun;
  copied.consistent = reply.consistent;
  copied.seen = reply.seen;
  copied.held = reply.held;
  copied.cost = reply.cost;
  copied.behind = reply.behind;
  co_return copied;
}

namespace {

/// The next that is told; nothing when that was all.
awaitable<std::optional<WatchReply>> next_reply(std::shared_ptr<Stream> stream) {
  while (const auto chunk = co_await stream->read()) {
    if (chunk->channel == Channel::control) co_return json::decode<WatchReply>(json::parse(chunk->bytes));
  }
  co_return std::nullopt;
}

}  // namespace

awaitable<bool> LinkExecutor::watch(model::Capsule capsule, tables::Row<model::Job> job, std::string seen,
                                    Duration every, Duration rest, Duration patience,
                                    std::function<void(Duration)> unchanged) {
  const WatchRequest request{request_of(capsule, *job), std::move(seen), every, rest};
  auto header = json::to_value(request);
  const auto asked = async::LoopClock::now();
  const auto stream = co_await server_.open_stream(capsule.owner, "move.watch", std::move(header));
  const auto until = async::LoopClock::now() + patience;
  bool changed = false;
  while (const auto reply = co_await next_reply(stream)) {
    changed = reply->changed;
    const auto now = async::LoopClock::now();
    // On a busy host the reply may have been on its way for a second, in which something was written.
    if (!changed && !reply->waits) unchanged(reply->after < Duration{0} ? reply->took : now - asked - reply->after);
    if (changed || now >= until) break;
  }
  if (changed)
    stream->end();
  else
    stream->reset(Error(Code::unavailable, "enough was seen"));
  co_return changed;
}

awaitable<void> LinkExecutor::run_steps(model::Capsule capsule, std::string node, std::string moment) {
  const auto* tables = co_await server_.read();
  const auto allocation = tables->find_allocation(capsule.allocation);
  const auto* group = allocation && allocation->job ? allocation->job->find_group(allocation->group) : nullptr;
  const auto* task = group != nullptr ? capsule_task(*group) : nullptr;
  if (task == nullptr || allocation->node_id != node)
    throw Error(Code::unavailable, fmt::format("capsule '{}' does not run there", capsule.name));
  StepsRequest request{allocation->id, task->name, std::move(moment)};
  // The first whole second after the snapshot: what ended with it is in it.
  if (request.moment == "before_revert" && capsule.way_back) request.since = capsule.way_back->at / 1'000'000'000 + 1;
  auto header = json::to_value(request);
  co_await ask(std::move(node), "move.steps", std::move(header));
}

awaitable<Looked> LinkExecutor::look(model::Capsule capsule, tables::Row<model::Job> job) {
  const auto& upgrade = *capsule.upgrade;
  const LookRequest request{request_of(capsule, with_image(*job, capsule.group, upgrade.to_image)), upgrade.from_image};
  auto header = json::to_value(request);
  const auto told = co_await ask(upgrade.node, "move.look", std::move(header));
  const auto reply = json::decode<LookReply>(told);
  co_return Looked{reply.running, reply.from, reply.to};
}

/// By its digest: what is tried is what is started.
awaitable<model::Rehearsal> LinkExecutor::rehearse(model::Capsule capsule, tables::Row<model::Job> job) {
  const auto& upgrade = *capsule.upgrade;
  rehearsal::RehearsalRequest request;
  request.ns = capsule.ns;
  request.name = capsule.name;
  request.job = *job;
  request.group = capsule.group;
  request.image = upgrade.to_digest;
  request.scripts = upgrade.scripts;
  request.stop_first = upgrade.from_digest != upgrade.to_digest;
  auto header = json::to_value(request);
  const auto told = co_await ask(upgrade.node, "rehearsal.run", std::move(header));
  if (told.is_null()) throw Error(Code::unavailable, "the rehearsal ended without a verdict");
  co_return json::decode<model::Rehearsal>(told);
}

awaitable<Saved> LinkExecutor::snapshot(model::Capsule capsule) {
  SaveRequest request{capsule.ns, capsule.name, {}, {}};
  if (capsule.move)
    request.move = capsule.move->id;
  else
    request.upgrade = capsule.upgrade->id;
  auto header = json::to_value(request);
  const auto told = co_await ask(capsule.move ? capsule.owner : capsule.upgrade->node, "move.save", std::move(header));
  auto reply = json::decode<SaveReply>(told);
  co_return Saved{std::move(reply.snapshot), reply.at, std::move(reply.running)};
}

awaitable<std::string> LinkExecutor::restore(model::Capsule capsule, std::string snapshot) {
  const RestoreRequest request{capsule.ns, capsule.name, std::move(snapshot)};
  auto header = json::to_value(request);
  const auto told = co_await ask(capsule.upgrade->node, "move.restore", std::move(header));
  co_return json::decode<SaveReply>(told).running;
}

}  // namespace underway::ownership

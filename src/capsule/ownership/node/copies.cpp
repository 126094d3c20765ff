// Copies of an overlay, as a node sends and receives them, and what tells that there is something to be copied.
#include <sys/epoll.h>

#include "base/allowance.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "link/connection.hpp"
#include "node/kernel_runtime.hpp"
#include "overlay/snapshot_store.hpp"
#include "ownership/node/detail/change_listeners.hpp"
#include "ownership/node/detail/held_saves.hpp"
#include "ownership/node/detail/layer.hpp"
#include "ownership/node/left_behind.hpp"

namespace underway::ownership {

using namespace detail;

namespace {

/// Runs a job on the pool, and counts the processor time that it takes.
template <class Job>
awaitable<std::invoke_result_t<Job&>> on_pool(async::Pool& pool, Job& job, Duration& cost) {
  struct Count {
    Duration& cost;
    Duration begun = thread_cpu_time();
    ~Count() { cost += thread_cpu_time() - begun; }
  };
  auto counted = [&job, &cost] {
    const Count count{cost};
    return job();
  };
  co_return co_await async::on_pool(pool, counted);
}

/// Nothing where nobody listens, or no more: then `ear` is let go, and it has to be looked at.
template <class Ask>
std::optional<std::invoke_result_t<Ask&, overlay::Listener&>> ask_ear(ChangeListeners& change_listeners,
                                                                      const std::string& upper,
                                                                      std::shared_ptr<ChangeListener>& change_listener,
                                                                      Ask ask) {
  if (!change_listener) return std::nullopt;
  try {
    return ask(change_listener->listener);
  } catch (const Error& error) {
    change_listeners.give_up(upper, error);
    change_listener.reset();
    return std::nullopt;
  }
}

std::optional<std::uint64_t> hear(ChangeListeners& change_listeners, const std::string& upper,
                                  std::shared_ptr<ChangeListener>& change_listener) {
  return ask_ear(change_listeners, upper, change_listener, [](overlay::Listener& listener) { return listener.hear(); });
}

}  // namespace

awaitable<void> NodeSide::carry(overlay::Party& party, link::Stream& stream, Duration& cost, bool& failed_here) {
  auto next = [&] { return party.next(); };
  std::optional<Error> failure;
  try {
    while (!party.done()) {
      failed_here = true;
      auto bytes = co_await on_pool(context_->pool, next, cost);
      failed_here = false;
      if (!bytes.empty()) {
        co_await stream.write(std::move(bytes));
        continue;
      }
      if (party.done()) break;
      auto chunk = co_await stream.read();
      if (!chunk) throw Error(Code::unavailable, "the other node ended the copy before it was complete");
      if (chunk->channel != link::Channel::data) continue;
      auto take = [&] { party.receive(chunk->bytes); };
      failed_here = true;
      co_await on_pool(context_->pool, take, cost);
      failed_here = false;
    }
  } catch (const Error& error) {
    failure = error;
  }
  if (!failure) co_return;
  // The other side is told why, if it still listens.
  try {
    auto why = co_await on_pool(context_->pool, next, cost);
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
    std::optional<run::Run> ended;  ///< the run that wrote it, if it has ended
    std::shared_ptr<ChangeListener> change_listener;
    Seen seen;
    std::unique_ptr<HeldSaves> saves;
    Duration held{0};
    std::optional<overlay::Frozen> frozen;
    std::unique_ptr<overlay::Sender> sender;
  };
  auto begin = [&] {
    const auto run = run::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    const bool running = run && run->running();
    std::function<void(bool)> stop_writers;
    if (running) stop_writers = writers_of(options_, *run);
    auto source = std::make_unique<Source>(open(options_, request.capsule, stop_writers), running);
    if (!running) source->ended = run;
    if (running && request.consistent) {
      const auto place = run::capsule_directory(options_.capsules, request.capsule.ns, request.capsule.name);
      source->turn = overlay::take_turn(place, options_.turn_patience, "a copy of " + request.capsule.name);
    }
    overlay::SendOptions how;
    how.consistent = request.consistent;
    how.quick = request.quick;
    how.brief = request.brief;
    how.longest_hold = options_.freeze_limit;
    how.label = std::to_string(request.capsule.epoch);
    const auto upper = source->mounted.upper();
    if (request.consistent && running) {
      source->change_listener = change_listeners_->at(upper);
      source->saves = HeldSaves::find(request.capsule, *run);
    }
    // When nobody writes any more, so that what is in this copy does not call for the next.
    const auto listen = [this, at = source.get(), upper] {
      const auto heard = hear(*change_listeners_, upper, at->change_listener);
      at->seen = {};
      if (!heard) return;
      at->seen.change_listener = at->change_listener->id;
      at->seen.heard = *heard;
    };
    // What is copied is read from memory. To write out the disk that a directory shares with the host takes long on a
    // busy host, and is of no use here.
    const bool in_memory = source->mounted.kind() == overlay::Kind::directory;
    const auto freeze = [this, at = source.get(), in_memory] {
      if (!in_memory) return at->mounted.freeze(options_.freeze_limit);
      return overlay::Frozen::writers(at->mounted.options().stop_writers, {}, options_.freeze_limit);
    };
    if (request.consistent && running) {
      how.hold = [at = source.get(), freeze, listen] {
        // New directories are found before, while nobody has to stand still for it.
        listen();
        if (at->saves) at->saves->note();
        at->frozen.emplace(freeze());
        listen();
      };
      how.release = [at = source.get()] { at->held = at->frozen->thaw(); };
    }
    source->sender = std::make_unique<overlay::Sender>(upper, std::move(how));
    return source;
  };
  Duration cost{0};
  auto source = co_await on_pool(context_->pool, begin, cost);
  std::optional<Error> failure;
  bool failed_here = false;
  try {
    co_await carry(*source->sender, *stream, cost, failed_here);
  } catch (const Error& error) {
    failure = error;
  }
  CopyReply reply;
  reply.bytes = static_cast<std::int64_t>(source->sender->round().sent_bytes);
  reply.files = static_cast<std::int64_t>(source->sender->round().files);
  reply.consistent = request.consistent;
  source->seen.look = source->sender->looked();
  reply.seen = source->seen.text();
  reply.held = source->held;
  auto finish = [&] {
    source->frozen.reset();
    source->sender.reset();
    source->turn.reset();
    if (!source->running) source->mounted.close();
    if (source->ended && request.consistent && !failure) note_sent(options_, *source->ended);
    if (source->saves && !failure) reply.behind = source->saves->copied();
  };
  co_await on_pool(context_->pool, finish, cost);
  if (failure) throw *failure;
  reply.cost = cost;
  const auto told = json::to_value(reply);
  co_await stream->write_control(told);
  stream->end();
  while (co_await stream->read()) {  // until the other side has ended, too
  }
}

namespace {

/// True: there is something to be heard at one of them. False: `limit` is over. Either may be -1.
awaitable<bool> listen(int one, int other, Duration limit) {
  if (one < 0) std::swap(one, other);
  if (one < 0) {
    co_await async::sleep_for(limit);
    co_return false;
  }
  const os::Fd both(other < 0 ? -1 : ::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {one, other}) {
    epoll_event readable{EPOLLIN, {}};
    if (other >= 0 && ::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &readable) != 0)
      throw errno_error(errno, "cannot listen to what changes in an overlay");
  }
  try {
    co_await async::within(limit, "listening", node::readable(other < 0 ? one : both.get()));
  } catch (const Error& error) {
    if (error.code() != Code::timeout) throw;
    co_return false;
  }
  co_return true;
}

}  // namespace

/// Holds nothing up. What is replaced is heard of; what is written in place is seen by a look at sizes and times, and
/// may wait until the server wants it. Whoever asks has enough when he breaks it off.
awaitable<void> NodeSide::watch(WatchRequest request, std::shared_ptr<link::Stream> stream) {
  const auto seen = Seen::parse(request.seen);
  std::shared_ptr<ChangeListener> change_listener;
  std::unique_ptr<HeldSaves> saves;
  auto find = [&] {
    const auto run = run::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    if (run) saves = HeldSaves::find(request.capsule, *run);
    if (saves) saves->listen();
    auto mounted = open(options_, request.capsule);
    auto upper = mounted.upper();
    mounted.release();
    change_listener = change_listeners_->at(upper);
    return upper;
  };
  const auto upper = co_await async::on_pool(context_->pool, find);
  // What another ear has counted says nothing: then the first look counts.
  const bool same_ear = change_listener && change_listener->id == seen.change_listener;
  auto heard = seen.heard;
  // Whoever hears no more has heard nothing: it is looked at instead.
  const auto hear_now = [&] { return hear(*change_listeners_, upper, change_listener).value_or(heard); };
  if (change_listener && !same_ear) heard = co_await async::on_pool(context_->pool, hear_now);
  const auto asked = std::chrono::steady_clock::now();
  const auto rested = asked + request.rest;
  const auto ripe = same_ear ? asked + request.every : asked;
  const auto pause = [&] {
    return change_listener ? std::clamp(request.every, options_.look_every, options_.tell_every) : options_.look_every;
  };
  const auto look = [&] {
    const auto found = ask_ear(*change_listeners_, upper, change_listener,
                               [](overlay::Listener& listener) { return listener.look(); });
    return found ? *found : overlay::Listener::Found{heard, overlay::look_at(upper)};
  };
  auto told = asked, next_look = std::min(ripe, asked + options_.tell_every);
  bool changed = false, listening = true;
  while (!changed) {
    if (saves && saves->heard()) break;
    const int waiting = saves ? saves->events() : -1;
    if (const auto now = std::chrono::steady_clock::now(); now < rested) {
      co_await listen(waiting, -1, rested - now);
      continue;
    }
    // To ask costs a change of threads, so it is done only where there is an answer.
    if (change_listener && listening && co_await async::on_pool(context_->pool, hear_now) != heard) {
      // What belongs together comes within moments, and one copy is enough for it.
      co_await async::sleep_for(options_.gather);
      break;
    }
    const auto before = std::chrono::steady_clock::now();
    listening = before < next_look && co_await listen(change_listener ? change_listener->listener.events().get() : -1,
                                                      waiting, next_look - before);
    if (listening) continue;
    const auto begun = std::chrono::steady_clock::now();
    const auto found = co_await async::on_pool(context_->pool, look);
    const bool differs = found.look != seen.look;
    const auto now = std::chrono::steady_clock::now();
    changed = differs && now >= ripe;
    listening = found.heard != heard;
    // A large overlay takes its time: it may have a hundredth of a core.
    next_look = now + std::max<Duration>(pause(), 100 * (now - begun));
    if (changed || now - told < options_.tell_every) continue;
    const auto reply = json::to_value(WatchReply{false, differs, now - begun, begun - asked});
    co_await stream->write_control(reply);
    told = now;
  }
  const auto reply = json::to_value(WatchReply{true, false, Duration{0}, Duration{0}});
  co_await stream->write_control(reply);
  stream->end();
}

awaitable<void> NodeSide::receive(CopyRequest request, std::shared_ptr<link::Stream> stream) {
  struct Target {
    overlay::Mounted mounted;
    std::unique_ptr<overlay::Receiver> receiver;
    bool was_here = false;  ///< the capsule, once
  };
  auto begin = [&] {
    const auto run = run::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
    if (run && run->running())
      throw Error(Code::conflict, fmt::format("capsule '{}' runs on {}", request.capsule.name, context_->self.name));
    const bool aside = run && put_aside(options_, *run, layer_of(options_, request.capsule).directory);
    auto target = std::make_unique<Target>(Target{open(options_, request.capsule), nullptr, run.has_value()});
    const std::string copy = copy_of(target->mounted);
    change_listeners_->forget(target->mounted.upper());
    // What it wrote when it was here is the beginning: the way back sends differences only. Of what was put aside there
    // is nothing here, which would pass for a copy.
    if (run && !aside) {
      const auto until = run->ended > 0 ? from_unix_nanos(run->ended) : options_.clock->now();
      overlay::keep_as_copy(target->mounted.upper(), copy, "left behind", until);
    }
    target->receiver = std::make_unique<overlay::Receiver>(copy);
    return target;
  };
  CopyReply reply;
  auto target = co_await on_pool(context_->pool, begin, reply.cost);
  std::optional<Error> failure;
  bool failed_here = false;
  try {
    co_await carry(*target->receiver, *stream, reply.cost, failed_here);
  } catch (const Error& error) {
    failure = error;
  }
  // What the other node lacks takes no room here: it tells that in the round, or breaks the stream off with it.
  failed_here = failed_here && !target->receiver->failed_there();
  auto finish = [&] {
    target->receiver.reset();
    const bool full = failure && failed_here && failure->code() == Code::exhausted;
    const std::string copy = copy_of(target->mounted);
    const auto state = overlay::find_copy(copy);
    // What nobody can start from would keep the disk full.
    if (full && !(state && state->consistent)) overlay::remove_copy(copy);
    const std::string directory = target->mounted.dir();
    target->mounted.close();
    if (full) give_way(options_, request.capsule);
    if (full && !target->was_here && !(state && state->consistent)) overlay::remove_overlay(directory);
  };
  co_await on_pool(context_->pool, finish, reply.cost);
  if (failure) throw *failure;
  const auto told = json::to_value(reply);
  co_await stream->write_control(told);
  stream->end();
  while (co_await stream->read()) {  // until the other side has ended, too
  }
}

}  // namespace underway::ownership

#include "saving/node_side.hpp"

#include "base/json/enumerators.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "link/connection.hpp"
#include "run/control.hpp"
#include "run/saving.hpp"
#include "run/snapshot_store.hpp"
#include "saving/defaults.hpp"

namespace underway::saving {
namespace {

constexpr auto kReportPatience = std::chrono::seconds{20};
constexpr const char* kWords[] = {"snapshot", "backup", "restore drill"};
static_assert(std::size(kWords) == kEnumerators<Work>);

/// Not while it starts, stops or is about to move: its init knows. Throws when that does not say.
bool is_up(const run::Run& run) {
  if (!run.running()) return false;
  try {
    return run::Control::connect(run.keeper_dir, std::chrono::milliseconds{200}).status().phase == "running";
  } catch (Error& e) {
    if (!run.running()) return false;
    e.while_doing("asking whether the capsule is up");
    throw;
  }
}

boost::json::value answer_of(const Saver& saver, const std::string& method, const boost::json::value& header) {
  if (method == "saving.snapshot") return json::to_value(saver.snapshot(json::decode<SnapshotRequest>(header)));
  if (method == "saving.snapshots") return json::to_value(saver.snapshots(json::decode<CapsuleName>(header)));
  if (method == "saving.backup") return json::to_value(saver.backup(json::decode<BackupRequest>(header)));
  if (method == "saving.backups") return json::to_value(saver.backups(json::decode<BackupRequest>(header)));
  if (method == "saving.drill") return json::to_value(saver.drill(json::decode<DrillRequest>(header)));
  if (method == "saving.find") return json::to_value(saver.find(json::decode<FindRequest>(header)));
  throw Error(Code::unsupported, fmt::format("this node has no stream '{}'", method));
}

/// What an agent that died while it took a snapshot has left stopped goes on, and what it had only taken for the moment
/// is removed.
void clear_up(const Saver& saver, TimePoint now) {
  constexpr Duration kLongest = std::chrono::hours{24};
  for (const auto& run : run::list_runs(saver.capsules())) {
    try {
      run::let_go_on(run);
      const CapsuleName capsule{run.ns, run.name};
      if (!overlay::find_overlay(run::capsule_directory(saver.capsules(), run.ns, run.name) + "/overlay")) continue;
      auto snapshot_store = saver.snapshot_store(capsule);
      for (const auto& snapshot : snapshot_store.list()) {
        const bool passing = snapshot.reason == "backup" || snapshot.reason == "rehearsal";
        if (passing && now - from_unix_nanos(snapshot.at) > kLongest) snapshot_store.remove(snapshot.id);
      }
    } catch (const Error& e) {
      log::warn("saving: of capsule {}/{} something is left of an earlier agent: {}", run.ns, run.name, e.one_line());
    }
  }
}

}  // namespace

awaitable<void> NodeSide::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  options_.rehearsal.self = context_->self;
  options_.rehearsal.cancelled = [this] { return stopping_.load(); };
  saver_.emplace(options_, context_->clock);
  tasks_.emplace(context_->executor, "saving");
  auto clear = [this] { clear_up(*saver_, context_->clock.now()); };
  co_await async::on_pool(context_->pool, clear);
  context_->loops.start(*tasks_, {.area = "saving",
                                  .name = "schedules of capsules",
                                  .trouble = "snapshots, backups and restore drills of capsules are not begun",
                                  .wait = [this] { return async::sleep_for(look_every_); },
                                  .reconcile = [this] { return look_at_all(); },
                                  .retry = async::RetryPolicy::up_to(look_every_)});
}

awaitable<void> NodeSide::stop() {
  stopping_ = true;
  if (tasks_) co_await tasks_->stop();
}

void NodeSide::linked() {
  if (tasks_) tasks_->spawn("telling the server", tell_all());
}

awaitable<boost::json::value> NodeSide::answer(std::string method, boost::json::value) {
  throw Error(Code::unsupported, fmt::format("this node does not answer '{}'", method));
  co_return nullptr;
}

awaitable<void> NodeSide::serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
  auto work = [&] { return answer_of(*saver_, method, header); };
  const auto told = co_await async::on_pool(pool_, work);
  co_await stream->write_control(told);
  stream->end();
}

awaitable<void> NodeSide::look_at_all() {
  auto list = [this] { return run::list_runs(saver_->capsules()); };
  const auto runs = co_await async::on_pool(context_->pool, list);
  for (const auto& run : runs) {
    const auto key = run.ns + "/" + run.name;
    if (!run.running() || !busy_.insert(key).second) continue;
    tasks_->spawn("saving " + key, look({run.ns, run.name}));
  }
}

awaitable<void> NodeSide::look(CapsuleName capsule) {
  model::CapsuleSaving saved;
  std::optional<Work> failed;
  auto& room = rooms_[capsule.ns + "/" + capsule.name];  // stays where it is, and nobody else is busy with this capsule
  auto decide = [&]() -> std::optional<Work> {
    const auto now = context_->clock.now();
    saved = look_at(saver_->capsules(), capsule, now);
    const bool crowded = saved.overlay_used > static_cast<std::int64_t>(100 - kFreeForOthers);
    if (crowded && saved.snapshot.done_at > 0 && is_by_default(*saver_, capsule))
      make_room(*saver_, capsule, room, now);
    const auto work = due(saved, now);
    if (!work) return std::nullopt;
    const auto run = run::find_run(saver_->capsules(), capsule.ns, capsule.name);
    try {
      return run && is_up(*run) ? work : std::nullopt;
    } catch (const Error& e) {
      // What is not done for a reason that nobody hears of is not done for good.
      saved = write_down(saver_->capsules(), capsule, *work, {.result = {}, .error = e.one_line()}, now);
      measure(saver_->capsules(), saved);
      failed = work;
      return std::nullopt;
    }
  };
  std::exception_ptr failure;
  try {
    const auto work = co_await async::on_pool(pool_, decide);
    shout_if_full(saved);
    if (failed) log_outcome(saved, *failed);
    if (work)
      co_await work_on(capsule, *work);
    else if (told_[capsule.ns + "/" + capsule.name] != json::encode(saved))
      co_await tell(saved);  // what is asked for has changed, or how full it is, or it could not be told before
  } catch (...) {
    failure = std::current_exception();
  }
  busy_.erase(capsule.ns + "/" + capsule.name);
  if (failure) std::rethrow_exception(failure);
}

/// Once each time that it gets so, and once when it is over.
void NodeSide::shout_if_full(const model::CapsuleSaving& saved) {
  const auto key = saved.ns + "/" + saved.name;
  if (saved.almost_full() && full_.insert(key).second)
    log::error("capsule {}: its overlay is {} % full ({}): its services cannot write when it is", key,
               saved.overlay_used, human_bytes(static_cast<std::uint64_t>(saved.overlay_size)));
  else if (!saved.almost_full() && full_.erase(key) > 0)
    log::info("capsule {}: its overlay has space again: {} % of it are used", key, saved.overlay_used);
}

awaitable<void> NodeSide::work_on(CapsuleName capsule, Work work) {
  auto& room = rooms_[capsule.ns + "/" + capsule.name];
  auto perform = [&] {
    auto done = carry_out(*saver_, capsule, work, room, context_->clock.now());
    measure(saver_->capsules(), done);
    return done;
  };
  auto saved = co_await async::on_pool(pool_, perform);
  log_outcome(saved, work);
  co_await tell(std::move(saved));
}

void NodeSide::log_outcome(const model::CapsuleSaving& saved, Work work) {
  const auto& part = work == Work::snapshot ? saved.snapshot : work == Work::backup ? saved.backup : saved.drill;
  const auto* word = kWords[static_cast<std::size_t>(work)];
  if (part.error.empty())
    log::info("capsule {}/{}: {} {}", saved.ns, saved.name, word, part.result);
  else
    log::error("capsule {}/{}: the {} has failed, {} times in a row: {}", saved.ns, saved.name, word, part.failures,
               part.error);
}

awaitable<void> NodeSide::tell_all() {
  auto collect = [this] {
    std::vector<model::CapsuleSaving> all;
    for (const auto& run : run::list_runs(saver_->capsules())) {
      if (run.running()) all.push_back(look_at(saver_->capsules(), {run.ns, run.name}, context_->clock.now()));
    }
    return all;
  };
  auto all = co_await async::on_pool(context_->pool, collect);
  for (auto& saved : all) co_await tell(std::move(saved));
}

/// What cannot be told now is told when the link is back.
awaitable<void> NodeSide::tell(model::CapsuleSaving saved) {
  const auto server = context_->server();
  if (!server) co_return;
  auto body = json::to_value(saved);
  try {
    co_await server->call("saving.report", std::move(body), kReportPatience);
    told_[saved.ns + "/" + saved.name] = json::encode(saved);
  } catch (const Error& e) {
    log::warn("saving: the server was not told of capsule {}/{}: {}", saved.ns, saved.name, e.one_line());
  }
}

}  // namespace underway::saving

#include "growth/growth.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "growth/recall.hpp"
#include "growth/reserve/bookings.hpp"
#include "growth/room.hpp"
#include "host/virtual/sleep.hpp"
#include "slurm/elastic/member_controller.hpp"
#include "tables/recalls.hpp"

namespace underway::growth {

using async::awaitable;

namespace {

/// Also one whose last reservation is to be taken out of Slurm.
bool grows(const tables::Tables& tables, const model::Cluster& cluster) {
  if (cluster.stop) return false;
  const auto any = [](const auto& pool) { return pool.elastic.has_value(); };
  if (std::any_of(cluster.pools.begin(), cluster.pools.end(), any)) return true;
  const auto memory = tables::find_record<Memory>(tables, cluster.name);
  return memory && !memory->reservations.empty();
}

}  // namespace

namespace {

/// One that was stopped meanwhile, or whose room somebody else was given: the next look sees that.
template <class Result>
awaitable<void> passing_over(awaitable<Result> wish) {
  try {
    co_await std::move(wish);
  } catch (const Error& error) {
    log::info("elastic: {}", error.one_line());
  }
}

}  // namespace

Growth::Growth(server::Server& server, async::Pool& pool, async::Executor executor, Options options)
    : server_(server),
      pool_(pool),
      executor_(executor),
      options_(options),
      follower_(server.follow(what_growth_follows())),
      tasks_(std::move(executor), "growth") {}

server::FollowerOptions Growth::what_growth_follows() {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables&) {
    return std::vector<tables::Scope>{{tables::Topic::clusters, ""}, {tables::Topic::hosts, ""}};
  };
  // What Slurm's queue has, no change tells of.
  out.again = [this](const tables::Tables& tables) -> std::optional<Duration> {
    const auto clusters = tables.clusters();
    if (std::none_of(clusters.begin(), clusters.end(), [&](const auto& cluster) { return grows(tables, *cluster); }))
      return std::nullopt;
    // Slurm is not kept busy by us: of a long queue the answers take seconds.
    Duration pause = options_.poll;
    for (const auto& [name, known] : known_) pause = std::max(pause, 4 * known.took);
    return pause;
  };
  out.gather = std::chrono::milliseconds(100);
  return out;
}

void Growth::start() {
  server_.loops().start(tasks_, {.area = "elastic",
                                 .name = "growth",
                                 .trouble = "pools neither grow nor shrink",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return reconcile(); },
                                 .retry = async::RetryPolicy::up_to(options_.retry_after),
                                 .patience = std::chrono::minutes(5)});
}

awaitable<void> Growth::stop() { co_await tasks_.stop(); }

std::vector<Status> Growth::status() const {
  std::vector<Status> out;
  for (const auto& [name, known] : known_) out.push_back(known.status);
  return out;
}

std::optional<Status> Growth::status(const std::string& cluster) const {
  const auto known = known_.find(cluster);
  if (known == known_.end()) return std::nullopt;
  return known->second.status;
}

std::optional<JobExplanation> Growth::explain(const std::string& cluster, const std::string& job) const {
  const auto known = known_.find(cluster);
  if (known == known_.end()) return std::nullopt;
  return growth::explain(cluster, known->second.explanation, known->second.slurm->queue, job, known->second.asked);
}

/// One cluster whose Slurm does not answer keeps no other from growing.
awaitable<void> Growth::reconcile() {
  const auto* tables = co_await server_.read();
  if (anything_to_forget(*tables)) {
    ForgetGrowth forget;
    co_await server_.apply(std::move(forget));
    tables = co_await server_.read();
  }
  std::vector<tables::Row<model::Cluster>> clusters;
  for (const auto& cluster : tables->clusters()) {
    if (grows(*tables, *cluster)) clusters.push_back(cluster);
  }
  std::erase_if(known_, [&](const auto& entry) {
    return std::none_of(clusters.begin(), clusters.end(), [&](const auto& it) { return it->name == entry.first; });
  });
  for (const auto& cluster : clusters) {
    auto& status = known_[cluster->name].status;
    status.cluster = cluster->name;
    try {
      ++counters_.looks;
      co_await look_after(cluster);
    } catch (const Error& error) {
      ++counters_.failed_looks;
      leave_alone(cluster->name, error.one_line());
    }
  }
}

void Growth::leave_alone(const std::string& cluster, std::string why) {
  auto& known = known_[cluster];
  if (known.status.trouble.empty()) {
    log::warn("elastic: cluster {} neither grows nor shrinks: {}", cluster, why);
    known.status.trouble_since = unix_nanos(server_.clock().now());
  }
  known.status.trouble = std::move(why);
  known.settled = false;
}

awaitable<bool> Growth::is_quiet(const std::string& cluster, slurm::Place place) {
  const auto recalls = tables::records<model::Recall>(*co_await server_.read(), cluster + "/");
  if (std::any_of(recalls.begin(), recalls.end(), [](const auto& it) { return !it.decided(); })) co_return false;
  const auto& known = known_[cluster];
  if (!known.settled || !known.looked || async::LoopClock::now() - *known.looked >= options_.rest) co_return false;
  const auto ask = slurm::queue_command();
  const auto printed = co_await command(std::move(place), ask);
  bool anybody = false;
  auto read = [&] {
    const auto queue = slurm::parse_queue(printed);
    anybody = std::any_of(queue.begin(), queue.end(), [](const auto& job) { return job.waits(); });
  };
  co_await async::on_pool(pool_, read);
  co_return !anybody;
}

awaitable<std::string> Growth::command(slurm::Place place, std::vector<std::string> words) {
  const std::string what = "`" + join(words, " ") + "`";
  co_return co_await async::within(options_.patience, what,
                                   slurm::run_in_task(server_, std::move(place), std::move(words)));
}

awaitable<void> Growth::look_after(tables::Row<model::Cluster> cluster) {
  const std::string name = cluster->name;
  const auto controller = slurm::controller_of(*co_await server_.read(), name);
  if (!controller.place) {
    leave_alone(name, controller.declared ? "slurmctld does not run" : "no job of the cluster runs slurmctld");
    co_return;
  }
  if (co_await is_quiet(name, *controller.place)) co_return;
  const auto begin = async::LoopClock::now();
  const auto look = co_await look_at(std::move(cluster), *controller.place);
  if (!look) co_return;
  auto& outlook = look->outlook;
  auto reservations = std::move(outlook.reserve);
  NoteGrowth note{name, std::move(outlook.pools), outlook.memory, std::move(outlook.recalls), outlook.notices};
  co_await server_.apply(std::move(note));
  remember(look, begin);
  co_await follow_slurm(*controller.place, std::move(look->asked));
  co_await reserve(name, *controller.place, std::move(reservations));
  co_await put_into_partitions(name, *controller.place, std::move(look->entitled));
  co_await make_room(name, look->slurm);
  const auto* tables = co_await server_.read();
  if (const auto current = tables->find_cluster(name)) {
    for (auto& line : promises_without_room(*tables, *current)) known_[name].status.lines.push_back(std::move(line));
  }
  co_await follow_notices(*controller.place, look);
}

awaitable<std::shared_ptr<Growth::Look>> Growth::look_at(tables::Row<model::Cluster> cluster, slurm::Place place) {
  auto look = std::make_shared<Look>();
  look->before_asking = facts_of(*co_await server_.read(), *cluster);
  // What is written down may be a minute older.
  if (const auto& newest = known_[cluster->name].memory) look->before_asking.memory = *newest;
  co_await ask_slurm(*look, std::move(place));
  const auto* tables = co_await server_.read();
  const auto current = tables->find_cluster(cluster->name);
  if (!current || !grows(*tables, *current)) co_return nullptr;
  look->facts = facts_of(*tables, *current);
  look->facts.memory = look->before_asking.memory;
  // Of what is recalled since Slurm was not asked about the jobs there.
  const auto& before = look->before_asking.recalls;
  std::erase_if(look->facts.recalls, [&](const auto& recall) {
    return !recall.decided() &&
           std::none_of(before.begin(), before.end(), [&](const auto& it) { return it.number == recall.number; });
  });
  co_await decide_on(*look);
  co_return look;
}

awaitable<void> Growth::ask_slurm(Look& look, slurm::Place place) {
  // Nodes first: a job that starts in between is then seen to run on a node that was idle. The other way round it would
  // wait, and its node be busy already: a host would be made for nobody.
  const auto ask_nodes = slurm::records_command();
  const auto ask_queue = slurm::queue_command();
  const auto nodes = co_await command(place, ask_nodes);
  const auto queue = co_await command(place, ask_queue);
  std::vector<std::string> ids;
  auto read = [&] {
    look.slurm.records = slurm::parse_records(nodes);
    look.slurm.queue = slurm::parse_queue(queue);
    ids = asked_about(look.before_asking, look.slurm.queue);
  };
  co_await async::on_pool(pool_, read);
  if (asks_for_reservations(look.before_asking, server_.clock().now())) {
    const auto ask = slurm::reservations_command();
    const auto printed = co_await command(place, ask);
    auto read_reservations = [&] { look.slurm.reservations = slurm::parse_reservations(printed); };
    co_await async::on_pool(pool_, read_reservations);
  }
  if (ids.empty()) co_return;
  const auto redo = co_await ask_redo(std::move(place), std::move(ids));
  auto read_redo = [&] { look.slurm.redo = slurm::parse_redo_facts(redo); };
  co_await async::on_pool(pool_, read_redo);
}

awaitable<void> Growth::decide_on(Look& look) {
  const auto& known = known_[look.facts.name];
  const auto before = known.hosts;
  const auto put = known.put;
  look.at = async::LoopClock::now();
  std::optional<Duration> elapsed;
  if (known.looked) elapsed = look.at - *known.looked;
  const auto now = server_.clock().now();
  auto decide = [&] {
    const auto begin = std::chrono::steady_clock::now();
    look.entitled = entitled_jobs(look.facts, look.slurm);
    auto willing = look.entitled;
    std::erase_if(willing, [&](const auto& job) { return put.contains(job.job); });
    growth::put_into_partitions(look.slurm.queue, willing);
    look.outlook = think(look.facts, look.slurm, before, now, elapsed);
    look.asked = look_at_asked(look.before_asking, look.slurm, now);
    look.took = std::chrono::steady_clock::now() - begin;
  };
  co_await async::on_pool(pool_, decide);
  look.facts.memory = look.outlook.memory;
  look.facts.notices = look.outlook.notices;
}

void Growth::remember(const std::shared_ptr<Look>& look, async::LoopClock::time_point begin) {
  auto& outlook = look->outlook;
  counters_.last_decision_ms = std::chrono::duration<double, std::milli>(look->took).count();
  counters_.hosts_asked_for += outlook.asked_for;
  counters_.hosts_given_back += outlook.given_back;
  counters_.failed_boots += outlook.failed_boots + look->asked.failed_boots;
  counters_.hosts_taken_back += outlook.taken_back;
  auto& known = known_[look->facts.name];
  known = {.status = std::move(outlook.status),
           .explanation = std::move(outlook.explanation),
           .slurm = std::shared_ptr<const SlurmLook>(look, &look->slurm),
           .asked = std::move(outlook.asked),
           .hosts = std::move(outlook.hosts),
           .memory = std::move(outlook.memory),
           .looked = look->at,
           .put = std::move(known.put),
           .refused = std::move(known.refused),
           .took = async::LoopClock::now() - begin,
           .settled = outlook.settled && look->asked.put.empty()};
}

awaitable<void> Growth::put_into_partitions(std::string cluster, slurm::Place place, std::vector<EntitledJob> jobs) {
  constexpr std::size_t kMostAsked = 20;  // commands of some 20 ms each; the others have the next look
  const auto before = known_[cluster].put;
  std::map<std::string, std::string> put;
  std::vector<std::string> lines;
  std::size_t asked = 0;
  for (const auto& job : jobs) {
    if (const auto known = before.find(job.job); known != before.end()) {
      put.insert(*known);
      if (lines.size() < kMostShapesTold)
        lines.push_back(
            fmt::format("job {} stays in its partitions, although {}: {}", job.job, job.why, known->second));
      continue;
    }
    if (++asked > kMostAsked) continue;
    auto words = partitions_command(job);
    std::string refusal;
    try {
      co_await command(place, std::move(words));
    } catch (const Error& error) {
      if (!was_done_for_tasks(error.one_line())) refusal = error.one_line();
    }
    if (refusal.empty()) {
      log::info("elastic: job {} of cluster {} may use {}: {}", job.job, cluster, join(job.partitions, ", "), job.why);
      put[job.job] = "Slurm was told, and has it elsewhere";
    } else {
      log::warn("elastic: job {} of cluster {} may not use {}, although {}: {}", job.job, cluster,
                join(job.partitions, ", "), job.why, refusal);
      put[job.job] = refusal;
    }
  }
  auto& known = known_[cluster];
  known.settled = known.settled && asked == 0;
  for (auto& line : lines) known.status.lines.push_back(std::move(line));
  known.put = std::move(put);
}

/// After what is to grow was written down: what waits for room is then known to wait.
awaitable<void> Growth::make_room(std::string cluster, const SlurmLook& look) {
  const auto* tables = co_await server_.read();
  const auto current = tables->find_cluster(cluster);
  if (!current || current->stop) co_return;
  const auto now = server_.clock().now();
  auto facts = room_facts(*tables, *current, now);
  if (const auto& memory = known_[cluster].memory) facts.redone = memory->state.redone;
  if (!facts.any() && facts.book.sleeps.empty()) co_return;
  Room room;
  auto decide = [&] { room = growth::make_room(facts, look, now); };
  co_await async::on_pool(pool_, decide);
  auto& known = known_[cluster];
  known.settled = known.settled && room.settled;
  for (auto& line : room.lines) known.status.lines.push_back(std::move(line));
  NoteSleeps note{std::move(room.book)};
  co_await server_.apply(std::move(note));
  for (auto& taking : room.recall) {
    log::info("elastic: of cluster {} {} is taken back: it {}", cluster, join(taking.hosts, ", "), taking.why);
    RecallHosts recall{cluster, std::move(taking.pool), std::move(taking.hosts),
                       0,       std::move(taking.why),  std::move(taking.for_host)};
    co_await passing_over(server_.apply(std::move(recall)));
  }
  for (const auto number : room.over) {
    EndRecalls end{cluster, number, {}};
    co_await passing_over(server_.apply(std::move(end)));
  }
  for (auto& nap : room.sleep) {
    log::info("elastic: {} of cluster {} is put to sleep: it {}", join(nap.hosts, ", "), cluster, nap.why);
    host::SleepHosts sleep{cluster, std::move(nap.hosts), std::move(nap.why)};
    co_await passing_over(server_.apply(std::move(sleep)));
  }
  for (auto& waking : room.wake) {
    for (const auto& [host, node] : waking)
      log::info("elastic: {} of cluster {} is woken: there is room{}", host, cluster,
                node.empty() ? "" : " on another node, where it goes");
    host::WakeHosts wake{cluster, std::move(waking)};
    co_await passing_over(server_.apply(std::move(wake)));
  }
}

awaitable<void> Growth::follow_slurm(slurm::Place place, AskedOutlook found) {
  for (const auto& [host, why] : found.failed) {
    log::warn("elastic: {} of cluster {} did not boot: {}; Slurm is told", host, found.put.cluster, why);
    auto words = slurm::no_boot_command(host, why);
    co_await command(place, std::move(words));
  }
  counters_.hosts_asked_for += static_cast<std::int64_t>(found.put.wanted.size());
  counters_.hosts_given_back += static_cast<std::int64_t>(found.put.not_wanted.size());
  if (!found.put.empty()) co_await server_.apply(std::move(found.put));
}

}  // namespace underway::growth

#include "growth/forecast/trial.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "growth/entitled.hpp"

namespace underway::growth {

bool ForecastTrial::holds(const std::string& digest, TimePoint now) const {
  const TimePoint tried{std::chrono::nanoseconds{at}};
  return of == digest && tried <= now && now - tried <= 2 * kTrialEvery;
}

bool is_forecast(const model::Cluster& cluster) {
  if (cluster.stop || !cluster.elastic || cluster.elastic->forecast.mode == model::ForecastMode::off) return false;
  return std::any_of(cluster.pools.begin(), cluster.pools.end(), [](const auto& pool) {
    return pool.elastic && pool.elastic->asked_by == model::AskedBy::queue && !pool.elastic->urgent;
  });
}

namespace {

elastic::Policy policy_of(const ClusterFacts& facts) {
  elastic::Policy out{facts.policy, {}};
  for (const auto& pool : facts.pools) {
    if (!pool.by_slurm()) out.classes.push_back(pool.type);
  }
  return out;
}

}  // namespace

std::string trial_digest(const ClusterFacts& facts) {
  auto policy = policy_of(facts);
  // What moves with recalls and sleepers is no declaration.
  for (auto& type : policy.classes) type.min_nodes = type.max_nodes = 0;
  return hex(crypto::sha256(json::encode(policy)));
}

std::vector<std::string> past_jobs_command(TimePoint begin, TimePoint end) {
  const auto moment = [](TimePoint at) { return format_time(at).substr(0, 19); };
  return {"env",
          "TZ=UTC",
          "sacct",
          "--allusers",
          "--allocations",
          "--parsable2",
          "--starttime=" + moment(begin),
          "--endtime=" + moment(end),
          "--format=JobID,Submit,Start,End,ElapsedRaw,Timelimit,Partition,NNodes,NCPUS,ReqMem,State"};
}

Duration trial_span(const elastic::ForecastPolicy& policy) {
  return std::clamp<Duration>(14 * policy.season, std::chrono::hours(24), std::chrono::hours(28 * 24));
}

void add_past_jobs(elastic::Trace& trace, std::string_view printed) {
  std::istringstream in{std::string(printed)};
  elastic::TraceProblems problems;
  auto older = elastic::read_sacct(in, problems);
  std::set<std::pair<std::string_view, std::int64_t>> known;
  for (const auto& job : trace.jobs) known.emplace(job.id, job.submit);
  std::erase_if(older.jobs, [&](const auto& job) { return known.contains({job.id, job.submit}); });
  older.jobs.insert(older.jobs.end(), std::make_move_iterator(trace.jobs.begin()),
                    std::make_move_iterator(trace.jobs.end()));
  trace.jobs = std::move(older.jobs);
}

namespace {

/// Whose jobs count, and on what they run beside the pools that grow.
class Trying {
 public:
  Trying(const ClusterFacts& facts, const std::vector<slurm::NodeRecord>& records) : facts_(facts), records_(records) {
    settings_.policy = policy_of(facts);
    const SlurmLook slurm{.queue = {}, .records = records};
    for (auto& type : settings_.policy.classes) {
      const auto pool = std::find_if(facts.pools.begin(), facts.pools.end(),
                                     [&](const PoolFacts& it) { return it.type.name == type.name; });
      if (type.partitions.empty()) {
        const auto having = partitions_of(*pool, slurm);
        type.partitions.assign(having.begin(), having.end());
      }
      serves_all_ = serves_all_ || type.partitions.empty();
      served_.insert(type.partitions.begin(), type.partitions.end());
    }
    count_static_nodes();
  }

  void leave_out_others(elastic::Trace& trace) const {
    std::erase_if(trace.jobs, [&](const auto& job) {
      const auto names = split(job.partition, ',');
      return std::none_of(names.begin(), names.end(), [&](const auto& name) { return serves(name); });
    });
    std::sort(trace.jobs.begin(), trace.jobs.end(),
              [](const auto& a, const auto& b) { return std::tie(a.submit, a.id) < std::tie(b.submit, b.id); });
    if (trace.jobs.size() > kMostTrialJobs)
      trace.jobs.erase(trace.jobs.begin(), trace.jobs.end() - static_cast<std::ptrdiff_t>(kMostTrialJobs));
    // One that could have been in several partitions is in the first that a pool serves.
    for (auto& job : trace.jobs) {
      const auto names = split(job.partition, ',');
      const auto served = std::find_if(names.begin(), names.end(), [&](const auto& it) { return serves(it); });
      job.partition = *served;
    }
  }

  const elastic::SimulationSettings& settings() const { return settings_; }

 private:
  bool serves(const std::string& partition) const { return serves_all_ || served_.contains(partition); }

  /// They are all alike in the simulator: as many processors as they have on average, and the memory of the largest.
  void count_static_nodes() {
    std::set<std::string> growing;
    for (const auto& pool : facts_.pools) growing.insert(pool.all_names.begin(), pool.all_names.end());
    std::int64_t cpus = 0;
    settings_.memory_mb = 1;
    for (const auto& node : records_) {
      const bool counts =
          std::any_of(node.partitions.begin(), node.partitions.end(), [&](const auto& name) { return serves(name); });
      if (growing.contains(node.name) || !counts || node.state == "FUTURE") continue;
      ++settings_.nodes;
      cpus += node.cpus;
      settings_.memory_mb = std::max(settings_.memory_mb, node.memory_mb);
    }
    if (settings_.nodes > 0) settings_.cpus_per_node = std::max<std::int64_t>(cpus / settings_.nodes, 1);
  }

  const ClusterFacts& facts_;
  const std::vector<slurm::NodeRecord>& records_;
  elastic::SimulationSettings settings_;
  std::set<std::string> served_;
  bool serves_all_ = false;  ///< a pool without partitions of its own
};

}  // namespace

ForecastTrial try_forecast(const ClusterFacts& facts, const std::vector<slurm::NodeRecord>& records,
                           elastic::Trace trace, TimePoint now) {
  const Trying trying(facts, records);
  trying.leave_out_others(trace);
  ForecastTrial out{.cluster = facts.name,
                    .of = trial_digest(facts),
                    .at = unix_nanos(now),
                    .jobs = static_cast<std::int64_t>(trace.jobs.size())};
  const Duration span =
      trace.jobs.empty() ? Duration{0} : std::chrono::seconds{trace.jobs.back().submit - trace.jobs.front().submit};
  const Duration season = facts.policy.forecast.season;
  if (span < 3 * season) {
    out.why = fmt::format("Slurm's accounting has {} job{} of {}, and three seasons of {} are the least", out.jobs,
                          out.jobs == 1 ? "" : "s", human_duration(span), human_duration(season));
    return out;
  }
  // It learns from the first third, and is judged by what it did not know.
  const auto later = std::partition_point(trace.jobs.begin(), trace.jobs.end(), [&](const auto& job) {
    return std::chrono::seconds{job.submit - trace.jobs.front().submit} < std::max(season, span / 3);
  });
  elastic::Trace judged;
  judged.jobs.assign(std::make_move_iterator(later), std::make_move_iterator(trace.jobs.end()));
  trace.jobs.erase(later, trace.jobs.end());
  auto settings = trying.settings();
  settings.learnt = elastic::replay(trace, settings, elastic::Peer::forecast).learnt;
  const auto reactive = elastic::replay(judged, settings, elastic::Peer::elastic);
  auto forecast = elastic::replay(judged, settings, elastic::Peer::forecast);
  const auto trust = elastic::trust_in(reactive, forecast, facts.policy.forecast);
  out.act = trust.act;
  out.why = fmt::format("of {} jobs in {}, after what a third of them teaches, {}", out.jobs, human_duration(span),
                        trust.why);
  out.learnt = std::move(forecast.learnt);
  return out;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteTrial& request,
                                         const server::Context&) {
  server::Decision<server::Nothing> decision;
  const auto cluster = tables.find_cluster(request.trial.cluster);
  if (cluster && is_forecast(*cluster)) decision.changes.push_back(tables::put_record(request.trial));
  return decision;
}

const describe::Structure& description(describe::Tag<ForecastTrial>) {
  static const describe::Structure s =
      describe::Builder<ForecastTrial>("forecast trial", "What acting on a forecast of demand would have been worth.")
          .wire<&ForecastTrial::cluster>("Cluster", "The cluster.")
          .wire<&ForecastTrial::of>("Of", "Digest of the policy that was tried.")
          .wire<&ForecastTrial::at>("At", "Unix time in nanoseconds at which it was tried.")
          .wire<&ForecastTrial::jobs>("Jobs", "Slurm jobs that were replayed.")
          .wire<&ForecastTrial::act>("Act", "Whether the forecast may act.")
          .wire<&ForecastTrial::why>("Why", "For people.")
          .wire<&ForecastTrial::learnt>("Learnt", "What those jobs teach, by pool.")
          .done();
  return s;
}

}  // namespace underway::growth

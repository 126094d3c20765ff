#include "growth/forecast/trials.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "growth/look.hpp"
#include "slurm/elastic/member_controller.hpp"

namespace underway::growth {

using async::awaitable;

ForecastTrials::ForecastTrials(server::Server& server, async::Pool& pool, async::Executor executor, Options options)
    : server_(server),
      pool_(pool),
      options_(options),
      follower_(server.follow(what_trials_follow())),
      tasks_(std::move(executor), "forecast trials") {}

server::FollowerOptions ForecastTrials::what_trials_follow() {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables&) { return std::vector<tables::Scope>{{tables::Topic::clusters, ""}}; };
  out.again = [this](const tables::Tables& tables) -> std::optional<Duration> {
    const auto clusters = tables.clusters();
    if (std::none_of(clusters.begin(), clusters.end(), [](const auto& cluster) { return is_forecast(*cluster); }))
      return std::nullopt;
    return options_.look;
  };
  out.gather = std::chrono::seconds(1);
  return out;
}

void ForecastTrials::start() {
  server_.loops().start(tasks_, {.area = "elastic",
                                 .name = "forecast trials",
                                 .trouble = "what a forecast would be worth is not known",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return reconcile(); },
                                 .retry = async::RetryPolicy::up_to(options_.look),
                                 .patience = std::chrono::hours(2)});
}

awaitable<void> ForecastTrials::stop() { co_await tasks_.stop(); }

awaitable<void> ForecastTrials::reconcile() {
  std::vector<std::string> names;
  for (const auto& cluster : (co_await server_.read())->clusters()) {
    if (is_forecast(*cluster)) names.push_back(cluster->name);
  }
  std::erase_if(failed_,
                [&](const auto& it) { return std::find(names.begin(), names.end(), it.first) == names.end(); });
  for (const auto& name : names) co_await look_after(name);
}

awaitable<void> ForecastTrials::look_after(const std::string& name) {
  const auto* tables = co_await server_.read();
  const auto cluster = tables->find_cluster(name);
  if (!cluster || !is_forecast(*cluster)) co_return;
  const auto facts = std::make_shared<const ClusterFacts>(facts_of(*tables, *cluster));
  const auto digest = trial_digest(*facts);
  const auto now = server_.clock().now();
  const bool tried = facts->trial && facts->trial->of == digest;
  const TimePoint at{std::chrono::nanoseconds{tried ? facts->trial->at : 0}};
  if (tried && at <= now && now - at < kTrialEvery) co_return;
  const auto known = failed_.find(name);
  if (known != failed_.end() && known->second.of == digest && async::LoopClock::now() < known->second.next) co_return;
  const auto controller = slurm::controller_of(*tables, name);
  if (!controller.place) co_return;
  NoteTrial note;
  try {
    note.trial = co_await hold(facts, *controller.place);
    failed_.erase(name);
    log::info("elastic: forecast of cluster {}: {}", name, note.trial.why);
  } catch (const Error& error) {
    failed(name, digest);
    note.trial = {.cluster = name, .of = digest, .at = 0, .why = error.one_line()};
    // It is not written down again and again while Slurm has no accounting.
    if (facts->trial && facts->trial->of == digest && facts->trial->why == note.trial.why) co_return;
    log::info("elastic: forecast of cluster {} cannot be tried: {}", name, note.trial.why);
  }
  co_await server_.apply(std::move(note));
}

void ForecastTrials::failed(const std::string& cluster, const std::string& digest) {
  auto& known = failed_[cluster];
  known.pause = known.of == digest ? std::min(2 * known.pause, options_.longest_pause) : options_.look;
  known.of = digest;
  known.next = async::LoopClock::now() + known.pause;
}

awaitable<ForecastTrial> ForecastTrials::hold(std::shared_ptr<const ClusterFacts> facts, slurm::Place place) {
  constexpr Duration kDay = std::chrono::hours(24);
  const auto now = server_.clock().now();
  const TimePoint oldest = now - trial_span(facts->policy.forecast);
  elastic::Trace trace;
  for (TimePoint end = now; end > oldest && trace.jobs.size() < kMostTrialJobs; end -= kDay) {
    auto words = past_jobs_command(std::max(end - kDay, oldest), end);
    const auto printed = co_await async::within(options_.patience, "a look at Slurm's accounting",
                                                slurm::run_in_task(server_, place, std::move(words)));
    auto add = [&] { add_past_jobs(trace, printed); };
    co_await async::on_pool(pool_, add);
  }
  auto ask_nodes = slurm::records_command();
  const auto printed = co_await async::within(options_.patience, "a look at Slurm's nodes",
                                              slurm::run_in_task(server_, std::move(place), std::move(ask_nodes)));
  ForecastTrial out;
  auto replay = [&] { out = try_forecast(*facts, slurm::parse_records(printed), std::move(trace), now); };
  co_await async::on_pool(pool_, replay);
  co_return out;
}

}  // namespace underway::growth

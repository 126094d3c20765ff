#include "slurm/reconciler.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "model/slurm_report.hpp"
#include "slurm/queue.hpp"
#include "tables/slurm_reports.hpp"

namespace underway::slurm {

using async::awaitable;
using model::SlurmReport;

bool is_held(const std::vector<Partition>& partitions, const std::string& boot, const std::string& compared_boot) {
  if (boot.empty() || boot == compared_boot || partitions.empty()) return false;
  return std::none_of(partitions.begin(), partitions.end(), [](const auto& one) { return one.up; });
}

Reconciler::Reconciler(server::Server& server, async::Executor executor, Options options)
    : server_(server), executor_(executor), options_(options), tasks_(executor, "reconciliation of Slurm") {}

void Reconciler::start() { tasks_.spawn("reconciler", run()); }

awaitable<void> Reconciler::stop() { co_await tasks_.stop(); }

awaitable<void> Reconciler::run() {
  while (true) {
    co_await async::sleep_for(options_.poll);
    const auto* tables = co_await server_.read();
    std::vector<Place> places;
    for (const auto& job : tables->jobs()) {
      if (job->stop) continue;
      for (const auto& allocation : tables->allocations_of_job(job->ns, job->id)) {
        if (allocation->terminal() || allocation->client_status != model::ClientStatus::running) continue;
        // A slurmctld outside of a capsule keeps its state where it is, and starts as ever.
        auto place = find_slurmctld(allocation);
        if (place && place->task != "slurmctld") places.push_back(std::move(*place));
      }
    }
    for (const auto& place : places) {
      try {
        co_await look_at(place);
      } catch (const Error& error) {
        log::debug("slurm: {} cannot be asked whether it is held: {}", place.allocation->job_id, error.one_line());
      }
    }
  }
}

awaitable<std::string> Reconciler::command(Place place, std::vector<std::string> words) {
  const std::string what = "`" + join(words, " ") + "`";
  co_return co_await async::within(options_.patience, what, run_beside(server_, std::move(place), std::move(words)));
}

awaitable<void> Reconciler::look_at(Place place) {
  const std::vector<std::string> show = {"scontrol", "show", "config"};
  const std::vector<std::string> list = {"sinfo", "-h", "-o", kPartitionFormat};
  const auto boot = parse_boot_time(co_await command(place, show));
  const auto partitions = parse_partitions(co_await command(place, list));
  if (is_held(partitions, boot, compared_[place.allocation->id])) co_return co_await compare(place, boot);
  auto& down = meant_down_[place.allocation->ns + "/" + place.allocation->job_id];
  down.clear();
  for (const auto& one : partitions) {
    if (!one.up) down.push_back(one.name);
  }
}

awaitable<void> Reconciler::look_at_host(std::string host, std::string node_id,
                                         std::map<std::string, std::set<std::string>>& hosts) {
  const std::vector<std::string> words = {"/bin/sh", "-c", kStepsScript};
  try {
    const auto out = co_await async::within(options_.look_patience, "a look at " + host,
                                            run_on_host(server_, std::move(node_id), words));
    if (auto steps = parse_host_steps(out)) hosts.emplace(host, std::move(*steps));
  } catch (const Error& error) {  // it is told that it could not be seen
    log::debug("slurm: {} cannot be looked at: {}", host, error.one_line());
  }
}

/// A hundred at a time: each is a process on its host. Those that do not answer in time were not looked at.
awaitable<std::map<std::string, std::set<std::string>>> Reconciler::look_at_hosts(std::set<std::string> wanted) {
  constexpr std::size_t kTogether = 100;
  std::map<std::string, std::set<std::string>> seen;
  std::vector<std::pair<std::string, std::string>> looks;
  const auto* tables = co_await server_.read();
  for (const auto& node : tables->nodes()) {
    const auto name = node->attributes.find("unique.hostname");
    const std::string host = name == node->attributes.end() ? node->name : name->second;
    if (!node->silent() && wanted.contains(host)) looks.emplace_back(host, node->id);
  }
  for (std::size_t i = 0; i < looks.size(); i += kTogether) {
    async::TaskGroup together(executor_, "looks at hosts");
    for (std::size_t k = i; k < std::min(i + kTogether, looks.size()); ++k)
      together.spawn(looks[k].first, look_at_host(looks[k].first, looks[k].second, seen));
    co_await together.wait();
  }
  co_return seen;
}

awaitable<Reconciliation> Reconciler::find_out(Place place) {
  const std::vector<std::string> jobs = {"squeue", "-h", "-t", "all", "-o", kBeliefFormat};
  const std::vector<std::string> steps = {"squeue", "-s", "-h", "-o", "%i"};
  const std::vector<std::string> nodes = {"sinfo", "-h", "-N", "-o", kNodeFormat};
  const auto beliefs = parse_beliefs(co_await command(place, jobs));
  const auto with_steps = parse_steps(co_await command(place, steps));
  std::map<std::string, std::string> host_of;
  std::set<std::string> wanted;
  for (const auto& state : parse_nodes(co_await command(place, nodes))) {
    host_of[state.name] = state.hostname;
    wanted.insert(state.hostname);
  }
  const auto seen = co_await look_at_hosts(std::move(wanted));
  co_return reconcile(beliefs, with_steps, host_of, seen);
}

awaitable<void> Reconciler::compare(Place place, std::string boot) {
  log::warn("slurm: slurmctld of job '{}' was started anew and is held; it is compared with its nodes",
            place.allocation->job_id);
  const auto made = co_await find_out(place);
  for (const auto& words : made.commands) co_await command(place, words);
  co_await release(place, made.unknown_up_to > 0 ? made.unknown_up_to + 1 : 0);
  compared_[place.allocation->id] = boot;
  for (const auto& finding : made.findings) log::warn("slurm: {}", finding.text);
  log::info("slurm: slurmctld of job '{}' was compared with its nodes, {} findings; it schedules again",
            place.allocation->job_id, made.findings.size());
  auto decide = [place, boot, made](const tables::Tables&, const server::Context& context) {
    SlurmReport report;
    report.ns = place.allocation->ns;
    report.job = place.allocation->job_id;
    report.boot = boot;
    report.at = unix_nanos(context.now);
    for (const auto& finding : made.findings) report.findings.push_back(finding.text);
    server::Decision<server::Nothing> decision;
    decision.changes.push_back(tables::put_record(report));
    return decision;
  };
  co_await server_.writer().submit(std::move(decide));
}

awaitable<void> Reconciler::release(Place place, std::int64_t first_job) {
  constexpr const char* kScript =
      "f=$(dirname \"${SLURM_CONF:-/etc/slurm/slurm.conf}\")/\"$1\"; if [ -e \"$f\" ]; then printf '%s' \"$2\" "
      ">\"$f.new\" "
      "&& mv \"$f.new\" \"$f\"; fi; exec scontrol reconfigure";
  Hold nothing{.timeout = false, .partitions_down = false, .first_job = first_job};
  const std::string text = first_job > 0 ? hold_text(nothing) : no_hold_text();
  const std::vector<std::string> let_go = {"/bin/sh", "-c", kScript, "sh", kHoldFile, text};
  co_await command(place, let_go);
  const std::vector<std::string> list = {"sinfo", "-h", "-o", kPartitionFormat};
  const auto& down = meant_down_[place.allocation->ns + "/" + place.allocation->job_id];
  for (const auto& one : parse_partitions(co_await command(place, list))) {
    const bool stays = std::find(down.begin(), down.end(), one.name) != down.end();
    if (one.up == !stays) continue;
    const std::vector<std::string> update = {"scontrol", "update", "partitionname=" + one.name,
                                             stays ? "state=down" : "state=up"};
    co_await command(place, update);
  }
}

}  // namespace underway::slurm

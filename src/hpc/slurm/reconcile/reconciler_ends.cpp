/// @file
/// The part of the reconciler that finds out how jobs have ended, and enters it.
#include "base/log.hpp"
#include "base/text.hpp"
#include "model/slurm_report.hpp"
#include "slurm/reconcile/reconciler.hpp"
#include "slurm/report_requests.hpp"
#include "tables/slurm_reports.hpp"

namespace underway::slurm {

using async::awaitable;
using model::SlurmReport;

namespace {

std::string text_of(const std::set<std::string>& ids) {
  return join(std::vector<std::string>(ids.begin(), ids.end()), ",");
}

}  // namespace

awaitable<void> Reconciler::look_for_ends_on(std::string host, std::string node_id, std::vector<std::string> words,
                                             Ends& found, std::set<std::string>& read) {
  try {
    const auto out = co_await async::within(options_.patience, "a look at the log of slurmd on " + host,
                                            run_on_host(server_, std::move(node_id), std::move(words)));
    const auto ends = parse_ends(out);
    if (!ends) co_return;
    merge_ends(found, *ends);
    read.insert(host);
  } catch (const Error& error) {  // what is not known is told where it is missed
    log::warn("slurm: slurmd's log on {} cannot be read, the ends of jobs may be missed: {}", host, error.one_line());
  }
}

awaitable<Reconciler::Logs> Reconciler::look_for_ends(std::string config, std::vector<NodeState> nodes,
                                                      std::set<std::string> ids, std::int64_t since) {
  constexpr std::size_t kTogether = 100;  // each is a process on its host
  std::map<std::string, std::set<std::string>> logs;
  std::set<std::string> hosts;
  for (const auto& node : nodes) {
    const auto path = slurmd_log(config, node.hostname, node.name);
    if (!path.empty() && logs[node.hostname].insert(path).second) hosts.insert(node.hostname);
  }
  Logs found;
  const auto looks = co_await nodes_on(std::move(hosts));
  for (std::size_t i = 0; i < looks.size(); i += kTogether) {
    async::TaskGroup together(executor_, "looks at logs of slurmd");
    for (std::size_t k = i; k < std::min(i + kTogether, looks.size()); ++k) {
      const auto& [host, node_id] = looks[k];
      std::vector<std::string> words = {"/bin/sh", "-c", kEndsScript, "sh", text_of(ids), std::to_string(since)};
      words.insert(words.end(), logs[host].begin(), logs[host].end());
      together.spawn(host, look_for_ends_on(host, node_id, std::move(words), found.ends, found.read));
    }
    co_await together.wait();
  }
  co_return found;
}

awaitable<bool> Reconciler::can_enter(Place place) {
  const std::vector<std::string> ask = {"/bin/sh", "-c", "[ -x \"$1\" ] && echo yes; true", "sh", kEnterEnd};
  co_return trim(co_await command(std::move(place), ask)) == "yes";
}

awaitable<Known> Reconciler::find_known(Place place, std::string config, std::vector<NodeState> nodes,
                                        std::vector<SlurmJob> slurm_jobs, Jobs seen, std::optional<TimePoint> state) {
  constexpr std::size_t kMostIds = 10000;  // one argument holds 128 KiB
  Known out;
  out.can_enter = co_await can_enter(place);
  out.state_time = state ? unix_nanos(*state) / 1'000'000'000 : 0;
  std::set<std::string> ids;
  for (const auto& slurm_job : slurm_jobs) {
    if (!slurm_job.nodes.empty() && ids.size() < kMostIds) ids.insert(slurm_job.id);
  }
  const std::vector<std::string> list = {"/bin/sh", "-c", kAcceptedScript, "sh", setting(config, "StateSaveLocation")};
  out.accepted = parse_accepted(co_await command(place, list));
  const auto since = out.state_time > 0 ? out.state_time - 60 : 0;  // clocks differ
  auto logs = co_await look_for_ends(config, nodes, ids, since);
  out.nodes = std::move(logs.ends);
  const std::set<std::string> silent = {"quiet", "fatal", "error"};  // slurm.conf(5): SlurmdDebug; they name no launch
  for (const auto& node : nodes) {
    if (logs.read.contains(node.hostname) && !silent.contains(setting(config, "SlurmdDebug")))
      out.logged.insert(node.name);
  }
  for (const auto& [job, _] : out.nodes) ids.insert(job);
  for (const auto& [_, jobs] : seen) ids.insert(jobs.begin(), jobs.end());
  std::set<std::string> beyond;
  for (const auto& slurm_job : slurm_jobs) beyond.insert(slurm_job.id);
  for (const auto& [job, _] : out.accepted) {
    if (!beyond.contains(job) && ids.size() < kMostIds) ids.insert(job);
  }
  if (ids.empty()) co_return out;
  const auto ask = accounts_command(std::vector<std::string>(ids.begin(), ids.end()));
  try {
    const auto said = co_await command(place, ask);
    out.accounts = parse_accounts(said);
    out.names = parse_names(said);
  } catch (const Error& error) {  // slurmctld does not wait for slurmdbd, and neither does this
    log::info("slurm: the accounting does not say how jobs ended, their nodes are believed: {}", error.one_line());
  }
  co_return out;
}

awaitable<void> Reconciler::enter(Place place, Reconciliation& made, bool urgent) {
  for (auto& entry : made.entries) {
    if (entry.otherwise.empty() == urgent) continue;
    unsettled_[place.key()] = true;
    std::string problem;
    try {
      co_await command(place, entry.command);
    } catch (const Error& error) {
      problem = error.one_line();
    }
    if (problem.empty()) continue;
    log::error("slurm: an end could not be entered: {}", problem);
    if (entry.otherwise.empty()) continue;
    std::erase_if(made.findings, [&](const auto& finding) {
      return finding.kind == Finding::Kind::ended && finding.job == entry.unless.job;
    });
    made.findings.push_back(entry.unless);
    co_await command(place, entry.otherwise);
  }
}

awaitable<void> Reconciler::settle(Place place) {
  auto& unsettled = unsettled_.try_emplace(place.key(), true).first->second;  // an earlier server may have left some
  if (!unsettled) co_return;
  const std::vector<std::string> words = {"/bin/sh", "-c", "[ -x \"$1\" ] || exit 0; exec \"$1\" -settle", "sh",
                                          kEnterEnd};
  const auto settled = parse_settled(co_await command(place, words));
  unsettled_[place.key()] = !settled.all;
  if (!settled.unrecorded.empty() || !settled.problem.empty()) co_await note_unsettled(place, settled);
}

awaitable<void> Reconciler::note_unsettled(Place place, Settled settled) {
  const auto* tables = co_await server_.read();
  const auto known = tables::find_record<SlurmReport>(*tables, place.key());
  std::vector<std::string> texts, added;
  for (const auto& job : settled.unrecorded)
    texts.push_back(
        fmt::format("Slurm job {} has run, and has no row in the accounting: reports of usage lack it", job));
  if (!settled.problem.empty())
    texts.push_back(fmt::format("The accounting does not get the ends of jobs: {}", settled.problem));
  for (auto& text : texts) {
    if (!known || std::find(known->findings.begin(), known->findings.end(), text) == known->findings.end())
      added.push_back(std::move(text));
  }
  if (added.empty()) co_return;
  for (const auto& text : added) log::error("slurm: {}", text);
  AddFindings add{std::move(place), std::move(added)};
  co_await server_.apply(std::move(add));
}

awaitable<void> Reconciler::end_extern(Jobs seen, std::set<std::string> jobs) {
  std::set<std::string> hosts;
  for (const auto& [host, _] : seen) hosts.insert(host);
  std::vector<std::string> words = {"/bin/sh", "-c", kEndExternScript, "sh"};
  words.insert(words.end(), jobs.begin(), jobs.end());
  for (const auto& [host, node_id] : co_await nodes_on(std::move(hosts))) {
    try {
      co_await async::within(options_.look_patience, "an order to " + host, run_on_host(server_, node_id, words));
    } catch (const Error& error) {
      log::warn("slurm: what is left of jobs that have ended on {} stays: {}", host, error.one_line());
    }
  }
}

awaitable<void> Reconciler::enter_ended(Place place, std::string config, std::vector<NodeState> nodes,
                                        std::vector<SlurmJob> slurm_jobs, Jobs seen) {
  const auto* tables = co_await server_.read();
  const auto report = tables::find_record<SlurmReport>(*tables, place.key());
  if (!report) co_return;
  std::set<std::string> ended(report->spared.begin(), report->spared.end());
  for (const auto& [_, jobs] : seen) {
    for (const auto& job : jobs) ended.erase(job);
  }
  if (ended.empty()) co_return;
  co_await end_extern(seen, ended);
  const auto ends = (co_await look_for_ends(std::move(config), std::move(nodes), ended, 0)).ends;
  const bool enters = co_await can_enter(place);
  std::map<std::string, std::string> told;
  for (const auto& job : ended) {
    const auto end = ends.find(job);
    const auto slurm_job =
        std::find_if(slurm_jobs.begin(), slurm_jobs.end(), [&](const auto& candidate) { return candidate.id == job; });
    const auto words = enter_spared(job, slurm_job == slurm_jobs.end() ? std::nullopt : std::optional(*slurm_job),
                                    end == ends.end() ? std::nullopt : std::optional(end->second));
    told[job] = fmt::format("Slurm job {}, which slurmctld did not know to run, has ended: {}", job,
                            words ? describe_end(end->second) : "with which result its nodes do not say");
    log::warn("slurm: {}", told[job]);
    if (!words || !enters) continue;
    unsettled_[place.key()] = true;
    try {
      co_await command(place, *words);
    } catch (const Error& error) {
      log::error("slurm: the end of Slurm job {} could not be entered: {}", job, error.one_line());
    }
  }
  NoteEnded note{std::move(place), std::move(told)};
  co_await server_.apply(std::move(note));
}

}  // namespace underway::slurm

#include "cli/impact/cluster_losses.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "impact/impact.hpp"
#include "os/fd.hpp"
#include "slurm/queue.hpp"

namespace underway::cli {
namespace {

/// A controller that is away keeps squeue waiting, and the one who asks with it.
constexpr const char* kAskingPatience = "5";
constexpr std::size_t kShownNames = 8;
constexpr std::size_t kMost = 16 << 20;

/// What the command prints on the host; nothing when it does not go well there.
std::optional<std::string> said_on(sdk::Client& client, const model::Host& host, std::vector<std::string> command) {
  const os::Fd out(::memfd_create("said", MFD_CLOEXEC)), trouble(::memfd_create("trouble", MFD_CLOEXEC));
  sdk::ExecSession session;
  session.command = std::move(command);
  session.in = -1;
  session.out = out.get();
  session.err = trouble.get();
  try {
    if (client.exec_on_host(host.cluster, host.name, session) != 0) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // its agent is away, or it has no such command: another host is asked
  }
  ::lseek(out.get(), 0, SEEK_SET);
  return os::read_all(out, kMost, "what squeue says");
}

/// One host of each pool is asked: not every pool has Slurm's commands.
std::map<std::string, std::vector<std::string>> ask_slurm(sdk::Client& client, const std::string& cluster) {
  std::set<std::string> pools;
  for (const auto& host : client.hosts(cluster)) {
    if (!pools.insert(host.pool).second) continue;
    std::vector<std::string> ask = {"timeout", kAskingPatience};
    std::ranges::copy(slurm::jobs_command({}), std::back_inserter(ask));
    const auto said = said_on(client, host, std::move(ask));
    if (said) return slurm::parse_jobs(*said);
  }
  return {};
}

/// "4 Slurm jobs run on them: 17, 18, 19, 20"; nothing when there is none.
void tell_slurm_jobs(const ClusterFacts& facts, const std::function<bool(const std::string& node)>& concerns,
                     std::vector<std::string>& lost) {
  std::set<std::string> ids;
  for (const auto& [node, jobs] : facts.slurm_jobs) {
    if (concerns(node)) ids.insert(jobs.begin(), jobs.end());
  }
  if (!ids.empty())
    lost.push_back(fmt::format("{} {}: {}", impact::counted(ids.size(), "Slurm job"), ids.size() == 1 ? "runs" : "run",
                               join_some(std::vector(ids.begin(), ids.end()), kShownNames)));
}

std::string since(std::int64_t at, TimePoint now) { return human_duration(now - from_unix_nanos(at)) + " ago"; }

/// "what capsule 'mail' wrote, 14 MiB: its last backup elsewhere was 3h ago". `leaving`: the hosts that go, whose
/// copies are none that is left.
std::string overlay_of(const ClusterFacts& facts, const model::Capsule& capsule, TimePoint now,
                       const std::function<bool(const model::CapsuleReplica&)>& stays) {
  std::string text = fmt::format("what capsule '{}' wrote", capsule.name);
  const auto saved = facts.saved.find(capsule.name);
  const std::int64_t size = saved == facts.saved.end() ? 0 : saved->second.overlay_size;
  const std::int64_t used = saved == facts.saved.end() ? 0 : saved->second.overlay_used;  // percent
  if (size > 0)
    text += used == 0 ? fmt::format(", less than {}", human_bytes(static_cast<std::uint64_t>(size / 100)))
                      : fmt::format(", {}", human_bytes(static_cast<std::uint64_t>(size / 100 * used)));
  const std::int64_t backup = saved == facts.saved.end() ? 0 : saved->second.backup.done_at;
  text +=
      backup == 0 ? "; no backup elsewhere was made of it" : "; its last backup elsewhere was " + since(backup, now);
  const auto copy = std::ranges::find_if(capsule.replicas, stays);
  if (copy != capsule.replicas.end())
    text += fmt::format("; {} has a copy from {}", copy->node_name, since(copy->at, now));
  return text;
}

bool depends(const std::vector<model::Dependency>& dependencies, const std::string& job) {
  return std::ranges::any_of(dependencies, [&](const model::Dependency& dependency) { return dependency.job == job; });
}

std::vector<std::string> dependents_of(const std::string& job, const std::vector<wire::JobWithSource>& all) {
  std::vector<std::string> names;
  for (const auto& [other, _] : all) {
    const bool in_group = std::ranges::any_of(
        other.groups, [&](const model::TaskGroup& group) { return depends(group.depends_on, job); });
    if (other.id != job && (in_group || depends(other.depends_on, job))) names.push_back(other.id);
  }
  return names;
}

/// Whether the job says so itself: without a word of it the group is rolled out by the defaults.
bool takes_all_at_once(const model::Job& job, const model::TaskGroup& group, std::int64_t replaced) {
  const auto& update = group.update ? group.update : job.update;
  if (!update || !update->max_parallel || update->canary.value_or(0) > 0) return false;
  return *update->max_parallel == 0 || *update->max_parallel >= replaced;
}

}  // namespace

ClusterFacts ask_facts(sdk::Client& client, const std::string& cluster) {
  ClusterFacts facts;
  facts.slurm_jobs = ask_slurm(client, cluster);
  for (auto& capsule : client.capsules()) {
    if (!capsule.ran) continue;
    try {
      facts.saved[capsule.name] = client.capsule_saving(capsule.name);
    } catch (const Error&) {
      // Nobody has told of it: nothing is known to be saved.
    }
    facts.capsules.push_back(std::move(capsule));
  }
  return facts;
}

std::vector<std::string> losses_of_removal(const ClusterFacts& facts, const std::string& cluster,
                                           const std::vector<std::string>& hosts, TimePoint now) {
  std::vector<std::string> lost;
  tell_slurm_jobs(facts, [](const std::string&) { return true; }, lost);
  for (const auto& capsule : facts.capsules) {
    if (capsule.owner_host.starts_with(cluster + "/"))
      lost.push_back(overlay_of(facts, capsule, now, [](const model::CapsuleReplica&) { return false; }));
  }
  if (!hosts.empty())
    lost.push_back(
        fmt::format("the disks of {}: {}", impact::counted(hosts.size(), "host"), join_some(hosts, kShownNames)));
  return lost;
}

std::vector<std::string> losses_of_node(const ClusterFacts& facts, const model::Node& node, TimePoint now) {
  std::vector<std::string> lost;
  tell_slurm_jobs(facts, [&](const std::string& name) { return name == node.name; }, lost);
  for (const auto& capsule : facts.capsules) {
    const auto elsewhere = [&](const model::CapsuleReplica& copy) { return copy.node != node.id; };
    if (capsule.owner == node.id && !capsule.keeps_nothing)
      lost.push_back("the way back to " + overlay_of(facts, capsule, now, elsewhere));
  }
  return lost;
}

std::vector<std::string> losses_of_state(const std::vector<std::string>& secrets) {
  std::vector<std::string> lost;
  if (!secrets.empty())
    lost.push_back(fmt::format("{}: {}", impact::counted(secrets.size(), "secret"), join_some(secrets, kShownNames)));
  lost.emplace_back("the server's state: its history, logs and images, and the keys of its secrets");
  return lost;
}

std::vector<std::string> losses_of_change(const ClusterFacts& facts, const wire::ClusterPlan& plan,
                                          const std::string& cluster, TimePoint now) {
  const std::set<std::string> gone(plan.cluster.hosts_removed.begin(), plan.cluster.hosts_removed.end());
  std::vector<std::string> lost;
  tell_slurm_jobs(facts, [&](const std::string& node) { return gone.contains(node); }, lost);
  const auto stays = [&](const model::CapsuleReplica& copy) { return !gone.contains(copy.node_name); };
  for (const auto& capsule : facts.capsules) {
    const bool with_host =
        std::ranges::any_of(gone, [&](const std::string& host) { return capsule.owner_host == cluster + "/" + host; });
    const bool with_job = std::ranges::find(plan.stopped, capsule.job) != plan.stopped.end();
    if (with_host) {
      lost.push_back(overlay_of(facts, capsule, now, stays));
    } else if (with_job) {
      lost.push_back(
          fmt::format("capsule '{}', which nobody runs any more: what it wrote stays on {} for as long as "
                      "that host does",
                      capsule.name, capsule.owner_name));
    }
  }
  return lost;
}

std::vector<std::string> changes_of_all_at_once(const wire::ClusterPlan& plan,
                                                const std::vector<wire::JobWithSource>& wanted) {
  std::vector<std::string> lines;
  for (const auto& change : plan.jobs) {
    const auto job = std::ranges::find_if(
        wanted, [&](const wire::JobWithSource& candidate) { return candidate.job.id == change.id; });
    if (job == wanted.end()) continue;
    const auto dependents = dependents_of(change.id, wanted);
    if (dependents.empty()) continue;
    for (const auto& group : job->job.groups) {
      const auto updates = change.updates.find(group.name);
      const std::int64_t replaced = updates == change.updates.end() ? 0 : updates->second.destructive;
      if (replaced < 2 || !takes_all_at_once(job->job, group, replaced)) continue;
      lines.push_back(fmt::format(
          "all {} of '{}' are replaced at once, as its `update` says; {} on it", replaced, change.id,
          dependents.size() == 1 ? dependents.front() + " depends" : join_some(dependents, kShownNames) + " depend"));
    }
  }
  return lines;
}

ExitCode ask_before_change(sdk::Client& client, const wire::ClusterPlan& plan, const wire::ClusterBody& body,
                           const Arguments& arguments) {
  if (arguments.has(kYes.name)) return kDone;
  const std::string& name = body.cluster.name;
  Loss loss{.deed = fmt::format("this change of cluster '{}' takes away what nothing brings back", name),
            .word = name,
            .lost = {}};
  // Slurm and the nodes are asked only when something goes.
  if (!plan.cluster.hosts_removed.empty() || !plan.stopped.empty())
    loss.lost = losses_of_change(ask_facts(client, name), plan, name, current_time());
  if (const auto agreed = ask_before(loss, arguments); agreed != kDone) return agreed;
  return ask_before({.deed = fmt::format("this change of cluster '{}' does not stop at the first failure", name),
                     .word = name,
                     .lost = changes_of_all_at_once(plan, body.jobs)},
                    arguments);
}

}  // namespace underway::cli

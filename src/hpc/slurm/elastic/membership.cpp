#include "slurm/elastic/membership.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "model/elastic/growth.hpp"
#include "slurm/hostlist.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

using model::SlurmMember;
using model::SlurmMembership;
using Kind = NodeDifference::Kind;

/// A slurmd that was told to run has registered by then, or was deleted.
constexpr std::int64_t kRegisters = std::int64_t{20} * 1'000'000'000;
/// Differences that a row tells of: a site with more has other troubles.
constexpr std::size_t kMostDifferences = 10;

bool takes_jobs(const NodeRecord& record) {
  return record.responds() && (record.state == "IDLE" || record.state == "MIXED" || record.state == "ALLOCATED");
}

class Planning {
 public:
  Planning(const model::Pool* pool, const std::string& cluster, const std::vector<MemberHost>& hosts,
           const SlurmView& slurm, std::int64_t now, const std::vector<MemberHost>& elsewhere)
      : pool_(pool), cluster_(cluster), hosts_(hosts), slurm_(slurm), now_(now) {
    for (const auto& record : slurm.records) by_name_[record.name] = &record;
    for (const auto* some : {&hosts, &elsewhere}) {
      for (const auto& host : *some) see_sleep(host);
    }
    if (pool_ != nullptr) mode_ = mode_of(*pool_, slurm.records);
    if (pool_ != nullptr && model::asked_by_slurm(*pool_)) {
      const auto names = pool_->all_host_names();
      powered_.insert(names.begin(), names.end());
    }
  }

  MembershipPlan plan() {
    for (const auto& host : hosts_) {
      auto& member = row_of(host);
      if (sleep_concerns(host))
        follow_sleep(host, member);
      else if (!host.wanted)
        leave(host, member);
      else
        stay(host, member);
    }
    come();
    if (pool_ != nullptr) compare();
    return std::move(plan_);
  }

 private:
  const NodeRecord* find(const std::string& name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : at->second;
  }

  void see_sleep(const MemberHost& host) {
    const bool concerned = sleep_concerns(host);
    if (concerned) sleeping_.push_back(host.name);
    if (host.to_sleep && !host.moves) sleepers_.to_sleep.insert(host.name);
    if (host.known) sleepers_.suspended.insert(host.known->suspended.begin(), host.known->suspended.end());
    const auto* record = find(host.name);
    const bool unheard = !host.reasons && (host.wanted || concerned);
    const bool answered_for =
        concerned && record != nullptr && !host.address.empty() && record->address != host.address;
    if (host.to_sleep || host.asleep || !host.runs || unheard || answered_for) sleepers_.away.insert(host.name);
  }

  SlurmMember& row_of(const MemberHost& host) {
    auto& member = plan_.members[host.name];
    if (host.known) member = *host.known;
    member.cluster = cluster_;
    member.host = host.name;
    member.differences.clear();
    return member;
  }

  void set(SlurmMember& member, SlurmMembership status, std::string why) {
    if (status == SlurmMembership::admitted && member.status != status) member.admitted_at = now_;
    member.status = status;
    member.description = std::move(why);
    if (status != SlurmMembership::admitted && status != SlurmMembership::gone && status != SlurmMembership::resting)
      plan_.settled = false;
  }

  /// Of a job of several hosts each of them has the same to say.
  void tell(Command command) {
    if (command.empty() || !told_.insert(command).second) return;
    plan_.commands.push_back(std::move(command));
    plan_.settled = false;
  }

  void leave(const MemberHost& host, SlurmMember& member) {
    const auto* record = find(host.name);
    const auto mode = pool_ != nullptr                          ? mode_
                      : record != nullptr && !record->dynamic() ? JoinMode::cloud
                                                                : JoinMode::dynamic;
    const auto at = slurm_.jobs.find(host.name);
    const auto jobs = at == slurm_.jobs.end() ? std::vector<std::string>{} : at->second;
    // Its machine may be about to be stopped, whatever Slurm asks for since.
    const bool let_go = host.runs && member.status == SlurmMembership::released;
    if (powered_.contains(host.name) && let_go) return set(member, SlurmMembership::released, member.description);
    const auto verdict = powered_.contains(host.name) ? decide_powered_leave(host.name, record, jobs, host.runs)
                                                      : decide_leave(mode, host.name, record, jobs, host.runs);
    switch (verdict.step) {
      case LeaveStep::drain:
      case LeaveStep::wait:
        set(member, host.runs ? SlurmMembership::leaving : SlurmMembership::released, verdict.why);
        break;
      case LeaveStep::kept:
        set(member, host.runs ? SlurmMembership::leaving : SlurmMembership::released,
            fmt::format("{}; it goes when they let it: scontrol update nodename={} state=resume", verdict.why,
                        host.name));
        break;
      case LeaveStep::stop:
      case LeaveStep::forget:
        set(member, SlurmMembership::released, verdict.why);
        break;
      case LeaveStep::gone:
        set(member, SlurmMembership::gone, {});
    }
    tell(verdict.command);
  }

  /// One that is to go while it sleeps is woken first: its jobs run on, and are waited for.
  void follow_sleep(const MemberHost& host, SlurmMember& member) {
    const auto* record = find(host.name);
    std::vector<NodeJob> jobs;
    for (const auto& job : slurm_.sleepers) {
      if (std::find(job.nodes.begin(), job.nodes.end(), host.name) != job.nodes.end()) jobs.push_back(job);
    }
    if (host.to_sleep || host.asleep) {
      const auto answers =
          stand_in(slurm_.records, sleeping_, slurm_.sleepers, record != nullptr ? record->address : "");
      auto next = plan_sleep(host.name, record, jobs, member.suspended, answers, sleepers_, host.moves);
      member.suspended = std::move(next.suspended);
      for (auto& command : next.commands) tell(std::move(command));
      // One that sleeps does so whatever Slurm has to say, and one that waits for its sleep still is what it was.
      const bool rests = next.done || host.asleep;
      set(member, rests ? SlurmMembership::resting : member.status, std::move(next.why));
      plan_.settled = plan_.settled && rests && next.commands.empty();
      return;
    }
    const bool heard = host.runs && host.reasons;
    if (heard && !member.boot.empty() && !host.boot.empty() && member.boot != host.boot)
      return lose(host, member, record, jobs);
    auto next = plan_waking(host.name, record, jobs, member.suspended, heard ? host.address : std::string(),
                            heard && host.wanted && host.reasons->empty(), sleepers_);
    plan_.settled = false;
    if (!heard) return set(member, SlurmMembership::resting, "its machine is being woken");
    member.suspended = std::move(next.suspended);
    for (auto& command : next.commands) tell(std::move(command));
    set(member,
        !next.done    ? SlurmMembership::resting
        : host.wanted ? SlurmMembership::admitted
                      : SlurmMembership::leaving,
        std::move(next.why));
  }

  /// It was booted instead of woken: what it was to go on with is gone, and it comes as any that was booted.
  void lose(const MemberHost& host, SlurmMember& member, const NodeRecord* record, const std::vector<NodeJob>& jobs) {
    if (record != nullptr && record->state != "FUTURE") {
      plan_.told.push_back(
          fmt::format("{} was booted instead of woken, and its jobs are gone with its memory: Slurm is told that the "
                      "node is down, and queues those again that may be",
                      host.name));
      for (auto& command : lost_commands(*record, jobs, member.suspended, host.address)) tell(std::move(command));
    }
    member.suspended.clear();
    member.boot = host.boot;
    set(member, host.wanted ? SlurmMembership::waits : SlurmMembership::leaving, "it was booted instead of woken");
  }

  void stay(const MemberHost& host, SlurmMember& member) {
    if (!host.runs) return set(member, SlurmMembership::waits, "its machine does not run yet");
    if (!host.reasons) {
      // An agent that is away for a moment takes no node from Slurm.
      if (member.status == SlurmMembership::admitted && member.node_id == host.node_id) return;
      return set(member, SlurmMembership::waits,
                 host.unseen.empty() ? "its agent has not joined" : "it cannot be looked at: " + host.unseen);
    }
    const auto* record = find(host.name);
    // Its slurmd may run since before we were asked to care.
    const bool started = host.gate_open || (record != nullptr && takes_jobs(*record));
    if (host.reasons->empty() && record != nullptr && record->draining() && record->reason == kLeavingReason) {
      tell(admit_command({host.name}));  // it was to go, and is wanted again
      return set(member, SlurmMembership::admitted, {});
    }
    const auto gate = decide_gate(host.name, record, started, *host.reasons);
    tell(gate.command);
    switch (gate.step) {
      case GateStep::start:
        if (mode_ != JoinMode::dynamic && record == nullptr)
          return set(member, SlurmMembership::waits,
                     fmt::format("slurm.conf has no line of a node {}: it needs what the pool's `slurm` declares "
                                 "(slurm.pools.{}.lines in job files)",
                                 host.name, pool_->name));
        coming_[host.name] = host.address;
        plan_.open.push_back(host.name);
        break;
      case GateStep::keep_off:
        return set(member, SlurmMembership::waits, "it is not ready: " + join(*host.reasons, "; "));
      default:
        break;
    }
    set(member, SlurmMembership::admitted,
        host.reasons->empty() ? "" : "it is not ready: " + join(*host.reasons, "; "));
    member.node_id = host.node_id;
    member.boot = host.boot;
    if (record != nullptr && powered_.contains(host.name)) boot_again(host, member, *record);
    if (!host.reasons->empty()) plan_.settled = false;
    if (record == nullptr) plan_.settled = false;
  }

  /// Slurm powered the node down and asks for it, and its host was there all the time, as nobody heard of the first: it
  /// waits for a slurmd that was started since.
  void boot_again(const MemberHost& host, const SlurmMember& member, const NodeRecord& record) {
    if (!record.powering_up()) return;
    plan_.settled = false;
    if (coming_.contains(host.name) || now_ - member.admitted_at < kRegisters) return;
    plan_.restart[host.name] =
        fmt::format("Slurm waits for {} to boot, which it has long done; its slurmd is started anew", host.name);
  }

  /// Slurm is told of all that come at once: they serve one job together as often as not.
  void come() {
    if (coming_.empty()) return;
    for (auto& command : arrival_commands(slurm_.records, coming_)) tell(std::move(command));
    plan_.settled = false;
  }

  std::map<Kind, Foreign> wishes() const {
    std::map<Kind, Foreign> out;
    for (const auto kind :
         {Kind::unknown, Kind::foreign, Kind::address, Kind::features, Kind::weight, Kind::released}) {
      const auto& revert = pool_->slurm->revert;
      const bool back = std::find(revert.begin(), revert.end(), to_string(kind)) != revert.end();
      out[kind] = back ? Foreign::revert : Foreign::adopt;
    }
    return out;
  }

  /// What is ours of what Slurm has: nodes of the pool's names, and dynamic ones of its feature.
  std::vector<NodeRecord> own_records(const std::set<std::string>& names) const {
    std::vector<NodeRecord> out;
    for (const auto& record : slurm_.records) {
      if (names.contains(record.name) || (record.dynamic() && record.features.contains(pool_->name)))
        out.push_back(record);
    }
    return out;
  }

  void compare() {
    const auto all = pool_->all_host_names();
    std::set<std::string> names(all.begin(), all.end());
    std::vector<DeclaredNode> declared;
    for (const auto& host : hosts_) {
      names.erase(host.name);
      const auto& member = plan_.members[host.name];
      // Others are on their way, and what is said of them is said above.
      const bool is_there = host.wanted && member.status == SlurmMembership::admitted && !coming_.contains(host.name);
      if (!is_there) continue;
      declared.push_back(declared_node(*pool_, mode_, host.name));
      declared.back().address = host.address;
    }
    std::vector<std::string> quiet;
    if (!powered_.empty()) {
      cure(names);
    } else if (mode_ == JoinMode::cloud) {
      for (const auto& name : names) {
        const auto* record = find(name);
        // As slurmctld has them when it has read of them in slurm.conf for the first time.
        if (record != nullptr && record->is("POWERED_DOWN") && record->state != "DOWN" && !record->draining()) {
          quiet.push_back(name);
          continue;
        }
        declared.push_back(declared_node(*pool_, mode_, name));
        declared.back().present = false;
      }
    }
    if (!quiet.empty()) tell(absent_command(quiet));
    std::set<std::string> known;
    for (const auto& node : declared) known.insert(node.name);
    auto records = own_records(known);
    std::erase_if(records, [&](const auto& record) {
      return plan_.members.contains(record.name) && !known.contains(record.name);
    });
    for (auto& found : compare_nodes(declared, records, wishes())) note(std::move(found));
  }

  /// Where Slurm asks, nodes that are not there are as its power saving has them. One that is down since it did not
  /// boot would stay so: it is powered down, and Slurm may ask for it again. What somebody else holds stays as it is.
  void cure(const std::set<std::string>& names) {
    std::vector<std::string> failed;
    for (const auto& name : names) {
      const auto* record = find(name);
      if (record == nullptr || record->is("POWERING_DOWN") || record->is("POWER_DOWN")) continue;
      const bool ours = held_by_us(*record) || record->reason == kResumeTimeoutReason;
      if ((record->state == "DOWN" || record->draining()) && ours) failed.push_back(name);
    }
    if (!failed.empty()) tell(power_down_command(failed));
  }

  void note(NodeDifference found) {
    const auto at = plan_.members.find(found.node);
    auto* member = at == plan_.members.end() ? nullptr : &at->second;
    if (found.kind == Kind::unknown) {
      if (member == nullptr || now_ - member->admitted_at < kRegisters) {
        plan_.settled = false;
        return;
      }
      const auto& revert = pool_->slurm->revert;
      if (mode_ == JoinMode::dynamic && std::find(revert.begin(), revert.end(), "unknown") != revert.end()) {
        plan_.restart[found.node] = found.text + "; its slurmd is started anew";
        plan_.settled = false;
        return;
      }
    }
    if (found.reverts) {
      plan_.told.push_back(found.text + "; it is put back");
      return tell(std::move(found.command));
    }
    if (member != nullptr && member->differences.size() < kMostDifferences)
      member->differences.push_back(std::move(found.text));
  }

  const model::Pool* pool_;
  const std::string& cluster_;
  const std::vector<MemberHost>& hosts_;
  const SlurmView& slurm_;
  std::int64_t now_;
  JoinMode mode_ = JoinMode::dynamic;
  std::set<std::string> powered_;  ///< names of the pool, where Slurm itself asks for its hosts
  std::map<std::string_view, const NodeRecord*> by_name_;
  std::set<Command> told_;
  std::vector<std::string> sleeping_;  ///< nodes that cannot answer for others
  Sleepers sleepers_;
  std::map<std::string, std::string> coming_;  ///< to where
  MembershipPlan plan_;
};

}  // namespace

bool sleep_concerns(const MemberHost& host) {
  if (host.to_sleep || host.asleep) return true;
  // The wish may be taken back before the machine sleeps, when some of its jobs are suspended already.
  return host.known && (host.known->status == SlurmMembership::resting || !host.known->suspended.empty());
}

JoinMode mode_of(const model::Pool& pool, const std::vector<NodeRecord>& records) {
  // A job that was done again is kept off nodes that Slurm knows before they come.
  if (model::asked_by_slurm(pool) || model::is_opportunistic(pool)) return JoinMode::cloud;
  const auto& wish = pool.slurm ? pool.slurm->join : std::string("auto");
  if (wish == "dynamic") return JoinMode::dynamic;
  if (wish == "cloud") return JoinMode::cloud;
  const auto names = pool.all_host_names();
  const std::set<std::string> own(names.begin(), names.end());
  for (const auto& record : records) {
    if (own.contains(record.name) && !record.dynamic()) return record.is("CLOUD") ? JoinMode::cloud : JoinMode::fixed;
  }
  return JoinMode::dynamic;
}

DeclaredNode declared_node(const model::Pool& pool, JoinMode mode, const std::string& name) {
  DeclaredNode out{.name = name, .mode = mode, .cpus = pool.cpus, .memory_mb = pool.memory_mb, .features = {pool.name}};
  if (!pool.node_class.empty()) out.features.push_back(pool.node_class);
  if (pool.slurm) out.features.insert(out.features.end(), pool.slurm->features.begin(), pool.slurm->features.end());
  return out;
}

MembershipPlan plan_members(const model::Pool* pool, const std::string& cluster, const std::vector<MemberHost>& hosts,
                            const SlurmView& slurm, std::int64_t now, const std::vector<MemberHost>& elsewhere) {
  return Planning(pool, cluster, hosts, slurm, now, elsewhere).plan();
}

namespace {

/// Of each host what `follows` makes of its row.
template <class F>
MembershipPlan plan_each(const std::string& cluster, const std::vector<MemberHost>& hosts, F follows) {
  MembershipPlan out;
  out.settled = false;
  for (const auto& host : hosts) {
    auto& member = out.members[host.name];
    if (host.known) member = *host.known;
    member.cluster = cluster;
    member.host = host.name;
    follows(host, member);
  }
  return out;
}

}  // namespace

MembershipPlan plan_without_slurm(const std::string& cluster, const std::vector<MemberHost>& hosts,
                                  const std::string& why, std::int64_t) {
  return plan_each(cluster, hosts, [&](const MemberHost& host, SlurmMember& member) {
    if (host.wanted && member.status == SlurmMembership::admitted) return;
    if (member.status == SlurmMembership::gone || sleep_concerns(host)) return;
    const auto then = host.wanted ? "it joins once that works" : "it goes once that works";
    if (!host.wanted && host.runs && member.status != SlurmMembership::released)
      member.status = SlurmMembership::leaving;
    member.description = fmt::format("Slurm cannot be asked: {}; {}", why, then);
  });
}

MembershipPlan plan_where_no_slurm_is(const std::string& cluster, const std::vector<MemberHost>& hosts, std::int64_t) {
  return plan_each(cluster, hosts, [&](const MemberHost& host, SlurmMember& member) {
    if (host.to_sleep || host.asleep) {
      member.status = SlurmMembership::resting;
      member.suspended.clear();
      return;
    }
    if (!host.wanted) {
      member.status = host.runs ? SlurmMembership::released : SlurmMembership::gone;
      member.description.clear();
      return;
    }
    member.status = SlurmMembership::waits;
    member.description = "no job of the cluster runs slurmctld";
  });
}

Wanted wanted_of(const model::Pool& pool, const std::string& configuration) {
  Wanted out;
  if (!pool.slurm) return out;
  out.configuration = pool.slurm->configuration.empty() ? "" : configuration;
  out.clock_skew = pool.slurm->clock_skew;
  out.mounts = pool.slurm->mounts;
  out.programs = pool.slurm->programs;
  // Local hosts share the machine: what they declare is for demonstrations as often as not.
  if (pool.provider == "local") return out;
  out.memory_mb = pool.memory_mb;
  out.cpus = pool.cpus;
  return out;
}

}  // namespace underway::slurm

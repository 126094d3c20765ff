#include "impact/judge.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "files/masters/build.hpp"
#include "impact/detail/parts.hpp"
#include "ownership/capsules.hpp"
#include "tables/slurm_members.hpp"

namespace underway::impact {

namespace {

using model::Capsule;
using model::FileDeclaration;

/// What a file's replacement sets in motion where it is; empty: nothing.
std::string stirred(const FileDeclaration& file) {
  std::vector<std::string> out;
  for (const auto* hook : {file.before ? &*file.before : nullptr, file.after ? &*file.after : nullptr}) {
    if (hook != nullptr) out.push_back(fmt::format("`{}` runs", join(hook->command, " ")));
  }
  for (const auto& reload : file.reloads) out.push_back(fmt::format("job '{}' gets {}", reload.job, reload.signal));
  return join(out, ", ");
}

std::set<std::string> host_names(const model::Cluster& cluster) {
  std::set<std::string> names;
  for (const auto& pool : cluster.pools) {
    for (auto& name : pool.host_names()) names.insert(std::move(name));
  }
  return names;
}

class Judge {
 public:
  explicit Judge(const View& view) : view_(view) {}

  void look_at(const tables::PutJob& change) { detail::judge_job(view_, change.job, findings_); }
  void look_at(const tables::PutNode& change) { detail::judge_node(view_, change.node, findings_); }
  void look_at(const tables::PutCluster& change) {
    const auto current = view_.tables.find_cluster(change.row.name);
    if (!current || current->stop) {
      if (!change.row.stop) say(Impact::none, fmt::format("cluster '{}' is new", change.row.name));
    } else if (!change.row.stop) {  // hosts of one that is taken down stay until its jobs have ended
      look_at_hosts(*current, change.row);
      const bool same = describe::equal(current->networks, change.row.networks) &&
                        describe::equal(current->shares, change.row.shares) &&
                        describe::equal(current->directories, change.row.directories);
      if (!same)
        say(Impact::none, fmt::format("cluster '{}' changes for hosts that are made from now on", change.row.name));
    }
  }
  void look_at(const tables::PutAllocation& change) {
    const auto& stopped = change.allocation;
    const auto current = view_.tables.find_allocation(stopped.id);
    if (!current || current->terminal() || stopped.desired_status == model::DesiredStatus::run) return;
    const bool evicted = stopped.desired_status == model::DesiredStatus::evict;
    findings_.push_back(
        disturbed(*current, evicted ? "makes way for a job of higher priority" : "is stopped, and placed anew"));
  }
  void look_at(const tables::PutRecord& change) {
    const auto& record = change.row;
    if (record.kind == tables::RecordOf<Capsule>::kind)
      look_at_capsule(tables::find_record<Capsule>(view_.tables, record.name), tables::decode_record<Capsule>(record));
    if (record.kind == tables::RecordOf<FileDeclaration>::kind)
      look_at_file(tables::find_record<FileDeclaration>(view_.tables, record.name),
                   tables::decode_record<FileDeclaration>(record));
  }
  void look_at(const tables::DeleteRecord& change) {
    const auto row = view_.tables.find<model::Record>(change.key);
    if (!row || row->kind != tables::RecordOf<FileDeclaration>::kind) return;
    say(Impact::none,
        fmt::format("file {} is not synchronised any more", tables::decode_record<FileDeclaration>(*row).name));
  }
  /// Of everything else nobody notices anything.
  template <class Other>
  void look_at(const Other&) {}

  std::vector<Finding> take() {
    if (files_.size() == 1)
      say(Impact::none, fmt::format("file {} changes, no service is reloaded", files_.front()));
    else if (!files_.empty())
      say(Impact::none, fmt::format("{} files change, no service is reloaded", files_.size()));
    return std::move(findings_);
  }

 private:
  /// Slurm lets it go before its machine is stopped.
  bool joins_slurm(const model::Host& host) const {
    return tables::find_record<model::SlurmMember>(view_.tables, host.cluster + "/" + host.name).has_value();
  }

  void look_at_hosts(const model::Cluster& before, const model::Cluster& after) {
    const auto earlier = host_names(before), wanted = host_names(after);
    for (const auto& host : view_.tables.hosts(after.name)) {
      const bool goes = host->status == model::HostStatus::stopping || host->status == model::HostStatus::stopped;
      if (wanted.contains(host->name) || goes) continue;
      const std::string why = fmt::format("host {} is taken away", host->name);
      if (const auto node = view_.tables.find_node_by_host(after.name, host->name))
        detail::judge_loss(view_, *node, why, joins_slurm(*host), findings_);
      else
        say(Impact::none, why);
    }
    const auto added =
        std::count_if(wanted.begin(), wanted.end(), [&](const std::string& name) { return !earlier.contains(name); });
    if (added > 0) say(Impact::none, fmt::format("{} more", counted(static_cast<std::size_t>(added), "host")));
  }

  void look_at_capsule(const std::optional<Capsule>& before, const Capsule& after) {
    const auto begins = [](const auto& now, const auto* earlier) {
      return now && (earlier == nullptr || earlier->id != now->id);
    };
    const std::string name = fmt::format("capsule '{}'", after.name);
    if (begins(after.move, before && before->move ? &*before->move : nullptr)) {
      const auto& move = *after.move;
      if (move.without_overlay)
        say(Impact::outage, fmt::format("{} starts on {} without what it has written", name, move.target_name));
      else
        say(Impact::brief, fmt::format("{} moves to {}, and is away meanwhile", name, move.target_name));
    }
    if (begins(after.upgrade, before && before->upgrade ? &*before->upgrade : nullptr)) {
      const auto& upgrade = *after.upgrade;
      if (upgrade.rehearse_only)
        say(Impact::none, fmt::format("{} is rehearsed with '{}' on a clone", name, upgrade.to_image));
      else if (!upgrade.data.empty())
        say(Impact::outage, fmt::format("{} loses what was written since the snapshot {}", name, upgrade.data));
      else
        say(Impact::brief, fmt::format("{} is rehearsed, then started from '{}'", name, upgrade.to_image));
    }
  }

  void look_at_file(const std::optional<FileDeclaration>& before, const FileDeclaration& after) {
    // A file that is declared anew has nobody yet who could have read it.
    const std::string stir = stirred(after);
    if (!before || stir.empty())
      files_.push_back(after.where());
    else
      say(Impact::brief, fmt::format("file {} changes: {}", after.where(), stir));
  }

  void say(Impact impact, std::string text) { findings_.push_back({impact, std::move(text)}); }

  const View& view_;
  std::vector<Finding> findings_;
  std::vector<std::string> files_;  ///< without effect on a service
};

}  // namespace

Finding disturbed(const model::Allocation& allocation, std::string_view how) {
  const std::string text = fmt::format("'{}' {}", allocation.name, how);
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return {Impact::brief, text};
  if (allocation.job->runs_to_its_end()) return {Impact::outage, text + ": it begins anew what it was at"};
  const auto* slurmd = detail::slurmd_of(*group);
  if (slurmd != nullptr && !detail::spares_slurm_jobs(*slurmd))
    return {Impact::outage, text + ": the Slurm jobs of its node end with it"};
  return {deferrable(*allocation.job, *group) ? Impact::none : Impact::brief, text};
}

std::vector<Finding> findings_of(const View& view, const std::vector<server::Change>& changes) {
  Judge judge(view);
  for (const auto& change : changes) std::visit([&](const auto& alternative) { judge.look_at(alternative); }, change);
  return judge.take();
}

}  // namespace underway::impact

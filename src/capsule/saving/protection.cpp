#include "saving/protection.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/capsule/capsule_name.hpp"
#include "run/config/config.hpp"
#include "saving/defaults.hpp"
#include "saving/server_side.hpp"

namespace underway::saving {
namespace {

/// Which way it would be where nobody has looked at the disk.
model::SnapshotMethod likely_method(const std::optional<run::OverlayConfig>& config) {
  const auto kind = config.value_or(run::OverlayConfig()).kind;
  const bool btrfs = kind == overlay::Kind::btrfs || kind == overlay::Kind::raid1;
  return btrfs ? model::SnapshotMethod::subvolume : model::SnapshotMethod::copy;
}

void add_saved(Protection& out, const model::TaskGroup& group, const run::Config& config) {
  run::Saving saving;
  saving.snapshot = config.snapshot;
  saving.job.groups.push_back(group);
  const auto plan = snapshots_of(saving, likely_method(config.overlay));
  out.snapshots_every = plan.schedule.every;
  out.snapshots_kept = plan.schedule.keep.value_or(model::Retention());
  out.snapshots_by_default = plan.by_default && plan.schedule.every > Duration{0};
  if (!config.backup) return;
  out.repository = config.backup->repository;
  out.backups_every = config.backup->every;
  out.backups_kept = config.backup->keep.value_or(model::Retention());
  out.drills_every = config.backup->drill_every;
}

/// How many nodes can run capsules, by pool and datacenter; of a planned cluster as many as its pools are to have.
class Places {
 public:
  Places(const tables::Tables& tables, const model::Cluster* planned) {
    std::set<std::string> unable;
    for (const auto& row : tables.nodes()) {
      const bool able = row->drivers.contains(std::string(model::kCapsuleDriver));
      const auto* pool = planned != nullptr && row->cluster == planned->name && !row->host.empty()
                             ? planned->find_pool(row->node_pool)
                             : nullptr;
      if (pool == nullptr && able) ++count_[{row->node_pool, row->datacenter}];
      if (pool != nullptr && !able) unable.insert(pool->name);
    }
    if (planned == nullptr) return;
    for (const auto& pool : planned->pools) {
      if (!unable.contains(pool.name)) count_[{pool.name, planned->datacenter}] += pool.size;
    }
  }
  /// Beside one that it runs on.
  std::int64_t others_in(const std::string& pool) const {
    std::int64_t most = 0;
    for (const auto& [place, count] : count_) {
      if (place.first == pool) most = std::max(most, count);
    }
    return std::max<std::int64_t>(0, most - 1);
  }

 private:
  std::map<std::pair<std::string, std::string>, std::int64_t> count_;
};

void follow(Protection& protection, const model::Capsule& capsule) {
  protection.standby_chosen = capsule.standby_chosen;
  if (capsule.standby_chosen) {
    protection.standby = !capsule.standby.empty();
    protection.copies_every = capsule.replicate_every;
    protection.loss = capsule.loss;
    protection.rpo = capsule.rpo;
  }
  if (protection.standby && capsule.standby != capsule.owner) protection.standby_node = capsule.standby_name;
}

std::vector<std::string> warnings_of(const Protection& protection) {
  std::vector<std::string> out;
  if (protection.keeps_nothing) return out;
  const bool backed_up = protection.backups_every > Duration{0};
  const std::string rest = backed_up ? "what it wrote since its last backup is lost if that does not come back"
                                     : "all that it keeps is lost if that does not come back";
  if (!protection.standby) {
    out.push_back(fmt::format("it has no standby: it waits for its host, and {}", rest));
  } else if (protection.others == 0 && protection.standby_node.empty()) {
    out.push_back(
        fmt::format("no other node of pool '{}' can take it: it waits for its host, and {}", protection.pool, rest));
  }
  if (protection.snapshots_every <= Duration{0} && !backed_up)
    out.emplace_back("it has neither snapshots nor backups: what a mistake spoils stays spoiled");
  return out;
}

}  // namespace

std::vector<Protection> protections_of(const model::Job& job) {
  std::vector<Protection> out;
  for (const auto& group : job.groups) {
    const auto* task = model::capsule_task(group);
    if (task == nullptr || !run::problems(task->config).empty()) continue;
    const auto config = run::parse_config(task->config);
    const auto asked = run::protection_of(task->config);
    Protection protection;
    protection.ns = job.ns;
    protection.job = job.id;
    protection.capsule = model::capsule_name(job, group);
    protection.pool = job.node_pool;
    protection.keeps_nothing = asked.keeps_nothing;
    protection.standby = asked.standby && !asked.keeps_nothing;
    if (protection.standby) {
      protection.copies_every = asked.every;
      protection.loss = asked.loss;
      protection.rpo = asked.rpo;
    }
    add_saved(protection, group, config);
    out.push_back(std::move(protection));
  }
  return out;
}

void look_for_nodes(std::vector<Protection>& protections, const tables::Tables& tables, const model::Cluster* planned) {
  if (protections.empty()) return;
  const Places places(tables, planned);
  for (auto& protection : protections) {
    const auto key = model::capsule_key(protection.ns, protection.capsule);
    protection.others = places.others_in(protection.pool);
    if (const auto capsule = tables::find_record<model::Capsule>(tables, key);
        capsule && capsule->job == protection.job)
      follow(protection, *capsule);
    const auto saved = tables::find_record<model::CapsuleSaving>(tables, key);
    if (saved && protection.snapshots_by_default && saved->snapshot.every > Duration{0}) {
      const auto told = by_default(saved->snapshot.every < std::chrono::hours{24} ? model::SnapshotMethod::clone
                                                                                  : model::SnapshotMethod::copy);
      protection.snapshots_every = told.every;
      protection.snapshots_kept = told.keep.value_or(model::Retention());
    }
    protection.warnings = warnings_of(protection);
  }
}

}  // namespace underway::saving

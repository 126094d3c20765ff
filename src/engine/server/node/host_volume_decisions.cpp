#include "server/node/host_volume_decisions.hpp"

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/job/volume_name.hpp"
#include "scheduler/feasibility/constraint.hpp"
#include "server/access/quota_decisions.hpp"
#include "server/job/evaluation_decisions.hpp"
#include "server/node/node_decisions.hpp"

namespace underway::server {

using model::HostVolume;
using model::HostVolumeClaim;
using model::HostVolumeState;

namespace {

HostVolume get_volume(const Tables& tables, const std::string& id) {
  auto volume = tables::find_record<HostVolume>(tables, id);
  if (!volume) throw Error(Code::not_found, "volume not found").because(fmt::format("there is no volume '{}'", id));
  return *volume;
}

void check(const HostVolume& volume, bool registering) {
  auto problems = model::problems(volume, registering);
  for (const auto& constraint : volume.constraints) {
    if (scheduler::is_distinct(constraint))
      problems.push_back(fmt::format("constraint '{}' is about allocations", scheduler::in_words(constraint)));
    else if (const auto wrong = scheduler::validate(constraint))
      problems.push_back(*wrong);
  }
  if (problems.empty()) return;
  throw Error(Code::invalid, fmt::format("volume '{}' is not valid", volume.name)).because(problems);
}

/// On which the name is taken: by another volume, or by one of the node's own configuration.
bool has_name(const Tables& tables, const model::Node& node, const HostVolume& volume) {
  const auto it = node.volumes.find(volume.name);
  if (it != node.volumes.end() && it->second.id != volume.id) return true;
  const auto there = tables::host_volumes_on(tables, node.id);
  return std::any_of(there.begin(), there.end(),
                     [&](const HostVolume& other) { return other.name == volume.name && other.id != volume.id; });
}

bool has_plugin(const model::Node& node, const std::string& plugin) {
  return plugin == model::kMkdirPlugin ||
         node.attributes.contains(fmt::format("plugins.host_volume.{}.version", plugin));
}

/// Why the volume cannot be on the node; empty when it can.
std::string unfit(const Tables& tables, const model::Node& node, const HostVolume& volume, bool registering) {
  if (!node.ready()) return "is not ready, or not eligible";
  if (!volume.node_pool.empty() && volume.node_pool != node.node_pool) return "is in another node pool";
  if (has_name(tables, node, volume)) return fmt::format("has a volume '{}' already", volume.name);
  if (registering) return {};
  if (!has_plugin(node, volume.plugin_id)) return fmt::format("has no plugin '{}'", volume.plugin_id);
  for (const auto& constraint : volume.constraints) {
    if (!scheduler::holds(constraint, node)) return fmt::format("is excluded by '{}'", scheduler::in_words(constraint));
  }
  return {};
}

tables::Row<model::Node> choose_node(const Tables& tables, const HostVolume& volume, bool registering) {
  if (!volume.node_id.empty()) {
    auto node = tables.find_node(volume.node_id);
    if (!node) throw Error(Code::not_found, "node not found").because(fmt::format("no node '{}'", volume.node_id));
    if (const auto why = unfit(tables, *node, volume, registering); !why.empty())
      throw Error(Code::conflict, fmt::format("volume '{}' cannot be on node '{}'", volume.name, node->name))
          .because("it " + why);
    return node;
  }
  // The one with the fewest of them, so that they do not all come to lie on one disk.
  std::map<std::string, std::size_t> counts, reasons;
  for (const auto& other : tables::records<HostVolume>(tables)) ++counts[other.node_id];
  tables::Row<model::Node> best;
  for (const auto& node : tables.nodes()) {
    if (const auto why = unfit(tables, *node, volume, registering); !why.empty()) {
      ++reasons[why];
    } else if (!best || counts[node->id] < counts[best->id]) {
      best = node;
    }
  }
  if (best) return best;
  Error error(Code::conflict, fmt::format("no node can have volume '{}'", volume.name));
  for (const auto& [why, count] : reasons) error.because(fmt::format("each of {} nodes {}", count, why));
  if (reasons.empty()) error.because("there are no nodes");
  throw error;
}

/// What is changed of a volume that is there.
void check_change(const HostVolume& old, const HostVolume& wanted) {
  const auto fixed = [&](bool same, const char* what) {
    if (!same) throw Error(Code::conflict, fmt::format("{} of volume '{}' cannot be changed", what, old.name));
  };
  fixed(old.ns == wanted.ns, "the namespace");
  fixed(old.name == wanted.name, "the name");
  fixed(wanted.plugin_id.empty() || old.plugin_id == wanted.plugin_id, "the plugin");
  fixed(wanted.node_id.empty() || old.node_id == wanted.node_id, "the node");
  fixed(wanted.node_pool.empty() || old.node_pool == wanted.node_pool, "the node pool");
  if (old.deleting) throw Error(Code::conflict, fmt::format("volume '{}' is being deleted", old.name));
  if (wanted.capacity_max > 0 && wanted.capacity_max < old.capacity)
    throw Error(Code::conflict, fmt::format("volume '{}' cannot become smaller", old.name))
        .because(fmt::format("it has {} bytes", old.capacity));
}

HostVolume changed(const Tables& tables, const PutHostVolume& request) {
  const HostVolume old = get_volume(tables, request.volume.id);
  check_change(old, request.volume);
  HostVolume out = request.volume;
  out.plugin_id = old.plugin_id;
  out.node_id = old.node_id;
  out.node_pool = old.node_pool;
  out.state = old.state;
  out.create_time = old.create_time;
  if (!request.registering) {
    out.host_path = old.host_path;
    out.capacity = old.capacity;
  }
  // Somebody mounts it as it is offered now.
  for (const auto& used : users_of(tables, old)) {
    const auto* group = used->job ? used->job->find_group(used->group) : nullptr;
    for (const auto& [name, asked] : group->volumes) {
      if (model::volume_name(asked, std::max<std::int64_t>(0, used->index())) != old.name || asked.access_mode.empty())
        continue;
      const bool kept = std::any_of(out.capabilities.begin(), out.capabilities.end(), [&](const auto& capability) {
        return capability.access_mode == asked.access_mode;
      });
      if (!kept)
        throw Error(Code::conflict,
                    fmt::format("access_mode '{}' of volume '{}' is in use", asked.access_mode, old.name))
            .because(fmt::format("allocation {} of job '{}' uses it", used->id.substr(0, 8), used->job_id));
    }
  }
  return out;
}

void lend(model::Node& node, const HostVolume& volume) { node.volumes[volume.name] = model::as_node_volume(volume); }

void take_back(model::Node& node, const HostVolume& volume) {
  const auto it = node.volumes.find(volume.name);
  if (it != node.volumes.end() && it->second.id == volume.id) node.volumes.erase(it);
}

void put_lending(Decision<Nothing>& decision, const Tables& tables, HostVolume volume, const Context& context) {
  volume.state = HostVolumeState::ready;
  volume.modify_time = unix_nanos(context.now);
  if (const auto row = tables.find_node(volume.node_id)) {
    model::Node node = *row;
    lend(node, volume);
    if (node.ready()) unblock(decision.changes, tables, node, context);
    decision.changes.push_back(tables::PutNode{std::move(node)});
  }
  decision.changes.push_back(tables::put_record(volume));
}

}  // namespace

std::vector<tables::Row<model::Allocation>> users_of(const Tables& tables, const HostVolume& volume) {
  std::vector<tables::Row<model::Allocation>> users;
  for (const auto& allocation : tables.allocations_on_node(volume.node_id)) {
    const auto* group = allocation->job ? allocation->job->find_group(allocation->group) : nullptr;
    // Stopped is not ended: its tasks may still write.
    if (group == nullptr || allocation->client_terminal() || allocation->ns != volume.ns) continue;
    const auto index = std::max<std::int64_t>(0, allocation->index());
    if (std::any_of(group->volumes.begin(), group->volumes.end(), [&](const auto& requested) {
          return requested.second.type == "host" && model::volume_name(requested.second, index) == volume.name;
        }))
      users.push_back(allocation);
  }
  return users;
}

Decision<HostVolume> decide(const Tables& tables, const PutHostVolume& request, const Context& context) {
  check(request.volume, request.registering);
  if (!tables.find<model::Namespace>(request.volume.ns) && request.volume.ns != "default")
    throw Error(Code::not_found, fmt::format("namespace '{}' not found", request.volume.ns));
  Decision<HostVolume> decision;
  HostVolume& volume = decision.result;
  if (!request.volume.id.empty()) {
    volume = changed(tables, request);
  } else {
    volume = request.volume;
    const auto node = choose_node(tables, volume, request.registering);
    volume.id = context.ids.uuid();
    volume.node_id = node->id;
    volume.node_pool = node->node_pool;
    volume.state = HostVolumeState::pending;
    volume.create_time = unix_nanos(context.now);
    if (!request.registering) {
      volume.host_path.clear();
      volume.capacity = 0;
    } else {
      volume.plugin_id.clear();
    }
  }
  volume.deleting = false;
  volume.modify_time = unix_nanos(context.now);
  volume.create_index = volume.modify_index = 0;
  refuse_by_quota(tables, volume);
  decision.changes.push_back(tables::put_record(volume));
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const HostVolumeReady& request, const Context& context) {
  const auto& [id, path, bytes] = request;
  Decision<Nothing> decision;
  auto volume = tables::find_record<HostVolume>(tables, id);
  if (!volume || volume->deleting) return decision;
  volume->host_path = path;
  if (!volume->plugin_id.empty()) volume->capacity = bytes;
  put_lending(decision, tables, std::move(*volume), context);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const HostVolumeFailed& request, const Context&) {
  const auto& id = request.id;
  Decision<Nothing> decision;
  const auto volume = tables::find_record<HostVolume>(tables, id);
  if (volume && volume->state == HostVolumeState::pending)
    decision.changes.push_back(tables::delete_record<HostVolume>(id));
  return decision;
}

Decision<HostVolume> decide(const Tables& tables, const DeleteHostVolume& request, const Context& context) {
  const auto& id = request.id;
  Decision<HostVolume> decision;
  HostVolume volume = get_volume(tables, id);
  const auto users = users_of(tables, volume);
  if (!users.empty()) {
    std::vector<std::string> names;
    for (const auto& user : users) names.push_back(fmt::format("{} ({})", user->id, user->name));
    throw Error(Code::conflict, fmt::format("volume '{}' is in use by allocations", volume.name))
        .because(join(std::span(names).first(std::min<std::size_t>(names.size(), 10)), ", "))
        .advise("stop their jobs first");
  }
  volume.deleting = true;
  if (volume.state == HostVolumeState::ready) volume.state = HostVolumeState::unavailable;
  volume.modify_time = unix_nanos(context.now);
  if (const auto row = tables.find_node(volume.node_id)) {
    model::Node node = *row;
    take_back(node, volume);
    decision.changes.push_back(tables::PutNode{std::move(node)});
  }
  decision.changes.push_back(tables::put_record(volume));
  decision.result = std::move(volume);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const HostVolumeGone& request, const Context&) {
  const auto& id = request.id;
  Decision<Nothing> decision;
  for (const auto& claim : tables::records<HostVolumeClaim>(tables)) {
    if (claim.volume_id == id)
      decision.changes.push_back(
          tables::delete_record<HostVolumeClaim>(tables::RecordOf<HostVolumeClaim>::name(claim)));
  }
  decision.changes.push_back(tables::delete_record<HostVolume>(id));
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const HostVolumeStays& request, const Context& context) {
  const auto& id = request.id;
  Decision<Nothing> decision;
  auto volume = tables::find_record<HostVolume>(tables, id);
  if (!volume || !volume->deleting) return decision;
  volume->deleting = false;
  put_lending(decision, tables, std::move(*volume), context);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteVolumeClaim& request, const Context& context) {
  const auto& id = request.id;
  Decision<Nothing> decision;
  for (const auto& claim : tables::records<HostVolumeClaim>(tables)) {
    if (claim.id != id) continue;
    decision.changes.push_back(tables::delete_record<HostVolumeClaim>(tables::RecordOf<HostVolumeClaim>::name(claim)));
    // A replacement that waits for the volume's node may go elsewhere now.
    for (const auto& blocked : tables.blocked_evaluations()) {
      if (blocked->ns == claim.ns && blocked->job_id == claim.job_id)
        decision.changes.push_back(awake(*blocked, context));
    }
    return decision;
  }
  throw Error(Code::not_found, "volume claim not found").because(fmt::format("there is no claim '{}'", id));
}

void delete_claims_of(std::vector<Change>& changes, const Tables& tables, const std::string& ns,
                      const std::string& job_id) {
  for (const auto& claim : tables::claims_of_job(tables, ns, job_id))
    changes.push_back(tables::delete_record<HostVolumeClaim>(tables::RecordOf<HostVolumeClaim>::name(claim)));
}

void admit_volumes(std::vector<Change>& changes, const Tables& tables, model::Node& node) {
  std::map<std::string, model::NodeVolume> reported;  // by id
  for (auto it = node.volumes.begin(); it != node.volumes.end();) {
    if (it->second.id.empty()) {
      ++it;
      continue;
    }
    reported.emplace(it->second.id, it->second);
    it = node.volumes.erase(it);
  }
  for (auto& volume : tables::host_volumes_on(tables, node.id)) {
    const auto it = reported.find(volume.id);
    if (volume.deleting || volume.state == HostVolumeState::pending) continue;
    const auto state = it == reported.end() ? HostVolumeState::unavailable : HostVolumeState::ready;
    const bool moved = it != reported.end() && it->second.path != volume.host_path;
    if (moved) volume.host_path = it->second.path;
    if (state == HostVolumeState::ready && !node.volumes.contains(volume.name)) lend(node, volume);
    if (state == volume.state && !moved) continue;
    volume.state = state;
    changes.push_back(tables::put_record(volume));
  }
}

}  // namespace underway::server

#include "base/text.hpp"
#include "model/detail/place.hpp"
#include "model/job/memory.hpp"

#include <set>

namespace underway::model::detail {
namespace {

void check_condition(const Place& place, std::string_view what, const Constraint& constraint,
                     const ValidateOptions& options) {
  const auto& known = constraint_operators();
  if (std::find(known.begin(), known.end(), constraint.operand) == known.end()) {
    const std::string near = nearest(constraint.operand, known);
    return place.say("{}: there is no operator '{}'{}", what, constraint.operand,
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  if (constraint.operand != "distinct_hosts" && constraint.ltarget.empty())
    return place.say("{}: operator '{}' needs an attribute", what, constraint.operand);
  constexpr std::size_t kLongestPattern = 4096;
  if (constraint.operand == "regexp" && constraint.rtarget.size() > kLongestPattern)
    return place.say("{}: the regular expression has {} bytes, above {}", what, constraint.rtarget.size(),
                     kLongestPattern);
  if (!options.check_constraint) return;
  const std::string problem = options.check_constraint(constraint);
  place.require(problem.empty(), "{}: {}", what, problem);
}

void check_device(const Place& place, const RequestedDevice& device, const ValidateOptions& options) {
  place.require(!device.name.empty(), "device: the name is empty; it is type, vendor/type or vendor/type/model");
  place.require(device.count >= 1, "device '{}': count = {} is below 1", device.name, device.count);
  const Place inside = place.inside("device", device.name);
  check_constraints(inside, device.constraints, options, true);
  check_affinities(inside, device.affinities, options);
}

}  // namespace

void check_constraints(const Place& place, const std::vector<Constraint>& constraints, const ValidateOptions& options,
                       bool of_task) {
  for (const auto& constraint : constraints) {
    check_condition(place, "constraint", constraint, options);
    if (of_task && constraint.operand == "distinct_hosts")
      place.say("constraint: distinct_hosts may not be given at a task, as its group is placed as a whole");
  }
}

void check_affinities(const Place& place, const std::vector<Affinity>& affinities, const ValidateOptions& options) {
  for (const auto& affinity : affinities) {
    static constexpr std::string_view kNotHere[] = {"is_set", "is_not_set", "distinct_hosts", "distinct_property"};
    if (std::find(std::begin(kNotHere), std::end(kNotHere), affinity.operand) != std::end(kNotHere)) {
      place.say("affinity: operator '{}' is for constraints only", affinity.operand);
      continue;
    }
    check_condition(place, "affinity", {affinity.ltarget, affinity.operand, affinity.rtarget}, options);
    place.require(affinity.weight != 0, "affinity: weight = 0 would mean nothing");
    place.require(affinity.weight >= -100 && affinity.weight <= 100,
                  "affinity: weight = {} is not between -100 and 100", affinity.weight);
  }
}

void check_spreads(const Place& place, const std::vector<Spread>& spreads, bool of_group) {
  std::set<std::string> seen;
  for (const auto& spread : spreads) {
    place.require(!spread.attribute.empty(), "spread: attribute is missing");
    place.require(seen.insert(spread.attribute).second, "spread: attribute '{}' is given twice", spread.attribute);
    place.require(spread.weight >= 1 && spread.weight <= 100, "spread: weight = {} is not between 1 and 100",
                  spread.weight);
    place.require(!of_group || !spread.across_groups,
                  "spread: across_groups may be given at a job only: a group's spread is about its own allocations");
    std::set<std::string> values;
    std::int64_t sum = 0;
    for (const auto& target : spread.targets) {
      place.require(values.insert(target.value).second, "spread: target '{}' is given twice", target.value);
      place.require(target.percent >= 0 && target.percent <= 100,
                    "spread: target '{}': percent = {} is not between 0 and 100", target.value, target.percent);
      sum += std::clamp<std::int64_t>(target.percent, 0, 100);
    }
    place.require(sum <= 100, "spread: the targets are {} percent together", sum);
  }
}

void check_resources(const Place& place, const Resources& resources, const ValidateOptions& options) {
  // Source: Nomad's structs.go: 1 MHz, 10 MB.
  constexpr std::int64_t kMinCpu = 1, kMinMemoryMb = 10;
  place.require(resources.cores >= 0, "cores = {} is negative", resources.cores);
  if (resources.cores > 0)
    place.require(resources.cpu == 0, "cpu = {} and cores = {}: ask for one of them", resources.cpu, resources.cores);
  else
    place.require(resources.cpu >= kMinCpu, "cpu = {} is below {} MHz", resources.cpu, kMinCpu);
  place.require(resources.memory_mb >= kMinMemoryMb, "memory = {} is below {} MiB", resources.memory_mb, kMinMemoryMb);
  const bool unbounded = resources.memory_max_mb == 0 || resources.memory_max_mb == kNoMemoryLimit;
  place.require(unbounded || resources.memory_max_mb >= resources.memory_mb, "memory_max = {} is below memory = {}",
                resources.memory_max_mb, resources.memory_mb);
  place.require(resources.pids >= 0, "pids = {} is negative", resources.pids);
  place.require(resources.secrets_mb >= 0, "secrets = {} is negative", resources.secrets_mb);
  std::set<std::string> names;
  for (const auto& device : resources.devices) {
    check_device(place, device, options);
    place.require(names.insert(device.name).second, "device '{}' is asked for twice", device.name);
  }
  if (!resources.numa || resources.numa->affinity == NumaAffinity::none) return;
  place.require(resources.cores > 0, "numa: it is about whole cores: give `cores`");
  for (const auto& name : resources.numa->devices)
    place.require(names.contains(name), "numa: the task asks for no device '{}'", name);
}

void check_volumes(const Place& place, const TaskGroup& group) {
  for (const auto& [name, volume] : group.volumes) {
    const Place inside = place.inside("volume", name);
    if (volume.type != "host") {
      inside.say("type '{}' is not supported; `host` volumes are directories of the nodes", volume.type);
      continue;
    }
    inside.require(!volume.source.empty(), "source is missing: the name of a node's volume");
    inside.require(!volume.per_alloc || !volume.sticky, "per_alloc and sticky exclude each other");
    inside.require(!volume.mount_options, "mount_options are for block devices; a host volume is a directory");
    static const std::set<std::string, std::less<>> kAccess{"", "single-node-writer", "single-node-reader-only",
                                                            "single-node-single-writer", "single-node-multi-writer"};
    inside.require(kAccess.contains(volume.access_mode), "access_mode '{}' is none of {}", volume.access_mode,
                   "single-node-writer, single-node-reader-only, single-node-single-writer, single-node-multi-writer");
    inside.require(volume.attachment_mode.empty() || volume.attachment_mode == "file-system",
                   "attachment_mode '{}': only file-system is supported", volume.attachment_mode);
  }
  for (const auto& task : group.tasks) {
    const Place inside = place.inside("task", task.name);
    for (const auto& mount : task.volume_mounts) {
      inside.require(group.volumes.contains(mount.volume), "volume_mount: the group has no volume '{}'", mount.volume);
      inside.require(!mount.destination.empty(), "volume_mount '{}': destination is empty", mount.volume);
    }
  }
}

}  // namespace underway::model::detail

namespace underway::model {

std::vector<Problem> validate_placement(const std::vector<Constraint>& constraints,
                                        const std::vector<Affinity>& affinities, const std::vector<Spread>& spreads) {
  std::vector<Problem> out;
  const detail::Place place(out, "");
  detail::check_constraints(place, constraints, {}, false);
  detail::check_affinities(place, affinities, {});
  detail::check_spreads(place, spreads, false);
  return out;
}

}  // namespace underway::model

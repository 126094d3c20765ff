#include "node/volume/volumes.hpp"

#include "base/error.hpp"
#include "model/job/volume_name.hpp"

namespace underway::node {

std::vector<VolumeUse> volumes_of(const model::Node& node, const model::Allocation& allocation, const model::Task& task,
                                  const Interpolation& interpolation,
                                  const std::map<std::string, model::NodeVolume>& dynamic) {
  std::vector<VolumeUse> uses;
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  for (const auto& mount : task.volume_mounts) {
    const auto asked = [&]() -> const model::VolumeRequest* {
      if (group == nullptr) return nullptr;
      const auto it = group->volumes.find(interpolation.apply(mount.volume));
      return it == group->volumes.end() ? nullptr : &it->second;
    }();
    if (asked == nullptr)
      throw Error(Code::invalid, fmt::format("task '{}' cannot mount volume '{}'", task.name, mount.volume))
          .because(fmt::format("group '{}' asks for no volume of that name", allocation.group))
          .advise("add a `volume` block to the group");
    const std::string name = model::volume_name(*asked, std::max<std::int64_t>(0, allocation.index()));
    auto volume = node.volumes.find(name);
    if (volume == node.volumes.end()) volume = dynamic.find(name);
    if (volume == dynamic.end())
      throw Error(Code::not_found, fmt::format("task '{}' cannot mount volume '{}'", task.name, mount.volume))
          .because(fmt::format("there is no host volume '{}' on node '{}'", name, node.name))
          .advise("add a host_volume block to the client block of its agent's configuration");
    if (volume->second.read_only && !asked->read_only)
      throw Error(Code::denied, fmt::format("task '{}' cannot mount volume '{}'", task.name, mount.volume))
          .because(fmt::format("host volume '{}' on node '{}' is read-only", name, node.name))
          .advise("set read_only = true in the group's `volume` block");
    uses.push_back({volume->second.path, interpolation.apply(mount.destination),
                    mount.read_only || asked->read_only || volume->second.read_only, mount.propagation_mode});
  }
  return uses;
}

}  // namespace underway::node

#include "scheduler/detail/volumes.hpp"

#include "model/volume_name.hpp"

namespace underway::scheduler::detail {

bool has_volume(const model::Node& node, const model::VolumeRequest& request, std::int64_t index) {
  const auto it = node.volumes.find(model::volume_name(request, index));
  return it != node.volumes.end() && (request.read_only || !it->second.read_only);
}

}  // namespace underway::scheduler::detail

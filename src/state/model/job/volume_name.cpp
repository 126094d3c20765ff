#include "model/job/volume_name.hpp"

#include <fmt/format.h>

namespace underway::model {

std::string volume_name(const VolumeRequest& request, std::int64_t index) {
  return request.per_alloc ? fmt::format("{}[{}]", request.source, index) : request.source;
}

}  // namespace underway::model

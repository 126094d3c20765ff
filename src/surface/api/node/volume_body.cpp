#include "api/node/volume_body.hpp"

#include "base/json/json.hpp"

namespace underway::api {

boost::json::object volume_body(const model::HostVolume& volume) {
  boost::json::object body = json::to_value(volume).as_object();
  body.erase("Deleting");
  return body;
}

}  // namespace underway::api

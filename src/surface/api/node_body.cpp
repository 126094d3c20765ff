#include "api/node_body.hpp"

#include <boost/json/serialize.hpp>

#include "base/json.hpp"

namespace underway::api {
namespace {

using boost::json::array;
using boost::json::object;

array networks_of(const model::Node& node) {
  array out;
  for (const auto& network : node.networks)
    out.push_back(
        object{{"Mode", "host"}, {"Device", network.device}, {"CIDR", network.cidr}, {"IP", network.ip}, {"MBits", 0}});
  return out;
}

/// The shape of before Nomad 0.9, which dashboards read to this day.
object old_resources(const model::NodeResources& resources, array networks) {
  return {{"CPU", resources.cpu},
          {"MemoryMB", resources.memory_mb},
          {"DiskMB", resources.disk_mb},
          {"Networks", std::move(networks)}};
}

}  // namespace

std::string node_json(const model::Node& node) {
  auto body = json::to_value(node).as_object();
  body["Drain"] = node.drain.has_value();
  body["Links"] = object{};
  body["SecretID"] = "";  // Nomad's servers leave it out so
  body["TLSEnabled"] = false;
  body["NodeResources"].as_object()["Networks"] = networks_of(node);
  body["Resources"] = old_resources(node.resources, networks_of(node));
  body["Reserved"] = old_resources(node.reserved, {});
  return boost::json::serialize(body);
}

}  // namespace underway::api

#include "api/node/node_body.hpp"

#include <boost/json/serialize.hpp>

#include "api/nomad/nomad_body.hpp"
#include "api/nomad/stubs.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::api {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

value or_null(array list) { return list.empty() ? value(nullptr) : value(std::move(list)); }

value networks_of(const model::Node& node) {
  array out;
  for (const auto& network : node.networks)
    out.push_back(object{{"Mode", "host"},
                         {"Device", network.device},
                         {"CIDR", network.cidr},
                         {"IP", network.ip},
                         {"MBits", 0},
                         {"DNS", nullptr},
                         {"ReservedPorts", nullptr},
                         {"DynamicPorts", nullptr}});
  return or_null(std::move(out));
}

/// Nomad's NodeNetworks: by interface, with the name that a port's `host_network` asks for.
value interfaces_of(const model::Node& node) {
  array out;
  for (const auto& network : node.networks) {
    const bool v6 = network.ip.find(':') != std::string::npos;
    const object address{{"Family", v6 ? "ipv6" : "ipv4"},
                         {"Alias", network.name},
                         {"Address", network.ip},
                         {"ReservedPorts", ""},
                         {"Gateway", ""}};
    out.push_back(object{
        {"Mode", "host"}, {"Device", network.device}, {"MacAddress", ""}, {"Speed", 0}, {"Addresses", array{address}}});
  }
  return or_null(std::move(out));
}

value resources_of(const model::Node& node) {
  auto body = nomad_value(node.resources);
  auto& out = body.get_object();
  if (json::is_empty(out["Ports"])) out.erase("Ports");  // ours, and only of what is kept back
  out["Networks"] = networks_of(node);
  out["NodeNetworks"] = interfaces_of(node);
  return body;
}

/// Nomad's NodeReservedResources, and what ours keep back beside it when they do.
value reserved_of(const model::Node& node) {
  auto body = nomad_value(node.reserved);
  auto& out = body.get_object();
  auto& cpu = out["Cpu"].get_object();
  cpu["ReservedCpuCores"] = cpu["ReservableCpuCores"];
  if (cpu["ReservableCpuCores"].is_null()) cpu.erase("ReservableCpuCores");
  cpu.erase("TotalCpuCores");
  std::vector<std::string> ports;
  for (const auto port : node.reserved.ports) ports.push_back(std::to_string(port));
  out["Networks"] = object{{"ReservedHostPorts", join(ports, ",")}};
  for (const char* ours : {"Ports", "Devices"}) {
    if (json::is_empty(out[ours])) out.erase(ours);
  }
  for (const char* elsewhere : {"Processors", "MinDynamicPort", "MaxDynamicPort"}) out.erase(elsewhere);
  return body;
}

/// The shape of before Nomad 0.9, which dashboards read to this day.
object old_resources(const model::NodeResources& resources, value networks) {
  return {{"CPU", resources.cpu},        {"Cores", 0}, {"MemoryMB", resources.memory_mb}, {"MemoryMaxMB", 0},
          {"DiskMB", resources.disk_mb}, {"IOPS", 0},  {"Networks", std::move(networks)}, {"Devices", nullptr}};
}

}  // namespace

std::string node_json(const model::Node& node) {
  auto body = nomad_value(node).as_object();
  body["Drain"] = node.drain.has_value();
  body["Links"] = object{};
  body["SecretID"] = "";  // Nomad's servers leave it out so
  body["TLSEnabled"] = false;
  body["CgroupParent"] = "";
  body["CSIControllerPlugins"] = object{};
  body["CSINodePlugins"] = object{};
  body["HostNetworks"] = nullptr;
  body["NodeResources"] = resources_of(node);
  body["ReservedResources"] = reserved_of(node);
  body["Resources"] = old_resources(node.resources, networks_of(node));
  body["Reserved"] = old_resources(node.reserved, nullptr);
  return boost::json::serialize(body);
}

std::string node_stub_json(const model::Node& node, bool with_os, bool with_resources) {
  std::string text = nomad_json(stub(node, with_os, false));
  if (!with_resources) return text;
  text.pop_back();
  return text + ",\"NodeResources\":" + boost::json::serialize(resources_of(node)) +
         ",\"ReservedResources\":" + boost::json::serialize(reserved_of(node)) + "}";
}

std::string find_node_id(const tables::Tables& tables, const std::string& word) {
  std::vector<std::string> found;
  for (const auto& node : tables.nodes()) {
    if (node->id == word || node->name == word) return node->id;
    if (node->id.starts_with(word)) found.push_back(node->id);
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw Error(Code::not_found, "node not found").because(fmt::format("no node is called '{}', or has that id", word));
  throw Error(Code::invalid, fmt::format("several nodes' ids begin with '{}'", word)).advise("give more of it");
}

}  // namespace underway::api

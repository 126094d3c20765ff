// What Consul answers, which is untrusted.
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "sources/consul.hpp"

#include <algorithm>

namespace underway::sources {

using gotemplate::ForeignAnswer;
using gotemplate::ForeignInstance;
using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;

namespace {

template <class T>
T number_of(const boost::json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  boost::json::error_code wrong;
  return value != nullptr && value->is_number() ? value->to_number<T>(wrong) : T{};
}

const boost::json::array& array_of(const boost::json::object& from, std::string_view name) {
  static const boost::json::array kNone;
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

std::map<std::string, std::string> texts_of(const boost::json::object& from) {
  std::map<std::string, std::string> out;
  for (const auto& member : from)
    if (member.value().is_string()) out.emplace(member.key(), std::string_view(member.value().get_string()));
  return out;
}

std::vector<std::string> list_of(const boost::json::array& from) {
  std::vector<std::string> out;
  for (const auto& value : from)
    if (value.is_string()) out.emplace_back(std::string_view(value.get_string()));
  return out;
}

/// As Consul's client adds checks up.
std::string worst(const ForeignInstance& instance) {
  const auto rank = [](std::string_view status) { return status == "critical" ? 2 : status == "warning" ? 1 : 0; };
  int found = 0;
  for (const auto& check : instance.checks) {
    if (check.id == "_node_maintenance" || check.id.starts_with("_service_maintenance:")) return "maintenance";
    found = std::max(found, rank(check.status));
  }
  return found == 2 ? "critical" : found == 1 ? "warning" : "passing";
}

ForeignInstance instance_of(const boost::json::object& entry) {
  const auto& node = json::object_at(entry, "Node");
  const auto& service = json::object_at(entry, "Service");
  ForeignInstance out;
  out.id = json::text_at(service, "ID");
  out.name = json::text_at(service, "Service");
  out.node = json::text_at(node, "Node");
  out.node_id = json::text_at(node, "ID");
  out.node_address = json::text_at(node, "Address");
  out.node_datacenter = json::text_at(node, "Datacenter");
  out.node_meta = texts_of(json::object_at(node, "Meta"));
  out.address = json::text_at(service, "Address");
  if (out.address.empty()) out.address = out.node_address;
  out.port = number_of<std::int64_t>(service, "Port");
  out.tags = list_of(array_of(service, "Tags"));
  std::ranges::sort(out.tags);
  out.meta = texts_of(json::object_at(service, "Meta"));
  for (const auto& value : array_of(entry, "Checks")) {
    if (!value.is_object()) continue;
    const auto& check = value.get_object();
    out.checks.push_back({.node = json::text_at(check, "Node"),
                          .id = json::text_at(check, "CheckID"),
                          .name = json::text_at(check, "Name"),
                          .status = json::text_at(check, "Status"),
                          .notes = json::text_at(check, "Notes"),
                          .output = json::text_at(check, "Output"),
                          .service_id = json::text_at(check, "ServiceID"),
                          .service_name = json::text_at(check, "ServiceName")});
  }
  out.status = worst(out);
  return out;
}

gotemplate::KeyPair pair_of(const boost::json::object& entry) {
  gotemplate::KeyPair out;
  out.path = json::text_at(entry, "Key");
  out.value = base64_decode(json::text_at(entry, "Value"));
  out.create_index = number_of<std::uint64_t>(entry, "CreateIndex");
  out.modify_index = number_of<std::uint64_t>(entry, "ModifyIndex");
  out.lock_index = number_of<std::uint64_t>(entry, "LockIndex");
  out.flags = number_of<std::uint64_t>(entry, "Flags");
  out.session = json::text_at(entry, "Session");
  return out;
}

Error wrong_answer(const std::string& why) {
  return Error(Code::invalid, "Consul's answer cannot be read")
      .because(why)
      .advise("look whether its address is Consul's");
}

/// Some words of what a server says about a failure.
std::string words_of(std::string_view body) {
  std::string out;
  for (const char c : body.substr(0, 200)) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return std::string(trim(out));
}

}  // namespace

ForeignAnswer read_consul(const ForeignQuery& query, const http::Response& response) {
  const bool keys = query.kind == ForeignKind::key || query.kind == ForeignKind::keys;
  if (keys && response.status == 404) return {};
  if (response.status != 200)
    throw Error(http::code_of_status(response.status), fmt::format("Consul answers {}", response.status))
        .because(words_of(response.body));
  const auto json = json::parse(response.body);
  ForeignAnswer answer;
  if (query.kind == ForeignKind::services) {
    if (!json.is_object()) throw wrong_answer("it is no object");
    for (const auto& member : json.get_object())
      answer.services.push_back({std::string(member.key()), member.value().is_array()
                                                                ? list_of(member.value().get_array())
                                                                : std::vector<std::string>()});
    std::ranges::sort(answer.services, {}, [](const auto& service) { return service.name; });
    for (auto& service : answer.services) std::ranges::sort(service.tags);
    return answer;
  }
  if (!json.is_array()) throw wrong_answer("it is no list");
  for (const auto& entry : json.get_array()) {
    if (!entry.is_object()) throw wrong_answer("its list has something else than objects");
    if (keys)
      answer.pairs.push_back(pair_of(entry.get_object()));
    else
      answer.instances.push_back(instance_of(entry.get_object()));
  }
  return answer;
}

}  // namespace underway::sources

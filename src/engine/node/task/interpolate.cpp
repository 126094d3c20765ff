#include "node/task/interpolate.hpp"

#include "base/error.hpp"
#include "base/expand.hpp"
#include "base/text.hpp"

namespace underway::node {

namespace {

/// The key of `root["key"]`.
std::optional<std::string_view> index_key(std::string_view name, std::string_view root) {
  if (!name.starts_with(root)) return std::nullopt;
  name.remove_prefix(root.size());
  if (name.size() < 4 || !name.starts_with("[\"") || !name.ends_with("\"]")) return std::nullopt;
  return name.substr(2, name.size() - 4);
}

const std::string* look_up(const model::StringMap& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

}  // namespace

Interpolation::Interpolation(const model::Node& node, const std::string& region) {
  for (const auto& [name, value] : node.attributes) properties_["attr." + name] = value;
  for (const auto& [name, value] : node.meta) properties_["meta." + name] = value;
  properties_["node.unique.id"] = node.id;
  properties_["node.unique.name"] = node.name;
  properties_["node.datacenter"] = node.datacenter;
  properties_["node.class"] = node.node_class;
  properties_["node.pool"] = node.node_pool;
  properties_["node.region"] = region;
}

std::optional<std::string> Interpolation::find(std::string_view name) const {
  name = trim(name);
  if (const auto key = index_key(name, "env")) {
    // env of something that is not set is empty in Nomad, too.
    const std::string* value = look_up(environment_, std::string(*key));
    return value == nullptr ? std::string{} : *value;
  }
  for (const std::string_view root : {"attr", "meta", "node"}) {
    const auto key = index_key(name, root);
    if (!key) continue;
    const std::string* value = look_up(properties_, fmt::format("{}.{}", root, *key));
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  const std::string plain(name);
  if (const std::string* value = look_up(properties_, plain)) return *value;
  if (const std::string* value = look_up(environment_, plain)) return *value;
  if (const std::string* value = look_up(secrets_, plain)) return *value;
  return std::nullopt;
}

std::string Interpolation::apply(std::string_view text) const {
  return expand(text, [this](std::string_view name) { return find(name); });
}

boost::json::value Interpolation::apply_to(const boost::json::value& json) const {
  if (json.is_string()) return boost::json::value(apply(std::string_view(json.get_string())));
  if (json.is_array()) {
    boost::json::array out;
    for (const auto& element : json.get_array()) out.push_back(apply_to(element));
    return out;
  }
  if (json.is_object()) {
    boost::json::object out;
    for (const auto& [key, value] : json.get_object()) out.emplace(key, apply_to(value));
    return out;
  }
  return json;
}

}  // namespace underway::node

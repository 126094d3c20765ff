#include "acl/rights.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::acl {

namespace {

void merge(std::map<std::string, Level>& into, const std::map<std::string, Level>& from) {
  for (const auto& [name, level] : from) into[name] = std::max(into[name], level);
}

void merge(Policy& into, const Policy& from) {
  for (const auto& [name, rules] : from.namespaces) {
    auto& merged = into.namespaces[name];
    merged.capabilities.add(rules.capabilities);
    for (const auto& [path, access] : rules.variables) merged.variables[path] |= access;
  }
  merge(into.node_pools, from.node_pools);
  merge(into.host_volumes, from.host_volumes);
  into.agent = std::max(into.agent, from.agent);
  into.node = std::max(into.node, from.node);
  into.operators = std::max(into.operators, from.operators);
  into.quota = std::max(into.quota, from.quota);
  into.plugin = std::max(into.plugin, from.plugin);
  into.snapshots = into.snapshots || from.snapshots;
}

/// Gathers the values of the closest ones among several matches; of equally close ones all.
template <class Gather>
class Closest {
 public:
  explicit Closest(Gather gather) : gather_(std::move(gather)) {}
  template <class Value, class Reset>
  void offer(std::size_t distance, const Value& value, Reset reset) {
    if (distance > best_) return;
    if (distance < best_) reset();
    best_ = distance;
    gather_(value);
  }

 private:
  Gather gather_;
  std::size_t best_ = static_cast<std::size_t>(-1);
};

Level closest_level(const std::map<std::string, Level>& levels, std::string_view name) {
  Level found = Level::none;
  Closest closest([&](Level level) { found = std::max(found, level); });
  for (const auto& [pattern, level] : levels) {
    if (const auto far = distance(pattern, name)) closest.offer(*far, level, [&] { found = Level::none; });
  }
  return found;
}

bool allows(AccessSet set, Access access) { return !has(set, Access::deny) && has(set, access); }

}  // namespace

std::optional<std::size_t> distance(std::string_view pattern, std::string_view text) {
  if (!glob_match(pattern, text)) return std::nullopt;
  const auto stars = static_cast<std::size_t>(std::count(pattern.begin(), pattern.end(), '*'));
  // A pattern that matches has no more letters than the text; each '*' counts as one more than it stands for, so that
  // the text itself is nearer than the text with a '*' that stands for nothing.
  return text.size() + stars - (pattern.size() - stars);
}

Rights::Rights(std::span<const std::shared_ptr<const Policy>> policies) {
  for (const auto& policy : policies) merge(rules_, *policy);
}

std::shared_ptr<const Rights> Rights::all() {
  static const std::shared_ptr<const Rights> rights = [] {
    auto everything = std::make_shared<Rights>();
    everything->management_ = true;
    return everything;
  }();
  return rights;
}

bool Rights::any() const {
  if (management_) return true;
  const auto grants = [](Level level) { return level != Level::none && level != Level::deny; };
  const auto named = [&](const auto& levels) {
    return std::any_of(levels.begin(), levels.end(), [&](const auto& entry) { return grants(entry.second); });
  };
  for (const auto& [name, rules] : rules_.namespaces) {
    if (rules.capabilities.denied()) continue;
    if (!rules.capabilities.empty()) return true;
    for (const auto& [path, access] : rules.variables) {
      if (!has(access, Access::deny)) return true;
    }
  }
  return grants(rules_.agent) || grants(rules_.node) || grants(rules_.operators) || grants(rules_.quota) ||
         grants(rules_.plugin) || named(rules_.node_pools) || named(rules_.host_volumes) || snapshot();
}

bool Rights::reaches(Level have, Level wanted) const {
  return management_ || (have != Level::deny && have >= wanted && wanted != Level::none);
}

Capabilities Rights::capabilities_in(std::string_view ns) const {
  Capabilities found;
  Closest closest([&](const Capabilities& capabilities) { found.add(capabilities); });
  for (const auto& [pattern, rules] : rules_.namespaces) {
    if (const auto far = distance(pattern, ns)) closest.offer(*far, rules.capabilities, [&] { found = {}; });
  }
  return found;
}

bool Rights::in(std::string_view ns, Capability capability) const {
  if (management_) return true;
  if (ns == "*") {
    return std::any_of(rules_.namespaces.begin(), rules_.namespaces.end(), [&](const auto& entry) {
      const Capabilities& capabilities = entry.second.capabilities;
      return !capabilities.denied() && capabilities.has(capability);
    });
  }
  const Capabilities capabilities = capabilities_in(ns);
  return !capabilities.denied() && capabilities.has(capability);
}

bool Rights::sees(std::string_view ns) const {
  if (management_) return true;
  const Capabilities capabilities = capabilities_in(ns);
  return !capabilities.denied() && !capabilities.empty();
}

bool Rights::variable(std::string_view path, std::string_view ns, Access access) const {
  if (management_) return true;
  // As in Nomad, a namespace that is denied as a whole denies its variables too.
  if (capabilities_in(ns).denied()) return false;
  AccessSet found = 0;
  Closest closest([&](AccessSet set) { found |= set; });
  for (const auto& [ns_pattern, rules] : rules_.namespaces) {
    const auto ns_far = distance(ns_pattern, ns);
    if (!ns_far || rules.capabilities.denied()) continue;
    for (const auto& [pattern, set] : rules.variables) {
      if (const auto far = distance(pattern, path)) closest.offer(*ns_far + *far, set, [&] { found = 0; });
    }
  }
  return allows(found, access);
}

bool Rights::some_variable(std::string_view ns, Access access) const {
  if (management_) return true;
  for (const auto& [pattern, rules] : rules_.namespaces) {
    if (rules.capabilities.denied() || (ns != "*" && !distance(pattern, ns))) continue;
    for (const auto& [path, set] : rules.variables) {
      if (allows(set, access)) return true;
    }
  }
  return false;
}

bool Rights::node_pool(std::string_view name, Level level) const {
  return management_ || reaches(closest_level(rules_.node_pools, name), level);
}

bool Rights::some_node_pool(Level level) const {
  return management_ || std::any_of(rules_.node_pools.begin(), rules_.node_pools.end(),
                                    [&](const auto& rule) { return reaches(rule.second, level); });
}

bool Rights::host_volume(std::string_view name, Level level) const {
  return management_ || reaches(closest_level(rules_.host_volumes, name), level);
}

}  // namespace underway::acl

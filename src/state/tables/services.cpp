#include "tables/services.hpp"

#include <set>

#include "tables/detail/state.hpp"

namespace underway::tables {

using model::Allocation;
using model::ServiceInstance;

namespace {

std::string scope_key(const std::string& ns, const std::string& name) { return ns + "/" + name; }

/// "ns/name" of each service that the allocation provides.
std::set<std::string> provided(const Row<Allocation>& allocation) {
  std::set<std::string> keys;
  if (!allocation || allocation->terminal()) return keys;
  for (const auto& declared : model::declared_services(*allocation))
    if (model::is_provided(*allocation, declared))
      keys.insert(scope_key(allocation->ns, model::service_name(*allocation, declared)));
  return keys;
}

/// Whether those who look at an instance would see a difference.
bool differs(const Allocation& before, const Allocation& after) {
  return before.job != after.job || before.health.canary != after.health.canary ||
         before.health.ready != after.health.ready || !describe::equal(before.resources, after.resources);
}

void add_instances(const Tables& tables, const Allocation& allocation, const std::string* name,
                   std::vector<ServiceInstance>& out) {
  const auto node = tables.find_node(allocation.node_id);
  for (const auto& declared : model::declared_services(allocation)) {
    if (!model::is_provided(allocation, declared)) continue;
    ServiceInstance instance = model::service_instance(allocation, declared, node.get());
    if (name == nullptr || instance.service_name == *name) out.push_back(std::move(instance));
  }
}

}  // namespace

void Tables::Impl::index_services(const Row<Allocation>& before, const Row<Allocation>& after) {
  const auto old_keys = provided(before), new_keys = provided(after);
  if (old_keys.empty() && new_keys.empty()) return;
  const Revision now = after ? std::max(stamp, after->modify_index) : stamp;
  for (const auto& key : old_keys) {
    if (new_keys.contains(key) && before->create_index == after->create_index) continue;
    auto it = services.find(key);
    it->second.allocations.erase({before->create_index, before->id});
    it->second.changed = now;
    deleted[static_cast<std::size_t>(Topic::services)] = now;
    if (it->second.allocations.empty()) services.erase(it);
    note_change(Topic::services, key);
  }
  for (const auto& key : new_keys) {
    auto& entry = services[key];
    const bool entered = entry.allocations.emplace(after->create_index, after->id).second;
    if (!entered && !differs(*before, *after)) continue;
    entry.changed = std::max(entry.changed, now);
    note_change(Topic::services, key);
  }
}

std::vector<Row<Allocation>> Tables::providers(const std::string& ns, const std::string& service) const {
  std::vector<Row<Allocation>> found;
  const auto it = impl_->services.find(scope_key(ns, service));
  if (it == impl_->services.end()) return found;
  for (const auto& [created, id] : it->second.allocations) found.push_back(impl_->allocations.find(id));
  return found;
}

std::vector<std::pair<std::string, std::string>> Tables::provided_services(const std::string& ns) const {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string prefix = ns == "*" ? "" : ns + "/";
  for (auto it = impl_->services.lower_bound(prefix); it != impl_->services.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    const std::size_t slash = it->first.find('/');
    found.emplace_back(it->first.substr(0, slash), it->first.substr(slash + 1));
  }
  return found;
}

std::vector<ServiceName> service_names(const Tables& tables, const std::string& ns) {
  std::vector<ServiceName> out;
  for (auto& [found_ns, name] : tables.provided_services(ns)) {
    std::set<std::string> tags;
    for (auto& instance : service_instances(tables, found_ns, name))
      tags.insert(instance.tags.begin(), instance.tags.end());
    out.push_back({std::move(found_ns), std::move(name), {tags.begin(), tags.end()}});
  }
  return out;
}

std::vector<ServiceInstance> service_instances(const Tables& tables, const std::string& ns, const std::string& name) {
  std::vector<ServiceInstance> out;
  for (const auto& allocation : tables.providers(ns, name)) add_instances(tables, *allocation, &name, out);
  return out;
}

std::vector<ServiceInstance> services_of(const Tables& tables, const Allocation& allocation) {
  std::vector<ServiceInstance> out;
  add_instances(tables, allocation, nullptr, out);
  return out;
}

std::vector<ServiceInstance> services_of_job(const Tables& tables, const std::string& ns, const std::string& job_id) {
  std::vector<ServiceInstance> out;
  for (const auto& allocation : tables.allocations_of_job(ns, job_id)) add_instances(tables, *allocation, nullptr, out);
  return out;
}

std::vector<ServiceInstance> choose(std::vector<ServiceInstance> instances, std::size_t count, std::string_view key) {
  // FNV-1a, then a finaliser: std::hash may differ from one build to the next, and clients rely on the choice.
  const auto weight = [&](const ServiceInstance& instance) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::string_view part : {key, std::string_view{"\n"}, std::string_view{instance.id}})
      for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
    return hash ^ (hash >> 33);
  };
  std::sort(instances.begin(), instances.end(), [&](const auto& a, const auto& b) {
    const auto of_a = weight(a), of_b = weight(b);
    return of_a != of_b ? of_a > of_b : a.id < b.id;
  });
  if (instances.size() > count) instances.resize(count);
  return instances;
}

}  // namespace underway::tables

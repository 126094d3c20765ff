#pragma once
/// @file
/// The catalogue: who provides which service now. Derived from the allocations at every change of them, and never
/// stored. Wait for news with Scope{Topic::services, ""} (any service) or Scope{Topic::services, "<namespace>/<name>"}.

#include "model/service_instance.hpp"
#include "tables/tables.hpp"

namespace underway::tables {

/// A service that somebody provides.
struct ServiceName {
  std::string ns;
  std::string name;
  std::vector<std::string> tags;  ///< of all its instances, sorted
};

/// ns "*" is all. In order of (namespace, name).
std::vector<ServiceName> service_names(const Tables& tables, const std::string& ns = "*");
/// In the order in which their allocations were made; an allocation may provide one service several times.
std::vector<model::ServiceInstance> service_instances(const Tables& tables, const std::string& ns,
                                                      const std::string& name);
/// What one allocation provides now.
std::vector<model::ServiceInstance> services_of(const Tables& tables, const model::Allocation& allocation);
std::vector<model::ServiceInstance> services_of_job(const Tables& tables, const std::string& ns,
                                                    const std::string& job_id);
/// The `count` instances that belong to `key`: the same ones for the same key as long as they exist, and different keys
/// spread evenly. Source: rendezvous hashing, as Nomad's `choose`.
std::vector<model::ServiceInstance> choose(std::vector<model::ServiceInstance> instances, std::size_t count,
                                           std::string_view key);

}  // namespace underway::tables

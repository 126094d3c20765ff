#include "server/access/quota_decisions.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "scheduler/schedule.hpp"
#include "server/job/evaluation_decisions.hpp"

namespace underway::server {

using model::Quota;
using model::QuotaLimit;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Quota get_quota(const Tables& tables, const std::string& name) {
  auto quota = tables::find_record<Quota>(tables, name);
  if (!quota) throw Error(Code::not_found, fmt::format("quota '{}' not found", name));
  return *quota;
}

std::string hash_of(QuotaLimit limit) {
  limit.hash.clear();
  return base64_encode(crypto::sha256(json::encode(limit)));
}

void check(const Quota& quota, const std::string& region) {
  auto problems = model::problems(quota);
  for (const auto& limit : quota.limits) {
    if (!limit.region.empty() && limit.region != region)
      problems.push_back(fmt::format("region '{}' is not this one, which is '{}'", limit.region, region));
  }
  if (problems.empty()) return;
  throw Error(Code::invalid, fmt::format("quota '{}' is not valid", quota.name)).because(problems);
}

/// Bytes as they are stored: sealed.
std::int64_t stored_bytes(const model::Variable& variable) {
  return static_cast<std::int64_t>(variable.sealed.size()) * 3 / 4;
}

std::int64_t variable_bytes(const Tables& tables, const std::vector<std::string>& namespaces) {
  std::int64_t sum = 0;
  for (const auto& ns : namespaces) {
    for (const auto& row : tables.rows<model::Variable>(model::variable_key(ns, ""))) sum += stored_bytes(*row);
  }
  return sum;
}

/// What a volume may grow to, or has.
std::int64_t volume_bytes(const model::HostVolume& volume) {
  return std::max({volume.capacity, volume.capacity_min, volume.capacity_max});
}

/// Without the volume `except`.
std::int64_t volume_bytes(const Tables& tables, const std::vector<std::string>& namespaces,
                          const std::string& except = {}) {
  std::int64_t sum = 0;
  for (const auto& volume : tables::records<model::HostVolume>(tables)) {
    const bool counts = std::find(namespaces.begin(), namespaces.end(), volume.ns) != namespaces.end();
    if (counts && volume.id != except) sum += volume_bytes(volume);
  }
  return sum;
}

/// The limits of storage of the namespace's quota; nothing when there is none.
std::optional<std::pair<std::string, model::QuotaStorage>> storage_of(const Tables& tables, const std::string& ns) {
  const std::string name = tables::quota_of(tables, ns);
  const auto quota = name.empty() ? std::nullopt : tables::find_record<Quota>(tables, name);
  if (!quota || quota->limits.empty()) return std::nullopt;
  return std::pair(name, quota->limits.front().region_limit.storage);
}

}  // namespace

Decision<Nothing> decide(const Tables& tables, const PutQuota& request, const Context& context) {
  auto quota = request.quota;
  const auto& region = request.region;
  model::canonicalize(quota);
  check(quota, region);
  for (auto& limit : quota.limits) limit.hash = hash_of(limit);
  quota.create_index = quota.modify_index = 0;
  auto current = tables::find_record<Quota>(tables, quota.name);
  if (current) current->create_index = current->modify_index = 0;
  Decision<Nothing> decision;
  if (current && describe::equal(*current, quota)) return decision;
  unblock_quota(decision.changes, tables, quota.name, context);
  decision.changes.push_back(tables::put_record(quota));
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteQuota& request, const Context&) {
  const auto& name = request.name;
  get_quota(tables, name);
  if (const auto bounded = tables::namespaces_of_quota(tables, name); !bounded.empty()) {
    throw Error(Code::conflict, fmt::format("quota '{}' bounds namespaces", name))
        .because(join(std::span(bounded).first(std::min<std::size_t>(bounded.size(), 10)), ", "))
        .advise(fmt::format("take it from them first: `underway namespace apply -quota '' {}`", bounded.front()));
  }
  Decision<Nothing> decision;
  decision.changes.push_back(tables::delete_record<Quota>(name));
  return decision;
}

void check_quota_of(const Tables& tables, const model::Namespace& ns) {
  if (ns.quota.empty() || tables::find_record<Quota>(tables, ns.quota)) return;
  throw Error(Code::invalid, fmt::format("namespace '{}' names quota '{}', which does not exist", ns.name, ns.quota))
      .advise("make it first: `underway quota apply FILE`");
}

model::QuotaUsage quota_usage(const Tables& tables, const std::string& name) {
  const Quota quota = get_quota(tables, name);
  const auto namespaces = tables::namespaces_of_quota(tables, name);
  scheduler::QuotaUse use;
  for (const auto& ns : namespaces) use.add(scheduler::quota_use(tables, ns));
  model::QuotaUsage usage;
  usage.name = quota.name;
  usage.create_index = quota.create_index;
  usage.modify_index = quota.modify_index;
  for (const auto& limit : quota.limits) {
    QuotaLimit& used = usage.used[limit.hash];
    used.region = limit.region;
    used.hash = limit.hash;
    model::QuotaResources& sum = used.region_limit;
    sum.cpu = use.cpu;
    sum.cores = use.cores;
    sum.memory_mb = use.memory_mb;
    sum.memory_max_mb = use.memory_max_mb;
    for (const auto& device : limit.region_limit.devices) sum.devices.push_back({device.name, use.count(device.name)});
    sum.storage.variables_mb = (variable_bytes(tables, namespaces) + kMiB - 1) / kMiB;
    sum.storage.host_volumes_mb = (volume_bytes(tables, namespaces) + kMiB - 1) / kMiB;
  }
  return usage;
}

void unblock_quota(std::vector<Change>& changes, const Tables& tables, const std::string& quota,
                   const Context& context) {
  for (const auto& blocked : tables.blocked_evaluations()) {
    if (scheduler::could_unblock(*blocked, quota)) changes.push_back(awake(*blocked, context));
  }
}

void refuse_by_quota(const Tables& tables, const model::Variable& variable, const model::Variable* before) {
  const auto storage = storage_of(tables, variable.ns);
  if (!storage || storage->second.variables_mb == 0) return;
  const auto namespaces = tables::namespaces_of_quota(tables, storage->first);
  const std::int64_t there = variable_bytes(tables, namespaces) - (before != nullptr ? stored_bytes(*before) : 0);
  const std::int64_t needed = there + stored_bytes(variable);
  const std::int64_t limit = std::max<std::int64_t>(storage->second.variables_mb, 0) * kMiB;
  if (needed <= limit) return;
  throw Error(Code::exhausted, fmt::format("variable '{}' would exceed quota '{}'", variable.path, storage->first))
      .because(fmt::format("the variables of {} would take {} bytes; the limit is {}", join(namespaces, ", "), needed,
                           limit))
      .advise("delete variables, or raise `storage { variables }` of the quota");
}

void refuse_by_quota(const Tables& tables, const model::HostVolume& volume) {
  const auto storage = storage_of(tables, volume.ns);
  if (!storage || storage->second.host_volumes_mb == 0) return;
  const auto namespaces = tables::namespaces_of_quota(tables, storage->first);
  const std::int64_t limit = std::max<std::int64_t>(storage->second.host_volumes_mb, 0) * kMiB;
  const std::int64_t needed = volume_bytes(tables, namespaces, volume.id) + volume_bytes(volume);
  if (limit > 0 && needed <= limit && volume_bytes(volume) > 0) return;
  Error error(Code::exhausted, fmt::format("volume '{}' would exceed quota '{}'", volume.name, storage->first));
  if (volume_bytes(volume) == 0)
    throw error.because("it has no capacity, so that it could grow beyond any limit").advise("give it a capacity_max");
  throw error
      .because(
          fmt::format("the volumes of {} would take {} bytes; the limit is {}", join(namespaces, ", "), needed, limit))
      .advise("delete volumes, or raise `storage { host_volumes }` of the quota");
}

}  // namespace underway::server

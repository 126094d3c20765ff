#include "server/node/orders.hpp"

#include <unordered_set>

#include "server/access/namespace_decisions.hpp"
#include "server/gate_cache.hpp"

namespace underway::server {

void Orders::add_job(protocol::AllocationsMessage& message, const model::Allocation& allocation) {
  if (!allocation.job) return;
  const std::string key = protocol::job_key(allocation);
  model::Revision& sent = jobs_sent_[key];
  if (sent == allocation.job->create_index) return;
  sent = allocation.job->create_index;
  message.jobs.insert_or_assign(key, *allocation.job);
}

std::vector<std::string> Orders::rights_in(const tables::Tables& tables, const std::string& ns) const {
  const auto row = find_namespace(tables, ns);
  return model::to_words(row ? model::rights_of(*row, root_by_raw_exec_) : model::HostRights());
}

std::optional<protocol::AllocationsMessage> Orders::next(const tables::Tables& tables, Dependents& dependents) {
  protocol::AllocationsMessage message;
  message.full = std::exchange(first_, false);
  std::unordered_set<std::string> present;
  std::unordered_map<std::string, std::vector<std::string>> rights;
  GateCache cache(tables);
  for (const auto& allocation : tables.allocations_on_node(node_id_)) {
    present.insert(allocation->id);
    const Gate gate = gate_of(cache, dependents, *allocation);
    auto [known, first_of_namespace] = rights.try_emplace(allocation->ns);
    if (first_of_namespace) known->second = rights_in(tables, allocation->ns);
    auto [it, fresh] = sent_.try_emplace(allocation->id);
    Sent& sent = it->second;
    if (!fresh && sent.alloc_modify_index == allocation->alloc_modify_index &&
        sent.job_version == allocation->job_version && sent.gate == gate && sent.host_rights == known->second) {
      continue;
    }
    sent = {allocation->alloc_modify_index, allocation->job_version, gate, known->second};
    add_job(message, *allocation);
    protocol::AllocationOrder& order = message.set.emplace_back();
    order = {*allocation, gate.start, gate.pause, gate.suspend, gate.waiting_for, known->second, gate.guarded};
    // Its turn to stop has not come: until then it is wanted as ever.
    if (!gate.stop) order.allocation.desired_status = model::DesiredStatus::run;
  }
  for (auto it = sent_.begin(); it != sent_.end();) {
    if (present.contains(it->first)) {
      ++it;
      continue;
    }
    message.remove.push_back(it->first);
    it = sent_.erase(it);
  }
  if (!message.full && message.set.empty() && message.remove.empty()) return std::nullopt;
  return message;
}

}  // namespace underway::server

// Allocations of another history than the server's: a server that lost its store, or had an older copy of it put in its
// place, does not know them. They go on until an administrator has decided, or a server comes that knows them.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "node/detail/node_impl.hpp"
#include "protocol/origin.hpp"

namespace underway::node {

/// Adds to `gone` what the server once ordered and wants no more.
void Node::Impl::sort_out_unwanted(const std::set<std::string>& wanted, const protocol::AllocationsMessage& message,
                                   std::vector<std::string>& gone) {
  orphans_.clear();
  for (const auto& [id, runner] : runners_) {
    if (wanted.contains(id)) continue;
    if (protocol::is_in_history(origins_[id], message.epochs) || runner->wanted_gone())
      gone.push_back(id);
    else if (!runner->dead())
      orphans_.insert(id);
  }
  if (orphans_.empty()) return;
  log::warn(
      "node: of the allocations here the server does not know {}: they were ordered by another one, or after the "
      "state that it was restored to; they go on, see `underway node orphans {}`",
      orphans_.size(), self_.name);
}

std::vector<protocol::OrderedAllocation> Node::Impl::ordered() const {
  std::vector<protocol::OrderedAllocation> all;
  for (const auto& [id, runner] : runners_) {
    if (runner->dead() || runner->wanted_gone()) continue;
    const auto& allocation = runner->allocation();
    protocol::OrderedAllocation& order = all.emplace_back();
    order.allocation = {
        id, allocation.ns, allocation.job_id, allocation.job_version, allocation.group, allocation.name};
    if (const auto it = origins_.find(id); it != origins_.end()) order.origin = it->second;
  }
  return all;
}

boost::json::value Node::Impl::answer_about_orphans(const std::string& method) {
  if (method == "orphans.stop") {
    const auto all = orphans_;  // one that is dead may be gone at once
    for (const auto& id : all) destroy(id);
    return boost::json::object{};
  }
  if (method != "orphans.read") throw Error(Code::unsupported, fmt::format("this node does not know '{}'", method));
  protocol::OrphanOrders found;
  for (const auto& id : orphans_) {
    const AllocationRunner& runner = get(id);
    if (runner.dead() || runner.wanted_gone()) continue;
    protocol::AllocationOrder& order = found.orders.emplace_back();
    order.allocation = runner.allocation();
    const auto update = runner.update();
    order.allocation.client_status = update.client_status;
    order.allocation.client_description = update.client_description;
    order.allocation.task_states = update.task_states;
    order.allocation.health = update.health;
    found.jobs.insert_or_assign(protocol::job_key(order.allocation), *order.allocation.job);
  }
  return json::to_value(found, json::Encoding::compact);
}

}  // namespace underway::node

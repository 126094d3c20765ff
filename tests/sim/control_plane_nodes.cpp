// The machines of a ControlPlane: what they do with orders, and what they tell.
#include "protocol/origin.hpp"
#include "sim/control_plane.hpp"

namespace underway::sim {

using server::Context;
using server::Nothing;
using tables::Tables;

namespace {

constexpr int kPatience = 4;  // steps without a link before a node is given up

}  // namespace

void ControlPlane::live(Machine& machine, const Mischief& mischief) {
  const bool faults = mischief.links;
  if (!machine.up) {
    ++machine.silent;
    machine.up = chance(0.2);
    return;
  }
  if (faults && machine.linked && chance(0.05)) cut(machine);
  if (!machine.linked) {
    ++machine.silent;
    if (!machine.linking && chance(faults ? 0.4 : 1)) link(machine);
  }
  while (!machine.messages.empty() && chance(faults ? 0.8 : 1)) {
    obey(machine, machine.messages.front());
    machine.messages.pop_front();
  }
  work(machine, mischief);
  if (machine.linked && !machine.unreported.empty()) {
    report(machine);
    if (faults && chance(0.2)) report(machine);  // the same again: the answer was late
  }
}

void ControlPlane::cut(Machine& machine) {
  machine.linked = false;
  machine.orders.reset();
  machine.messages.clear();
}

namespace {

bool share_a_port(const model::Allocation& a, const model::Allocation& b) {
  for (const auto& port : a.resources.ports) {
    for (const auto& other : b.resources.ports)
      if (port.value == other.value) return true;
  }
  return false;
}

model::AllocationUpdate update_of(const std::string& id, const Local& local) {
  auto update = server::testing::report(id, local.status, local.healthy);
  if (local.status == ClientStatus::failed) update.task_states["t"].failed = true;
  return update;
}

}  // namespace

void ControlPlane::link(Machine& machine) {
  machine.linking = true;
  protocol::RegisterRequest request{machine.node, "s", {}};
  for (const auto& [id, local] : machine.locals) {
    if (local.over()) continue;
    request.allocations.push_back(update_of(id, local));
    const auto& allocation = local.order.allocation;
    request.ordered.push_back(
        {{id, allocation.ns, allocation.job_id, allocation.job_version, allocation.group, allocation.name},
         local.origin});
  }
  submit(server::EnrolNode{request, process_->epoch}, [&machine](const server::EnrolledNode* done) {
    machine.linking = false;
    if (done == nullptr || !machine.up) return;
    machine.epochs = done->epochs;
    machine.linked = true;
    machine.silent = 0;
    machine.orders = std::make_unique<server::Orders>(machine.node.id);
    machine.messages.clear();
  });
}

void ControlPlane::obey(Machine& machine, const protocol::AllocationsMessage& message) {
  std::set<std::string> wanted;
  for (const auto& order : message.set) {
    const auto& id = order.allocation.id;
    wanted.insert(id);
    const bool known = machine.locals.contains(id);
    if (!known && order.allocation.client_terminal()) continue;
    Local& local = machine.locals[id];
    local.order = order;
    local.origin = message.origin;
    if (!known && order.allocation.server_terminal()) local.status = ClientStatus::complete;
    if (!known) machine.unreported.insert(id);  // that it has it now, and begins it anew
  }
  std::erase_if(machine.locals, [&](const auto& entry) {
    const bool removed = std::find(message.remove.begin(), message.remove.end(), entry.first) != message.remove.end();
    const bool unwanted = message.full && !wanted.contains(entry.first);
    return removed || (unwanted && protocol::is_in_history(entry.second.origin, message.epochs));
  });
  std::erase_if(machine.unreported, [&](const auto& id) { return !machine.locals.contains(id); });
}

void ControlPlane::work(Machine& machine, const Mischief& mischief) {
  for (auto& [id, local] : machine.locals) {
    const auto before = std::pair(local.status, local.healthy);
    const auto& allocation = local.order.allocation;
    if (local.over()) continue;
    if (allocation.server_terminal()) {
      if (chance(0.5)) local.status = ClientStatus::complete;
    } else if (local.status == ClientStatus::pending) {
      if (!local.order.start || !chance(0.7)) continue;
      local.status = ClientStatus::running;
      for (const auto& [other_id, other] : machine.locals) {
        if (other_id == id || other.status != ClientStatus::running) continue;
        if (other.order.allocation.name == allocation.name)
          wrong(fmt::format("{} starts on {} while {} of the same name runs there", id, machine.node.name, other_id));
        if (share_a_port(other.order.allocation, allocation))
          wrong(fmt::format("{} starts on {} while {} has its port", id, machine.node.name, other_id));
      }
    } else if (mischief.crashes && chance(0.02)) {
      local.status = ClientStatus::failed;
    } else if (allocation.job_id == job_id(1) && chance(0.1)) {
      local.status = ClientStatus::complete;  // a batch job ends well
    } else if (!local.healthy && chance(0.7)) {
      local.healthy = true;
    }
    if (std::pair(local.status, local.healthy) != before) machine.unreported.insert(id);
  }
}

void ControlPlane::report(Machine& machine) {
  std::vector<model::AllocationUpdate> updates;
  for (const auto& id : machine.unreported) updates.push_back(update_of(id, machine.locals.at(id)));
  submit(server::UpdateAllocations{machine.node.id, updates}, [&machine, updates](const Nothing* done) {
    if (done == nullptr) return;
    for (const auto& update : updates) {
      const auto it = machine.locals.find(update.id);
      const bool current = it != machine.locals.end() && it->second.status == update.client_status &&
                           it->second.healthy == update.health.healthy.value_or(false);
      if (it == machine.locals.end() || current) machine.unreported.erase(update.id);
    }
  });
}

void ControlPlane::give_up_silent() {
  std::vector<std::string> silent;
  for (auto& machine : machines_) {
    if (!machine.linked && machine.silent >= kPatience) silent.push_back(machine.node.id);
  }
  if (silent.empty()) return;
  const auto those_still_silent = [this, silent](const Tables& t, const Context& c) {
    std::vector<std::string> still;
    for (const auto& machine : machines_) {
      const bool meant = std::find(silent.begin(), silent.end(), machine.node.id) != silent.end();
      if (meant && !machine.linked && !machine.linking) still.push_back(machine.node.id);
    }
    return decide(t, server::MarkNodesDown{still, "silent"}, c);
  };
  submit(server::testing::asked(those_still_silent), [](const std::vector<std::string>*) {});
}

}  // namespace underway::sim

#include "server/node/sleep_decisions.hpp"

#include "base/text.hpp"
#include "scheduler/fleet/fleet.hpp"
#include "server/job/dependencies.hpp"
#include "server/node/move_decisions.hpp"

namespace underway::server {

using tables::Change;

namespace {

tables::Row<model::Allocation> get_allocation(const Tables& tables, const std::string& id) {
  auto found = tables.find_allocation(id);
  if (!found) throw Error(Code::not_found, "alloc not found").because(fmt::format("no allocation with id '{}'", id));
  return found;
}

Decision<Nothing> wish(const model::Allocation& current, bool sleep, const Context& context) {
  model::Allocation row = current;
  auto& told = row.sleep ? *row.sleep : row.sleep.emplace();
  told.wanted = sleep;
  told.since = std::max(unix_nanos(context.now), told.since + 1);
  told.trouble.clear();
  row.alloc_modify_index = context.revision;
  row.modify_time = unix_nanos(context.now);
  Decision<Nothing> decision;
  decision.changes.push_back(tables::PutAllocation{std::move(row)});
  return decision;
}

}  // namespace

std::string brief(const model::Allocation& allocation) {
  return fmt::format("allocation {} ({})", allocation.id.substr(0, 8), allocation.name);
}

/// What runs beside a machine would go on without it, in room that is another's by then.
std::string why_not_asleep(const model::Allocation& allocation) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return "its job does not know its group any more";
  for (const auto& task : group->tasks) {
    if ((task.is_main() || task.is_sidecar()) && task.driver != "qemu")
      return fmt::format("its task '{}' has the driver '{}': only virtual machines can", task.name, task.driver);
  }
  for (const auto& [name, task] : allocation.resources.tasks) {
    if (!task.devices.empty())
      return fmt::format("its task '{}' has a device of its node, which nobody could give back to it", name);
  }
  return {};
}

std::string why_no_room(const Tables& tables, const model::Allocation& allocation, const std::set<std::string>& with) {
  const auto node = tables.find_node(allocation.node_id);
  if (!node) return "its node is not known any more";
  const auto once_awake = [](model::Allocation row) {
    row.sleep.reset();
    return row;
  };
  const auto awake = once_awake(allocation);
  scheduler::Amount used;
  for (const auto& other : tables.allocations_on_node(node->id)) {
    if (other->terminal() || other->id == allocation.id) continue;
    const bool wakes = with.contains(other->id);
    if ((wakes || !other->sleeps()) && exclude_each_other(awake, *other))
      return fmt::format("{} has a core that it has", brief(*other));
    const auto amount = scheduler::amount_of(wakes ? once_awake(*other) : *other);
    used.cpu += amount.cpu;
    used.memory_mb += amount.memory_mb;
  }
  const auto has = scheduler::capacity_of(*node);
  const auto needs = scheduler::amount_of(awake);
  if (used.memory_mb + needs.memory_mb > has.memory_mb)
    return fmt::format("it needs {} MiB of memory, and {} has {} free", needs.memory_mb, node->name,
                       std::max<std::int64_t>(has.memory_mb - used.memory_mb, 0));
  if (used.cpu + needs.cpu > has.cpu)
    return fmt::format("it needs {} MHz, and {} has {} free", needs.cpu, node->name,
                       std::max<std::int64_t>(has.cpu - used.cpu, 0));
  return {};
}

Decision<Nothing> decide(const Tables& tables, const SleepAllocation& request, const Context& context) {
  const auto current = get_allocation(tables, request.id);
  if (current->sleep && current->sleep->wanted) return {};
  const bool ends = current->terminal() && !is_leaving(*current);
  if (ends || current->client_status != model::ClientStatus::running)
    throw Error(Code::conflict, fmt::format("{} cannot sleep", brief(*current)))
        .because(current->server_terminal() ? "it is not wanted any more"
                                            : fmt::format("it is {}", describe::spell(current->client_status)));
  if (auto why = why_not_asleep(*current); !why.empty())
    throw Error(Code::unsupported, fmt::format("{} cannot sleep", brief(*current))).because(std::move(why));
  return wish(*current, true, context);
}

Decision<Nothing> decide(const Tables& tables, const WakeAllocation& request, const Context& context) {
  const auto current = get_allocation(tables, request.id);
  if (!current->sleep || !current->sleep->wanted) return {};
  // One that is still on its way to sleep has all that it needs.
  const auto lacks = current->sleeps() ? why_no_room(tables, *current) : std::string();
  if (!lacks.empty())
    throw Error(Code::exhausted, fmt::format("{} cannot be woken", brief(*current)))
        .because(lacks)
        .advise("stop what has its room, or put that to sleep");
  return wish(*current, false, context);
}

}  // namespace underway::server

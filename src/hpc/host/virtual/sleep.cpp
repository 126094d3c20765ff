#include "host/virtual/sleep.hpp"

#include "base/text.hpp"
#include "server/node/move_decisions.hpp"
#include "server/node/sleep_decisions.hpp"
#include "tables/slurm_members.hpp"

namespace underway::host {
namespace {

bool goes(const model::Host& host) {
  return host.status == model::HostStatus::stopping || host.status == model::HostStatus::stopped;
}

tables::Row<model::Host> get_host(const tables::Tables& tables, const std::string& cluster, const std::string& name) {
  auto found = tables.find_host(cluster, name);
  if (!found)
    throw Error(Code::not_found, fmt::format("cluster '{}' has no host '{}'", cluster, name))
        .advise("`underway status` lists them");
  return found;
}

server::Decision<server::Nothing> wish(const model::Host& current, std::string why, const server::Context& context) {
  model::Host host = current;
  host.sleep = std::move(why);
  host.sleeps_to_move = false;
  host.sleep_since = std::max(unix_nanos(context.now), host.sleep_since + 1);
  server::Decision<server::Nothing> decision;
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

/// Slurm has nothing there that would not sleep with it, or does not care.
bool may_sleep(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host) {
  const auto* pool = cluster.find_pool(host.pool);
  if (pool == nullptr || !pool->slurm) return true;
  const auto member = tables::find_record<model::SlurmMember>(tables, host.cluster + "/" + host.name);
  return member && member->status == model::SlurmMembership::resting;
}

}  // namespace

tables::Row<model::Allocation> machine_of(const tables::Tables& tables, const model::Host& host) {
  tables::Row<model::Allocation> newest;
  for (const auto& row :
       tables.allocations_of_job(model::kDefaultNamespace, model::pool_job_id(host.cluster, host.pool))) {
    if (row->group != host.name || row->terminal()) continue;
    if (!newest || newest->create_index < row->create_index) newest = row;
  }
  return newest;
}

std::optional<MachineMove> move_of(const tables::Tables& tables, const model::Host& host) {
  for (const auto& row :
       tables.allocations_of_job(model::kDefaultNamespace, model::pool_job_id(host.cluster, host.pool))) {
    if (row->group == host.name && server::is_leaving(*row))
      return MachineMove{row, server::destination_of(tables, *row)};
  }
  return std::nullopt;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const SleepHost& request,
                                         const server::Context& context) {
  const auto current = get_host(tables, request.cluster, request.name);
  if (!current->sleep.empty()) return {};
  Error error(Code::conflict, fmt::format("host '{}' cannot sleep", request.name));
  if (current->provider != "qemu")
    throw Error(Code::unsupported, error.message())
        .because(fmt::format("its provider is '{}': only virtual machines can", current->provider));
  if (goes(*current)) throw error.because("it is to go");
  const auto machine = machine_of(tables, *current);
  if (!machine || machine->client_status != model::ClientStatus::running)
    throw error.because(current->status_description.empty() ? "its machine does not run" : current->status_description);
  return wish(*current, request.why.empty() ? "it was asked for" : request.why, context);
}

namespace {

/// Until its machine runs there, everything is as while it sleeps.
server::Decision<server::Nothing> wake_elsewhere(const tables::Tables& tables, const model::Host& current,
                                                 const model::Allocation& machine, const std::string& to_node,
                                                 const server::Context& context) {
  auto decision =
      server::decide(tables, server::MoveAllocation{.id = machine.id, .to_node = to_node, .wake = true}, context);
  model::Host host = current;
  host.sleeps_to_move = true;
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

}  // namespace

server::Decision<server::Nothing> decide(const tables::Tables& tables, const WakeHost& request,
                                         const server::Context& context) {
  const auto current = get_host(tables, request.cluster, request.name);
  if (current->sleep.empty()) return {};
  const auto machine = machine_of(tables, *current);
  if (!request.to_node.empty() && machine && machine->sleeps() && machine->node_id != request.to_node)
    return wake_elsewhere(tables, *current, *machine, request.to_node, context);
  const auto lacks = machine && machine->sleeps() ? server::why_no_room(tables, *machine) : std::string();
  if (!lacks.empty())
    throw Error(Code::exhausted, fmt::format("host '{}' cannot be woken", request.name))
        .because(lacks)
        .advise("have something else sleep or stop on that node: `underway node status` has what runs there");
  auto decision = wish(*current, {}, context);
  // Its room is its own from now on, before anybody else is given it.
  if (machine && machine->sleep && machine->sleep->wanted) {
    auto wake = server::decide(tables, server::WakeAllocation{machine->id}, context);
    for (auto& change : wake.changes) decision.changes.push_back(std::move(change));
  }
  return decision;
}

namespace {

SleepStep next_step_of_move(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host,
                            const MachineMove& move) {
  if (!move.to || move.to->arrival->phase != model::ArrivalPhase::ready) return {};
  if (host.sleep.empty()) return {SleepStep::Kind::depart, move.from->id};
  const bool asked = move.from->sleep && move.from->sleep->wanted;
  if (asked || !may_sleep(tables, cluster, host)) return {};
  return {SleepStep::Kind::sleep, move.from->id};
}

}  // namespace

SleepStep next_sleep_step(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host) {
  if (const auto move = move_of(tables, host)) return next_step_of_move(tables, cluster, host, *move);
  const auto machine = machine_of(tables, host);
  if (!machine || machine->awaits_machines()) return {};
  const bool marked = machine->transition.with_machines;
  if (host.sleeps_to_move && !marked) return {SleepStep::Kind::arrive, machine->id};
  const auto asked = machine->sleep.value_or(model::AllocSleep());
  const bool wanted = !host.sleep.empty() && !goes(host);
  if (!wanted) return asked.wanted ? SleepStep{SleepStep::Kind::wake, machine->id} : SleepStep();
  if (asked.wanted) return {};
  if (!asked.trouble.empty() && asked.since >= host.sleep_since) return {SleepStep::Kind::give_up, machine->id};
  const bool runs = machine->client_status == model::ClientStatus::running;
  return runs && may_sleep(tables, cluster, host) ? SleepStep{SleepStep::Kind::sleep, machine->id} : SleepStep();
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const DepartHost& request,
                                         const server::Context& context) {
  const auto current = tables.find_host(request.cluster, request.name);
  const auto move = current ? move_of(tables, *current) : std::nullopt;
  if (!move || !move->to || !current->sleep.empty()) return {};
  auto decision = wish(*current, fmt::format("moves to {}", move->to->node_name), context);
  std::get<tables::PutHost>(decision.changes.back()).row.sleeps_to_move = true;
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const ArriveHost& request,
                                         const server::Context& context) {
  const auto current = tables.find_host(request.cluster, request.name);
  if (!current || !current->sleeps_to_move || move_of(tables, *current)) return {};
  const auto machine = machine_of(tables, *current);
  if (!machine || machine->awaits_machines()) return {};
  if (!machine->sleep || !machine->sleep->wanted) return wish(*current, {}, context);
  // It was to go on elsewhere, and sleeps on: whoever put it to sleep decides what becomes of it.
  model::Host host = *current;
  host.sleeps_to_move = false;
  server::Decision<server::Nothing> decision;
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const GiveUpSleep& request,
                                         const server::Context& context) {
  const auto current = tables.find_host(request.cluster, request.name);
  if (!current || current->sleep.empty()) return {};
  return wish(*current, {}, context);
}

}  // namespace underway::host

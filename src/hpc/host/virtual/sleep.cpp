#include "host/virtual/sleep.hpp"

#include <set>

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

namespace {

void add(server::Decision<server::Nothing>& decision, server::Decision<server::Nothing> more) {
  for (auto& change : more.changes) decision.changes.push_back(std::move(change));
}

server::Decision<server::Nothing> put_to_sleep(const tables::Tables& tables, const model::Host& host,
                                               const std::string& why, const server::Context& context) {
  if (!host.sleep.empty()) return {};
  Error error(Code::conflict, fmt::format("host '{}' cannot sleep", host.name));
  if (host.provider != "qemu")
    throw Error(Code::unsupported, error.message())
        .because(fmt::format("its provider is '{}': only virtual machines can", host.provider));
  if (goes(host)) throw error.because("it is to go");
  const auto machine = machine_of(tables, host);
  if (!machine || machine->client_status != model::ClientStatus::running)
    throw error.because(host.status_description.empty() ? "its machine does not run" : host.status_description);
  return wish(host, why.empty() ? "it was asked for" : why, context);
}

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

server::Decision<server::Nothing> wake_in_place(const tables::Tables& tables, const model::Host& host,
                                                const server::Context& context) {
  auto decision = wish(host, {}, context);
  // Its room is its own from now on, before anybody else is given it.
  const auto machine = machine_of(tables, host);
  if (machine && machine->sleep && machine->sleep->wanted)
    add(decision, server::decide(tables, server::WakeAllocation{machine->id}, context));
  return decision;
}

/// By Slurm job that sleeps, the hosts of a cluster on which it does, and which are to sleep until they are woken.
std::map<std::string, std::vector<std::string>> sleepers_by_job(const tables::Tables& tables,
                                                                const std::string& cluster) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& host : tables.hosts(cluster)) {
    if (host->sleep.empty() || host->sleeps_to_move) continue;
    const auto member = tables::find_record<model::SlurmMember>(tables, cluster + "/" + host->name);
    if (!member) continue;
    for (const auto& job : member->suspended) out[job].push_back(host->name);
  }
  return out;
}

/// A job of which one host is awake can do nothing, and its connections do not last for ever.
void require_whole_jobs(const tables::Tables& tables, const WakeHosts& request) {
  for (const auto& [job, sleepers] : sleepers_by_job(tables, request.cluster)) {
    std::vector<std::string> named, lacking;
    for (const auto& name : sleepers) (request.hosts.contains(name) ? named : lacking).push_back(name);
    if (named.empty() || lacking.empty()) continue;
    throw Error(Code::conflict, fmt::format("{} cannot be woken alone", join_some(named, 5)))
        .because(fmt::format("the Slurm job {} sleeps on {}, too", job, join_some(lacking, 20)))
        .advise(fmt::format("name all of them: `underway host wake {} {}`", join(named, " "), join(lacking, " ")));
  }
}

/// Of those that go on where they are.
std::set<std::string> machines_in_place(const tables::Tables& tables, const WakeHosts& request) {
  std::set<std::string> out;
  for (const auto& [name, to_node] : request.hosts) {
    const auto machine = machine_of(tables, *get_host(tables, request.cluster, name));
    if (machine && machine->sleeps() && (to_node.empty() || machine->node_id == to_node)) out.insert(machine->id);
  }
  return out;
}

}  // namespace

server::Decision<server::Nothing> decide(const tables::Tables& tables, const SleepHosts& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  for (const auto& name : request.names)
    add(decision, put_to_sleep(tables, *get_host(tables, request.cluster, name), request.why, context));
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const WakeHosts& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  require_whole_jobs(tables, request);
  const auto in_place = machines_in_place(tables, request);
  for (const auto& [name, to_node] : request.hosts) {
    const auto current = get_host(tables, request.cluster, name);
    if (current->sleep.empty()) continue;
    const auto machine = machine_of(tables, *current);
    if (machine && machine->sleeps() && !in_place.contains(machine->id)) {
      add(decision, wake_elsewhere(tables, *current, *machine, to_node, context));
      continue;
    }
    const auto lacks = machine && machine->sleeps() ? server::why_no_room(tables, *machine, in_place) : std::string();
    if (!lacks.empty())
      throw Error(Code::exhausted, fmt::format("host '{}' cannot be woken", name))
          .because(lacks)
          .advise("have something else sleep or stop on that node: `underway node status` has what runs there");
    add(decision, wake_in_place(tables, *current, context));
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
  auto decision = wish(*current, {}, context);
  std::set<std::string> others, machines;
  for (const auto& [job, sleepers] : sleepers_by_job(tables, request.cluster)) {
    if (std::find(sleepers.begin(), sleepers.end(), request.name) != sleepers.end())
      others.insert(sleepers.begin(), sleepers.end());
  }
  others.erase(request.name);
  for (const auto& name : others) {
    if (const auto machine = machine_of(tables, *tables.find_host(request.cluster, name))) machines.insert(machine->id);
  }
  for (const auto& name : others) {
    const auto other = tables.find_host(request.cluster, name);
    const auto machine = machine_of(tables, *other);
    const bool has_room = !machine || !machine->sleeps() || server::why_no_room(tables, *machine, machines).empty();
    if (has_room) add(decision, wake_in_place(tables, *other, context));
  }
  return decision;
}

}  // namespace underway::host

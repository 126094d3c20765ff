#include "host/virtual/sleep.hpp"

#include "base/text.hpp"
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

server::Decision<server::Nothing> decide(const tables::Tables& tables, const WakeHost& request,
                                         const server::Context& context) {
  const auto current = get_host(tables, request.cluster, request.name);
  if (current->sleep.empty()) return {};
  const auto machine = machine_of(tables, *current);
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

SleepStep next_sleep_step(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host) {
  const auto machine = machine_of(tables, host);
  if (!machine) return {};
  const auto asked = machine->sleep.value_or(model::AllocSleep());
  const bool wanted = !host.sleep.empty() && !goes(host);
  if (!wanted) return asked.wanted ? SleepStep{SleepStep::Kind::wake, machine->id} : SleepStep();
  if (asked.wanted) return {};
  if (!asked.trouble.empty() && asked.since >= host.sleep_since) return {SleepStep::Kind::give_up, machine->id};
  const bool runs = machine->client_status == model::ClientStatus::running;
  return runs && may_sleep(tables, cluster, host) ? SleepStep{SleepStep::Kind::sleep, machine->id} : SleepStep();
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const GiveUpSleep& request,
                                         const server::Context& context) {
  const auto current = tables.find_host(request.cluster, request.name);
  if (!current || current->sleep.empty()) return {};
  return wish(*current, {}, context);
}

}  // namespace underway::host

#include "host/virtual/pool_job.hpp"

#include <boost/json/value_from.hpp>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "host/etc_files.hpp"
#include "model/elastic/promised.hpp"
#include "model/validate/first_cause.hpp"
#include "server/node/move_decisions.hpp"
#include "vm/config.hpp"

namespace underway::host {
namespace {

constexpr const char* kProvider = "qemu";
constexpr const char* kTask = "machine";
constexpr const char* kTokenFile = "/etc/underway/join-token";
/// A guest shuts down in this time, or its plug is pulled. Agents allow no more by default.
constexpr Duration kShutdown = std::chrono::seconds(30);
/// Of the seed's 64 KiB; in base64 it is a third more.
constexpr std::size_t kHostsFile = 32U << 10;

/// From the address, which nobody else on the network has: three bytes of a hash, as vm::mac_for() has them, meet among
/// some thousand machines. Locally administered, as QEMU's are.
std::string mac_of(const model::Host& host, const std::string& network) {
  const auto ip = net::parse_ip(host.addresses.at(network));
  if (!ip || ip->family() != net::Ip::Family::v4)
    return vm::mac_for(fmt::format("{}/{}", network, host.addresses.at(network)));
  const auto& bytes = ip->bytes();
  return fmt::format("52:54:{:02x}:{:02x}:{:02x}:{:02x}", bytes[0], bytes[1], bytes[2], bytes[3]);
}

std::vector<const model::Network*> networks_of(const model::Cluster& cluster, const model::Host& host) {
  std::vector<const model::Network*> out;
  for (const auto& network : cluster.networks) {
    if (host.addresses.contains(network.name)) out.push_back(&network);
  }
  return out;
}

boost::json::object block(const std::string& label, boost::json::object body) {
  return {{label, boost::json::array{std::move(body)}}};
}

boost::json::object config_of(const model::Cluster& cluster, const model::Pool& pool, const model::Host& host) {
  const auto& machine = *pool.machine;
  boost::json::object out{{"name", fmt::format("{}.{}", host.cluster, host.name)},
                          {"vcpus", pool.cpus},
                          {"memory", model::guest_memory_mb(pool)},
                          {"guest_agent", true},
                          {"instance", std::to_string(host.created_at)},
                          {"resume", "or_boot"}};
  for (const auto& [key, value] : {std::pair{"image", &machine.image},
                                   {"kernel", &machine.kernel},
                                   {"initrd", &machine.initrd},
                                   {"append", &machine.append}}) {
    if (!value->empty()) out[key] = *value;
  }
  if (machine.pin) out["pin"] = true;
  if (machine.huge_pages) out["huge_pages"] = true;
  if (machine.migrate != "auto") out["migrate"] = machine.migrate;
  if (!machine.disk.empty()) out["disk"] = boost::json::array{block("data", {{"size", machine.disk}})};
  boost::json::array networks;
  for (const auto* network : networks_of(cluster, host))
    networks.emplace_back(block(network->name, {{"mac", mac_of(host, network->name)}}));
  out["network"] = std::move(networks);
  out["cloud_init"] = boost::json::array{{{"directory", "secrets/seed"}}};
  return out;
}

model::Template seed_file(const model::Host& host, const char* name) {
  model::Template file;
  file.destination = fmt::format("secrets/seed/{}", name);
  file.data = fmt::format("{{{{ with nomadVar \"{}\" }}}}{{{{ index . \"{}\" }}}}{{{{ end }}}}",
                          seed_variable(host.cluster, host.pool, host.name), name);
  // It changes when the machine has to join anew, and is read when it boots.
  file.change_mode = model::ChangeMode::restart;
  file.perms = "0600";
  return file;
}

model::TaskGroup group_of(const model::Cluster& cluster, const model::Pool& pool, const model::Host& host) {
  model::TaskGroup group;
  group.name = host.name;
  // A machine whose guest powers off, or panics, is booted again where it is: its disk is there.
  group.restart = model::RestartPolicy{.attempts = 3,
                                       .interval = std::chrono::minutes(5),
                                       .delay = std::chrono::seconds(2),
                                       .mode = model::RestartMode::delay};
  // Never twice: while nobody knows that its node is dead, the machine may run there, with the same addresses.
  group.disconnect = model::DisconnectStrategy{.lost_after = Duration::max(),
                                               .stop_on_client_after = {},
                                               .replace = false,
                                               .reconcile = model::Reconcile::keep_original};
  model::Task task;
  task.name = kTask;
  task.driver = "qemu";
  task.config = config_of(cluster, pool, host);
  task.kill_timeout = kShutdown;
  const auto size = model::machine_size(pool);
  task.resources.cpu = size.cpu;
  if (pool.machine->pin) task.resources.cores = pool.cpus;
  task.resources.memory_mb = size.memory_mb;
  for (const auto* name : {"user-data", "meta-data", "network-config"}) task.templates.push_back(seed_file(host, name));
  group.tasks.push_back(std::move(task));
  return group;
}

/// The agent's configuration in the machine.
std::string agent_file(const model::Cluster& cluster, const model::Pool& pool, const model::Host& host,
                       const std::string& server) {
  boost::json::object client{{"enabled", true},
                             {"servers", boost::json::array{server}},
                             {"join_token_file", kTokenFile},
                             {"node_pool", pool.name},
                             {"host", host.name},
                             {"cluster", cluster.name}};
  if (pool.cpu_total_compute > 0) client["cpu_total_compute"] = pool.cpu_total_compute;
  if (pool.memory_total_mb > 0) client["memory_total_mb"] = pool.memory_total_mb;
  if (!pool.node_class.empty()) client["node_class"] = pool.node_class;
  if (!pool.meta.empty()) client["meta"] = boost::json::value_from(pool.meta);
  const boost::json::object all{{"data_dir", "/var/lib/underway"},
                                {"name", host.name},
                                {"datacenter", cluster.datacenter},
                                {"client", std::move(client)},
                                {"plugin", {{"raw_exec", {{"config", {{"enabled", true}}}}}}}};
  return serialize(all) + "\n";
}

}  // namespace

bool is_held(const model::Host& host) {
  return host.provider == kProvider &&
         (host.status == model::HostStatus::creating || host.status == model::HostStatus::running);
}

std::string seed_variable(const std::string& cluster, const std::string& pool, const std::string& host) {
  return fmt::format("nomad/jobs/{}/{}", model::pool_job_id(cluster, pool), host);
}

std::optional<model::Job> pool_job(const model::Cluster& cluster, const model::Pool& pool,
                                   const std::vector<model::Host>& hosts) {
  if (hosts.empty()) return std::nullopt;
  model::Job job;
  job.id = model::pool_job_id(cluster.name, pool.name);
  job.type = model::JobType::service;
  // Below what the cluster cannot be without, above what runs on it; room that was made for a host is not another's.
  job.priority = pool.elastic && pool.elastic->urgent ? 80 : 75;
  job.datacenters = {cluster.datacenter};
  job.node_pool = pool.machine->on;
  job.constraints = pool.machine->constraints;
  job.affinities = pool.machine->affinities;
  job.spreads = pool.machine->spreads;
  // Each machine is a group of its own.
  for (auto& spread : job.spreads) spread.across_groups = true;
  for (const auto& host : hosts) job.groups.push_back(group_of(cluster, pool, host));
  job.canonicalize();
  return job;
}

std::set<std::string> keep_made(model::Job& job, const model::Job& current, const model::Pool& pool,
                                const std::vector<model::Host>& hosts) {
  std::set<std::string> other;
  if (!pool.slurm || current.stop) return other;
  for (const auto& host : hosts) {
    const auto* made = current.find_group(host.name);
    if (made == nullptr || host.status == model::HostStatus::pending) continue;
    const auto group =
        std::find_if(job.groups.begin(), job.groups.end(), [&](const auto& it) { return it.name == host.name; });
    if (group == job.groups.end() || underway::json::to_value(*group) == underway::json::to_value(*made)) continue;
    *group = *made;
    other.insert(host.name);
  }
  return other;
}

guest::Seed host_seed(const model::Cluster& cluster, const model::Pool& pool, const model::Host& host,
                      const AgentSeed& agent) {
  guest::Seed seed;
  seed.hostname = host.name;
  seed.instance = fmt::format("{}.{}-{}", host.cluster, host.name, hex(crypto::sha256(agent.join_token)).substr(0, 12));
  const auto spec = cluster_spec(cluster);
  const auto addresses = host_spec(cluster, host).addresses;
  for (const auto* network : networks_of(cluster, host)) {
    guest::SeedLink link;
    link.mac = mac_of(host, network->name);
    link.addresses = {addresses.at(network->name)};
    for (const auto& known : spec.networks) {
      if (known.name == network->name && known.nat) link.gateway = known.gateway.value_or(known.cidr.host(1));
    }
    seed.links.push_back(std::move(link));
  }
  if (!agent.hosts_file.empty()) {
    std::string own;
    for (const auto& [network, address] : addresses)
      own += fmt::format("{} {}\n", net::to_string(address.ip), host.name);
    seed.files.push_back({"/etc/hosts", agent.hosts_file + own});
  }
  seed.files.push_back({"/etc/underway/agent.json", agent_file(cluster, pool, host, agent.server), 0600});
  seed.files.push_back({kTokenFile, agent.join_token + "\n", 0600});
  // Images with systemd and the package; ours start the agent by themselves.
  seed.commands.push_back(
      {"/bin/sh", "-c", "command -v systemctl >/dev/null && systemctl enable --now underway; true"});
  return seed;
}

std::string hosts_file(const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& hosts) {
  std::vector<std::string> order;
  for (const auto& network : cluster.networks) order.push_back(network.name);
  std::vector<tables::Row<model::Host>> others;
  std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(others),
               [](const auto& host) { return host->provider != kProvider; });
  auto text = render_hosts_file(order, announcement(cluster, others));
  return text.size() > kHostsFile ? std::string() : text;
}

namespace {

std::string why_not(const model::Allocation& allocation) {
  auto out =
      fmt::format("its machine is {} on node {}", describe::spell(allocation.client_status), allocation.node_name);
  const auto task = allocation.task_states.find(kTask);
  if (task == allocation.task_states.end() || task->second.events.empty()) return out;
  // What failed, and not that it is therefore not tried again.
  const auto cause = model::cause_of(task->second);
  return out + ": " + (cause.empty() ? task->second.events.back().message : cause);
}

}  // namespace

namespace {

/// Of a host's allocations, the one that tells how its machine stands: what is wanted before what is not, the newest of
/// those.
bool tells_more(const model::Allocation& a, const model::Allocation& b) {
  return std::make_tuple(!a.terminal(), a.create_index) > std::make_tuple(!b.terminal(), b.create_index);
}

/// On its way it is as it was before, or as asleep, on the node that it leaves.
MachineState on_its_way(const model::Allocation& from, const model::Allocation* to) {
  MachineState state{.node = from.node_id, .runs = true, .gone = false};
  const bool runs_on = to != nullptr && to->arrival && to->arrival->live;
  state.asleep = !runs_on && (from.client_terminal() || (from.sleep && from.sleep->wanted && from.sleep->asleep));
  state.why = fmt::format("its machine is to go on on another node than {}{}", from.node_name,
                          to == nullptr ? ", and none has room for it" : ": " + to->node_name);
  return state;
}

MachineState state_of(const tables::Tables& tables, const model::Allocation& allocation) {
  MachineState state{.gone = false};
  if (server::is_leaving(allocation)) return on_its_way(allocation, nullptr);
  // From when it is placed until it runs where it went to.
  const bool here = allocation.arrival && allocation.arrival->phase == model::ArrivalPhase::arrived;
  const bool pending = allocation.client_status == model::ClientStatus::pending;
  if (!allocation.terminal() && (allocation.awaits_machines() || (here && pending))) {
    if (const auto from = tables.find_allocation(allocation.arrival->from)) {
      state = on_its_way(*from, &allocation);
      if (here) state.node = allocation.node_id;
      state.arrived = here;
      return state;
    }
  }
  if (!allocation.terminal()) state.node = allocation.node_id;
  state.runs = !state.node.empty() && allocation.client_status == model::ClientStatus::running;
  state.asleep = !state.node.empty() && allocation.sleeps();
  state.arrived = here;
  const auto trouble = allocation.sleep ? allocation.sleep->trouble : std::string();
  if (!state.runs)
    state.why = why_not(allocation);
  else
    state.why = trouble.empty() ? std::string() : "it could not be put to sleep, or move: " + trouble;
  return state;
}

}  // namespace

std::map<std::string, MachineState> machine_states(const tables::Tables& tables, const std::string& cluster,
                                                   const std::string& pool) {
  std::map<std::string, MachineState> out;
  std::map<std::string_view, const model::Allocation*> telling;
  std::set<std::string_view> there;
  const auto rows = tables.allocations_of_job(model::kDefaultNamespace, model::pool_job_id(cluster, pool));
  for (const auto& allocation : rows) {
    if (!allocation->client_terminal()) there.insert(allocation->group);
    auto& told = telling[allocation->group];
    if (told == nullptr || tells_more(*allocation, *told)) told = allocation.get();
  }
  for (const auto& [host, allocation] : telling) {
    // One that leaves and has no place yet says more than what was its last place.
    const auto leaving = std::find_if(rows.begin(), rows.end(),
                                      [&](const auto& row) { return row->group == host && server::is_leaving(*row); });
    auto& state = out[std::string(host)];
    state = state_of(tables, allocation->terminal() && leaving != rows.end() ? **leaving : *allocation);
    state.gone = !there.contains(host);
  }
  return out;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const MachinePrepared& request,
                                         const server::Context&) {
  server::Decision<server::Nothing> decision;
  const auto current = tables.find_host(request.cluster, request.name);
  if (!current || current->status != model::HostStatus::pending) return decision;
  model::Host host = *current;
  host.status = model::HostStatus::creating;
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const RecordMachines& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  const auto machines = machine_states(tables, request.cluster, request.pool);
  for (const auto& current : tables.hosts(request.cluster)) {
    if (current->pool != request.pool) continue;
    const auto found = machines.find(current->name);
    const auto machine = found == machines.end() ? MachineState() : found->second;
    model::Host host = *current;
    host.asleep = machine.asleep;
    if (!is_held(*current)) {
      if (host.asleep != current->asleep) decision.changes.push_back(tables::PutHost{std::move(host)});
      continue;
    }
    host.status = machine.runs ? model::HostStatus::running : model::HostStatus::creating;
    host.status_description = machine.why;
    if (machine.runs && request.outdated.contains(host.name))
      host.status_description = "its machine is as it was declared before; what is declared now is for one made anew";
    if (!machine.node.empty()) host.machine_node = machine.node;
    if (!current->machine_node.empty() && host.machine_node != current->machine_node && !machine.arrived) {
      forget_node(decision.changes, tables, host.cluster, host.name, context);
      host.status = model::HostStatus::pending;
      host.status_description = "its machine is made anew on another node, with an empty disk";
      host.node_id.clear();
      host.sleep.clear();
    }
    if (host.status != current->status || host.asleep != current->asleep ||
        host.status_description != current->status_description || host.machine_node != current->machine_node)
      decision.changes.push_back(tables::PutHost{std::move(host)});
  }
  return decision;
}

}  // namespace underway::host

#include "machines/render.hpp"

#include <bit>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "guest/seed.hpp"
#include "machines/scripts.hpp"
#include "model/node/node_pool.hpp"

namespace underway::machines {
namespace {

constexpr const char* kJobKey = "slurm_job";
constexpr const char* kStartedKey = "slurm_job_started";
constexpr const char* kClusterKey = "cluster";
constexpr const char* kSetKey = "machines";
constexpr const char* kNetworkKey = "network";
constexpr const char* kDevicesKey = "host_devices";
constexpr const char* kNodesKey = "nodes";

/// VXLAN's number of the network has 24 bits. Of two jobs that would have the same, one ended 16 million jobs ago.
std::uint32_t network_number(const std::string& slurm_job) {
  return 1 + static_cast<std::uint32_t>(parse_number<std::uint64_t>(slurm_job).value_or(0) % 0xffffffU);
}

model::Task script(const std::string& name, model::LifecycleHook hook, const char* text, boost::json::array words) {
  model::Task task;
  task.name = name;
  task.driver = "raw_exec";
  task.user = "root";
  task.lifecycle = model::Lifecycle{.hook = hook};
  boost::json::array args{"-c", text, "sh"};
  for (auto& word : words) args.push_back(std::move(word));
  task.config = boost::json::object{{"command", "/bin/sh"}, {"args", std::move(args)}};
  task.resources.cpu = 10;
  task.resources.memory_mb = 16;
  return task;
}

boost::json::object cloud_init(const Order& order, std::size_t number, const net::Cidr& address) {
  guest::Seed seed;
  seed.hostname = machine_name(number);
  seed.instance = fmt::format("{}-{}-{}-{}", order.cluster, order.slurm_job, order.started, seed.hostname);
  seed.links.push_back(
      {.mac = machine_mac(address), .name = {}, .addresses = {address}, .gateway = {}, .nameservers = {}});
  seed.files.push_back({"/etc/hosts", "127.0.0.1 localhost\n" + hosts_text(order)});
  const auto files = guest::render(seed);
  return {{"user_data", files.at("user-data")},
          {"meta_data", files.at("meta-data")},
          {"network_config", files.at("network-config")}};
}

boost::json::object block(const std::string& label, boost::json::object body) {
  return {{label, boost::json::array{std::move(body)}}};
}

model::Task machine(const Order& order, std::size_t number, bool has_devices) {
  const auto& set = order.set;
  const auto address = machine_address(order.network, number);
  boost::json::object config{{"vcpus", set.cpus}, {"memory", set.memory_mb}, {"graceful_shutdown", false}};
  for (const auto& [key, value] :
       {std::pair{"image", &set.image}, {"kernel", &set.kernel}, {"initrd", &set.initrd}, {"append", &set.append}}) {
    if (!value->empty()) config[key] = *value;
  }
  if (!set.disk.empty()) config["disk"] = boost::json::array{block("data", {{"size", set.disk}})};
  config["network"] =
      boost::json::array{block("job", {{"bridge", "uwj" + order.slurm_job}, {"mac", machine_mac(address)}})};
  config["cloud_init"] = boost::json::array{cloud_init(order, number, address)};
  if (set.shared_memory_mb > 0)
    config["shared_memory"] = boost::json::array{block("slurm-" + order.slurm_job, {{"memory", set.shared_memory_mb}})};
  if (has_devices) {
    boost::json::array devices;
    for (const auto& device : set.host_devices) devices.emplace_back(device);
    config["host_devices"] = std::move(devices);
  }
  // By this the node's scripts know which processes are of the job, and guests which job they are of.
  config["args"] = boost::json::array{"-fw_cfg", fmt::format("name=opt/underway/slurm-job,string={}", order.slurm_job)};
  model::Task task;
  task.name = machine_name(number);
  task.driver = "qemu";
  task.config = std::move(config);
  task.resources.cpu = model::kMachineMhzPerCpu * set.cpus;
  task.resources.memory_mb = set.memory_mb + model::kQemuMb;
  return task;
}

model::TaskGroup group_of(const Order& order, std::size_t position) {
  const auto& node = order.nodes[position];
  model::TaskGroup group;
  group.name = node.name;
  group.constraints.push_back({.ltarget = "${node.unique.id}", .operand = "=", .rtarget = node.node_id});
  // What ends is not begun again: the Slurm job would go on with a machine that has forgotten what it was told.
  group.restart = model::RestartPolicy{.attempts = 0, .interval = std::chrono::minutes(5)};
  group.reschedule = model::RescheduleStrategy{.attempts = 0, .interval = Duration{0}, .unlimited = false};
  // While its agent is silent the machines may run on, and so may the Slurm job.
  group.disconnect = model::DisconnectStrategy{.lost_after = Duration::max(),
                                               .stop_on_client_after = {},
                                               .replace = false,
                                               .reconcile = model::Reconcile::keep_original};
  boost::json::array network{order.slurm_job, net::to_string(node_address(order.network, position))};
  if (order.nodes.size() > 1) {
    network.emplace_back(std::to_string(network_number(order.slurm_job)));
    network.emplace_back(node.address);
    for (const auto& other : order.nodes) {
      if (other.name != node.name) network.emplace_back(other.address);
    }
  }
  group.tasks.push_back(script("network", model::LifecycleHook::prestart, kMakeNetwork, std::move(network)));
  boost::json::array here{order.slurm_job, hosts_text(order)};
  for (std::int64_t i = 0; i < order.per_node; ++i) {
    const auto number = position * static_cast<std::size_t>(order.per_node) + static_cast<std::size_t>(i) + 1;
    group.tasks.push_back(machine(order, number, i == 0 && !order.set.host_devices.empty()));
    const auto address = machine_address(order.network, number);
    here.emplace_back(net::to_string(address.ip));
    here.emplace_back(machine_mac(address));
  }
  group.tasks.push_back(script(kReadyTask, model::LifecycleHook::poststart, kTellReady, std::move(here)));
  group.tasks.push_back(script("clear", model::LifecycleHook::poststop, kClear, {order.slurm_job}));
  return group;
}

}  // namespace

std::uint32_t addresses_for(std::size_t nodes, std::int64_t per_node) {
  // The first and the last are the network's own.
  const auto needed = nodes * static_cast<std::size_t>(per_node) + nodes + 2;
  return std::bit_ceil(static_cast<std::uint32_t>(needed));
}

std::string machine_name(std::size_t number) { return fmt::format("m{}", number); }

net::Cidr machine_address(const net::Cidr& network, std::size_t number) {
  return {network.host(number), network.prefix};
}

net::Cidr node_address(const net::Cidr& network, std::size_t position) {
  return {network.host(network.usable_hosts() - position), network.prefix};
}

std::string machine_mac(const net::Cidr& address) {
  const auto& bytes = address.ip.bytes();
  return fmt::format("52:54:{:02x}:{:02x}:{:02x}:{:02x}", bytes[0], bytes[1], bytes[2], bytes[3]);
}

std::string hosts_text(const Order& order) {
  std::string out;
  const auto count = order.nodes.size() * static_cast<std::size_t>(order.per_node);
  for (std::size_t number = 1; number <= count; ++number)
    out += fmt::format("{} {}\n", net::to_string(machine_address(order.network, number).ip), machine_name(number));
  return out;
}

model::Job render(const Order& order) {
  model::Job job;
  job.id = model::slurm_machines_job_id(order.cluster, order.slurm_job);
  job.type = model::JobType::batch;
  // As the hosts of a pool: Slurm has given the room away already.
  job.priority = 75;
  job.datacenters = {order.datacenter};
  job.node_pool = model::kEveryNodePool;
  std::vector<std::string> nodes;
  for (const auto& node : order.nodes) nodes.push_back(node.node_id);
  job.meta = {{kClusterKey, order.cluster},
              {kJobKey, order.slurm_job},
              {kStartedKey, std::to_string(order.started)},
              {kSetKey, order.set.name},
              {kNetworkKey, net::to_string(order.network)},
              {kNodesKey, join(nodes, ",")},
              {kDevicesKey, join(order.set.host_devices, ",")}};
  for (std::size_t position = 0; position < order.nodes.size(); ++position)
    job.groups.push_back(group_of(order, position));
  job.canonicalize();
  return job;
}

std::optional<Held> read_held(const model::Job& job) {
  const auto said = [&](const char* key) {
    const auto found = job.meta.find(key);
    return found == job.meta.end() ? std::string() : found->second;
  };
  Held out{.job = job.id, .cluster = said(kClusterKey), .slurm_job = said(kJobKey), .set = said(kSetKey)};
  if (out.slurm_job.empty() || job.id != model::slurm_machines_job_id(out.cluster, out.slurm_job)) return std::nullopt;
  out.started = parse_number<std::int64_t>(said(kStartedKey)).value_or(0);
  out.network = net::parse_cidr(said(kNetworkKey));
  out.devices = split_list(said(kDevicesKey));
  out.nodes = split_list(said(kNodesKey));
  out.stops = job.stop;
  return out;
}

}  // namespace underway::machines

#include "model/cluster.hpp"

#include <set>

#include "model/access/variable.hpp"
#include "model/elastic/growth.hpp"
#include "model/elastic/promised.hpp"
#include "model/validate/validate.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

std::vector<std::string> numbered(const Pool& pool, std::int64_t count) {
  // One that may grow has numbers from the first host on.
  const bool alone = pool.size == 1 && !pool.slurm;
  const std::string pattern = pool.hostname.empty() ? (alone ? pool.name : pool.name + "%d") : pool.hostname;
  const std::size_t place = pattern.find("%d");
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= count; ++i) {
    std::string host = pattern;
    if (place != std::string::npos) host.replace(place, 2, std::to_string(i));
    names.push_back(std::move(host));
  }
  return names;
}

}  // namespace

std::vector<std::string> Pool::host_names() const { return numbered(*this, size); }

std::vector<std::string> Pool::all_host_names() const {
  return numbered(*this, slurm ? std::max(size, slurm->most) : size);
}

const Pool* Cluster::find_pool(std::string_view pool_name) const {
  for (const auto& pool : pools) {
    if (pool.name == pool_name) return &pool;
  }
  return nullptr;
}

const MachineSet* Cluster::find_machines(std::string_view set_name) const {
  const auto found =
      std::find_if(machines.begin(), machines.end(), [&](const auto& set) { return set.name == set_name; });
  return found == machines.end() ? nullptr : &*found;
}

std::string pool_job_id(const std::string& cluster, const std::string& pool) {
  return fmt::format("{}-{}-hosts", cluster, pool);
}

std::string slurm_machines_job_id(const std::string& cluster, const std::string& slurm_job) {
  return fmt::format("{}-slurm-{}", cluster, slurm_job);
}

namespace {

/// RFC 1123: letters, digits and hyphens, not at the ends, at most 63.
bool is_hostname(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") ==
         std::string_view::npos;
}

void check_provider(const Cluster& cluster, const Pool& pool, std::vector<std::string>& out) {
  const auto say = [&](const std::string& what) { out.push_back(fmt::format("pool '{}': {}", pool.name, what)); };
  if (pool.provider != "local" && pool.provider != "qemu") {
    say(fmt::format("no provider '{}'; there are local and qemu", pool.provider));
    return;
  }
  if (pool.provider != "qemu") {
    if (pool.machine) say("a `machine` is for provider \"qemu\"");
    return;
  }
  if (!pool.machine) {
    say("provider \"qemu\" needs a block `machine`, which says what is booted, and on which pool's nodes");
    return;
  }
  const auto& machine = *pool.machine;
  if (machine.migrate != "auto" && machine.migrate != "live" && machine.migrate != "stop")
    say(fmt::format("machine.migrate: '{}' is none of auto, live and stop", machine.migrate));
  if (machine.image.empty() && machine.kernel.empty()) say("its machine has neither an `image` nor a `kernel`");
  for (const auto& [key, path] :
       {std::pair{"image", &machine.image}, {"kernel", &machine.kernel}, {"initrd", &machine.initrd}}) {
    if (!path->empty() && !path->starts_with('/')) say(fmt::format("machine.{}: '{}' is no absolute path", key, *path));
  }
  if (pool.cpus <= 0 || pool.memory_mb <= 0) say("a virtual machine has `cpus` and `memory`");
  if (machine.cpu < 0) say("machine.cpu: is less than 0");
  for (const auto& wrong : validate_placement(machine.constraints, machine.affinities, machine.spreads))
    say("machine: " + wrong.message);
  const auto* under = cluster.find_pool(machine.on);
  if (machine.on.empty())
    say("machine.on: which node pool holds the machines?");
  else if (under != nullptr && under->provider == "qemu")
    say(fmt::format("machine.on: '{}' is a pool of virtual machines itself", machine.on));
  else if (under != nullptr && !under->bridges)
    say(fmt::format("machine.on: pool '{}' has no `bridges`, which the machines join", machine.on));
  if (pool.bridges) say("`bridges` are for hosts that hold others");
}

/// Slurm asks for nodes that have State=CLOUD alone, and keeps a job off those alone that it knows before they come.
/// All pools of a cluster join it in the same way.
void check_join(const Cluster& cluster, const std::string& where, std::string_view what,
                std::vector<std::string>& out) {
  for (const auto& pool : cluster.pools) {
    if (pool.slurm && pool.slurm->join == "dynamic")
      out.push_back(
          fmt::format("{}: {} needs pools that join as cloud, and pool '{}' has join = \"dynamic\": write \"cloud\", "
                      "or \"auto\"",
                      where, what, pool.name));
  }
}

/// Of a pool whose hosts are taken back at any time.
void check_opportunistic(const Cluster& cluster, const Pool& pool, const std::string& where,
                         std::vector<std::string>& out) {
  const auto say = [&](std::string_view with, std::string_view why) {
    out.push_back(fmt::format("{}: opportunistic, {}: {}", where, with, why));
  };
  if (pool.elastic->urgent) say("urgent", "who cannot wait has to be sure of its hosts");
  if (pool.elastic->yields) say("yields", "its hosts go when others need the room, and do not sleep");
  if (pool.elastic->asked_by == AskedBy::slurm)
    say("asked_by", "Slurm would ask for hosts again that were just taken back");
  if (pool.size > 0)
    say(fmt::format("size = {}", pool.size), "hosts that are always there are not taken back: write size = 0");
  check_join(cluster, where, "opportunistic", out);
}

/// Who has reserved hosts is sure of them.
void check_reservations(const Pool& pool, const std::string& where, std::vector<std::string>& out) {
  const auto& elastic = *pool.elastic;
  if (elastic.reservations.empty()) return;
  const auto say = [&](std::string_view with, std::string_view why) {
    out.push_back(fmt::format("{}: reservation, {}: {}", where, with, why));
  };
  if (elastic.asked_by == AskedBy::slurm)
    say("asked_by", "hosts of a pool that Slurm asks for come when Slurm says so");
  if (elastic.opportunistic) say("opportunistic", "its hosts are taken back at any time");
  if (elastic.yields) say("yields", "its hosts sleep when others need the room: reserve hosts of an urgent pool");
  const auto wrong = problems(elastic.reservations, std::max(pool.size, pool.slurm ? pool.slurm->most : 0), where);
  out.insert(out.end(), wrong.begin(), wrong.end());
}

void check_pool(const Cluster& cluster, const Pool& pool, std::set<std::string>& taken, std::vector<std::string>& out) {
  if (pool.size < 0 || pool.size > 10'000)
    out.push_back(fmt::format("pool '{}': size {} is not between 0 and 10000", pool.name, pool.size));
  if (pool.size > 1 && !pool.hostname.empty() && pool.hostname.find("%d") == std::string::npos) {
    out.push_back(fmt::format("pool '{}': hostname '{}' needs a %d, as the pool has {} hosts", pool.name, pool.hostname,
                              pool.size));
    return;
  }
  if (pool.cpu_total_compute < 0 || pool.memory_total_mb < 0)
    out.push_back(fmt::format("pool '{}': cpu_total_compute and memory_total_mb are not negative", pool.name));
  if (pool.size < 0 || pool.size > 10'000) return;
  if (pool.slurm) {
    const auto wrong = pool.slurm->problems(fmt::format("pool '{}': slurm", pool.name), pool.size, pool.hostname);
    out.insert(out.end(), wrong.begin(), wrong.end());
    if (pool.slurm->most > 10'000) return;
  }
  if (pool.elastic) {
    const auto where = fmt::format("pool '{}': elastic", pool.name);
    if (pool.cpus <= 0 || pool.memory_mb <= 0)
      out.push_back(
          fmt::format("{}: the pool needs `cpus` and `memory`, to which what jobs ask for is compared", where));
    const auto wrong = pool.elastic->problems(where);
    out.insert(out.end(), wrong.begin(), wrong.end());
    // The simulator has these. A site that writes one here counts on it.
    if (pool.elastic->opportunistic) check_opportunistic(cluster, pool, where, out);
    if ((pool.elastic->urgent || pool.elastic->yields) && pool.provider != "qemu")
      out.push_back(where + ": urgent, yields: its hosts are no virtual machines, which alone can sleep");
    if (pool.elastic->yields && pool.elastic->asked_by == AskedBy::slurm)
      out.push_back(where + ": yields, asked_by: Slurm would power down who sleeps");
    if (pool.elastic->urgent && pool.elastic->yields)
      out.push_back(where + ": urgent, yields: one that yields has nobody sleep");
    if (pool.elastic->is_for_some() && pool.elastic->asked_by == AskedBy::slurm)
      out.push_back(where + ": owner, qos, up_to_nodes, asked_by: a pool that Slurm asks for is left to Slurm");
    check_reservations(pool, where, out);
    if (!pool.slurm || pool.slurm->most <= pool.size)
      out.push_back(
          fmt::format("{}: it grows up to `slurm.most`, which has to be more than its size, {}: slurm {{ most = "
                      "{} }}",
                      where, pool.size, pool.size + 8));
    if (asked_by_slurm(pool)) check_join(cluster, where, "asked_by = \"slurm\"", out);
  }
  for (const auto& host : pool.all_host_names()) {
    if (!is_hostname(host))
      out.push_back(fmt::format("pool '{}': '{}' is no valid host name", pool.name, host));
    else if (!taken.insert(host).second)
      out.push_back(fmt::format("pool '{}': host '{}' is already in another pool", pool.name, host));
  }
  check_provider(cluster, pool, out);
  for (const auto& used : pool.networks) {
    const bool known =
        std::any_of(cluster.networks.begin(), cluster.networks.end(), [&](const Network& n) { return n.name == used; });
    if (!known) out.push_back(fmt::format("pool '{}': network '{}' is not declared", pool.name, used));
  }
}

}  // namespace

namespace {

void check_secret(const SecretDeclaration& secret, std::vector<std::string>& out) {
  const auto say = [&](const std::string& what) { out.push_back(fmt::format("secret '{}': {}", secret.path, what)); };
  if (const auto wrong = path_problem(secret.path); !wrong.empty()) say(wrong);
  if (secret.generate.empty()) say("it generates nothing");
  std::set<std::string> names;
  for (const auto& item : secret.generate) {
    if (item.name.empty()) say("an item has no name");
    if (!names.insert(item.name).second) say(fmt::format("'{}' is declared twice", item.name));
    if (item.bytes < 16 || item.bytes > 4096)
      say(fmt::format("'{}': bytes {} is not between 16 and 4096", item.name, item.bytes));
    if (item.encoding != "base64" && item.encoding != "base64url" && item.encoding != "hex")
      say(fmt::format("'{}': encoding '{}' is none of base64, base64url, hex", item.name, item.encoding));
  }
}

}  // namespace

namespace {

/// A site that writes one here counts on it.
void check_promises(const Cluster& cluster, std::vector<std::string>& out) {
  const auto any = [&](bool PoolElastic::* what) {
    return std::any_of(cluster.pools.begin(), cluster.pools.end(),
                       [&](const auto& pool) { return pool.elastic && (*pool.elastic).*what; });
  };
  const Promises& given = cluster.elastic->promises;
  const Promises otherwise;
  const bool of_sleep = given.max_suspensions != otherwise.max_suspensions || given.max_asleep != otherwise.max_asleep;
  if (of_sleep && !any(&PoolElastic::yields))
    out.emplace_back("elastic: promises: no pool yields, so nobody is put to sleep");
  if (given.notice != otherwise.notice && !any(&PoolElastic::opportunistic))
    out.emplace_back("elastic: promises: notice: no pool is opportunistic, so nothing is taken back");
}

}  // namespace

std::vector<std::string> problems(const Cluster& cluster) {
  std::vector<std::string> out;
  if (!is_hostname(cluster.name))
    out.push_back(fmt::format("cluster '{}': the name must be of letters, digits and hyphens", cluster.name));
  if (cluster.networks.empty()) out.push_back(fmt::format("cluster '{}' declares no network", cluster.name));
  if (cluster.pools.empty()) out.push_back(fmt::format("cluster '{}' declares no pool", cluster.name));
  std::set<std::string> networks, pools, hosts;
  std::map<std::string, std::string> reserved;  // by name: the pool. Slurm has one of each
  for (const auto& network : cluster.networks) {
    if (!networks.insert(network.name).second)
      out.push_back(fmt::format("network '{}' is declared twice", network.name));
  }
  for (const auto& pool : cluster.pools) {
    if (!pools.insert(pool.name).second) out.push_back(fmt::format("pool '{}' is declared twice", pool.name));
    check_pool(cluster, pool, hosts, out);
    for (const auto& it : pool.elastic ? pool.elastic->reservations : std::vector<HostReservation>()) {
      const auto [other, fresh] = reserved.emplace(it.name, pool.name);
      if (!fresh && other->second != pool.name)
        out.push_back(fmt::format("pool '{}': elastic: reservation '{}': pool '{}' has one of this name", pool.name,
                                  it.name, other->second));
    }
  }
  for (auto& broken : broken_promises(cluster)) out.push_back(std::move(broken));
  std::set<std::string> sets;
  for (const auto& set : cluster.machines) {
    if (!sets.insert(set.name).second) out.push_back(fmt::format("machines '{}' are declared twice", set.name));
    for (auto& wrong : problems(set)) out.push_back(std::move(wrong));
    for (const auto& network : cluster.networks) {
      if (overlap(set.network, network.cidr))
        out.push_back(fmt::format("machines '{}': network: {} overlaps network '{}' ({})", set.name, set.network,
                                  network.name, network.cidr));
    }
  }
  if (cluster.elastic) {
    for (auto& wrong : cluster.elastic->problems()) out.push_back("elastic: " + std::move(wrong));
    check_promises(cluster, out);
    const bool any = std::any_of(cluster.pools.begin(), cluster.pools.end(), [](const auto& p) { return p.elastic; });
    if (!any) out.emplace_back("elastic: no pool has a block `elastic`, so none grows");
  }
  std::set<std::string> secrets;
  for (const auto& secret : cluster.secrets) {
    check_secret(secret, out);
    if (!secrets.insert(secret.path).second) out.push_back(fmt::format("secret '{}' is declared twice", secret.path));
  }
  return out;
}

const Enumeration& description(Tag<HostStatus>) {
  static const Enumeration e = describe::enumeration<HostStatus>("host status");
  return e;
}

const Structure& description(Tag<Network>) {
  static const Structure s =
      Builder<Network>("network", "A network of the cluster; each is a bridge of its own.")
          .label<&Network::name>("name", "Name", "Its name.")
          .attribute<&Network::cidr>("cidr", "CIDR", "Its addresses, e.g. `10.77.0.0/24`.")
          .required()
          .attribute<&Network::nat>("nat", "NAT", "Whether hosts reach the outside through the machine.")
          .done();
  return s;
}

const Structure& description(Tag<HostDirectory>) {
  static const Structure s = Builder<HostDirectory>("directory", "A directory made on each host of the pool at boot.")
                                 .label<&HostDirectory::path>("path", "Path", "Where.")
                                 .attribute<&HostDirectory::owner>("owner", "Owner", "User that owns it.")
                                 .attribute<&HostDirectory::group>("group", "Group", "Group that owns it.")
                                 .attribute<&HostDirectory::mode>("mode", "Mode", "Its mode, octal.")
                                 .done();
  return s;
}

const Structure& description(Tag<Share>) {
  static const Structure s = Builder<Share>("share", "A directory that all hosts of the cluster share.")
                                 .label<&Share::path>("path", "Path", "Where it is seen on every host.")
                                 .attribute<&Share::mode>("mode", "Mode", "Its mode, octal.")
                                 .done();
  return s;
}

const Structure& description(Tag<GeneratedItem>) {
  static const Structure s =
      Builder<GeneratedItem>("generate", "An item of random bytes, made once.")
          .label<&GeneratedItem::name>("name", "Name", "The item's key.")
          .attribute<&GeneratedItem::bytes>("bytes", "Bytes", "How many random bytes, 16 to 4096.")
          .attribute<&GeneratedItem::encoding>("encoding", "Encoding", "`base64`, `base64url` or `hex`.")
          .done();
  return s;
}

const Structure& description(Tag<SecretDeclaration>) {
  static const Structure s =
      Builder<SecretDeclaration>("secret", "A variable that is made when it is missing, and never changed afterwards.")
          .label<&SecretDeclaration::path>("path", "Path", "Its path, e.g. `nomad/jobs/munge`.")
          .block<&SecretDeclaration::generate>("generate", "Generate", "Its items.")
          .done();
  return s;
}

const Structure& description(Tag<VirtualMachine>) {
  static const Structure s =
      Builder<VirtualMachine>("machine", "What a host of provider `qemu` is made of.")
          .attribute<&VirtualMachine::on>("on", "On",
                                          "The node pool whose nodes hold the machines. Each network of the pool is a "
                                          "bridge `br-<network>` there.")
          .attribute<&VirtualMachine::image>("image", "Image",
                                             "Its first disk: a file of those nodes, which stays as it is.")
          .attribute<&VirtualMachine::kernel>("kernel", "Kernel", "A kernel that is booted without a boot loader.")
          .attribute<&VirtualMachine::initrd>("initrd", "Initrd", "Its initial file system.")
          .attribute<&VirtualMachine::append>("append", "Append", "Its command line.")
          .attribute<&VirtualMachine::disk>("disk", "Disk",
                                            "Size of an empty disk of its own; `8G` when not given, `\"\"` for none.")
          .attribute<&VirtualMachine::cpu>("cpu", "CPU",
                                           "MHz that are reserved on its node; 500 for each processor when not given.")
          .attribute<&VirtualMachine::pin>("pin", "Pin", "Whether each processor has a core of the node for itself.")
          .attribute<&VirtualMachine::huge_pages>("huge_pages", "HugePages",
                                                  "Whether its memory is of the node's huge pages.")
          .attribute<&VirtualMachine::migrate>("migrate", "Migrate",
                                               "How it goes to another node. `auto`: while it runs, with real KVM on "
                                               "both and the same processors, else asleep; `live`: while it runs, also "
                                               "where it is translated; `stop`: asleep.")
          .block<&VirtualMachine::constraints>("constraint", "Constraints",
                                               "Which of those nodes may hold them; `distinct_hosts` and "
                                               "`distinct_property` count all machines of the pool.")
          .block<&VirtualMachine::affinities>("affinity", "Affinities", "Which of them should rather.")
          .block<&VirtualMachine::spreads>("spread", "Spreads",
                                           "Over what all machines of the pool are shared out; without any they are "
                                           "packed, so that whole nodes stay free.")
          .done();
  return s;
}

const Structure& description(Tag<Pool>) {
  static const Structure s =
      Builder<Pool>("pool", "Hosts that are alike, from one provider.")
          .label<&Pool::name>("name", "Name", "Its name; the node pool of its nodes.")
          .attribute<&Pool::provider>(
              "provider", "Provider",
              "What makes the hosts: `local`, namespaces of this machine; `qemu`, virtual machines "
              "on nodes.")
          .attribute<&Pool::size>("size", "Size",
                                  "How many hosts; of a pool with `elastic`: how many are always there.")
          .attribute<&Pool::hostname>("hostname", "Hostname", "Pattern of their names; `%d` counts from 1.")
          .attribute<&Pool::networks>("networks", "Networks", "Networks they are on; all when not given.")
          .attribute<&Pool::bridges>("bridges", "Bridges",
                                     "Whether each network is a bridge `br-<network>` on its hosts, with the host's "
                                     "own interface as a port and its address: capsules join it.")
          .attribute<&Pool::cpus>("cpus", "CPUs", "CPUs told to the batch system; 0: the machine's.")
          .attribute<&Pool::memory_mb>("memory", "MemoryMB",
                                       "Memory in MiB told to the batch system; 0: the machine's.")
          .attribute<&Pool::cpu_total_compute>("cpu_total_compute", "CPUTotalCompute",
                                               "MHz that each of its nodes has for allocations; 0: all of its "
                                               "machine, which hosts of provider `local` share.")
          .attribute<&Pool::memory_total_mb>("memory_total_mb", "MemoryTotalMB", "The same of memory, in MiB.")
          .attribute<&Pool::node_class>("node_class", "NodeClass", "`${node.class}` of their nodes.")
          .block_or_attribute<&Pool::meta>("meta", "Meta", "`${meta.…}` of their nodes.")
          .block<&Pool::directories>("directory", "Directories", "Directories made at boot.")
          .block<&Pool::machine>("machine", "Machine", "What a host of provider `qemu` is made of.")
          .block<&Pool::slurm>("slurm", "Slurm", "Has its hosts join Slurm by themselves; absent: they do not.")
          .block<&Pool::elastic>("elastic", "Elastic",
                                 "Has the pool grow and shrink as Slurm's queue asks; absent: it has `size` hosts.")
          .done();
  return s;
}

const Structure& description(Tag<Cluster>) {
  static const Structure s =
      Builder<Cluster>("cluster", "Networks, pools and jobs, declared in one directory.")
          .label<&Cluster::name>("name", "Name", "Its name.")
          .attribute<&Cluster::datacenter>("datacenter", "Datacenter", "Datacenter of its nodes.")
          .block<&Cluster::networks>("network", "Networks", "Its networks.")
          .block<&Cluster::shares>("share", "Shares", "Directories that its hosts share.")
          .block<&Cluster::directories>("directory", "Directories", "Directories made on every host at boot.")
          .block<&Cluster::secrets>("secret", "Secrets", "Variables that are made when they are missing.")
          .block<&Cluster::pools>("pool", "Pools", "Its pools.")
          .block<&Cluster::machines>("machines", "Machines", "Virtual machines that Slurm jobs may ask for.")
          .block<&Cluster::elastic>("elastic", "Elastic", "When its pools with `elastic` grow and shrink.")
          .wire<&Cluster::jobs>("Jobs", "IDs of its jobs.")
          .wire<&Cluster::stop>("Stop", "Whether it is being taken down.")
          .wire<&Cluster::directory>("Directory", "Where it was declared.")
          .wire<&Cluster::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&Cluster::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<Host>) {
  static const Structure s =
      Builder<Host>("host", "What a provider made.")
          .wire<&Host::name>("Name", "Its name; unique in its cluster.")
          .wire<&Host::cluster>("Cluster", "The cluster that it belongs to.")
          .wire<&Host::pool>("Pool", "The pool of the cluster that it belongs to.")
          .wire<&Host::provider>("Provider", "What makes it: `local` or `qemu`.")
          .wire<&Host::addresses>("Addresses", "Its addresses, by the network's name.")
          .wire<&Host::status>("Status",
                               "`pending`, `creating`, `running`, `stopping`, `failed`, or `stopped`: its machine "
                               "is gone, and its addresses are kept while Slurm has them.")
          .wire<&Host::status_description>("StatusDescription",
                                           "Why it is so, for people; empty: there is nothing to say.")
          .wire<&Host::node_id>("NodeID", "ID of the node that it became; empty: its agent has not joined yet.")
          .wire<&Host::machine_node>("MachineNode",
                                     "Of provider `qemu`: ID of the node that its machine was placed on last.")
          .wire<&Host::sleep>("Sleep", "Why its machine is to sleep; empty: it is to be awake.")
          .wire<&Host::sleep_since>("SleepSince",
                                    "Unix time in nanoseconds at which that was last asked for; 0: never.")
          .wire<&Host::sleeps_to_move>("SleepsToMove",
                                       "Whether it goes on by itself once its machine is on another node.")
          .wire<&Host::asleep>("Asleep", "Whether it sleeps: its memory is on the disk of its node.")
          .wire<&Host::created_at>("CreatedAt", "Unix time in nanoseconds at which it was asked for.")
          .wire<&Host::create_index>("CreateIndex", "Revision in which it was asked for.")
          .wire<&Host::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model

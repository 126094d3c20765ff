#include "machines/plan.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "model/validate/first_cause.hpp"

namespace underway::machines {
namespace {

std::string address_of(const model::Cluster& cluster, const model::Host& host) {
  for (const auto& network : cluster.networks) {
    if (const auto at = host.addresses.find(network.name); at != host.addresses.end()) return at->second;
  }
  return {};
}

/// Slurm jobs that we hold machines of, by their ids.
std::map<std::string_view, const Held*> held_by_job(const Facts& facts) {
  std::map<std::string_view, const Held*> out;
  for (const auto& held : facts.held) out.emplace(held.slurm_job, &held);
  return out;
}

bool is_new(const std::map<std::string_view, const Held*>& held, const SlurmJob& job) {
  return job.lives() && job.asked != Asked{} && !held.contains(job.id);
}

bool meet(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::any_of(some.begin(), some.end(),
                     [&](const auto& it) { return std::find(others.begin(), others.end(), it) != others.end(); });
}

/// Of IPv4.
std::uint64_t number_of(const net::Ip& ip) {
  const auto& bytes = ip.bytes();
  return std::uint64_t{bytes[0]} << 24 | std::uint64_t{bytes[1]} << 16 | std::uint64_t{bytes[2]} << 8 | bytes[3];
}

/// One that has ended by itself is the cause of all that follows: who waits for it to answer fails.
std::string ended_machine(const model::Allocation& allocation) {
  for (const auto& [task, state] : allocation.task_states) {
    const bool is_machine = task.size() > 1 && task.front() == 'm' && is_digit(task[1]);
    if (is_machine && state.started_at > 0 && state.successful())
      return fmt::format("{} has switched itself off: what it boots says why, to `underway alloc logs {} {}`", task,
                         allocation.id.substr(0, 8), task);
  }
  return {};
}

/// Why the machines of one node did not come up. One that ends later is its user's, who may have switched it off.
std::string trouble_of(const model::Allocation& allocation) {
  if (allocation.client_status != model::ClientStatus::failed) return {};
  const auto ready = allocation.task_states.find(kReadyTask);
  if (ready != allocation.task_states.end() && ready->second.started_at > 0 && ready->second.successful()) return {};
  const std::string what = fmt::format("its machines on {} did not come up: ", allocation.node_name);
  if (const auto ended = ended_machine(allocation); !ended.empty()) return what + ended;
  const auto cause = model::first_cause(allocation.task_states);
  return what + (cause ? fmt::format("{}: {}", cause->task, cause->text) : "their tasks failed");
}

/// The first part of the set's network that no other job has.
std::optional<net::Cidr> free_part(const net::Cidr& whole, std::uint32_t addresses,
                                   const std::vector<net::Cidr>& taken) {
  const int prefix = 32 - std::countr_zero(addresses);
  if (prefix < whole.prefix) return std::nullopt;
  const auto first = number_of(whole.network().ip);
  const auto offset = [&](const net::Ip& ip) { return std::max(number_of(ip), first) - first; };
  std::map<std::uint64_t, std::uint64_t> others;  // where each begins and ends
  for (const auto& other : taken) {
    if (other.overlaps(whole)) others[offset(other.network().ip)] = offset(other.broadcast()) + 1;
  }
  std::uint64_t at = 0;
  for (const auto& [begin, end] : others) {
    if (at + addresses <= begin) break;
    at = std::max(at, (end + addresses - 1) / addresses * addresses);
  }
  if (at + addresses > std::uint64_t{1} << (32 - whole.prefix)) return std::nullopt;
  return net::Cidr{whole.network().ip.plus(at), prefix};
}

/// Decides about one job at a time, as each takes of what there is.
class Planner {
 public:
  Planner(const Facts& facts, const std::map<std::string, Given>& given, Plan& out)
      : facts_(facts), given_(given), out_(out) {
    for (const auto& held : facts.held) {
      if (held.network) taken_.push_back(*held.network);
    }
  }

  void decide(const SlurmJob& job) {
    const auto found = given_.find(job.id);
    if (found == given_.end() && job.asked.refusal.empty()) return;
    const auto reason = look(job, found == given_.end() ? Given{} : found->second);
    if (!reason.empty()) out_.refuse.push_back({job.id, job.name, reason, nodes_});
  }

 private:
  /// Why it is refused; empty: it is not, though it may have to wait.
  std::string look(const SlurmJob& job, const Given& given) {
    nodes_.clear();
    std::vector<NodeOfJob> nodes;
    std::string stranger;
    for (const auto& name : job.nodes) {
      const auto found = facts_.nodes.find(name);
      if (found == facts_.nodes.end()) {
        stranger = name;
        continue;
      }
      nodes.push_back(found->second);
      if (!found->second.node_id.empty()) nodes_.push_back(found->second.node_id);
    }
    if (!job.asked.refusal.empty()) return job.asked.refusal;
    const auto* set = facts_.cluster.find_machines(job.asked.wish->set);
    if (set == nullptr) return undeclared(job.asked.wish->set);
    if (!stranger.empty())
      return fmt::format("its node '{}' is no host of cluster '{}'", stranger, facts_.cluster.name);
    const auto per_node = job.asked.wish->per_node > 0 ? job.asked.wish->per_node : set->per_node;
    if (given.doubtful)
      return "what it has on each node cannot be told, as its name or comment has a line that reads as Slurm's own";
    if (auto less = too_little(*set, per_node, job, given); !less.empty()) return less;
    if (given.nodes.size() < job.nodes.size()) return {};          // Slurm does not tell of all of them yet
    if (nodes.empty() || nodes_.size() < nodes.size()) return {};  // an agent has not joined yet
    if (auto leased = lease(*set); !leased.empty() || waits_) return leased;
    const auto whole = net::parse_cidr(set->network);
    const auto part = whole ? free_part(*whole, addresses_for(nodes.size(), per_node), taken_) : std::nullopt;
    if (!part)
      return fmt::format("{} machines on {} nodes have no room in what other jobs leave of the network {}",
                         per_node * static_cast<std::int64_t>(nodes.size()), nodes.size(), set->network);
    taken_.push_back(*part);
    if (!set->host_devices.empty()) leased_.push_back({set->host_devices, nodes_, job.id});
    out_.make.push_back({.cluster = facts_.cluster.name,
                         .datacenter = facts_.cluster.datacenter,
                         .set = *set,
                         .slurm_job = job.id,
                         .started = job.started,
                         .per_node = per_node,
                         .network = *part,
                         .nodes = std::move(nodes)});
    return {};
  }

  std::string undeclared(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& set : facts_.cluster.machines) names.push_back(set.name);
    return fmt::format("cluster '{}' declares no machines '{}'; there are {}", facts_.cluster.name, name,
                       names.empty() ? "none" : join(names, ", "));
  }

  static std::string too_little(const model::MachineSet& set, std::int64_t per_node, const SlurmJob& job,
                                const Given& given) {
    const auto nodes = static_cast<std::int64_t>(job.nodes.size());
    const auto machines = nodes * per_node;
    if (machines > static_cast<std::int64_t>(kMostMachines))
      return fmt::format("{} machines are more than the {} that one job may have", machines, kMostMachines);
    const auto cpus = machines * set.cpus;
    const auto memory = machines * (set.memory_mb + model::kQemuMb);
    const bool enough = given.cpus >= cpus && given.memory_mb.value_or(memory) >= memory;
    if (enough) return too_little_somewhere(set, per_node, job, given);
    return fmt::format(
        "its {} machines '{}' need {} CPUs and {} MiB ({} MiB each, and {} for QEMU), and it has {} CPUs and {} MiB on "
        "{} nodes",
        machines, set.name, cpus, memory, set.memory_mb, model::kQemuMb, given.cpus,
        given.memory_mb ? std::to_string(*given.memory_mb) : "any", nodes);
  }

  /// In all it may have enough, and yet less where its machines are to be: with `--mem-per-cpu` a node on which it has
  /// fewer CPUs has less memory, too.
  static std::string too_little_somewhere(const model::MachineSet& set, std::int64_t per_node, const SlurmJob& job,
                                          const Given& given) {
    const auto cpus = per_node * set.cpus;
    const auto memory = per_node * (set.memory_mb + model::kQemuMb);
    for (const auto& name : job.nodes) {
      const auto at = given.nodes.find(name);
      if (at == given.nodes.end()) continue;
      const auto& [has_cpus, has_memory] = at->second;
      if (has_cpus >= cpus && (has_memory == 0 || has_memory >= memory)) continue;
      return fmt::format(
          "on {} its {} machine{} '{}' need{} {} CPUs and {} MiB ({} MiB each, and {} for QEMU), and it has {} CPUs "
          "and {} MiB there: as much on each node is had by --ntasks-per-node and --mem",
          name, per_node, per_node == 1 ? "" : "s", set.name, per_node == 1 ? "s" : "", cpus, memory, set.memory_mb,
          model::kQemuMb, has_cpus, has_memory == 0 ? "any" : std::to_string(has_memory));
    }
    return {};
  }

  /// Devices are one job's at a time. One whose end is under way is waited for.
  std::string lease(const model::MachineSet& set) {
    waits_ = false;
    if (set.host_devices.empty()) return {};
    for (const auto& held : facts_.held) {
      if (held.gone || !meet(held.devices, set.host_devices) || !meet(held.nodes, nodes_)) continue;
      if (!held.stops) return leased_by(held.slurm_job);
      waits_ = true;
    }
    for (const auto& other : leased_) {
      if (meet(other.devices, set.host_devices) && meet(other.nodes, nodes_)) return leased_by(other.slurm_job);
    }
    return {};
  }
  static std::string leased_by(const std::string& job) {
    return fmt::format("devices of one of its nodes are leased to job {}; ask for whole nodes (--exclusive)", job);
  }

  struct Lease {
    std::vector<std::string> devices, nodes;
    std::string slurm_job;
  };
  const Facts& facts_;
  const std::map<std::string, Given>& given_;
  std::vector<net::Cidr> taken_;
  std::vector<Lease> leased_;
  std::vector<std::string> nodes_;  ///< ids, of the job that is looked at
  bool waits_ = false;
  Plan& out_;
};

}  // namespace

Facts facts_of(const tables::Tables& tables, const std::string& cluster) {
  Facts out;
  if (const auto row = tables.find_cluster(cluster)) {
    out.cluster = *row;
  } else {
    out.cluster.name = cluster;
    out.cluster.stop = true;
  }
  for (const auto& host : tables.hosts(cluster))
    out.nodes[host->name] = {host->name, host->node_id, address_of(out.cluster, *host)};
  for (const auto& job : tables.jobs(model::kDefaultNamespace, model::slurm_machines_job_id(cluster, ""))) {
    auto held = read_held(*job);
    if (!held) continue;
    const auto& allocations = tables.allocations_of_job(model::kDefaultNamespace, job->id);
    held->gone = held->stops && std::all_of(allocations.begin(), allocations.end(),
                                            [](const auto& row) { return row->client_terminal(); });
    for (const auto& row : allocations) {
      if (held->trouble.empty()) held->trouble = trouble_of(*row);
    }
    out.held.push_back(*std::move(held));
  }
  return out;
}

std::set<std::string> clusters_with_machines(const tables::Tables& tables) {
  std::set<std::string> out;
  for (const auto& cluster : tables.clusters()) {
    if (!cluster->stop && !cluster->machines.empty()) out.insert(cluster->name);
  }
  for (const auto& job : tables.jobs(model::kDefaultNamespace)) {
    if (const auto held = read_held(*job)) out.insert(held->cluster);
  }
  return out;
}

std::map<std::string, std::string> jobs_to_ask(const Facts& facts, const std::vector<SlurmJob>& jobs) {
  const auto held = held_by_job(facts);
  std::map<std::string, std::string> out;
  for (const auto& job : jobs) {
    if (is_new(held, job) && job.asked.wish) out.emplace(job.id, job.name);
  }
  return out;
}

Plan plan(const Facts& facts, const std::optional<std::vector<SlurmJob>>& jobs,
          const std::map<std::string, Given>& given) {
  Plan out;
  std::map<std::string_view, const SlurmJob*> living;
  if (jobs) {
    for (const auto& job : *jobs) {
      if (job.lives()) living[job.id] = &job;
    }
  }
  for (const auto& held : facts.held) {
    if (held.gone) out.forget.push_back(held.job);
    if (held.stops || (!jobs && !facts.cluster.stop)) continue;
    const auto at = living.find(held.slurm_job);
    const bool same_run = at != living.end() && at->second->started == held.started;
    if (!same_run || facts.cluster.stop)
      out.stop.push_back(held.job);
    else if (!held.trouble.empty())
      out.refuse.push_back({at->second->id, at->second->name, held.trouble, held.nodes});
  }
  if (!jobs || facts.cluster.stop) return out;
  const auto held = held_by_job(facts);
  Planner planner(facts, given, out);
  for (const auto& job : *jobs) {
    if (is_new(held, job)) planner.decide(job);
  }
  return out;
}

}  // namespace underway::machines

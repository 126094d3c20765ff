#pragma once
/// @file
/// The job that holds the machines of a Slurm job: a group for each of its nodes, which goes to that node alone. Before
/// the machines a task makes their network there, behind them another one tells where they are, and the last one takes
/// the network away. Node scripts of Slurm wait for both (examples/machines).

#include "machines/ask.hpp"
#include "model/cluster.hpp"
#include "net/address.hpp"

namespace underway::machines {

/// A node of the Slurm job, as a host of the cluster.
struct NodeOfJob {
  std::string name;
  std::string node_id;
  std::string address;  ///< on the cluster's first network that it is on
};

/// The task that ends well when the machines of a node are up.
inline constexpr const char* kReadyTask = "ready";

struct Order {
  std::string cluster, datacenter;
  model::MachineSet set;
  std::string slurm_job;
  std::int64_t started = 0;  ///< as of SlurmJob
  std::int64_t per_node = 1;
  net::Cidr network;  ///< of this job alone
  std::vector<NodeOfJob> nodes;
};

/// Each machine is told of all others.
inline constexpr std::size_t kMostMachines = 256;

/// How much of a network so many machines on so many nodes need: a power of two.
std::uint32_t addresses_for(std::size_t nodes, std::int64_t per_node);
/// "m3", and its address in the job's network, by its number from 1 on. Nodes have addresses from the end.
std::string machine_name(std::size_t number);
net::Cidr machine_address(const net::Cidr& network, std::size_t number);
net::Cidr node_address(const net::Cidr& network, std::size_t position);
std::string machine_mac(const net::Cidr& address);
/// Lines of /etc/hosts.
std::string hosts_text(const Order& order);

model::Job render(const Order& order);

/// What a job of ours says of itself. Nothing: it is none.
struct Held {
  std::string job;  ///< our id
  std::string cluster, slurm_job, set;
  std::int64_t started = 0;
  std::optional<net::Cidr> network;
  std::vector<std::string> devices;
  std::vector<std::string> nodes;  ///< ids
  bool stops = false;              ///< it is to go
  bool gone = false;               ///< it was to go, and no node has anything of it any more
  std::string trouble;             ///< why machines of it did not come up; empty: they did, or may yet
};
std::optional<Held> read_held(const model::Job& job);

}  // namespace underway::machines

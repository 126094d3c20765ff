#pragma once
/// @file
/// The agent's node role: it fingerprints the machine, dials the server, and runs what it is told to, through drivers.
/// Tasks outlive it: an agent that is killed after it has asked a driver for a task, and before it has heard of it,
/// finds the attempt on disk when it is started again, and takes over what came to run.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/control_loop.hpp"
#include "crypto/secret.hpp"
#include "http/tls.hpp"
#include "model/allocation.hpp"
#include "model/node/node.hpp"
#include "network/network.hpp"
#include "node/fingerprint/devices.hpp"
#include "sources/settings.hpp"

namespace underway::driver {
class Driver;
}

namespace underway::protocol {
struct ClientMetrics;
}

namespace underway::node {

class Extension;

struct Options {
  std::string data_dir;  ///< absolute; ours alone
  std::string name;      ///< empty: the host's name
  std::string datacenter = "dc1";
  std::string region = "global";
  std::string pool = "default";
  std::string node_class;
  model::StringMap meta;
  std::string host;     ///< the host that it runs on, when a provider of ours made it
  std::string cluster;  ///< and that host's cluster

  /// Where servers take links: "http://10.77.0.1:4646", "unix:///run/underway/agent.sock". Tried in turn.
  std::vector<std::string> servers;
  std::string http_addr;  ///< of this agent, told to the server; empty: none

  /// How it proves itself to servers whose address is one of TLS.
  std::function<async::awaitable<crypto::Secret>()> join_token;  ///< as trust::MembershipOptions::token
  std::string authorities_file;
  http::TlsFiles tls_files;  ///< of the site's own authority: then there is nothing to join for

  /// What the machine has, where it shall differ from what is found (a host made of namespaces sees the whole machine).
  std::optional<std::int64_t> cpu_total_compute;  ///< MHz
  std::optional<std::int64_t> cpu_cores;
  std::vector<std::int64_t> reservable_cores;  ///< that tasks may hold alone; empty: all but those kept back
  std::optional<std::int64_t> memory_total_mb;
  std::optional<std::int64_t> disk_total_mb;
  model::NodeResources reserved;  ///< kept back from tasks
  std::string network_interface;  ///< empty: that of the default route, else the first that is up and not loopback
  /// More networks for `port { host_network = … }`: name, and what tells the address: device, cidr, or both.
  std::vector<model::NodeNetwork> host_networks;
  network::Options networks;  ///< of allocations; without a directory, below data_dir
  std::vector<ConfiguredDevice> devices;
  std::string nvidia_library = "libnvidia-ml.so.1";  ///< where dlopen(3) looks; empty: GPUs are not looked for
  std::vector<model::NodeVolume> host_volumes;       ///< directories that it lends to tasks
  std::string host_volume_plugin_dir;                ///< empty: host_volume_plugins in data_dir
  std::string host_volumes_dir;                      ///< where plugins put volumes; empty: host_volumes in data_dir
  std::int64_t min_dynamic_port = 20000;
  std::int64_t max_dynamic_port = 32000;

  Duration max_kill_timeout = std::chrono::seconds{30};
  std::int64_t default_pids = 4096;  ///< processes and threads of a task that says nothing
  std::int64_t gc_max_allocs = 50;   ///< finished allocations kept on disk; the oldest go first
  /// An allocation that has more than its ephemeral_disk fails while less than so many percent of the disk are free;
  /// until then it is told so. 0: never; 100: always.
  std::int64_t enforce_disk_below = 10;
  bool secrets_in_memory = true;      ///< false: a task's secrets/ is a plain directory (unit tests do not mount)
  bool disable_file_sandbox = false;  ///< template `source` may lie outside of the task's directory
  sources::Settings compat;           ///< where templates have services, keys and secrets of Consul and Vault from
  std::string cgroup_parent = "underway";
  std::string fetch_program;  ///< of artifacts; empty: "underway-fetch" beside this program, else on PATH
  /// Further attributes of the machine, found anew every minute: what differs then is told to the server. Absent: none.
  /// Blocks: yes.
  std::function<model::StringMap()> more_attributes;
  /// Removes what no task here needs any more (images of containers); `all`: also what one may need again soon. Called
  /// every hour, and when somebody asks this node to collect. Must not throw. Absent: nothing. Blocks: yes.
  std::function<void(bool all)> collect;
  /// What capabilities above the engine add; see node/extension.hpp.
  std::vector<std::shared_ptr<Extension>> extensions;
};

/// What its agent shows in /v1/agent/self and /v1/metrics.
struct NodeStats {
  std::size_t allocations_running = 0;
  std::size_t allocations_pending = 0;
  std::size_t allocations_terminal = 0;
  std::size_t tasks_running = 0;
  std::uint64_t task_starts = 0;    ///< since the agent started
  std::uint64_t task_restarts = 0;  ///< of those, again on this node
  bool linked = false;
  TimePoint last_heartbeat{};  ///< that a server has heard
};

class Node {
 public:
  /// Thread: the loop's, for everything here. `loop`, `pool` and `clock` outlive the node.
  Node(Options options, std::vector<std::unique_ptr<driver::Driver>> drivers, async::Loop& loop, async::Pool& pool,
       const Clock& clock);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Fingerprints, re-attaches to every task that an earlier agent left, and then begins to dial.
  /// Errors: conflict when another agent uses the data directory; whatever keeps the state from being read.
  async::awaitable<void> start();
  /// Hangs up and lets go. Every task keeps running.
  async::awaitable<void> stop();
  /// For -dev and tests: stops every task, waits for them, and removes their directories.
  async::awaitable<void> stop_everything();

  /// As registered. Valid after start().
  const model::Node& self() const;
  NodeStats stats() const;
  /// What it measures of itself, of its machine and its tasks.
  async::awaitable<protocol::ClientMetrics> measure();
  /// The allocations it knows, for /v1/agent and tests.
  std::vector<model::AllocationUpdate> allocations() const;
  /// What goes on without being asked: of the node, of its extensions, and of the agent that it is in.
  async::LoopRegistry& loops();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace underway::node

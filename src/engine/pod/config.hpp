#pragma once
/// @file
/// What the `config` of a container task says. The keys are those of Nomad's podman driver; where its docker driver
/// has another word for the same, that is understood too. Pure.

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "os/process/capability.hpp"
#include "os/process/id_map.hpp"

namespace underway::pod {

/// Something of the host, or a file system in memory, at a place in the container.
struct Volume {
  std::string source;  ///< absolute, or below the task's directory; empty: tmpfs
  std::string target;  ///< absolute
  bool read_only = false;
  std::vector<std::string> options;  ///< mount(8)'s, beyond ro and rw
  bool mapped = false;  ///< in a user namespace, its owners are those that the container knows by the same numbers
};

struct Device {
  std::string path;    ///< of the host
  std::string target;  ///< in the container
  std::string access = "rwm";
};

struct Ulimit {
  std::string name;  ///< "RLIMIT_NOFILE"
  std::uint64_t soft = 0, hard = 0;
};

/// Which numbers of users and groups the container has, and which of the host's they are.
struct UserNamespace {
  enum class Mode { host, automatic, keep_id };
  Mode mode = Mode::host;
  std::uint32_t size = 65536;             ///< automatic: it has the numbers from 0 to below this
  os::IdMap uids, gids;                   ///< automatic: what the job names of them, and beyond
  std::optional<std::uint32_t> uid, gid;  ///< keep_id: who it runs as if the task has no user
};

struct Config {
  std::string image;
  std::string username, password;
  bool tls_verify = true;
  Duration pull_timeout = std::chrono::minutes(5);
  bool force_pull = false;

  std::optional<std::vector<std::string>> entrypoint;  ///< absent: the image's
  std::string command;
  std::vector<std::string> args;
  std::string working_dir;  ///< empty: the image's
  std::string hostname;     ///< empty: "<task>-<allocation>", or the host's where the container has its network
  bool init = false;
  std::string init_path;

  std::vector<Volume> volumes;
  std::vector<Device> devices;
  std::uint64_t shm_bytes = 64U << 20;
  bool read_only = false;

  bool privileged = false;
  std::vector<std::string> cap_add, cap_drop;
  std::map<std::string, Ulimit> ulimits;
  std::map<std::string, std::string> sysctl;
  bool no_new_privileges = false;
  std::string seccomp;  ///< empty: the default profile; "unconfined"; a path
  std::string apparmor;

  bool own_network = false;  ///< a network namespace of its own, with nothing but lo
  bool own_pids = true, own_ipc = true, own_uts = true;
  UserNamespace user_namespace;
  std::vector<std::string> ports;  ///< labels of the group's
  std::vector<std::string> dns, dns_search, dns_options;
  std::vector<std::string> extra_hosts;  ///< "name:address"
  std::vector<std::string> groups;       ///< group_add
  std::map<std::string, std::string> labels;
  bool log = true;

  std::optional<std::uint64_t> pids_limit;  ///< 0: none
  std::optional<std::uint64_t> memory_reservation;
  std::optional<std::int64_t> memory_swap;  ///< memory and swap together; -1: no limit
  std::optional<std::int64_t> memory_swappiness;
  bool cpu_hard_limit = false;
  std::uint64_t cpu_period = 100'000;  ///< microseconds
  std::optional<std::int64_t> oom_score_adj;
};

/// What the client allows.
struct Policy {
  bool volumes = true;           ///< sources that are absolute paths
  bool privileged = false;       ///< and with it devices of the host, and namespaces of the host
  os::Capabilities allowed = 0;  ///< cap_add, beyond the default
  /// Its root may be the host's, and is unless it says otherwise; else it has numbers that nobody else has.
  bool host_users = true;
};

/// Reads what can be read; all that is wrong is added to `problems`, each naming its key.
Config parse_config(const boost::json::value& config, const Policy& policy, std::vector<std::string>& problems);

/// podman's default set (containers.conf(5), default_capabilities).
os::Capabilities default_capabilities();
/// What the container has, by its config.
os::Capabilities capabilities_of(const Config& config);

/// "64m", "1.5g", "512": bytes. Nothing when it is none.
std::optional<std::uint64_t> parse_size(std::string_view text);
/// "nofile" → "RLIMIT_NOFILE"; empty when there is none of that name.
std::string rlimit_name(std::string_view name);

}  // namespace underway::pod

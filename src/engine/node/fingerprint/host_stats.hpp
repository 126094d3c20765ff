#pragma once
/// @file
/// What the machine does now: memory, processors, file systems. Read when somebody asks; nothing polls.
/// Source: proc(5): /proc/stat, /proc/meminfo, /proc/uptime, /proc/self/mounts; statvfs(3).

#include <boost/json/object.hpp>

#include <mutex>

#include "base/clock.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "protocol/client_messages.hpp"

namespace underway::node {

class HostSampler {
 public:
  /// `data_dir`: whose file system is told as that of allocations. Blocks: yes (reads files). Thread: any.
  protocol::HostStats sample(const Machine& machine, const std::string& data_dir, std::int64_t core_mhz, TimePoint now);

 private:
  struct Ticks {
    std::uint64_t user = 0, system = 0, idle = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Ticks> last_;
};

/// What the machine is set up like, as Nomad's agent/host tells it: distribution, resolver, hosts, file systems. Never
/// the environment. Blocks: yes.
boost::json::object host_data(const Machine& machine, const std::string& data_dir);

}  // namespace underway::node

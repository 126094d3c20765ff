#pragma once
/// @file
/// The directory in which an agent keeps everything: who may enter it, and how long what was thrown away stays.

#include "agent/config/config.hpp"
#include "async/control_loop.hpp"

namespace underway::agent {

/// Of `agent -dev`: /tmp/underway-dev-PID-…, and gone with all that is in it when this ends. What is mounted there
/// stays, and is warned of. Blocks: yes (disk).
class DevDirectory {
 public:
  DevDirectory();
  ~DevDirectory();
  DevDirectory(const DevDirectory&) = delete;
  DevDirectory& operator=(const DevDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// data_dir and what lies in it. Tasks of other users pass through it, so it can be entered and not listed; what the
/// server keeps is root's alone. Idempotent. Blocks: yes (disk).
void make_directories(const Config& config);

/// Once an hour: what nobody has taken out of the trash in time goes. `pool` and `clock` outlive it.
async::LoopPlan trash_loop(const Config& config, async::Pool& pool, const Clock& clock);

}  // namespace underway::agent

#pragma once
/// @file
/// A management server with a node, a machine that boots and the outside, each a network namespace in which the real
/// daemons run; and a capture of what the server's interface sees.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "net/netlink.hpp"
#include "os/process/process.hpp"
#include "traffic/live.hpp"
#include "traffic/reading.hpp"

namespace underway::traffic::testing {

using namespace std::chrono_literals;

/// Empty: it is not installed.
std::string find_program(const std::string& name);

/// mgmt 10.66.0.1 routes for node 10.66.0.11 to outside 203.0.113.2; `boot` has no address yet. All on one bridge but
/// the outside.
class Lab {
 public:
  Lab();
  ~Lab() {
    daemons_.clear();
    std::filesystem::remove_all(directory_);
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  static net::Namespace net_of(const os::Namespace& space) {
    return net::Namespace::open(fmt::format("/proc/self/fd/{}", space.fd().get()));
  }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    os::make_directories(std::filesystem::path(path(name)).parent_path());
    os::write_file(path(name), text, mode, {}, os::Durability::cached);
    return path(name);
  }
  /// Runs until stop(), or the end. Its number.
  std::size_t daemon(const os::Namespace& where, std::vector<std::string> argv) {
    daemons_.emplace_back(os::spawn(spec(where, std::move(argv))));
    return daemons_.size() - 1;
  }
  pid_t pid(std::size_t daemon) const { return daemons_.at(daemon)->pid(); }
  void stop(std::size_t daemon) { daemons_.at(daemon).reset(); }
  os::Output run(const os::Namespace& where, std::vector<std::string> argv) {
    return os::run_program(spec(where, std::move(argv)), 20s);
  }
  /// Until it succeeds: the daemon behind it may still be starting.
  bool try_until(const os::Namespace& where, const std::vector<std::string>& argv, const std::string& expect = {}) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
      const auto output = run(where, argv);
      if (output.status.success() && output.out.find(expect) != std::string::npos) return true;
      ::usleep(50'000);
    }
    return false;
  }

  os::Namespace mgmt = os::Namespace::create(CLONE_NEWNET), node = os::Namespace::create(CLONE_NEWNET),
                boot = os::Namespace::create(CLONE_NEWNET), outside = os::Namespace::create(CLONE_NEWNET);

 private:
  os::SpawnSpec spec(const os::Namespace& where, std::vector<std::string> argv) const {
    os::SpawnSpec spec;
    spec.argv = std::move(argv);
    spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF=" + path("slurm/slurm.conf")};
    spec.cwd = directory_;
    spec.join = {&where};
    return spec;
  }

  os::Namespace switch_ = os::Namespace::create(CLONE_NEWNET);
  std::string directory_ = "/tmp/survey_bed.XXXXXX";
  std::vector<std::optional<os::Child>> daemons_;
};

/// The log of all nodes is `syslog/all.log`; the node's socket `syslog/log`.
void start_rsyslog(Lab& lab);
/// Exports the directory `nfs/export` as /export; `access` is RW or RO. The daemon.
std::size_t start_nfs(Lab& lab, const std::string& access = "RW");
/// On the node. The daemon.
std::size_t start_gmond(Lab& lab);

/// What the management server's eth0 sees, from the constructor to stop().
class LiveCapture {
 public:
  LiveCapture(const Lab& lab, const std::string& name);
  ~LiveCapture() { stop(); }
  LiveCapture(const LiveCapture&) = delete;
  LiveCapture& operator=(const LiveCapture&) = delete;

  const std::string& journal() const { return options_.journal; }
  /// Ends it, once.
  const LiveProgress& stop();

 private:
  os::Pipe pipe_ = os::open_pipe();
  SystemClock clock_;
  LiveOptions options_;
  LiveProgress end_;
  std::thread thread_;
};

/// Until `wanted` is true of what the file has by now; at most 20 s.
template <class Wanted>
bool wait_for(const std::string& file, const Wanted& wanted) {
  for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
    if (wanted(read_traffic({file}, {}))) return true;
    ::usleep(100'000);
  }
  return false;
}

}  // namespace underway::traffic::testing

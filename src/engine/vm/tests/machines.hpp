#pragma once
/// @file
/// Machines in tests: a real QEMU with a guest that counts (guest_worker.cpp), on a bridge of the test's lane.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "driver/driver.hpp"
#include "harness/places.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "vm/driver.hpp"

namespace underway::vm {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

/// A TCP connection to the guest that counts, held through everything that happens to the guest.
class Client {
 public:
  /// Waits until the guest listens.
  explicit Client(const std::string& address, Duration within = seconds{120});
  /// A line for a line; "no answer" when none comes.
  std::string ask(const std::string& question, Duration within = seconds{60});
  /// The number that `next` answers with; 0 when that is none.
  std::uint64_t next(Duration within = seconds{60});

 private:
  os::Fd socket_;
  std::string buffer_;
};

class MachineTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// As the job file of a machine "web" on the bridge, its guest at kAddress. `more` is added to its config.
  boost::json::object config(boost::json::object more = {}) const;
  /// With Debian's guest agent in its guest.
  boost::json::object with_agent(boost::json::object more = {}) const;
  driver::TaskSpec task_spec(const std::string& task, int run) const;
  /// The same for another allocation, as an agent of another node would have it.
  std::unique_ptr<driver::Driver> make_driver(std::function<void(const std::string&)> on_step = {},
                                              const std::string& machines = {}) const;
  void start();
  /// In a process of its own, as an agent is, which kills itself when `step` is begun. True when it came so far.
  bool die_in(const std::string& step, const std::function<void(const MachineOptions&)>& what) const;
  bool start_dies_in(const std::string& step) const;
  Machine machine(std::function<void(const std::string&)> on_step = {}) const;
  /// As after a restart of the agent.
  void recover();
  /// Ended: by itself, or it is killed.
  void end();
  pid_t qemu() const { return task_->status().process.pid; }
  std::string failure(const std::function<void()>& what) const;
  std::string out() const;
  std::string state(const std::string& file = {}) const {
    return machines_ + "/web" + (file.empty() ? "" : "/" + file);
  }
  /// Files with a machine's memory, of what sleeps and of checkpoints.
  std::vector<std::string> memories() const;
  /// An ext4 of 32 MiB.
  std::string make_image() const;

  static constexpr const char* kAddress = "10.99.0.2";

  SystemClock clock_;
  std::string path_, machines_, parent_;
  os::CgroupSystem cgroups_ = os::CgroupSystem::probe();
  driver::TaskSpec spec_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<driver::TaskHandle> task_;
  int runs_ = 0;
};

}  // namespace underway::vm

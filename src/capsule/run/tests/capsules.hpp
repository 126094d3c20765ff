#pragma once
/// @file
/// Real capsules for tests, in a network namespace of the test's own that stands for a host. Each test takes away what
/// it made, and fails when the kernel still knows of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <functional>

#include "base/error.hpp"
#include "image/key.hpp"
#include "image/pack.hpp"
#include "net/netlink.hpp"
#include "os/ledger.hpp"
#include "run/capsule.hpp"
#include "run/control.hpp"
#include "run/running.hpp"

namespace underway::run {

using driver::TaskHandle;
using driver::TaskSpec;
using driver::TaskStatus;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

/// Repeats until it holds, for what happens in another process.
bool eventually(const std::function<bool()>& holds, seconds within = seconds{20});

/// A machine on the bridge, which knows nothing of capsules.
struct Neighbour {
  net::Namespace inside;
  /// The first line that port `port` of `address` says; "" when nobody answers.
  std::string ask(const std::string& address, int port) const;
};

class Capsules : public ::testing::Test {
 protected:
  Capsules();
  ~Capsules() override;
  void SetUp() override;
  void TearDown() override;

  /// As after a restart of the agent: nothing is known but what is on disk.
  void restart_agent();
  Options options();
  /// A small root with busybox as every command; `change` may add to it.
  std::string pack_image(const std::string& name, const std::function<void(const std::string& root)>& change = {},
                         std::vector<image::Service> services = {}, std::vector<image::Step> steps = {});
  /// The image that most tests use; made once.
  std::string plain_image();

  /// A run; each `name` is an allocation of its own.
  TaskSpec spec(const std::string& name, const std::string& config, int attempt = 1);
  /// A config with one service, a shell script, and a network with `address` unless that is empty.
  std::string config(const std::string& script, const std::string& address = "", const std::string& more = "");
  /// Runs until TearDown or end().
  TaskHandle& start(const TaskSpec& spec);
  void end(TaskHandle& task, int signal = 15, seconds grace = seconds{10});
  /// Output of a shell command in the capsule; what it says on failure is part of it.
  static std::string shell(TaskHandle& task, const std::string& command);
  std::string out(const TaskSpec& spec) const;
  std::string err(const TaskSpec& spec) const;
  Control control(const TaskSpec& spec) const { return Control::connect(spec.keeper_dir); }

  void add_bridge(const std::string& name);
  Neighbour neighbour(const std::string& name, const std::string& address, const std::string& bridge = "br-test");
  /// What is left in the kernel and the ledger, in words.
  std::vector<std::string> traces();

  std::string directory_;
  std::string group_;
  SystemClock clock_;
  std::optional<os::Ledger> ledger_;
  std::unique_ptr<driver::Driver> driver_;
  std::optional<image::TrustedKey> key_;
  std::vector<std::pair<TaskSpec, std::unique_ptr<TaskHandle>>> tasks_;
};

/// The error's text when `body` throws one.
template <class Body>
std::string failure_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.text();
  }
  return "no failure";
}

}  // namespace underway::run

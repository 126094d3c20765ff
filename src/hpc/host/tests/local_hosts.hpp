#pragma once
/// @file
/// Real hosts on this machine, for tests: each takes away what it made, and fails when the kernel still knows of it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "base/error.hpp"
#include "host/local.hpp"

namespace underway::host {

/// Repeats until it holds, for what happens in another process.
bool eventually(const std::function<bool()>& holds, std::chrono::seconds within = std::chrono::seconds{10});

std::string describe(const std::vector<Error>& errors);

/// What of a state directory and a cluster the kernel still knows.
std::vector<std::string> traces(const std::string& state_dir, const std::string& cluster);

class LocalHosts : public ::testing::Test {
 protected:
  LocalHosts();
  ~LocalHosts() override;
  void SetUp() override;

  /// As after a restart: nothing is known but what is on disk.
  void start();
  LocalOptions options() const;
  ClusterSpec cluster(bool nat = false) const;
  HostSpec host(const std::string& name, int number) const;
  /// c1, c2, … with the addresses 11, 12, ….
  std::vector<HostInfo> create_in_parallel(int count);
  /// Output of a shell command in a host; what it says on failure is part of it.
  static std::string shell(const HostInfo& in, const std::string& command, const std::string& user = "");

  // A name per process: several builds may run their tests on one machine.
  std::string cluster_ = fmt::format("t{}", ::getpid());
  std::string state_dir_ = fmt::format("/tmp/underway-host-test-{}", ::getpid());
  std::unique_ptr<os::Ledger> ledger_;
  SystemClock clock_;
  std::unique_ptr<LocalProvider> provider_;
};

}  // namespace underway::host

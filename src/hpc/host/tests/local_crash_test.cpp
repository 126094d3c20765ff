// What is left when the program that makes hosts is killed: nothing that `clean` or `adopt` does not take away.
#include <signal.h>
#include <sys/wait.h>

#include <iostream>
#include <random>

#include "tests/local_hosts.hpp"

namespace underway::host {
namespace {

/// Dies by SIGKILL right before the n-th step of making a cluster with two hosts; false when it got through.
bool dies_at(int step, const LocalOptions& options, const std::string& ledger_path, const ClusterSpec& cluster,
             const std::vector<HostSpec>& hosts) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      os::Ledger ledger(ledger_path);
      int seen = 0;
      auto dying = options;
      dying.on_step = [&](const std::string&) {
        if (seen++ == step) ::kill(::getpid(), SIGKILL);
      };
      SystemClock clock;
      LocalProvider provider(dying, ledger, clock);
      provider.prepare(cluster);
      for (const auto& host : hosts) provider.create(host);
      ::_exit(0);
    } catch (const Error& e) {
      std::cerr << e.text() << "\n";
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

std::vector<std::string> open_entries(const os::Ledger& ledger) {
  std::vector<std::string> out;
  for (const auto& open : ledger.unsettled())
    out.push_back(fmt::format("{} {} of {}", open.item.kind, open.item.object, open.item.owner));
  return out;
}

TEST_F(LocalHosts, NothingIsLeftAfterTheCreatorIsKilledAtAnyStep) {
  provider_.reset();
  ledger_.reset();
  const std::vector<HostSpec> hosts = {host("c1", 11), host("c2", 12)};
  int step = 0;
  for (; step < 64; ++step) {
    const bool died = dies_at(step, options(), state_dir_ + "/ledger", cluster(true), hosts);
    start();
    const auto failures = provider_->clean();
    ASSERT_TRUE(failures.empty()) << "step " << step << ": " << describe(failures);
    ASSERT_EQ(traces(state_dir_, cluster_), std::vector<std::string>{}) << "step " << step;
    ASSERT_EQ(open_entries(*ledger_), std::vector<std::string>{}) << "step " << step;
    if (!died) break;
    provider_.reset();
    ledger_.reset();
  }
  EXPECT_GE(step, 15) << "the creator was killed at too few places";
}

TEST_F(LocalHosts, NothingIsLeftAfterTheCreatorIsKilledAtARandomMoment) {
  provider_.reset();
  ledger_.reset();
  std::mt19937 random(20261121);
  for (int round = 0; round < 20; ++round) {
    const auto moment = std::chrono::microseconds(random() % 120'000);
    const pid_t child = ::fork();
    if (child == 0) {
      start();
      for (;;) {  // until it is killed: making, removing, and making over what runs
        provider_->prepare(cluster(true));
        create_in_parallel(4);
        create_in_parallel(2);
        provider_->remove_cluster(cluster_);
      }
    }
    std::this_thread::sleep_for(moment);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    start();
    const auto failures = provider_->clean();
    ASSERT_TRUE(failures.empty()) << "round " << round << ": " << describe(failures);
    ASSERT_EQ(traces(state_dir_, cluster_), std::vector<std::string>{}) << "round " << round;
    ASSERT_EQ(open_entries(*ledger_), std::vector<std::string>{}) << "round " << round;
    provider_.reset();
    ledger_.reset();
  }
  start();
}

TEST_F(LocalHosts, AHalfMadeHostIsMadeAgainAfterACrash) {
  provider_.reset();
  ledger_.reset();
  ASSERT_TRUE(dies_at(9, options(), state_dir_ + "/ledger", cluster(), {host("c1", 11)}));
  start();
  provider_->adopt();
  provider_->prepare(cluster());
  const auto c1 = provider_->create(host("c1", 11));
  EXPECT_EQ(shell(c1, "ls /sys/class/net"), "eth0\nlo");
  EXPECT_EQ(provider_->list().size(), 1U);
}

}  // namespace
}  // namespace underway::host

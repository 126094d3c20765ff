#include "traffic/live.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "net/netlink.hpp"
#include "traffic/reading.hpp"
#include "traffic/testing/bed.hpp"

namespace underway::traffic::testing {
namespace {

using namespace std::chrono_literals;

class LiveSurvey : public ::testing::Test {
 protected:
  LiveSurvey() : mgmt_(net::Namespace::create("mgmt")), node_(net::Namespace::create("node")) {
    net::Netlink here(mgmt_);
    here.add_veth({.name = "prov0", .peer = &node_, .peer_name = "eth0", .master = {}, .peer_mac = {}});
    here.add_address("prov0", *net::parse_cidr("10.9.0.1/24"));
    net::Netlink there(node_);
    there.add_address("eth0", *net::parse_cidr("10.9.0.2/24"));
    there.set_up("eth0");
  }
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  LiveOptions options() {
    return {.capture = {.interface = "prov0", .macs = {}, .filter = "udp port 514"},
            .source = "prov0",
            .journal = directory_ + "/journal",
            .surveyed = {},
            .interval = 100ms,
            .stop_fd = stop_.read.get(),
            .limits = {},
            .clock = &clock_};
  }
  SystemClock clock_;
  void stop() { os::write_all(stop_.write, "x", "pipe"); }
  void log(int times) const {
    node_.run([&] {
      const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(514);
      ::inet_pton(AF_INET, "10.9.0.1", &address.sin_addr);
      for (int i = 0; i < times; ++i)
        ::sendto(socket.get(), "<13>hello", 9, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    });
  }
  Traffic read() const { return read_traffic({directory_ + "/journal"}, {}); }
  /// Sends until the journal says `packets`, at most 10 s.
  bool wait_for(std::int64_t packets) const {
    for (const auto end = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < end;) {
      if (os::exists(directory_ + "/journal") && read().packets >= packets) return true;
      ::usleep(20'000);
    }
    return false;
  }
  bool wait_for_journal() const {
    for (int i = 0; i < 500 && !os::exists(directory_ + "/journal"); ++i) ::usleep(10'000);
    return os::exists(directory_ + "/journal");
  }

  net::Namespace mgmt_, node_;
  os::Pipe stop_ = os::open_pipe();
  std::string directory_ = "/tmp/survey_live_test.XXXXXX";
};

TEST_F(LiveSurvey, EndsCleanlyAndKnowsItsOwnMachine) {
  LiveProgress end;
  std::thread capture([&] { end = capture_live(mgmt_, options(), [](const LiveProgress&) {}); });
  ASSERT_TRUE(wait_for_journal());
  log(50);
  EXPECT_TRUE(wait_for(50));
  stop();
  capture.join();
  EXPECT_EQ(end.packets, 50U);
  const Traffic traffic = read();
  EXPECT_EQ(traffic.sources, (std::vector<std::string>{"prov0"}));
  EXPECT_FALSE(traffic.inferred);
  const auto flow = flow_at(traffic, Part::serves, Protocol::udp, 514);
  EXPECT_EQ(flow.server, "10.9.0.1");
  EXPECT_EQ(flow.packets_to_server, 50);
  EXPECT_EQ(flow.application, "syslog");
}

TEST_F(LiveSurvey, AKilledCaptureLosesItsLastIntervalOnlyAndIsContinued) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      auto forever = options();
      capture_live(mgmt_, forever, [](const LiveProgress&) {});
    } catch (...) {  // NOLINT(bugprone-empty-catch) the parent sees that nothing was written
    }
    ::_exit(0);
  }
  ASSERT_TRUE(wait_for_journal());
  log(50);
  EXPECT_TRUE(wait_for(50));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(read().packets, 50);

  std::thread capture([&] { capture_live(mgmt_, options(), [](const LiveProgress&) {}); });
  for (int i = 0; i < 50 && read().packets == 50; ++i) {  // until the new one listens
    log(1);
    ::usleep(20'000);
  }
  stop();
  capture.join();
  EXPECT_GT(read().packets, 50);
  EXPECT_TRUE(read().problems.empty());
}

TEST_F(LiveSurvey, SavesWhatItHasWhenTheInterfaceGoesAway) {
  std::optional<Code> code;
  auto rare = options();
  rare.interval = 1h;
  std::thread capture([&] {
    try {
      capture_live(mgmt_, rare, [](const LiveProgress&) {});
    } catch (const Error& e) {
      code = e.code();
    }
  });
  ASSERT_TRUE(wait_for_journal());
  log(20);
  net::Netlink(mgmt_).remove_link("prov0");
  capture.join();
  EXPECT_EQ(code, Code::unavailable);
  EXPECT_EQ(read().packets, 20);
}

TEST_F(LiveSurvey, TellsWhatTheKernelHadToDrop) {
  auto small = options();
  small.capture.memory = 2U << 20;
  bool first = true;
  LiveProgress end;
  std::thread capture([&] {
    end = capture_live(mgmt_, small, [&](const LiveProgress&) {
      if (std::exchange(first, false)) log(30'000);  // while nobody reads the ring
    });
  });
  EXPECT_TRUE(wait_for(1));
  stop();
  capture.join();
  EXPECT_GT(end.lost, 0U);
  const Traffic traffic = read();
  EXPECT_EQ(traffic.lost, static_cast<std::int64_t>(end.lost));
  EXPECT_EQ(traffic.packets + traffic.lost, 30'000);
}

TEST_F(LiveSurvey, EndsAfterItsLength) {
  auto brief = options();
  brief.length = 300ms;
  brief.stop_fd = -1;
  const auto end = capture_live(mgmt_, brief, [](const LiveProgress&) {});
  EXPECT_GE(end.running, 300ms);
  EXPECT_EQ(read().packets, 0);
}

}  // namespace
}  // namespace underway::traffic::testing

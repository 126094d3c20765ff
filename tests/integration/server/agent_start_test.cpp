// How an agent begins, and how it ends before it has begun.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

/// A port of this machine that somebody else listens at, and, once it is let go, nobody does.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    const bool done =
        ::bind(socket_, address, size) == 0 && ::listen(socket_, 1) == 0 && ::getsockname(socket_, address, &size) == 0;
    EXPECT_TRUE(done);
    number_ = ntohs(at.sin_port);
  }
  ~TakenPort() { let_go(); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  void let_go() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  std::string text() const { return std::to_string(number_); }

 private:
  int socket_;
  int number_ = 0;
};

class AgentStart : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  Background dev(const std::string& http) const {
    auto command = machine_.command({"agent", "-dev", "-name=" + std::string(kName), "-http=" + http});
    return Background(command);
  }
  /// What the process `pid` has, or has left.
  static std::vector<std::string> directories_of(int pid) {
    const std::string mine = "underway-dev-" + std::to_string(pid) + "-";
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator("/tmp"))
      if (entry.path().filename().string().starts_with(mine)) out.push_back(entry.path());
    return out;
  }
  static bool answers(const std::string& address) {
    return shell("curl -sf http://" + address + "/v1/status/leader").exit_code == 0;
  }
  static std::string leader(const std::string& address) {
    return shell("curl -sf http://" + address + "/v1/status/leader").out;
  }

  static constexpr const char* kName = "tried";
  Machine machine_;
};

TEST_F(AgentStart, DevLeavesNothingWhenItEnds) {
  TakenPort port;
  port.let_go();
  auto agent = dev("127.0.0.1:" + port.text());
  ASSERT_TRUE(eventually(seconds(30), [&] { return answers("127.0.0.1:" + port.text()); })) << agent.told();
  EXPECT_EQ(directories_of(agent.pid()).size(), 1u);
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(seconds(30)), 0) << agent.told();
  EXPECT_THAT(directories_of(agent.pid()), IsEmpty());
}

TEST_F(AgentStart, DevLeavesNothingWhenItCannotListen) {
  const TakenPort taken;
  auto agent = dev("127.0.0.1:" + taken.text());
  EXPECT_EQ(agent.wait(seconds(30)), 1);
  EXPECT_THAT(agent.told(), HasSubstr("cannot listen"));
  EXPECT_THAT(directories_of(agent.pid()), IsEmpty());
}

TEST_F(AgentStart, DevLeavesNothingWhenItIsStoppedWhileItStarts) {
  for (const int signal : {SIGTERM, SIGINT}) {
    TakenPort port;
    port.let_go();
    auto agent = dev("127.0.0.1:" + port.text());
    ASSERT_TRUE(eventually(seconds(10), [&] { return !directories_of(agent.pid()).empty(); }));
    agent.signal(signal);
    EXPECT_EQ(agent.wait(seconds(30)), 0) << agent.told();
    EXPECT_THAT(directories_of(agent.pid()), IsEmpty()) << agent.told();
  }
}

TEST_F(AgentStart, ListensAtTheAddressAndPortThatItIsGiven) {
  for (const char* host : {"127.0.0.1", "[::1]", "localhost"}) {
    TakenPort port;
    port.let_go();
    const std::string address = std::string(host) + ":" + port.text();
    auto agent = dev(address);
    ASSERT_TRUE(eventually(seconds(30), [&] { return answers(address); })) << address << "\n" << agent.told();
    EXPECT_EQ(leader(address), "\"" + address + "\"") << "as others are told";
    agent.signal(SIGTERM);
    EXPECT_EQ(agent.wait(seconds(30)), 0) << agent.told();
  }
}

TEST_F(AgentStart, AWrongPortIsRefusedWithWhatAndWhy) {
  for (const char* wrong : {"127.0.0.1:99999", "127.0.0.1:http", "[::1]:-1"}) {
    auto agent = dev(wrong);
    EXPECT_EQ(agent.wait(seconds(30)), 1);
    EXPECT_THAT(agent.told(), HasSubstr("addresses.http: '" + std::string(wrong) + "' is no address"));
    EXPECT_THAT(agent.told(), HasSubstr("is no port (0 to 65535)"));
  }
}

}  // namespace
}  // namespace underway::harness

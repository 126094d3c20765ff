// What those who show no token can take from a server, on a real agent: neither its memory nor its descriptors, nor the
// browser of whoever works there; and what a small archive can take from a node.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "harness/machine.hpp"
#include "harness/places.hpp"
#include "os/fd.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr std::uint16_t kPort = 14646;
constexpr std::size_t kMiB = 1 << 20;

os::Fd dial() {
  os::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return os::Fd();
  return fd;
}

bool send_all(const os::Fd& fd, std::string_view data) {
  while (!data.empty()) {
    const auto sent = ::send(fd.get(), data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// The first line of what is answered.
std::string answer(const os::Fd& fd) {
  std::string got(200, '\0');
  const auto size = ::recv(fd.get(), got.data(), got.size(), 0);
  got.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return got.substr(0, got.find("\r\n"));
}

/// A server alone, with few descriptors, which listens on TCP.
class Strangers : public testing::Test {
 protected:
  void start(const std::string& more) {
    write_text(directory_.path() + "/agent.hcl", "data_dir = \"" + state() +
                                                     "\"\nports { http = " + std::to_string(kPort) +
                                                     " }\nserver { enabled = true }\ntls { http = false }\n" + more);
    auto agent = command({"agent", "-config=" + directory_.path() + "/agent.hcl"});
    agent.argv.insert(agent.argv.begin(),
                      {"/bin/sh", "-c", "ulimit -n 512; exec \"$0\" \"$@\" 2>>" + directory_.path() + "/log"});
    agent_.emplace(agent);
    ASSERT_TRUE(eventually(seconds(20), [&] { return root_is_served() && dial(); })) << "the agent did not come up";
  }
  std::string state() const { return directory_.path() + "/state"; }
  Command command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), binary_dir() + "/bin/underway");
    return {
        .argv = std::move(arguments), .env = {{"UNDERWAY_STATE", state()}, {"NO_COLOR", "1"}}, .limit = seconds(20)};
  }
  bool root_is_served() const { return run(command({"operator", "api", "/v1/agent/health"})).exit_code == 0; }
  std::size_t resident() const {
    const auto pages = shell("cut -d' ' -f2 /proc/" + std::to_string(agent_->pid()) + "/statm").out;
    return std::stoul(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }

  TemporaryDirectory directory_;
  std::optional<Background> agent_;
};

void send_large_body(std::string& said) {
  const os::Fd fd = dial();
  const std::string piece(kMiB, ' ');
  send_all(fd, "PUT /v1/underway/cluster/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67108864\r\n\r\n");
  for (int i = 0; i < 63 && send_all(fd, piece); ++i) {
  }
  said = answer(fd);
}

TEST_F(Strangers, TakeNeitherMemoryNorTheDescriptorsThatRootNeeds) {
  start("acl { enabled = true }\n");
  const std::size_t before = resident();
  std::vector<std::string> said(20);
  {
    std::vector<std::jthread> senders;
    for (auto& answer : said) senders.emplace_back([&answer] { send_large_body(answer); });
  }
  EXPECT_LT(resident(), before + 64 * kMiB) << "20 bodies of 64 MiB were sent by nobody in particular";
  for (const auto& answer : said) EXPECT_EQ(answer, "HTTP/1.1 403 Forbidden");

  std::vector<os::Fd> held;
  for (int i = 0; i < 1000; ++i) {
    held.push_back(dial());
    if (held.back()) send_all(held.back(), "GET");
  }
  EXPECT_TRUE(root_is_served()) << "strangers hold every connection that they get";
}

TEST_F(Strangers, DoNotSpeakThroughABrowserWhereNoTokenIsAskedFor) {
  start("acl { enabled = false }\n");
  const auto ask = [](const std::string& method, const std::string& more) {
    const os::Fd fd = dial();
    send_all(fd, method + " /v1/system/gc HTTP/1.1\r\nContent-Length: 0\r\n" + more + "\r\n");
    return answer(fd);
  };
  const std::string here = "Host: localhost:14646\r\n";
  EXPECT_EQ(ask("PUT", here), "HTTP/1.1 200 OK");
  EXPECT_EQ(ask("PUT", here + "Origin: http://localhost:14646\r\n"), "HTTP/1.1 200 OK");
  EXPECT_EQ(ask("PUT", here + "Origin: https://attacker.example\r\n"), "HTTP/1.1 403 Forbidden");
  EXPECT_EQ(ask("PUT", "Host: rebound.attacker.example:14646\r\n"), "HTTP/1.1 403 Forbidden");
}

TEST(SmallArchives, UnpackToNoMoreThanTheDiskThatTheirGroupAskedFor) {
  Machine machine;
  const std::string archive = machine.directory() + "/zeros.tar.gz";
  const auto made = shell("cd " + machine.directory() + " && truncate -s 400M zeros && tar czf " + archive +
                          " zeros && chmod 755 . && chmod 644 " + archive);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto ran = machine.run_job("unpacks", R"(job "unpacks" {
  type = "batch"
  group "g" {
    ephemeral_disk { size = 110 }
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
      artifact { source = ")" + archive + R"(" }
      config { command = "/bin/true" }
    }
  }
})");
  EXPECT_NE(ran.exit_code, 0) << ran.out << ran.err;
  const auto status = machine.underway({"operator", "api", "/v1/job/unpacks/allocations?task_states=true"});
  EXPECT_NE(status.out.find("unpacks to more than is allowed"), std::string::npos) << status.out << ran.out << ran.err;
  EXPECT_NE(status.out.find("ephemeral_disk has 110 MiB"), std::string::npos) << status.out;
  EXPECT_EQ(shell("find " + machine.state() + "/client/alloc -name zeros").out, "");
}

}  // namespace
}  // namespace underway::harness

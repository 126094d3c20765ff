// Who connects to a capsule while its service is away waits, and has an answer in the end.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <future>

#include "base/text.hpp"
#include "os/file.hpp"
#include "tests/capsules.hpp"

namespace underway::run {
namespace {

constexpr const char* kAddress = "10.9.0.5";
constexpr std::uint16_t kPort = 7;
/// A shell's way to see that somebody listens on that port.
constexpr const char* kListens = "cat /proc/net/tcp /proc/net/tcp6 | grep -q ':0007 [0-9A-F:]* 0A '";

/// Somebody outside who connects, asks, and waits for a line.
class Client {
 public:
  explicit Client(const Neighbour& at, std::uint16_t port = kPort) : at_(at), port_(port) {
    answer_ = std::async(std::launch::async, [this] { return ask(); });
  }

  bool is_over() const { return answer_.wait_for(seconds{0}) == std::future_status::ready; }
  /// It has knocked, and nobody has said anything. False when it was refused.
  bool waits() const {
    eventually([&] { return is_over() || has("02"); });
    return !is_over();
  }
  std::string answer() const { return answer_.get(); }

 private:
  std::string ask() const {
    std::string said;
    at_.inside.run([&] {
      const os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(port_);
      ::inet_pton(AF_INET, kAddress, &to.sin_addr);
      if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
        return;
      if (!os::wait_for(socket.get(), POLLOUT, 30'000) || ::send(socket.get(), "?\n", 2, MSG_NOSIGNAL) != 2) {
        said = "refused";
        return;
      }
      if (!os::wait_for(socket.get(), POLLIN, 30'000)) return;
      char text[256];
      const auto size = ::recv(socket.get(), text, sizeof text, 0);
      said = size < 0 ? "reset" : std::string(text, static_cast<std::size_t>(size));
    });
    return std::string(trim(said));
  }
  /// A connection to the capsule in this state of /proc/net/tcp.
  bool has(const std::string& state) const {
    std::string table;
    at_.inside.run([&] { table = os::read_file("/proc/thread-self/net/tcp"); });
    return table.find(fmt::format(":{:04X} {}", port_, state)) != std::string::npos;
  }

  const Neighbour& at_;
  std::uint16_t port_;
  std::shared_future<std::string> answer_;
};

class Doors : public Capsules {
 protected:
  /// A service that runs `script`, and is ready when it listens; `others` stand beside it.
  std::string serving(const std::string& script, const std::string& others = "") {
    boost::json::object main;
    main["command"] = {"/bin/sh", "-c", script};
    main["ready"] = {"/bin/sh", "-c", kListens};
    const auto all = fmt::format(R"([{{"main": [{}]}}{}])", boost::json::serialize(main), others);
    return config("true", "10.9.0.5/24", fmt::format(R"({{"service": {}}})", all));
  }
  static std::string say(const std::string& word) { return "exec nc -ll -p 7 -e /bin/echo " + word; }
  bool is_ready(const TaskSpec& run) const {
    return eventually([&] { return control(run).status().healthy(); });
  }
  static os::Fd connected(const Neighbour& outside) {
    os::Fd socket;
    outside.inside.run([&] {
      socket = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(kPort);
      ::inet_pton(AF_INET, kAddress, &to.sin_addr);
      EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    });
    return socket;
  }
  void touch(const TaskSpec& run, const std::string& file) const {
    os::write_file(run.task_dir + "/local/" + file, "");
  }
};

TEST_F(Doors, AClientWaitsForAServiceThatIsNotReadyYet) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run = spec("web", serving("until [ -e /local/go ]; do sleep 0.05; done; " + say("hello")));
  auto& task = start(run);
  Client client(outside);
  EXPECT_TRUE(client.waits()) << client.answer();
  touch(run, "go");
  EXPECT_EQ(client.answer(), "hello");
  // Then all is as ever: a port on which nobody listens refuses.
  ASSERT_TRUE(is_ready(run));
  EXPECT_EQ(Client(outside, 8).answer(), "refused");
  end(task);
}

TEST_F(Doors, AClientWaitsForAServiceThatHasCrashed) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run =
      spec("web", serving("[ -e /local/crashed ] && until [ -e /local/go ]; do sleep 0.05; done; " + say("hello")));
  auto& task = start(run);
  ASSERT_TRUE(is_ready(run));
  touch(run, "crashed");
  control(run).signal("main", SIGKILL);
  ASSERT_TRUE(eventually([&] { return !control(run).status().healthy(); }));
  Client client(outside);
  EXPECT_TRUE(client.waits()) << client.answer();
  touch(run, "go");
  EXPECT_EQ(client.answer(), "hello");
  end(task);
}

TEST_F(Doors, AClientThatComesWhileTheServiceStopsIsAnsweredByTheNextOne) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const std::string brake =
      R"(, {"brake": [{"command": ["/bin/sh", "-c", "trap 'until [ -e /local/end ]; do sleep 0.05; done; exit 0' TERM; while true; do sleep 0.05; done"]}]})";
  const auto first = spec("one", serving(say("one"), brake));
  auto& task = start(first);
  ASSERT_TRUE(is_ready(first));
  shell(task, "sleep 0.2");  // until the brake has set its trap
  task.stop(SIGTERM, seconds{30});
  ASSERT_TRUE(eventually([&] { return control(first).status().services.front().state == "stopped"; }));
  Client client(outside);
  EXPECT_TRUE(client.waits()) << client.answer();
  touch(first, "end");
  ASSERT_TRUE(task.wait(seconds{30}));
  auto& second = start(spec("two", serving(say("two"))));
  EXPECT_EQ(client.answer(), "two");
  end(second);
  task.destroy();
}

TEST_F(Doors, WhoHasAskedIsAnsweredBeforeTheServiceStops) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run = spec("web", serving("echo 'read question; touch /local/asked; until [ -e /local/answer ]; do sleep "
                                       "0.01; done; echo answered' > /tmp/one; exec nc -ll -p 7 -e /bin/sh /tmp/one"));
  auto& task = start(run);
  ASSERT_TRUE(is_ready(run));
  Client client(outside);
  ASSERT_TRUE(eventually([&] { return os::exists(run.task_dir + "/local/asked"); }));
  task.stop(SIGTERM, seconds{30});
  ASSERT_TRUE(eventually([&] { return control(run).status().phase == "stopping"; }));
  Client late(outside);
  EXPECT_TRUE(late.waits());
  touch(run, "answer");
  EXPECT_EQ(client.answer(), "answered");
  ASSERT_TRUE(task.wait(seconds{30}));
  EXPECT_THAT(err(run), Not(HasSubstr("not answered")));
  auto& second = start(spec("two", serving(say("two"))));
  EXPECT_EQ(late.answer(), "two") << "it came while the last answers were given";
  end(second);
  task.destroy();
}

TEST_F(Doors, AConnectionThatLiesIdleKeepsNobodyFromStopping) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run =
      spec("web", serving("echo 'read question; echo answered; exec sleep 1000' > /tmp/one; exec nc -ll -p "
                          "7 -e /bin/sh /tmp/one"));
  auto& task = start(run);
  ASSERT_TRUE(is_ready(run));
  const auto idle = connected(outside);
  char text[16];
  ASSERT_EQ(::send(idle.get(), "?\n", 2, MSG_NOSIGNAL), 2);
  ASSERT_EQ(::recv(idle.get(), text, sizeof text, 0), 9);
  task.stop(SIGTERM, seconds{30});
  ASSERT_TRUE(task.wait(seconds{30}));
  EXPECT_THAT(err(run), Not(HasSubstr("not answered")));
  task.destroy();
  tasks_.clear();
}

TEST_F(Doors, AStreamThatIsNeverAnsweredKeepsNobodyFromStopping) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run = spec("log", serving("exec nc -ll -p 7 -e /bin/sh -c 'exec cat > /dev/null'"));
  auto& task = start(run);
  ASSERT_TRUE(is_ready(run));
  const auto stream = connected(outside);
  const std::string lines(1 << 20, 'x');
  for (int mebibyte = 0; mebibyte < 12; ++mebibyte)
    ASSERT_EQ(::send(stream.get(), lines.data(), lines.size(), MSG_NOSIGNAL), static_cast<ssize_t>(lines.size()));
  task.stop(SIGTERM, seconds{30});
  ASSERT_TRUE(task.wait(seconds{30}));
  EXPECT_THAT(err(run), Not(HasSubstr("not answered")));
  task.destroy();
  tasks_.clear();
}

TEST_F(Doors, WhoComesWhileACommandRunsAloneWaits) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run = spec("web", serving(say("hello")));
  auto& task = start(run);
  ASSERT_TRUE(is_ready(run));
  EXPECT_EQ(shell(task, "/run/underway/init alone; echo $?"), "0");
  auto alone = std::async(std::launch::async, [&] {
    return shell(task,
                 "/run/underway/init alone sh -c 'touch /local/begun; until [ -e /local/end ]; do sleep 0.05; done; "
                 "exit 3'; echo $?");
  });
  ASSERT_TRUE(eventually([&] { return os::exists(run.task_dir + "/local/begun"); }));
  Client client(outside);
  EXPECT_TRUE(client.waits()) << client.answer();
  EXPECT_FALSE(client.is_over());
  touch(run, "end");
  EXPECT_EQ(client.answer(), "hello");
  EXPECT_EQ(alone.get(), "3");
  end(task);
}

TEST_F(Doors, ACapsuleWithoutTheRightSaysThatItsClientsAreRefused) {
  const auto outside = neighbour("client", "10.9.0.1/24");
  const auto run =
      spec("web", config(say("hello"), "10.9.0.5/24", R"({"capabilities": ["kill", "setuid", "net_bind_service"]})"));
  auto& task = start(run);
  EXPECT_TRUE(eventually([&] { return outside.ask(kAddress, kPort) == "hello"; }));
  EXPECT_THAT(err(run),
              HasSubstr("init: clients are refused while a service is away, as they cannot be held: nftables: "
                        "Operation not permitted\n"));
  end(task);
}

}  // namespace
}  // namespace underway::run

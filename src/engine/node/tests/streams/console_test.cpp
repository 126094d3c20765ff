// The serial line of a virtual machine: a session is on it, as bytes, and the guest waits for nobody.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>

#include "node/kernel_runtime.hpp"
#include "node/task/driver_adapter.hpp"

namespace underway::node {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// The other end of the line, in the test's hand.
struct Guest {
  os::Fd line;
  bool gone = false;
};

class GuestTask final : public driver::TaskHandle {
 public:
  explicit GuestTask(Guest& guest) : guest_(guest) {}
  int fd() const override { return -1; }
  bool poll() override { return false; }
  const driver::TaskStatus& status() const override { return status_; }
  bool wait(Duration) override { return false; }
  void signal(int) override {}
  void stop(int, Duration) override {}
  os::CgroupStats usage() const override { return {}; }
  void set_cpuset(const std::string&) override {}
  driver::ExecSession exec(const driver::ExecRequest&) override { throw Error(Code::unsupported, "it is a machine"); }
  os::Fd console() override {
    if (guest_.gone) throw Error(Code::unavailable, "nobody listens");
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
      throw errno_error(errno, "socketpair");
    guest_.line = os::Fd(ends[0]);
    return os::Fd(ends[1]);
  }
  void destroy() override {}

 private:
  Guest& guest_;
  driver::TaskStatus status_;
};

class GuestDriver final : public driver::Driver {
 public:
  explicit GuestDriver(Guest& guest) : guest_(guest) {}
  std::string name() const override { return "guest"; }
  driver::Fingerprint fingerprint() const override { return {}; }
  std::vector<std::string> validate(const boost::json::value&) const override { return {}; }
  std::unique_ptr<driver::TaskHandle> start(const driver::TaskSpec&) override {
    return std::make_unique<GuestTask>(guest_);
  }
  std::unique_ptr<driver::TaskHandle> recover(const driver::TaskSpec&) override {
    return std::make_unique<GuestTask>(guest_);
  }
  bool reap_leftovers(bool) override { return false; }

 private:
  Guest& guest_;
};

std::vector<std::unique_ptr<driver::Driver>> only(Guest& guest) {
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  drivers.push_back(std::make_unique<GuestDriver>(guest));
  return drivers;
}

class ConsoleTest : public ::testing::Test {
 protected:
  ConsoleTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as in the agent
    LaunchSpec spec;
    spec.driver = "guest";
    spec.allocation_id = "a1";
    spec.task = "web";
    spec.rights = model::parse_rights({"node"});
    task = loop.run_until_done(drivers.start(std::move(spec)));
  }
  std::shared_ptr<ExecSession> open() { return loop.run_until_done(task->console()); }
  Error refusal() {
    try {
      open();
    } catch (const Error& error) {
      return error;
    }
    return {Code::internal, "nothing was refused"};
  }
  /// What is on the loop goes on until `holds`.
  template <class Condition>
  bool until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.context().restart();
      loop.context().run_one_for(5ms);
    }
    return true;
  }
  /// The guest says it, as fast as it is taken.
  bool say(std::string_view text) {
    return until([&] {
      const auto sent = ::send(guest.line.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
      return text.empty();
    });
  }
  /// What the guest has been told so far.
  std::string heard() const {
    std::string text(1 << 16, '\0');
    const auto got = ::recv(guest.line.get(), text.data(), text.size(), MSG_DONTWAIT);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  /// To the end of the session.
  struct Read {
    std::string said;
    std::size_t left_out = 0;  ///< bytes, as it is told
  };
  Read read_all(ExecSession& session) {
    Read all;
    while (auto output = loop.run_until_done(session.read())) {
      if (output->error)
        all.left_out += std::stoul(output->bytes.substr(output->bytes.find('[') + 1));
      else
        all.said += output->bytes;
    }
    return all;
  }

  async::Loop loop;
  async::Pool pool{1};
  SystemClock clock;
  KernelRuntime runtime{loop, pool, clock};
  Guest guest;
  DriverAdapter drivers{only(guest), runtime, [] {}};
  std::shared_ptr<RunningTask> task;
};

TEST_F(ConsoleTest, CarriesBytesBothWaysUntilTheMachineEnds) {
  const auto session = open();
  ASSERT_TRUE(say("login: "));
  EXPECT_EQ(loop.run_until_done(session->read())->bytes, "login: ");
  session->resize(80, 24);
  loop.run_until_done(session->write(std::string("root\r\0\x03", 7)));
  EXPECT_EQ(heard(), std::string("root\r\0\x03", 7));
  session->end_input();
  ASSERT_TRUE(say("Power down\r\n"));
  guest.line.reset();
  EXPECT_EQ(read_all(*session).said, "Power down\r\n");
  EXPECT_TRUE(loop.run_until_done(session->wait()).success());
  loop.run_until_done(session->write("nobody is there"));
}

TEST_F(ConsoleTest, HasRoomForOne) {
  auto first = open();
  const auto second = refusal();
  EXPECT_EQ(second.code(), Code::conflict);
  EXPECT_THAT(second.text(), HasSubstr("somebody else is on the console"));
  ASSERT_TRUE(say("still here"));
  EXPECT_EQ(loop.run_until_done(first->read())->bytes, "still here");
  // It leaves, and the next one comes; whoever could not come keeps nobody out.
  first->kill();
  EXPECT_EQ(loop.run_until_done(first->read()), std::nullopt);
  first.reset();
  guest.gone = true;
  EXPECT_EQ(refusal().code(), Code::unavailable);
  guest.gone = false;
  const auto third = open();
  ASSERT_TRUE(say("hello"));
  EXPECT_EQ(loop.run_until_done(third->read())->bytes, "hello");
}

TEST_F(ConsoleTest, AGuestThatSaysMuchIsHeldUpByNoReader) {
  const auto session = open();
  const std::size_t much = 8U << 20;
  ASSERT_TRUE(say(std::string(much, 'x')));
  ASSERT_TRUE(say("the end"));
  guest.line.reset();
  const auto all = read_all(*session);
  EXPECT_GT(all.left_out, 0U);
  EXPECT_GE(all.said.size(), 2U << 20);
  EXPECT_EQ(all.said.size() + all.left_out, much + 7);
  EXPECT_TRUE(all.said.ends_with("xthe end")) << "what is left out is the oldest";
}

TEST_F(ConsoleTest, ManyDropsAreNotMuch) {
  const auto session = open();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(say("x"));
    loop.context().restart();
    loop.context().poll();
  }
  guest.line.reset();
  const auto all = read_all(*session);
  EXPECT_EQ(all.left_out, 0U);
  EXPECT_EQ(all.said.size(), 2000U);
}

TEST_F(ConsoleTest, AGuestThatTakesNothingHoldsNobodyOnIt) {
  const auto session = open();
  bool ended = false;
  asio::co_spawn(loop.context(), session->write(std::string(8U << 20, 'x')), [&](std::exception_ptr) { ended = true; });
  for (int i = 0; i < 100; ++i) {
    loop.context().restart();
    loop.context().poll();
  }
  EXPECT_FALSE(ended);
  session->kill();
  EXPECT_TRUE(until([&] { return ended; }));
}

}  // namespace
}  // namespace underway::node

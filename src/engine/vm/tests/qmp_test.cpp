#include "vm/qmp/qmp.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <thread>

#include "base/error.hpp"
#include "base/json/json_member.hpp"
#include "vm/qmp/guest_agent.hpp"

namespace underway::vm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kGreeting =
    R"({"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}, "capabilities": ["oob"]}})"
    "\r\n";
constexpr const char* kAgreed = "{\"return\": {}, \"id\": 1}\r\n";

/// Says what it is told to, whatever it is asked.
class FakeQemu {
 public:
  FakeQemu() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = os::Fd(ends[0]);
    theirs_ = os::Fd(ends[1]);
  }
  FakeQemu& says(const std::string& text) {
    for (std::string_view left = text; !left.empty();) {
      // Who has had enough closes his end, which is no signal here.
      const ssize_t n = ::send(ours_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (n < 0) throw errno_error(errno, "the fake cannot speak");
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    return *this;
  }
  Qmp connect() { return Qmp(std::move(theirs_), "machine 'web'", seconds{5}); }
  void end() { ours_.reset(); }
  std::string heard() const {
    char bytes[4096];
    const ssize_t n = ::recv(ours_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return {bytes, n > 0 ? static_cast<std::size_t>(n) : 0};
  }

 private:
  os::Fd ours_, theirs_;
};

std::string failure(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& e) {
    return fmt::format("{} | {}", to_string(e.code()), e.text());
  }
  return "it did not fail";
}

TEST(Qmp, TakesTheGreetingAndAsks) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed).says("{\"return\": {\"status\": \"running\"}, \"id\": 2}\n");
  auto qmp = qemu.connect();
  EXPECT_EQ(qmp.version(), "7.2.22");
  EXPECT_EQ(json::text_at(qmp.execute("query-status"), "status"), "running");
  EXPECT_EQ(qemu.heard(), "{\"execute\":\"qmp_capabilities\",\"id\":1}\n{\"execute\":\"query-status\",\"id\":2}\n");
}

TEST(Qmp, AnErrorCarriesCommandClassAndWords) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed);
  qemu.says(R"({"error": {"class": "CommandNotFound", "desc": "The command warp has not been found"}, "id": 2})"
            "\n");
  qemu.says(R"({"error": {"class": "GenericError", "desc": "no"}, "id": 3})"
            "\n");
  auto qmp = qemu.connect();
  EXPECT_THAT(failure([&] { qmp.execute("warp"); }),
              testing::AllOf(HasSubstr("unsupported |"), HasSubstr("machine 'web' refuses 'warp'"),
                             HasSubstr("CommandNotFound: The command warp has not been found")));
  EXPECT_THAT(failure([&] { qmp.execute("cont"); }), HasSubstr("conflict |"));
}

TEST(Qmp, EventsAreKeptForWhoAsksLater) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed);
  qemu.says(
      "{\"event\": \"STOP\"}\n{\"event\": \"RESET\", \"data\": {\"guest\": true}}\n{\"return\": {}, \"id\": 2}\n");
  auto qmp = qemu.connect();
  qmp.execute("stop");
  const auto reset = qmp.wait_event({"RESET"}, milliseconds{0});
  ASSERT_TRUE(reset);
  EXPECT_TRUE(reset->data.at("guest").as_bool());
  const auto others = qmp.take_events();
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].name, "STOP");
  EXPECT_FALSE(qmp.wait_event({"STOP"}, milliseconds{1}));
}

TEST(Qmp, OfTooManyEventsTheOldestAreDropped) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed);
  auto qmp = qemu.connect();
  std::thread flood([&] {
    for (std::size_t i = 0; i < Qmp::kMaxEvents + 10; ++i) qemu.says(fmt::format("{{\"event\": \"E{}\"}}\n", i));
    qemu.says("{\"return\": {}, \"id\": 2}\n");
  });
  qmp.execute("query-status");
  flood.join();
  const auto events = qmp.take_events();
  ASSERT_EQ(events.size(), Qmp::kMaxEvents);
  EXPECT_EQ(events[0].name, "E10");
}

TEST(Qmp, TheAnswerToACommandThatNobodyWaitedForIsNotTheNextOnes) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed);
  auto qmp = qemu.connect();
  EXPECT_THAT(failure([&] { qmp.execute("stop", {}, milliseconds{1}); }), HasSubstr("timeout | "));
  qemu.says("{\"return\": \"late\", \"id\": 2}\n{\"return\": \"now\", \"id\": 3}\n");
  EXPECT_EQ(qmp.execute("cont").as_string(), "now");
}

TEST(Qmp, WhoHasGoneIsUnavailable) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed);
  auto qmp = qemu.connect();
  qemu.end();
  EXPECT_THAT(failure([&] { qmp.execute("stop"); }), HasSubstr("unavailable | "));
}

TEST(Qmp, WhoNeverStopsTalkingIsNotListenedTo) {
  FakeQemu qemu;
  std::thread flood([&] {
    try {
      for (std::size_t i = 0; i < LineSocket::kMaxLine / 4096 + 16; ++i) qemu.says(std::string(4096, 'x'));
    } catch (const Error&) {
      // The other side has had enough.
    }
  });
  EXPECT_THAT(failure([&] { qemu.connect(); }), HasSubstr("too_large | "));
  flood.join();
}

TEST(Qmp, WhoSendsEventsForeverIsGivenUpWhenTimeIsUp) {
  FakeQemu qemu;
  qemu.says(kGreeting).says(kAgreed);
  std::optional<Qmp> qmp(qemu.connect());
  std::thread flood([&] {
    try {
      for (;;) qemu.says("{\"event\": \"STOP\"}\n");
    } catch (const Error&) {
      // The other side has had enough.
    }
  });
  EXPECT_THAT(failure([&] { qmp->execute("query-status", {}, milliseconds{5}); }), HasSubstr("it sends events alone"));
  EXPECT_LE(qmp->take_events().size(), Qmp::kMaxEvents);
  qmp.reset();
  flood.join();
}

TEST(Qmp, WhatIsNoMessageIsRefused) {
  for (const auto* text : {"", "{", "[]", "7", "{}", R"({"event": 7})", R"({"error": "no"})"})
    EXPECT_THAT(failure([&] { parse_qmp(text); }), HasSubstr("internal | ")) << text;
}

}  // namespace
}  // namespace underway::vm

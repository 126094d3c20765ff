// How what Slurm says by its programs comes to the server.
#include "cli/slurm/delivery.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::cli {
namespace {

using std::chrono::seconds;

TEST(SlurmDelivery, TellsNodesThatAreToComeAndTheJobsThatWait) {
  slurm::ResumeRequest request;
  request.nodes = {"c3", "c4"};
  request.jobs = {{.id = 17, .nodes = {"c1", "c3", "c4"}, .resume = {"c3", "c4"}}, {.id = 18, .nodes = {"c1"}}};
  const auto ask = ask_of(request);
  EXPECT_EQ(ask.nodes, request.nodes);
  ASSERT_EQ(ask.jobs.size(), 1U);
  EXPECT_EQ(ask.jobs[0].id, 17);
  EXPECT_EQ(ask.jobs[0].nodes, (std::vector<std::string>{"c3", "c4"}));
}

TEST(SlurmDelivery, FindsTheTaskByItsConfiguration) {
  EXPECT_EQ(task_of_configuration("/var/lib/x/alloc/7f3a/slurmctld/local/slurm.conf"),
            "/var/lib/x/alloc/7f3a/slurmctld");
  for (const char* elsewhere : {"", "slurm.conf", "/slurm.conf", "/etc/slurm/slurm.conf", "/local/slurm.conf"})
    EXPECT_EQ(task_of_configuration(elsewhere), "") << elsewhere;
}

class SlurmDeliveries : public testing::Test {
 protected:
  Waiting waiting() {
    return {.now = [this] { return clock_.now(); }, .pause = [this](Duration span) { clock_.advance(span); }};
  }
  /// Fails so often before it answers.
  model::SlurmAnswer deliver_after(int failures, Code code) {
    const auto attempt = [&](Duration left) {
      left_.push_back(left);
      if (static_cast<int>(left_.size()) <= failures) throw Error(code, "no answer");
      return model::SlurmAnswer{.asked_for = {"c3"}};
    };
    return deliver(attempt, seconds(20), waiting());
  }

  VirtualClock clock_;
  std::vector<Duration> left_;
};

TEST_F(SlurmDeliveries, AServerThatIsStartedAgainIsTriedUntilItAnswers) {
  EXPECT_EQ(deliver_after(5, Code::unavailable).asked_for, std::vector<std::string>{"c3"});
  ASSERT_EQ(left_.size(), 6U);
  EXPECT_EQ(left_.front(), seconds(20));
  EXPECT_EQ(left_.back(), seconds(15));
}

TEST_F(SlurmDeliveries, OneThatDoesNotComeBackIsGivenUpWithTheReason) {
  try {
    deliver_after(1000, Code::timeout);
    FAIL() << "it never answered";
  } catch (const Error& error) {
    EXPECT_NE(error.one_line().find("no answer"), std::string::npos);
    EXPECT_NE(error.one_line().find("it was tried 20 times in 20s"), std::string::npos) << error.one_line();
  }
}

TEST_F(SlurmDeliveries, WhatIsRefusedIsNotTriedAgain) {
  EXPECT_THROW(deliver_after(1, Code::denied), Error);
  EXPECT_EQ(left_.size(), 1U);
}

}  // namespace
}  // namespace underway::cli

// Users submit Slurm jobs without a pause while the controller moves from host to host, and while its host dies: none
// is refused, they wait. Each job runs once, is COMPLETED in the accounting, and its output has not a byte more or
// less.
//
//     CAPSULE_MOVES=100 CAPSULE_SUBMISSIONS=10000   the long run; without them 6 moves, and as many jobs as fit into
//     them
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "harness/capsule/prober.hpp"
#include "harness/capsule/slurm_capsule.hpp"
#include "harness/slurm/submitters.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

class CapsuleSubmissions : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    capsule_.emplace("MaxJobCount=50000\n");
  }

  void move() {
    const std::string to = capsule_->other_than(capsule_->owner());
    const auto moved = capsule_->cluster().underway({"capsule", "move", capsule_->name(), "-to", to}, seconds(120));
    ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err << capsule_->status();
    ASSERT_TRUE(eventually(seconds(60), [&] { return capsule_->at_rest(); })) << capsule_->status();
  }

  /// All that was submitted so far is on the controller's disk, and in the copy of it.
  void expect_saved() {
    const auto since = ::time(nullptr);
    // Slurm saves what has changed.
    ASSERT_EQ(capsule_->on_login("sbatch --mem=16 --chdir=/ --output=/dev/null --wrap true").exit_code, 0);
    ASSERT_TRUE(eventually(seconds(30), [&] { return capsule_->saved_at() > since; }));
    const auto saved = std::chrono::system_clock::now().time_since_epoch();
    ASSERT_TRUE(eventually(seconds(30), [&] {
      return capsule_->record().copied_at > std::chrono::nanoseconds(saved).count();
    })) << capsule_->status();
  }

  /// Somebody who connects to both daemons again and again, each time with a minute's patience.
  Prober visitor() const {
    return {capsule_->cluster(),
            "c1",
            {{"slurmctld", "held", "10.78.0.5", 6817}, {"slurmdbd", "held", "10.78.0.5", 6819}},
            std::chrono::milliseconds(20)};
  }
  static void expect_never_refused(const Prober& visitor) {
    EXPECT_TRUE(visitor.all_answer(seconds(60)));
    for (const auto& [name, reading] : visitor.readings())
      EXPECT_EQ(reading.failed, 0) << name << ", of " << reading.asked;
  }

  void expect_all_well(const Submitters& users) const {
    EXPECT_THAT(users.problems(seconds(60)), testing::IsEmpty()) << capsule_->status();
  }

  static void tell(const Submitters& users) {
    double longest = 0;
    const auto all = users.submissions();
    for (const auto& submission : all) longest = std::max(longest, submission.ended - submission.began);
    std::cerr << all.size() << " submissions, of which the longest took " << longest << " s\n";
  }

  std::optional<SlurmCapsule> capsule_;
};

TEST_F(CapsuleSubmissions, NoneIsRefusedWhileTheControllerMoves) {
  const int moves = number_of("CAPSULE_MOVES", 6);
  const auto wanted = static_cast<std::size_t>(number_of("CAPSULE_SUBMISSIONS", 1));
  Submitters users(capsule_->cluster(), "login", "moved");
  const Prober visitor = this->visitor();
  users.start(4, 0.2);
  for (int i = 0; i < moves; ++i) {
    // The longer run has as many submissions between any two moves.
    const auto so_far = wanted * static_cast<std::size_t>(i) / static_cast<std::size_t>(moves);
    ASSERT_TRUE(eventually(seconds(600), [&] { return users.answered() >= so_far; }));
    move();
    if (HasFatalFailure()) return;
  }
  ASSERT_TRUE(eventually(seconds(600), [&] { return users.answered() >= wanted; }));
  users.stop();
  tell(users);
  expect_never_refused(visitor);
  expect_all_well(users);
}

TEST_F(CapsuleSubmissions, WhoComesWhileTheControllersHostIsDeadWaits) {
  Submitters users(capsule_->cluster(), "login", "failed");
  users.start(4, 0.2);
  ASSERT_TRUE(eventually(seconds(60), [&] { return users.answered() >= 20; }));
  // What a host that dies has not saved is another matter (docs/explanation/loss.md), and so is who is being answered.
  users.stop();
  expect_saved();
  if (HasFatalFailure()) return;
  const std::string from = capsule_->owner();
  capsule_->pull_the_plug(from);
  // Not before: the network of a local host outlives its processes by a moment, and refuses, which no dead machine
  // does.
  ASSERT_TRUE(eventually(seconds(20), [&] { return capsule_->controllers(from).empty(); }));
  const Prober visitor = this->visitor();
  users.start(4, 0.2);
  ASSERT_TRUE(eventually(seconds(120), [&] { return capsule_->owner() != from && capsule_->at_rest(); }))
      << capsule_->status();
  const auto before = users.answered();
  EXPECT_TRUE(eventually(seconds(60), [&] { return users.answered() >= before + 20; }));
  users.stop();
  tell(users);
  expect_never_refused(visitor);
  expect_all_well(users);
}

}  // namespace
}  // namespace underway::harness

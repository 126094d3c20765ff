// What is saved of real capsules, and whether it is worth something.
#include "saving/saver.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "base/json/json.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "run/saving.hpp"
#include "saving/node_side.hpp"
#include "saving/schedule.hpp"
#include "tests/capsules.hpp"

namespace underway::saving {
namespace {

using run::eventually;
using run::failure_of;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Savers : public run::Capsules {
 protected:
  void SetUp() override {
    run::Capsules::SetUp();
    if (IsSkipped()) return;
    if (::access("/usr/bin/restic", X_OK) != 0) GTEST_SKIP() << "needs restic";
    os::write_file(directory_ + "/password", "a secret of the test\n", 0600);
    os::make_directories(directory_ + "/backups");
  }

  Options saver_options() {
    Options options;
    options.rehearsal.driver = this->options();
    options.rehearsal.place = directory_ + "/rehearsals";
    options.rehearsal.cgroup = group_ + "/rehearsals";
    options.rehearsal.self.name = "sms1";
    options.drill_patience = seconds{20};
    return options;
  }
  std::string backup_block(const std::string& more = "") const {
    return fmt::format(R"("backup": [{{"repository": "{0}/backups", "password_file": "{0}/password"{1}}}])", directory_,
                       more);
  }
  std::string snapshots_of(const std::string& name) const {
    std::string text;
    for (const auto& snapshot : overlay::list_snapshots(directory_ + "/capsules/default/" + name + "/snapshots"))
      text += snapshot.reason + "\n";
    return text;
  }
  SystemClock clock_;
  CapsuleName web_{"default", "web"};
};

constexpr const char* kChecked =
    R"("step": [{"check": [{"command": ["/bin/grep", "-q", "sound", "/var/lib/state"]}]}])";

TEST_F(Savers, TryASnapshotAndABackupInACloneThatRunsTheCheck) {
  const auto run =
      spec("web", config("exec sleep 1000", "10.9.0.5/24", fmt::format("{{{}, {}}}", kChecked, backup_block())));
  auto& task = start(run);
  const Saver saver(saver_options(), clock_);
  EXPECT_THAT(failure_of([&] { saver.drill({.capsule = web_, .where = {}, .snapshot = {}, .scripts = {}}); }),
              HasSubstr("has no snapshot to try"));
  shell(task, "echo sound > /var/lib/state");
  EXPECT_FALSE(saver.backup({.capsule = web_, .where = {}, .keep = {}}).backup.id.empty());
  const auto first = saver.snapshot({.capsule = web_, .reason = "by hand", .keep = {}});
  shell(task, "echo broken > /var/lib/state");
  const auto second = saver.snapshot({.capsule = web_, .reason = "by hand", .keep = {}});

  auto told = saver.drill({.capsule = web_, .where = {}, .snapshot = first.id, .scripts = {}});
  EXPECT_THAT(told.drill.problems, IsEmpty());
  ASSERT_TRUE(told.rehearsal);
  EXPECT_EQ(told.rehearsal->findings.size(), 2U);
  EXPECT_EQ(told.rehearsal->snapshot, first.id);
  told = saver.drill({.capsule = web_, .where = {}, .snapshot = {}, .scripts = {}});
  EXPECT_EQ(told.of, second.id) << "the newest";
  EXPECT_THAT(told.drill.problems, ElementsAre(HasSubstr("check failed (1)")));
  // Without a clone all that can be said is that it came back as it was.
  EXPECT_TRUE(saver.drill({.capsule = web_, .where = {}, .snapshot = {}, .start = false, .scripts = {}}).passed());
  told = saver.drill({.capsule = web_,
                      .backup = true,
                      .where = {},
                      .snapshot = {},
                      .scripts = {{"look", "#!/bin/sh\ncat /var/lib/state\n"}}});
  EXPECT_THAT(told.drill.problems, IsEmpty());
  EXPECT_EQ(told.rehearsal->findings.back().output, "sound");
  EXPECT_EQ(shell(task, "cat /var/lib/state"), "broken") << "the capsule has noticed nothing";
  end(task);
}

TEST_F(Savers, BringABackupAsASnapshotAndRestoreIt) {
  const auto run =
      spec("web", config("exec sleep 1000", "",
                         fmt::format(R"({{"overlay": [{{"kind": "ext4", "size": "32M"}}], {}}})", backup_block())));
  auto& task = start(run);
  const Saver saver(saver_options(), clock_);
  shell(task, "echo old > /var/lib/state");
  const auto backed = saver.backup({.capsule = web_, .where = {}, .keep = {}}).backup;
  EXPECT_EQ(snapshots_of("web"), "") << "the one that it was made of is gone";
  shell(task, "echo new > /var/lib/state; echo x > /var/lib/more");
  const auto brought = saver.find({.capsule = web_, .backup = true, .where = {}, .snapshot = {}});
  EXPECT_EQ(brought.at, backed.at / 1'000'000'000 * 1'000'000'000) << "restic has whole seconds";
  EXPECT_EQ(brought.reason, "from backup " + backed.id.substr(0, 8));
  EXPECT_EQ(saver.find({.capsule = web_, .backup = true, .where = {}, .snapshot = {}}).id, brought.id) << "once";
  EXPECT_THAT(failure_of([&] { saver.restore(web_, brought.id); }), HasSubstr("the capsule 'default/web' runs"));
  end(task);
  const auto before = saver.restore(web_, brought.id);
  EXPECT_EQ(snapshots_of("web"), fmt::format("from backup {}\nbefore restore\n", backed.id.substr(0, 8)));
  auto& again =
      start(spec("web", config("exec sleep 1000", "", R"({"overlay": [{"kind": "ext4", "size": "32M"}]})"), 2));
  EXPECT_EQ(shell(again, "cat /var/lib/state; ls /var/lib"), "old\nstate");
  end(again);
  saver.restore(web_, before.id);
  auto& once_more =
      start(spec("web", config("exec sleep 1000", "", R"({"overlay": [{"kind": "ext4", "size": "32M"}]})"), 3));
  EXPECT_EQ(shell(once_more, "cat /var/lib/state"), "new");
  end(once_more);
}

TEST_F(Savers, CarryOutTheScheduleOfAJobAndRememberIt) {
  const auto blocks = fmt::format(R"({{{}, "snapshot": [{{"every": "8h", "keep": [{{"last": 2}}]}}], {}}})", kChecked,
                                  backup_block(R"(, "every": "24h", "drill_every": "168h", "check_percent": 100)"));
  const auto run = spec("web", config("exec sleep 1000", "", blocks));
  auto& task = start(run);
  shell(task, "echo sound > /var/lib/state");
  const Saver saver(saver_options(), clock_);
  const auto begin = SystemClock().now();
  saver.snapshot({.capsule = web_, .reason = "by hand", .keep = {}});
  auto saved = find_saved(saver.capsules(), web_, begin);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->backup.every, hours(24));
  std::vector<Work> done;
  Room room;
  for (auto now = begin; now < begin + hours(24); now += minutes(20)) {
    while (const auto work = due(*find_saved(saver.capsules(), web_, now), now)) {
      saved = carry_out(saver, web_, *work, room, now);
      done.push_back(*work);
    }
  }
  EXPECT_EQ(std::count(done.begin(), done.end(), Work::backup), 1) << "once a day";
  EXPECT_EQ(std::count(done.begin(), done.end(), Work::drill), 1);
  for (const auto& problem : {saved->snapshot.error, saved->backup.error, saved->drill.error}) EXPECT_EQ(problem, "");
  EXPECT_FALSE(saved->drill.result.empty());
  EXPECT_EQ(snapshots_of("web"), "by hand\nschedule\nschedule\n") << "what was taken by hand stays";
  EXPECT_EQ(saver.backups({.capsule = web_, .where = {}, .keep = {}}).backups.size(), 1U);

  // Who comes next knows it; what fails is told, and tried again.
  shell(task, "echo broken > /var/lib/state");
  const auto later = begin + hours(400);
  saved = carry_out(saver, web_, Work::backup, room, later);
  EXPECT_EQ(saved->backup.failures, 0);
  saved = carry_out(saver, web_, Work::drill, room, later);
  EXPECT_THAT(saved->drill.error, AllOf(HasSubstr("would not do"), HasSubstr("check failed")));
  EXPECT_THAT(saved->problems(later), Contains(HasSubstr("its restore drill has failed 1 times")));
  ::chmod((directory_ + "/password").c_str(), 0644);
  saved = carry_out(saver, web_, Work::backup, room, later);
  EXPECT_EQ(saved->backup.failures, 1);
  EXPECT_THAT(saved->backup.error, HasSubstr("others may read the password file"));
  EXPECT_EQ(model::due_at(saved->backup, saved->since, 0.0), later + minutes(10));
  end(task);
}

TEST_F(Savers, OnANodeSaveWhatIsDueWhileTheCapsuleIsUpAndSoAgainAfterARestart) {
  const auto run = spec("web", config("exec sleep 1000", "", R"({"snapshot": [{"every": "1h"}]})"));
  auto& task = start(run);
  const auto saved_at = [&] {
    const auto saved = find_saved(directory_ + "/capsules", web_, SystemClock().now());
    return saved ? saved->snapshot.begun_at : 0;
  };
  model::Node self;
  self.name = "sms1";
  // As if it had been asked for long ago.
  auto long_ago = *find_saved(directory_ + "/capsules", web_, SystemClock().now() - hours(2));
  const auto serve_until = [&](const std::function<bool()>& holds) {
    async::Loop loop;
    async::Pool pool{1};
    async::LoopRegistry loops(clock_);
    NodeSide side(saver_options(), std::chrono::milliseconds{20});
    const auto all = [&]() -> async::awaitable<void> {
      const auto no_server = [] { return nullptr; };
      node::ExtensionContext context{self, directory_, loop.executor(), pool, no_server, clock_, loops};
      co_await side.start(std::move(context));
      const auto deadline = std::chrono::steady_clock::now() + seconds{20};
      while (!holds() && std::chrono::steady_clock::now() < deadline)
        co_await async::sleep_for(std::chrono::milliseconds{10});
      co_await side.stop();
    };
    loop.run_until_done(all());
    return holds();
  };
  EXPECT_TRUE(serve_until([&] { return saved_at() != 0; }));
  EXPECT_EQ(snapshots_of("web"), "schedule\n");
  const auto first = saved_at();
  int looks = 0;
  EXPECT_TRUE(serve_until([&] { return ++looks > 30; }));
  EXPECT_EQ(saved_at(), first) << "an hour has not passed, whoever asks";
  end(task);
}

}  // namespace
}  // namespace underway::saving

// A real MariaDB in a capsule, saved while it writes: what comes back starts, passes its check, and holds everything
// that was committed before.
#include <unistd.h>

#include <thread>

#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "saving/saver.hpp"
#include "tests/capsules.hpp"

namespace underway::saving {
namespace {

using run::eventually;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kClient = "/usr/bin/mariadb --no-defaults --socket=/run/mysqld.sock -N";
constexpr int kWriters = 3;

/// Programs with whatever ldd(1) names.
constexpr const char* kCopy = R"(set -e
root=$1; shift
{ printf '%s\n' "$@"; ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/lib64[^ ]*\).*/\1/p'; } |
  sort -u | xargs cp -L --parents -t $root
mkdir -p $root/usr/share/mysql $root/var/lib/mysql
cp -r /usr/share/mysql/english /usr/share/mysql/charsets $root/usr/share/mysql
ln -sf busybox $root/bin/setsid; ln -sf busybox $root/bin/tr; ln -sf busybox $root/bin/seq
mariadb-install-db --no-defaults --datadir=$root/var/lib/mysql --user=root --skip-test-db \
  --auth-root-authentication-method=normal --innodb-log-file-size=16M >/dev/null)";

void fill(const std::string& root) {
  os::SpawnSpec copy;
  copy.argv = {"/bin/bash",
               "-c",
               kCopy,
               "copy",
               root,
               "/usr/sbin/mariadbd",
               "/usr/bin/mariadb",
               "/lib/x86_64-linux-gnu/libgcc_s.so.1"};
  copy.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  const auto done = os::run_program(copy, std::chrono::minutes{4});
  if (!done.status.success()) throw Error(Code::internal, "cannot copy MariaDB").because(done.err);
}

struct Kind {
  const char* name;
  const char* overlay;
  bool quiesce;
};

class Databases : public run::Capsules, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    run::Capsules::SetUp();
    if (!IsSkipped() && ::access("/usr/sbin/mariadbd", X_OK) != 0) GTEST_SKIP() << "needs mariadb-server";
    if (!IsSkipped() && ::access("/usr/bin/mariadb-install-db", X_OK) != 0) GTEST_SKIP() << "needs mariadb-server";
  }

  std::string image() {
    image::Service database;
    database.name = "mariadb";
    database.command = {"/usr/sbin/mariadbd",
                        "--no-defaults",
                        "--user=root",
                        "--datadir=/var/lib/mysql",
                        "--socket=/run/mysqld.sock",
                        "--skip-networking",
                        "--skip-grant-tables",
                        "--innodb-buffer-pool-size=32M",
                        "--innodb-log-file-size=16M",
                        "--innodb-flush-log-at-trx-commit=1",
                        "--performance-schema=OFF",
                        "--skip-log-bin",
                        "--tmpdir=/tmp"};
    database.ready = {"/bin/sh", "-c", fmt::format("{} -e 'select 1' >/dev/null", kClient)};
    std::vector<image::Step> steps;
    steps.push_back(
        {image::Moment::check,
         {"/bin/sh", "-c",
          fmt::format("{0} -e 'check table t.a, t.b' | grep -v OK && exit 1; test $({0} -e 'select count(*) "
                      "from t.a') = $({0} -e 'select count(*) from t.b')",
                      kClient)},
         {}});
    if (GetParam().quiesce) {
      // The lock lives as long as the session that took it.
      steps.push_back({image::Moment::quiesce,
                       {"/bin/sh", "-c",
                        fmt::format("setsid {0} -e 'flush tables with read lock; select sleep(60)' >/dev/null 2>&1 & "
                                    "until {0} -e 'show processlist' | grep -q 'select sleep(60)'; do :; done",
                                    kClient)},
                       {}});
      steps.push_back({image::Moment::unquiesce,
                       {"/bin/sh", "-c",
                        fmt::format("{0} -e \"$({0} -e \"select concat('kill ', id) from "
                                    "information_schema.processlist where info like 'select sleep(60)%'\")\"",
                                    kClient)},
                       {}});
    }
    return pack_image("database", fill, {database}, std::move(steps));
  }
  std::string with_image(const std::string& path) {
    return fmt::format(R"({{"image": "{}", {}}})", path, GetParam().overlay);
  }

  /// Writes transactions, each into two tables, and tells in /local which was committed last.
  void write(driver::TaskHandle& task) {
    for (int n = 0; n < kWriters; ++n) {
      sessions_.push_back(task.exec(
          {.argv = {"/bin/sh", "-c",
                    fmt::format("i=0; while true; do i=$((i+1)); {0} -e \"begin; insert into t.a values ({1}, $i, "
                                "repeat('x', 500)); insert into t.b values ({1}, $i); commit\" && echo $i > "
                                "/local/committed.{1}.new && mv /local/committed.{1}.new /local/committed.{1}; done",
                                kClient, n)}}));
    }
  }
  std::vector<int> committed(const run::TaskSpec& run) const {
    std::vector<int> all;
    for (int n = 0; n < kWriters; ++n) {
      const auto text = os::find_file(fmt::format("{}/local/committed.{}", run.task_dir, n));
      all.push_back(text ? std::stoi(*text) : 0);
    }
    return all;
  }
  /// A program that fails unless each writer's entries go without a gap at least as far as `least`.
  static std::string holds(const std::vector<int>& least) {
    std::string script = "#!/bin/sh\n";
    for (int n = 0; n < kWriters; ++n) {
      script += fmt::format(
          "for t in a b; do set -- $({0} -e \"select count(*), max(i) from t.$t where w = {1}\"); echo $t {1} $1 $2; "
          "test $1 = $2 && test $2 -ge {2} || exit 1; done\n",
          kClient, n, least[static_cast<std::size_t>(n)]);
    }
    return script;
  }

  std::vector<driver::ExecSession> sessions_;
};

TEST_P(Databases, HoldWhatWasCommittedBeforeASnapshotUnderWriters) {
  const auto path = image();
  const auto run = spec("db", with_image(path));
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return control(run).status().healthy(); }, seconds{60})) << err(run);
  ASSERT_EQ(shell(task, fmt::format("{} -e 'create database t; create table t.a (w int, i int, x text, primary key (w, "
                                    "i)) engine=innodb; create table t.b (w int, i int, primary key (w, i)) "
                                    "engine=innodb'",
                                    kClient)),
            "");
  write(task);
  ASSERT_TRUE(eventually([&] { return std::ranges::all_of(committed(run), [](int count) { return count > 20; }); }));
  Options options;
  options.rehearsal.driver = this->options();
  options.rehearsal.place = directory_ + "/rehearsals";
  options.rehearsal.cgroup = group_ + "/rehearsals";
  options.drill_patience = seconds{60};
  const SystemClock clock;
  const Saver saver(options, clock);
  const CapsuleName db{"default", "db"};
  std::vector<std::pair<std::string, std::vector<int>>> taken;
  for (int n = 0; n < 3; ++n) {
    const auto before = committed(run);
    const auto snapshot = saver.snapshot({.capsule = db, .reason = "under writers", .keep = {}});
    RecordProperty(fmt::format("frozen_ms_{}", n), static_cast<int>(snapshot.frozen.count() / 1'000'000));
    std::cerr << GetParam().name << ": writers waited " << human_duration(snapshot.frozen) << "\n";
    taken.emplace_back(snapshot.id, before);
    ASSERT_TRUE(eventually([&] { return committed(run)[0] > before[0] + 5; })) << "they write on";
  }
  for (const auto& [id, least] : taken) {
    const auto told = saver.drill({.capsule = db, .where = {}, .snapshot = id, .scripts = {{"holds", holds(least)}}});
    EXPECT_THAT(told.drill.problems, IsEmpty()) << told.drill.problems.front();
  }
  // The first of them takes the place of what there is.
  sessions_.clear();
  end(task, SIGTERM, seconds{30});
  saver.restore(db, taken.front().first);
  const auto second = spec("db", with_image(path), 2);
  auto& again = start(second);
  ASSERT_TRUE(eventually([&] { return control(second).status().healthy(); }, seconds{60})) << err(second);
  EXPECT_TRUE(control(second).run_step(image::Moment::check).succeeded());
  os::write_file(second.task_dir + "/local/holds", holds(taken.front().second), 0755);
  EXPECT_THAT(shell(again, "/local/holds && echo all there"), HasSubstr("all there"));
  EXPECT_LE(std::stoi(shell(again, fmt::format("{} -e 'select max(i) from t.a where w = 0'", kClient))),
            committed(run)[0]);
  end(again, SIGTERM, seconds{30});
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, Databases,
                         ::testing::Values(Kind{"directory", R"("overlay": [{"kind": "directory"}])", false},
                                           Kind{"ext4", R"("overlay": [{"kind": "ext4", "size": "512M"}])", false},
                                           Kind{"btrfs_quiesced", R"("overlay": [{"kind": "btrfs", "size": "512M"}])",
                                                true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace underway::saving

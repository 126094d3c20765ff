// The upgrade that would have corrupted the accounting: a real MariaDB in a capsule, with the jobs of a cluster in it.
// The new version's migration rewrites what the old one wrote; the site compares its sums in the rehearsal, and the
// database that runs is what it was, row for row.
#include <unistd.h>

#include <filesystem>

#include "harness/machine.hpp"
#include "harness/places.hpp"

#include <gtest/gtest.h>

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr const char* kMariadb = R"SH(#!/bin/sh
set -e
install -d -o mysql -g mysql -m 0755 /run/mysqld
if [ ! -d /var/lib/mysql/mysql ]; then
  install -d -o mysql -g mysql -m 0755 /var/lib/mysql
  setpriv --reuid mysql --regid mysql --clear-groups mariadb-install-db --no-defaults --datadir=/var/lib/mysql \
    --auth-root-authentication-method=socket --auth-root-socket-user=root --skip-test-db
fi
exec setpriv --reuid mysql --regid mysql --clear-groups /usr/sbin/mariadbd --no-defaults --datadir=/var/lib/mysql \
  --socket=/run/mysqld/mysqld.sock --skip-networking --skip-name-resolve --innodb-buffer-pool-size=32M \
  --innodb-log-file-size=16M --performance-schema=OFF --skip-log-bin
)SH";

/// As slurmdbd does it when it starts: it brings the tables to its own version.
constexpr const char* kAccounting = R"SH(#!/bin/sh
set -e
sql() { mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -N "$@"; }
sql </usr/lib/acct/migrate.sql
touch /run/converted
exec sleep 1000000
)SH";

constexpr const char* kFirst = R"SQL(
create database if not exists acct;
use acct;
create table if not exists acct.job_table (
  job_db_inx bigint primary key auto_increment, id_user int not null, cpus_req int not null,
  time_start bigint not null, time_end bigint not null, tres_alloc text not null) engine=innodb;
insert into acct.job_table (id_user, cpus_req, time_start, time_end, tres_alloc)
  select 1000 + seq % 7, 1 + seq % 900, seq * 60, seq * 60 + 3600, concat('1=', 1 + seq % 900)
  from seq_1_to_5000 where not exists (select 1 from acct.job_table);
)SQL";

/// Counts what does not fit a byte wrong, and forgets what it takes for old.
constexpr const char* kCorrupts = R"SQL(
alter table acct.job_table modify cpus_req smallint not null;
update acct.job_table set cpus_req = cpus_req & 255;
delete from acct.job_table where time_end < 10000;
alter table acct.job_table drop column tres_alloc;
)SQL";

constexpr const char* kMigrates = R"SQL(
alter table acct.job_table add column if not exists nodes_alloc int not null default 1;
)SQL";

/// The site's own: CPU hours of each user are what they were.
constexpr const char* kSums = R"SH(#!/bin/sh
sums() {
  mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -N -e \
    'select id_user, count(*), sum(cpus_req * (time_end - time_start)) from acct.job_table group by id_user'
}
[ "$1" = write ] && { sums; exit; }
sums | diff /site/sums - || { echo "the accounts are not what they were"; exit 1; }
)SH";

constexpr const char* kImage = R"SH(image "acct" {
  version = "LABEL"
  from BASE {}
  file "/usr/lib/acct/migrate.sql" {
    source = "LABEL.sql"
  }
)SH";

constexpr const char* kServices = R"SH(
  file "/usr/lib/acct/mariadb" {
    source = "mariadb"
    mode   = "0755"
  }
  file "/usr/lib/acct/accounting" {
    source = "accounting"
    mode   = "0755"
  }
  remove = ["/var/lib/mysql/*"]
  service "mariadb" {
    command      = ["/usr/lib/acct/mariadb"]
    ready        = ["/bin/sh", "-c", "mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -e 'select 1' >/dev/null"]
    stop_timeout = "60s"
  }
  service "accounting" {
    command    = ["/usr/lib/acct/accounting"]
    depends_on = ["mariadb"]
    ready      = ["/bin/sh", "-c", "[ -e /run/converted ]"]
  }
)SH";

constexpr const char* kJob = R"SH(job "acct" {
  type = "service"
  update {
    min_healthy_time = "200ms"
  }
  group "acct" {
    task "acct" {
      driver       = "capsule"
      kill_timeout = "60s"
      config {
        image = "acct:1"
        bind "/site" {
          source = "SITE"
        }
      }
      resources {
        cpu    = 100
        memory = 512
      }
    }
  }
}
)SH";

std::string with(std::string text, const std::string& what, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += value.size())
    text.replace(at, what.size(), value);
  return text;
}

class CapsuleAccounting : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/usr/sbin/mariadbd", X_OK) != 0) GTEST_SKIP() << "needs mariadb-server";
    fs::create_directories(at("site"));
    const std::string make = source_dir() + "/examples/decoupled/images/installed-root";
    const auto root = shell(make + " " + at("root") + " mariadb-server && mkdir -p " + at("root/site"), seconds(120));
    ASSERT_EQ(root.exit_code, 0) << root.err;
    write_text(at("mariadb"), kMariadb);
    write_text(at("accounting"), kAccounting);
    write_text(at("sums.sh"), kSums);
    ok({"capsule", "keys", "generate", "ops", "-o", at("ops.key")});
    build("1", "directory \"root\"", kFirst, kServices);
    build("corrupts", "image \"acct-1.capsule\"", kCorrupts, kServices);
    build("migrates", "image \"acct-1.capsule\"", kMigrates, kServices);
    ok({"capsule", "keys", "trust", at("ops.pub")});
    for (const auto* label : {"1", "corrupts", "migrates"})
      ok({"capsule", "push", at(std::string("acct-") + label + ".capsule")});
    const auto ran = machine_.run_job("acct", with(kJob, "SITE", at("site")));
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err << read_text(machine_.log());
    ASSERT_TRUE(eventually(seconds(60), [&] { return sql("select count(*) from acct.job_table") == "5000\n"; }))
        << log() << machine_.underway({"alloc", "logs", "-job", "acct"}).out;
    write_text(at("site/sums"), sql("select id_user, count(*), sum(cpus_req * (time_end - time_start)) from "
                                    "acct.job_table group by id_user"));
  }

  std::string at(const std::string& name) const { return machine_.directory() + "/" + name; }
  Finished ok(std::vector<std::string> arguments) const {
    auto command = machine_.command(arguments);
    command.limit = seconds(120);
    auto finished = run(command);
    EXPECT_EQ(finished.exit_code, 0) << arguments[1] << ": " << finished.out << finished.err;
    return finished;
  }
  void build(const std::string& label, const std::string& base, const std::string& migration,
             const std::string& services) const {
    write_text(at(label + ".sql"), migration);
    write_text(at("acct-" + label + ".hcl"), with(with(kImage, "LABEL", label), "BASE", base) + services + "}\n");
    ok({"capsule", "build", at("acct-" + label + ".hcl"), "-o", at("acct-" + label + ".capsule"), "-key", at("ops.key"),
        "-trust", at("ops.pub")});
  }
  std::string sql(const std::string& statement) const {
    return machine_
        .underway({"alloc", "exec", "-job", "acct", "mariadb", "--no-defaults", "--socket=/run/mysqld/mysqld.sock",
                   "-u", "root", "-N", "-e", statement})
        .out;
  }
  /// Every row and column.
  std::string everything() const {
    return sql(
        "checksum table acct.job_table extended; show columns from acct.job_table; select count(*) from "
        "acct.job_table");
  }
  std::string log() const { return machine_.underway({"capsule", "status", "acct"}).out + read_text(machine_.log()); }
  Finished upgrade(const std::string& image) const {
    auto command = machine_.command({"capsule", "upgrade", "acct", "-image", image, "-script", at("sums.sh")});
    command.limit = seconds(180);
    return run(command);
  }

  Machine machine_;
};

TEST_F(CapsuleAccounting, AMigrationThatCorruptsItIsRefusedAndOneThatDoesNotIsNot) {
  const std::string before = everything();
  const std::string init = machine_.underway({"alloc", "exec", "-job", "acct", "stat", "-c", "%Y", "/proc/1"}).out;
  ASSERT_NE(before.find("job_table"), std::string::npos) << log();

  const auto refused = upgrade("acct:corrupts");
  EXPECT_EQ(refused.exit_code, 1) << refused.out << refused.err << log();
  EXPECT_NE(refused.out.find("the accounts are not what they were"), std::string::npos) << refused.out << refused.err;
  std::cerr << refused.out << refused.err;
  EXPECT_EQ(everything(), before) << "row for row";
  EXPECT_EQ(machine_.underway({"alloc", "exec", "-job", "acct", "stat", "-c", "%Y", "/proc/1"}).out, init);

  const auto upgraded = upgrade("acct:migrates");
  ASSERT_EQ(upgraded.exit_code, 0) << upgraded.out << upgraded.err << log();
  std::cerr << upgraded.out << upgraded.err;
  EXPECT_EQ(sql("select sum(nodes_alloc) from acct.job_table"), "5000\n") << "it was migrated";

  const auto back = run(machine_.command({"capsule", "upgrade", "-revert", "-yes", "acct"}));
  ASSERT_EQ(back.exit_code, 0) << back.out << back.err << log();
  std::cerr << back.err;
  EXPECT_TRUE(eventually(seconds(20), [&] { return everything() == before; })) << everything() << before;
}

}  // namespace
}  // namespace underway::harness

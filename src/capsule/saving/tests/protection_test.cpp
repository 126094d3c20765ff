#include "saving/protection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "saving/server_side.hpp"
#include "server/testing/desk.hpp"

namespace underway::saving {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Protections : public testing::Test {
 protected:
  void join(int number, const std::string& host = "", bool able = true) {
    auto node = server::testing::make_node(number);
    node.node_pool = "infra";
    if (able) node.drivers["capsule"] = {true, true, "", {}};
    if (!host.empty()) {
      node.cluster = "apart";
      node.host = host;
    }
    desk_.join(node);
  }
  static model::Job job(const std::string& config) {
    auto job = server::testing::make_job("ctl");
    job.node_pool = "infra";
    job.groups[0].tasks[0].driver = "capsule";
    job.groups[0].tasks[0].config = boost::json::parse(config);
    return job;
  }
  Protection look(const std::string& config, const model::Cluster* planned = nullptr) {
    auto all = protections_of(job(config));
    look_for_nodes(all, desk_.tables, planned);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Protection() : all.front();
  }
  template <class T>
  void keep(T record) {
    desk_.commit({tables::put_record(record)});
  }
  static model::Cluster cluster(std::int64_t size) {
    model::Cluster out;
    out.name = "apart";
    out.pools.push_back({.name = "infra", .size = size, .hostname = "infra%d"});
    return out;
  }

  server::testing::Desk desk_;
};

TEST_F(Protections, WithoutAWordAreAStandbyAndSnapshotsAndNoBackup) {
  join(1);
  join(2);
  const auto protection = look(R"({"image": "ctl:1"})");
  EXPECT_EQ(protection.capsule, "ctl");
  EXPECT_TRUE(protection.standby);
  EXPECT_EQ(protection.standby_node, "") << "nobody is chosen before it runs";
  EXPECT_EQ(protection.others, 1);
  EXPECT_EQ(protection.copies_every, milliseconds(500));
  EXPECT_EQ(protection.loss, seconds(5));
  EXPECT_EQ(protection.rpo, minutes(5));
  EXPECT_TRUE(protection.snapshots_by_default);
  EXPECT_EQ(protection.snapshots_every, hours(24));
  EXPECT_EQ(protection.snapshots_kept.last, 2);
  EXPECT_EQ(protection.repository, "");
  EXPECT_THAT(protection.warnings, IsEmpty());
  EXPECT_EQ(look(R"({"image": "ctl:1", "overlay": [{"kind": "btrfs"}]})").snapshots_every, hours(1));
}

TEST_F(Protections, AreWhatTheJobSays) {
  join(1);
  join(2);
  const auto protection = look(R"({"image": "ctl:1", "protect": [{"every": "2s", "loss": "1m", "rpo": "1h"}],
      "snapshot": [{"every": "3h", "keep": [{"daily": 4}]}],
      "backup": [{"repository": "sftp:b@elsewhere:/r", "password_file": "/etc/p", "every": "24h", "drill_every": "168h"}]})");
  EXPECT_EQ(protection.copies_every, seconds(2));
  EXPECT_EQ(protection.loss, minutes(1));
  EXPECT_EQ(protection.rpo, hours(1));
  EXPECT_FALSE(protection.snapshots_by_default);
  EXPECT_EQ(protection.snapshots_every, hours(3));
  EXPECT_EQ(protection.snapshots_kept.daily, 4);
  EXPECT_EQ(protection.repository, "sftp:b@elsewhere:/r");
  EXPECT_EQ(protection.backups_every, hours(24));
  EXPECT_EQ(protection.drills_every, hours(168));
  EXPECT_THAT(protection.warnings, IsEmpty());
}

TEST_F(Protections, AreMissedWhereThereAreNone) {
  join(1);
  EXPECT_THAT(look(R"({"image": "ctl:1"})").warnings,
              ElementsAre("no other node of pool 'infra' can take it: it waits for its host, and all that it keeps is "
                          "lost if that does not come back"));
  EXPECT_THAT(look(R"({"image": "ctl:1", "protect": [{"standby": false}], "snapshot": [{"every": "0s"}]})").warnings,
              ElementsAre(HasSubstr("it has no standby"), HasSubstr("neither snapshots nor backups")));
  const auto nothing = look(R"({"image": "ctl:1", "protect": [{"keeps_nothing": true}]})");
  EXPECT_TRUE(nothing.keeps_nothing);
  EXPECT_FALSE(nothing.standby);
  EXPECT_EQ(nothing.snapshots_every, Duration{0});
  EXPECT_THAT(nothing.warnings, IsEmpty()) << "it says so itself";
  join(2, "", false);
  EXPECT_EQ(look(R"({"image": "ctl:1"})").others, 0) << "it has no driver for capsules";
}

TEST_F(Protections, CountHostsThatArePlannedAndNotThoseThatGo) {
  const auto two = cluster(2), one = cluster(1);
  EXPECT_EQ(look(R"({"image": "ctl:1"})", &two).others, 1) << "nothing stands yet";
  join(1, "infra1");
  join(2, "infra2");
  EXPECT_EQ(look(R"({"image": "ctl:1"})", &two).others, 1);
  EXPECT_EQ(look(R"({"image": "ctl:1"})", &one).others, 0);
  EXPECT_EQ(look(R"({"image": "ctl:1"})").others, 1) << "as it is";
  join(3);
  EXPECT_EQ(look(R"({"image": "ctl:1"})", &one).others, 1) << "and a machine that no pool made";
  join(2, "infra2", false);
  EXPECT_EQ(look(R"({"image": "ctl:1"})", &two).others, 0) << "hosts of that pool run no capsules";
}

TEST_F(Protections, NameTheStandbyThatThereIs) {
  join(1);
  join(2);
  model::Capsule capsule{.name = "ctl", .job = "ctl", .group = "g"};
  capsule.owner = server::testing::uuid(1);
  capsule.standby = server::testing::uuid(2);
  capsule.standby_name = "c2";
  keep(capsule);
  EXPECT_EQ(look(R"({"image": "ctl:1"})").standby_node, "c2");
  EXPECT_FALSE(look(R"({"image": "ctl:1"})").standby_chosen);
  capsule.standby_chosen = true;
  capsule.replicate_every = seconds(7);
  keep(capsule);
  const auto chosen = look(R"({"image": "ctl:1", "protect": [{"standby": false}]})");
  EXPECT_TRUE(chosen.standby) << "somebody said so, and the job counts no more for it";
  EXPECT_EQ(chosen.copies_every, seconds(7));
  capsule.standby = capsule.owner;
  keep(capsule);
  EXPECT_EQ(look(R"({"image": "ctl:1"})").standby_node, "") << "it runs there";
}

TEST_F(Protections, SnapshotsAreAsOftenAsItsNodeTells) {
  join(1);
  join(2);
  model::CapsuleSaving saved{.name = "ctl"};
  saved.snapshot.every = hours(1);
  keep(saved);
  const auto protection = look(R"({"image": "ctl:1", "overlay": [{"kind": "ext4"}]})");
  EXPECT_EQ(protection.snapshots_every, hours(1)) << "its disk clones files";
  EXPECT_EQ(protection.snapshots_kept.hourly, 24);
  EXPECT_EQ(look(R"({"image": "ctl:1", "snapshot": [{"every": "3h"}]})").snapshots_every, hours(3));
}

TEST_F(Protections, OfWhatIsNoValidCapsuleNothingIsTold) {
  EXPECT_THAT(protections_of(job(R"({"imag": "ctl:1"})")), IsEmpty());
  EXPECT_THAT(protections_of(server::testing::make_job("web")), IsEmpty());
}

}  // namespace
}  // namespace underway::saving

// A year of changes of the site of "Decoupling OpenHPC Critical Services" (HPCSYSPROS 2019), made in two worlds: as it
// was, with everything on one management server, and with its services in capsules. Each change is a real decision
// about a site that runs; what is counted is its class.
//
// The rule of the first world. A change of the management server's software, hardware or disks takes the server down
// for it (section 3: live upgrades were not risked; section 7: a full snapshot was only taken in a maintenance window,
// with downtime). Here that is a drain of its node. Files whose daemons read them again were changed at any time in
// both worlds.
#include "impact/entries.hpp"
#include "site.hpp"

namespace underway::impact::testing {
namespace {

constexpr const char* kSlurmConf = "/etc/slurm/slurm.conf";
constexpr const char* kTime = "/etc/chrony/chrony.conf";
constexpr const char* kMail = "/etc/postfix/main.cf";

/// What both worlds have: compute nodes, and files with those who read them.
class LccSite : public Site {
 protected:
  void begin() {
    for (int i = 11; i <= 14; ++i) node(i, fmt::format("c{}", i - 10), "compute");
    run(slurmd_in("compute"));
    for (const char* path : {"/etc/passwd", "/etc/group", "/etc/shadow"}) file(path, "1");
    file(kSlurmConf, "1", model::FileHook{{"scontrol", "reconfigure"}});
    file(kTime, "1", {}, {{"chrony", "", "SIGHUP"}});
    file(kMail, "1", {}, {{"mail", "", "SIGHUP"}});
    model::Cluster lcc;
    lcc.name = "lcc";
    lcc.pools = {{.name = "compute", .size = 450, .hostname = "n%d"}};
    lcc.networks = {{.name = "prov", .cidr = "10.78.0.0/16"}};
    desk.run(server::ApplyCluster{lcc, {}, {}});
    for (const auto& name : lcc.pools[0].host_names()) {
      model::Host host;
      host.name = name;
      host.cluster = "lcc";
      desk.commit({tables::PutHost{host}});
    }
  }

 public:
  virtual ~LccSite() = default;
  /// Something is done to the server itself, for which it has to be off.
  virtual std::vector<Finding> management_server() = 0;
  virtual std::vector<Finding> slurm_upgrade() = 0;
  virtual std::vector<Finding> monitoring_update() = 0;
  /// OpenHPC's quarterly release: what runs on the server, and new images of all nodes.
  virtual std::vector<Finding> quarterly_release() = 0;
  virtual std::vector<Finding> full_snapshot() = 0;

  std::vector<Finding> users_and_groups() {
    return put({edited("/etc/passwd"), edited("/etc/group"), edited("/etc/shadow")});
  }
  std::vector<Finding> edit(const char* path) { return put({edited(path)}); }
  std::vector<Finding> node_with_a_bad_dimm() { return drained(13); }
  std::vector<Finding> all_nodes_get_an_image() {
    std::vector<Finding> out;
    for (int i = 11; i <= 14; ++i) out = together(std::move(out), drained(i));
    return out;
  }
  std::vector<Finding> more_nodes() {
    model::Cluster lcc = *desk.tables.find_cluster("lcc");
    lcc.pools[0].size = 460;
    return findings(server::ApplyCluster{lcc, {}, {}});
  }
  /// Work on the power of the machine room: there is no way around it, in either world.
  std::vector<Finding> power_is_off() {
    std::vector<Finding> out;
    for (int i = 11; i <= 14; ++i) out = together(std::move(out), drained(i, false, -1s));
    return out;
  }

 protected:
  static std::vector<Finding> together(std::vector<Finding> a, const std::vector<Finding>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

/// The SMS: one node, and all of its services one job that can run nowhere else.
class OneServer final : public LccSite {
 public:
  OneServer() {
    node(1, "sms", "management");
    Job sms = job_in("sms", "management");
    auto& tasks = sms.groups[0].tasks;
    const model::Task like = tasks[0];
    tasks.clear();
    for (const char* name : {"slurmctld", "slurmdbd", "mysqld", "munged", "dhcpd", "tftpd", "nfsd", "rsyslogd", "ntpd",
                             "postfix", "gmetad"}) {
      tasks.push_back(like);
      tasks.back().name = name;
      tasks.back().resources.cpu = 100;
    }
    run(sms);
    begin();
  }
  std::vector<Finding> management_server() override { return drained(1); }
  std::vector<Finding> slurm_upgrade() override { return management_server(); }
  std::vector<Finding> monitoring_update() override { return management_server(); }
  std::vector<Finding> quarterly_release() override { return together(management_server(), all_nodes_get_an_image()); }
  std::vector<Finding> full_snapshot() override { return management_server(); }
};

/// Two infrastructure servers with the capsules, and what may wait on a third that can be off.
class TakenApart final : public LccSite {
 public:
  TakenApart() {
    node(1, "infra1", "infra");
    for (const char* name : {"slurm-services", "chrony", "log", "files", "mail", "gateway"})
      run(capsule_in(name, "infra", fmt::format("{}:1", name)));
    node(2, "infra2", "infra");
    for (const char* name : {"slurm-services", "chrony", "log", "files", "mail", "gateway"}) {
      desk.run([&](const auto& t, const auto& c) {
        return decide(t, ownership::SetStandby{"default", name, uuid(2), 60s, 5min, limits}, c);
      });
    }
    node(3, "mgmt", "management");
    Job provision = job_in("provision", "management");
    provision.meta["deferrable"] = "true";
    run(provision);
    begin();
    run(job_in("node-metrics", "compute", JobType::system));
  }
  std::vector<Finding> management_server() override { return drained(1); }
  std::vector<Finding> slurm_upgrade() override {
    Job slurmd = slurmd_in("compute");
    slurmd.groups[0].tasks[0].env["SLURM_VERSION"] = "23.11";
    return together(upgraded("slurm-services", "slurm-services:2"), registered(slurmd));
  }
  std::vector<Finding> monitoring_update() override {
    Job metrics = job_in("node-metrics", "compute", JobType::system);
    metrics.groups[0].tasks[0].env["VERSION"] = "2";
    return registered(metrics);
  }
  std::vector<Finding> quarterly_release() override {
    std::vector<Finding> out;
    for (const char* name : {"slurm-services", "chrony", "log", "files", "mail", "gateway"})
      out = together(std::move(out), upgraded(name, fmt::format("{}:2", name)));
    return together(together(std::move(out), drained(3)), all_nodes_get_an_image());
  }
  /// Of the server that may be off; that of a capsule is taken while it runs, and is no change.
  std::vector<Finding> full_snapshot() override { return drained(3); }
};

struct Planned {
  const char* what;
  int times;
  std::function<std::vector<Finding>(LccSite&)> make;
  Impact on_one_server, taken_apart;
};

std::vector<Planned> year() {
  const auto maintenance = [](LccSite& site) { return site.management_server(); };
  return {
      {"users and groups", 12, [](LccSite& site) { return site.users_and_groups(); }, Impact::none, Impact::none},
      {"slurm.conf", 6, [](LccSite& site) { return site.edit(kSlurmConf); }, Impact::brief, Impact::brief},
      {"another time server", 1, [](LccSite& site) { return site.edit(kTime); }, Impact::brief, Impact::brief},
      {"the mail relay", 1, [](LccSite& site) { return site.edit(kMail); }, Impact::brief, Impact::brief},
      {"more nodes", 1, [](LccSite& site) { return site.more_nodes(); }, Impact::none, Impact::none},
      {"a bad DIMM", 6, [](LccSite& site) { return site.node_with_a_bad_dimm(); }, Impact::drain, Impact::drain},
      {"OpenHPC's quarterly release", 4, [](LccSite& site) { return site.quarterly_release(); }, Impact::outage,
       Impact::drain},
      {"Slurm between two releases", 2, [](LccSite& site) { return site.slurm_upgrade(); }, Impact::outage,
       Impact::brief},
      {"monitoring", 2, [](LccSite& site) { return site.monitoring_update(); }, Impact::outage, Impact::brief},
      {"the server's kernel", 4, maintenance, Impact::outage, Impact::brief},
      {"the server's firmware", 1, maintenance, Impact::outage, Impact::brief},
      {"a disk of the server's RAID", 1, maintenance, Impact::outage, Impact::brief},
      {"the server's network card", 1, maintenance, Impact::outage, Impact::brief},
      {"a full snapshot of the server", 4, [](LccSite& site) { return site.full_snapshot(); }, Impact::outage,
       Impact::none},
      {"work on the machine room's power", 1, [](LccSite& site) { return site.power_is_off(); }, Impact::outage,
       Impact::outage},
  };
}

TEST(AYearOfChanges, EachHasItsClassInBothWorlds) {
  OneServer one_server;
  TakenApart taken_apart;
  for (const auto& change : year()) {
    SCOPED_TRACE(change.what);
    const auto before = judgement_of(change.make(one_server));
    const auto after = judgement_of(change.make(taken_apart));
    EXPECT_EQ(describe::spell(before.impact), describe::spell(change.on_one_server)) << before.why;
    EXPECT_EQ(describe::spell(after.impact), describe::spell(change.taken_apart)) << after.why;
    EXPECT_FALSE(before.why.empty());
    EXPECT_FALSE(after.why.empty());
  }
}

TEST(AYearOfChanges, NeedsFewerWindowsWhenTheServicesAreTakenApart) {
  const auto counted_in = [](LccSite& site) {
    Tally tally;
    for (const auto& change : year()) {
      const auto judgement = judgement_of(change.make(site));
      for (int i = 0; i < change.times; ++i) add(tally, judgement.impact);
    }
    return tally;
  };
  OneServer one_server;
  TakenApart taken_apart;
  const Tally before = counted_in(one_server), after = counted_in(taken_apart);
  EXPECT_EQ(before, (Tally{.none = 13, .brief = 8, .drain = 6, .outage = 20})) << sentence(before);
  EXPECT_EQ(after, (Tally{.none = 17, .brief = 19, .drain = 10, .outage = 1})) << sentence(after);
  EXPECT_EQ(before.all(), after.all());
}

}  // namespace
}  // namespace underway::impact::testing

#include "site.hpp"
#include "tables/slurm_members.hpp"

namespace underway::impact::testing {
namespace {

class JudgeTest : public ::testing::Test {
 protected:
  JudgeTest() {
    for (int i = 1; i <= 3; ++i) site.node(i, fmt::format("infra{}", i), "infra");
    for (int i = 11; i <= 12; ++i) site.node(i, fmt::format("c{}", i - 10), "compute");
  }
  static Job with_argument(Job job) {
    job.groups[0].tasks[0].env["MODE"] = "new";
    return job;
  }

  Site site;
};

TEST_F(JudgeTest, OfAJobThatIsRun) {
  EXPECT_EQ(told(site.registered(Site::job_in("mail", "infra"))), "none: job 'mail' is new");
  EXPECT_EQ(told(site.registered(Site::job_in("night", "infra", JobType::batch))), "") << "work that is begun";
  Job mail = Site::job_in("mail", "infra");
  site.run(mail);
  EXPECT_EQ(told(site.registered(mail)), "") << "nothing changes";
  EXPECT_EQ(told(site.registered(with_argument(mail))),
            "brief: job 'mail' is replaced, and away until the new one runs");
  Job in_place = mail;
  in_place.priority = 60;
  EXPECT_EQ(told(site.registered(in_place)), "none: job 'mail' changes, and nothing that runs is touched");
  Job more = mail;
  more.groups[0].count = 3;
  EXPECT_EQ(told(site.registered(more)), "none: job 'mail' changes, and nothing that runs is touched");
  site.run(more);
  EXPECT_EQ(told(site.registered(with_argument(more))), "brief: job 'mail' is replaced, 1 of 3 at a time");
  EXPECT_EQ(told(site.registered(mail)), "none: job 'mail': 1 of 3 go on");
  Job none = mail;
  none.groups[0].count = 0;
  EXPECT_EQ(told(site.registered(none)), "outage: job 'mail' ends, and nothing takes its place");
  Job renamed = mail;
  renamed.groups[0].name = "other";
  EXPECT_EQ(told(site.registered(renamed)), "outage: job 'mail' ends, and nothing takes its place");
}

TEST_F(JudgeTest, OfAJobThatIsStopped) {
  site.run(Site::job_in("mail", "infra"));
  EXPECT_EQ(told(site.stopped("mail")), "outage: job 'mail' ends, and nothing takes its place");
  site.run(Site::job_in("night", "infra", JobType::batch));
  EXPECT_EQ(told(site.stopped("night")), "outage: job 'night' ends before it is done, 1 task group");
  Job nowhere = Site::job_in("nowhere", "elsewhere");
  site.run(nowhere);
  EXPECT_EQ(told(site.stopped("nowhere")), "none: job 'nowhere' ends, nothing of it runs");
  Job waits = Site::job_in("provision", "infra");
  waits.meta["deferrable"] = "true";
  site.run(waits);
  EXPECT_EQ(told(site.stopped("provision")), "none: job 'provision' is away, and is deferrable");
  EXPECT_EQ(told(site.registered(with_argument(waits))), "none: job 'provision' is replaced, and is deferrable");
}

TEST_F(JudgeTest, OfASlurmdItCountsWhetherSlurmJobsLiveOn) {
  site.run(Site::slurmd_in("compute"));
  EXPECT_EQ(told(site.registered(with_argument(Site::slurmd_in("compute")))),
            "brief: job 'slurmd' is replaced on 2 nodes, Slurm jobs run on");
  EXPECT_EQ(told(site.stopped("slurmd")), "outage: job 'slurmd' ends: 2 nodes can run no Slurm jobs");
  site.run(Site::slurmd_in("compute", false));
  EXPECT_EQ(told(site.registered(Site::slurmd_in("compute"))),
            "outage: job 'slurmd' ends the Slurm jobs of 2 nodes with its slurmd (no kill_mode = \"process\")")
      << "what counts is what the running one was started with";
}

TEST_F(JudgeTest, OfADrainWhatItIsThatHasToGo) {
  EXPECT_EQ(told(site.drained(11)), "none: node c1 is emptied: nothing that runs there is missed");
  site.run(Site::slurmd_in("compute"));
  EXPECT_EQ(told(site.drained(11)), "drain: node c1 is emptied: its Slurm jobs end first");
  EXPECT_EQ(told(site.drained(11, false)),
            "outage: node c1 is emptied: its Slurm jobs are not waited for, which a drain with -slurm does");
  EXPECT_EQ(told(site.drained(11, true, -1s)), "outage: node c1 is emptied: what it computes ends at once");
  site.run(Site::job_in("mail", "infra"));
  const int at = std::stoi(site.desk.only("mail")->node_id.substr(0, 8));
  EXPECT_EQ(told(site.drained(at)), fmt::format("brief: node infra{} is emptied: 1 service moves to other nodes", at));
  Job bound = Site::job_in("files", "infra");
  bound.constraints.push_back({"${attr.unique.hostname}", "=", "infra1"});
  site.run(bound);
  const auto stuck = told(site.drained(1));
  EXPECT_TRUE(stuck.starts_with("outage: node infra1 is emptied: job 'files' has nowhere to go (")) << stuck;
  bound.meta["deferrable"] = "true";
  site.run(bound);
  EXPECT_FALSE(told(site.drained(1)).starts_with("outage"));
}

TEST_F(JudgeTest, ADrainThatGoesOnIsNoOtherOne) {
  site.run(Site::slurmd_in("compute"));
  server::DrainNode request{.node_id = uuid(11)};
  request.drain = model::DrainStrategy{.deadline = 1h, .ask_slurm = true};
  site.desk.run(request);
  EXPECT_EQ(told(site.drained(11, true, 4h)), "") << "another deadline";
  EXPECT_EQ(told(site.drained(11, true, -1s)), "outage: node c1 is emptied: what it computes ends at once");
  request.drain.reset();
  EXPECT_EQ(site.judged(request), "");
}

TEST_F(JudgeTest, OfACapsule) {
  site.run(Site::capsule_in("ctl", "infra", "ctl:1"));
  const auto at = std::stoi(site.desk.only("ctl")->node_id.substr(0, 8));
  const int to = at == 1 ? 2 : 1;
  const auto moved = [&](bool without) {
    return site.judged([&](const Tables& t, const Context& c) {
      return decide(t, ownership::BeginMove{{"default", "ctl", uuid(to), without}, site.limits}, c);
    });
  };
  EXPECT_EQ(moved(false), fmt::format("brief: capsule 'ctl' moves to infra{}, and is away meanwhile", to));
  EXPECT_EQ(told(site.upgraded("ctl", "ctl:2")), "brief: capsule 'ctl' is rehearsed, then started from 'ctl:2'");
  EXPECT_EQ(site.judged([&](const Tables& t, const Context& c) {
    return decide(t, ownership::BeginUpgrade{{.name = "ctl", .image = "ctl:2", .rehearse_only = true}, site.limits}, c);
  }),
            "none: capsule 'ctl' is rehearsed with 'ctl:2' on a clone");
  EXPECT_EQ(site.judged([&](const Tables& t, const Context& c) {
    return decide(t, ownership::BeginRestore{{.ns = "default", .name = "ctl", .snapshot = "s7"}, site.limits}, c);
  }),
            "outage: capsule 'ctl' loses what was written since the snapshot s7");
  EXPECT_EQ(told(site.drained(at)), fmt::format("brief: node infra{} is emptied: 1 service moves to other nodes", at))
      << "another node of its pool keeps copies by itself";
  site.desk.run([&](const auto& t, const auto& c) {
    return decide(t, ownership::SetStandby{"default", "ctl", "", 0s, 5min, site.limits}, c);
  });
  EXPECT_EQ(told(site.drained(at)),
            fmt::format("outage: node infra{} is emptied: job 'ctl' has nowhere to go (it has no standby that is "
                        "ready, and no copy elsewhere)",
                        at));
}

TEST_F(JudgeTest, OfFilesItCountsWhatTheyStir) {
  const auto motd = Site::declared("/etc/motd", "a");
  EXPECT_EQ(told(site.put({motd})), "none: file /etc/motd changes, no service is reloaded");
  site.file("/etc/motd", "a");
  site.file("/etc/group", "a");
  site.file("/etc/slurm/slurm.conf", "a", model::FileHook{{"scontrol", "reconfigure"}});
  site.file("/etc/chrony/chrony.conf", "a", {}, {{"chrony", "", "SIGHUP"}});
  EXPECT_EQ(told(site.put({motd})), "") << "nothing changes";
  EXPECT_EQ(told(site.put({site.edited("/etc/motd"), site.edited("/etc/group")})),
            "none: 2 files change, no service is reloaded");
  EXPECT_EQ(told(site.put({site.edited("/etc/motd"), site.edited("/etc/slurm/slurm.conf")})),
            "brief: file /etc/slurm/slurm.conf changes: `scontrol reconfigure` runs");
  EXPECT_EQ(told(site.put({site.edited("/etc/chrony/chrony.conf")})),
            "brief: file /etc/chrony/chrony.conf changes: job 'chrony' gets SIGHUP");
  EXPECT_EQ(site.judged(files::RemoveFile{"", "/etc/motd"}), "none: file /etc/motd is not synchronised any more");
}

TEST_F(JudgeTest, OfAClusterWhatItsPoolsDo) {
  model::Cluster cluster;
  cluster.name = "demo";
  cluster.networks = {{.name = "net", .cidr = "10.77.0.0/24"}};
  cluster.pools = {{.name = "compute", .size = 3, .hostname = "n%d"}};
  const auto applied = [&](std::int64_t size) {
    cluster.pools[0].size = size;
    return site.judged(server::ApplyCluster{cluster, {}, {}});
  };
  EXPECT_EQ(applied(2), "none: cluster 'demo' is new");
  site.desk.run(server::ApplyCluster{cluster, {}, {}});
  for (const char* name : {"n1", "n2"}) {
    model::Host host;
    host.name = name;
    host.cluster = "demo";
    site.desk.commit({tables::PutHost{host}});
  }
  EXPECT_EQ(applied(4), "none: 2 hosts more");
  EXPECT_EQ(applied(1), "none: host n2 is taken away") << "it is no node yet";
  EXPECT_EQ(applied(2), "");
  cluster.shares = {{.path = "/home"}};
  EXPECT_EQ(applied(2), "none: cluster 'demo' changes for hosts that are made from now on");
  model::Node node = server::testing::make_node(21);
  node.cluster = "demo";
  node.host = "n2";
  node.node_pool = "demo";
  site.desk.join(node);
  site.run(Site::slurmd_in("demo"));
  EXPECT_EQ(applied(1), "outage: host n2 is taken away: what it computes ends at once");
  site.desk.commit({tables::put_record(model::SlurmMember{.cluster = "demo", .host = "n2"})});
  EXPECT_EQ(applied(1), "drain: host n2 is taken away: its Slurm jobs end first");
  EXPECT_EQ(site.judged(server::StopCluster{"demo"}), "")
      << "it has no jobs of its own, and its hosts stay until those have ended";
}

TEST_F(JudgeTest, OfWhatTheNodesTellNothingIsNoted) {
  site.run(Site::job_in("mail", "infra"));
  const auto row = site.desk.only("mail");
  EXPECT_EQ(
      site.judged(server::UpdateAllocations{row->node_id, {server::testing::report(row->id, ClientStatus::failed)}}),
      "");
  EXPECT_EQ(site.judged(server::StopAllocation{row->id}), "brief: 'mail.g[0]' is stopped, and placed anew");
  site.run(Site::job_in("night", "infra", JobType::batch));
  EXPECT_EQ(disturbed(*site.desk.only("night"), "is restarted where it is").impact, Impact::outage);
  site.run(Site::slurmd_in("compute", false));
  EXPECT_EQ(disturbed(*site.desk.live("slurmd").front(), "is restarted where it is").impact, Impact::outage);
}

}  // namespace
}  // namespace underway::impact::testing

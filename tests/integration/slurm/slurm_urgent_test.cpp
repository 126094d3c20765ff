// The cluster of examples/urgent, on the real thing: machines of QEMU with slurmd in them; when urgent work has no
// room, one that works on something else sleeps with its Slurm job, which goes on afterwards as if nothing had been.
#include <iostream>
#include <sstream>

#include "harness/slurm/urgent_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class SlurmUrgent : public UrgentSite {
 protected:
  /// Two jobs of one host each compute, with a file that is open all the time, and say how often they were begun. One
  /// host is there, the other one is made. By host.
  std::map<std::string, std::string> compute() const {
    const std::string script =
        " --wrap 'echo begun >> /var/lib/begun; exec 5>/var/lib/sums; i=0; until [ -e /var/lib/enough ]; do "
        "i=$((i+1)); echo $i | sha256sum >&5; sleep 0.1; done; echo $i > /var/lib/count; until [ -e /var/lib/read ]; "
        "do "
        "sleep 0.1; done'";
    const std::vector<std::string> ids = {submit("-t 30" + script), submit("-t 30" + script)};
    std::map<std::string, std::string> out;
    for (const auto& id : ids) {
      EXPECT_TRUE(eventually(seconds(120), [&] { return job(id) == "RUNNING 0\n"; })) << log();
      const auto host = on_login("squeue -h -o %N -j " + id);
      out[host.substr(0, host.find('\n'))] = id;
    }
    EXPECT_THAT(out, testing::UnorderedElementsAre(testing::Key("b1"), testing::Key("b2")));
    for (const auto& [host, id] : out)
      EXPECT_TRUE(eventually(seconds(60), [&] { return !on(host, "cat /var/lib/sums").empty(); })) << log();
    return out;
  }
  /// It ends, and nothing that it computed was lost or done twice.
  void expect_to_end(const std::string& host, const std::string& id) const {
    on(host, "touch /var/lib/enough");
    ASSERT_TRUE(eventually(seconds(60), [&] { return !on(host, "cat /var/lib/count").empty(); })) << host << log();
    const auto count = std::stoi(on(host, "cat /var/lib/count"));
    EXPECT_GT(count, 10);
    EXPECT_EQ(on(host, "cat /var/lib/begun"), "begun\n");
    EXPECT_EQ(
        on(host, "cat /var/lib/sums"),
        shell("i=0; while [ $i -lt " + std::to_string(count) + " ]; do i=$((i+1)); echo $i | sha256sum; done").out)
        << "every sum is there, once";
    on(host, "touch /var/lib/read");
    EXPECT_TRUE(eventually(seconds(60), [&] { return job(id) == "COMPLETED 0\n"; })) << host << log();
  }
  /// Of the two, once it sleeps.
  std::string sleeper_of(const std::map<std::string, std::string>& low) const {
    std::string sleeper;
    EXPECT_TRUE(eventually(seconds(60), [&] {
      for (const auto& [host, id] : low)
        if (job(id) == "SUSPENDED 0\n" && machines(host).empty()) sleeper = host;
      return !sleeper.empty();
    })) << log();
    return sleeper;
  }
  static std::string other(const std::string& host) { return host == "b1" ? "b2" : "b1"; }
};

TEST_F(SlurmUrgent, WorkThatCanWaitSleepsForWorkThatCannot) {
  up();
  const auto low = compute();
  ASSERT_FALSE(HasFailure());
  const auto begun = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const auto high = submit("-p urgent -t 5 --wrap 'sleep 5'");
  const auto sleeper = sleeper_of(low);
  ASSERT_NE(sleeper, "");
  std::cerr << sleeper << " is asleep after " << since() << " s\n";
  EXPECT_THAT(hosts(), HasSubstr("makes room for u1"));
  // As it was decided last, which may have been while it fell asleep.
  EXPECT_TRUE(eventually(seconds(15), [&] {
    return cluster_->underway({"elastic", "status"}).out.find(sleeper + " sleeps") != std::string::npos;
  })) << cluster_->underway({"elastic", "status"}).out;
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(high) == "COMPLETED 0\n"; })) << log();
  std::cerr << "the urgent job has ended after " << since() << " s\n";
  EXPECT_EQ(job(low.at(sleeper)), "SUSPENDED 0\n");
  EXPECT_EQ(job(low.at(other(sleeper))), "RUNNING 0\n") << "one was enough";

  // Its room is given back by itself.
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(low.at(sleeper)) == "RUNNING 0\n"; })) << log();
  std::cerr << sleeper << " goes on after " << since() << " s\n";
  for (const auto& [host, id] : low) expect_to_end(host, id);
  EXPECT_TRUE(eventually(seconds(90),
                         [&] { return machines("b1").empty() != machines("b2").empty() && machines("u1").empty(); }))
      << "what is not needed any more goes" << log();
  const auto stays = machines("b1").empty() ? "b2" : "b1";
  EXPECT_TRUE(eventually(seconds(60), [&] {
    const auto now = node(stays);
    return now.find(" State=IDLE") != std::string::npos && now.find("DRAIN") == std::string::npos;
  })) << node(stays);
}

/// The poster's fourth timeline: a host is freed elsewhere while the urgent work has still the sleeper's own. Urgent is
/// who is of the account that paid for the pool: he says nothing of a partition.
TEST_F(SlurmUrgent, WhatSleepsGoesOnOnAHostThatIsFreed) {
  up();
  const auto low = compute();
  ASSERT_FALSE(HasFailure());
  const auto high = submit("-A physics -t 10 --wrap 'until [ -e /var/lib/enough ]; do sleep 0.2; done'");
  const auto sleeper = sleeper_of(low);
  ASSERT_NE(sleeper, "");
  const auto own = holder(sleeper), others = holder(other(sleeper));
  EXPECT_NE(own, others) << "each has room for one";
  ASSERT_TRUE(eventually(seconds(90), [&] { return job(high) == "RUNNING 0\n"; })) << log();
  EXPECT_EQ(on_login("squeue -h -o '%P %N' -j " + high), "urgent u1\n");
  EXPECT_EQ(holder(sleeper), own);

  expect_to_end(other(sleeper), low.at(other(sleeper)));
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(low.at(sleeper)) == "RUNNING 0\n"; })) << log();
  std::cerr << sleeper << " goes on on " << others << " "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
            << " s after the last job there\n";
  EXPECT_EQ(holder(sleeper), others) << log();
  EXPECT_EQ(job(high), "RUNNING 0\n") << "the urgent job has its room still";
  on("u1", "touch /var/lib/enough");
  EXPECT_TRUE(eventually(seconds(60), [&] { return job(high) == "COMPLETED 0\n"; })) << log();
  expect_to_end(sleeper, low.at(sleeper));
}

/// For whom hosts are reserved: others sleep before he asks for anything, and go on when his reservation is gone.
TEST_F(SlurmUrgent, ForAReservationOthersFallAsleepBeforeItBegins) {
  up();
  const auto low = compute();
  ASSERT_FALSE(HasFailure());
  const auto path = cluster_->directory() + "/cluster.hcl";
  const auto apply = [&](const std::string& text) {
    write_text(path, text);
    const auto done = cluster_->underway({"up", "-var", "images=" + images_, cluster_->directory()}, seconds(400));
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err << log();
  };
  const auto before = read_text(path);
  const auto utc = [](int later) {
    return shell("date -u -d '" + std::to_string(later) + " seconds' +%FT%TZ").out.substr(0, 20);
  };
  const std::string urgent = "      urgent     = true";
  auto reserved = before;
  ASSERT_NE(reserved.find(urgent), std::string::npos);
  apply(reserved.replace(reserved.find(urgent), 0,
                         "      reservation \"course\" {\n        hosts = 1\n        from  = \"" + utc(100) +
                             "\"\n        until = \"" + utc(900) + "\"\n        users = [\"root\"]\n      }\n"));
  const auto begun = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const auto sleeper = sleeper_of(low);
  ASSERT_NE(sleeper, "");
  std::cerr << sleeper << " is asleep after " << since() << " s\n";
  EXPECT_TRUE(eventually(seconds(90), [&] { return node("u1").find(" State=IDLE") != std::string::npos; })) << log();
  std::cerr << "u1 is there after " << since() << " s\n";
  const auto slurm_has = [&](const std::string& words) {
    return on_login("scontrol -o show reservation").find(words) != std::string::npos;
  };
  EXPECT_TRUE(slurm_has("ReservationName=course ") && slurm_has(" Nodes=u1 ") && slurm_has(" State=INACTIVE "))
      << log();
  const auto high = submit("-p urgent -t 5 --reservation=course --wrap 'sleep 5'");
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(high) == "COMPLETED 0\n"; })) << log();
  EXPECT_TRUE(stays(seconds(15), [&] { return job(low.at(sleeper)) == "SUSPENDED 0\n"; })) << "longer than keep_alive";
  apply(before);
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(low.at(sleeper)) == "RUNNING 0\n"; })) << log();
  EXPECT_FALSE(slurm_has("ReservationName=course "));
  for (const auto& [host, id] : low) expect_to_end(host, id);
}

/// Server and agents are killed again and again while a machine falls asleep, and while it wakes: nobody notices. Then
/// what it saved is damaged: that is seen, the machine is booted instead, and Slurm begins its job anew.
TEST_F(SlurmUrgent, WhoeverDiesOnTheWayAndWhateverIsDamaged) {
  up();
  const auto low = compute();
  ASSERT_FALSE(HasFailure());
  const auto urgent = [&](const std::string& mark) {
    return submit("-p urgent -t 10 --wrap 'until [ -e /var/lib/" + mark + " ]; do sleep 0.2; done'");
  };
  auto high = urgent("first");
  kill_everybody(4);
  auto sleeper = sleeper_of(low);
  ASSERT_NE(sleeper, "");
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(high) == "RUNNING 0\n"; })) << log();
  on("u1", "touch /var/lib/first");
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(high) == "COMPLETED 0\n"; })) << log();
  kill_everybody(4);
  for (const auto& [host, id] : low)
    ASSERT_TRUE(eventually(seconds(120), [&] { return job(id) == "RUNNING 0\n"; })) << host << log();

  high = urgent("second");
  sleeper = sleeper_of(low);
  ASSERT_NE(sleeper, "");
  const auto after = submit("--dependency=afterok:" + low.at(sleeper) + " --wrap true");
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(high) == "RUNNING 0\n"; })) << log();
  for (const auto* host : {"m1", "m2"})
    cluster_->on(host, "for file in $(find /var/lib/underway-node/machines/" + cluster_->name() + "." + sleeper +
                           " -name 'memory-*.zst'); do printf x | dd of=$file bs=1 seek=100000 conv=notrunc; done");
  on("u1", "touch /var/lib/second");
  const auto begun = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  EXPECT_TRUE(eventually(seconds(120), [&] { return on(sleeper, "cat /proc/uptime; cat /var/lib/begun") != ""; }))
      << log();
  std::cerr << sleeper << " was booted after " << since() << " s\n";
  // We know at once that its job is gone, and Slurm does, before it could find out itself. It gives it two minutes
  // until it begins it.
  EXPECT_TRUE(eventually(seconds(20), [&] { return job(low.at(sleeper)) == "PENDING 1\n"; }))
      << job(low.at(sleeper)) << log();
  std::cerr << "its job waits again after " << since() << " s\n";
  EXPECT_THAT(on_login("squeue -h -o %r -j " + low.at(sleeper)), testing::Not(HasSubstr("JobHeld")));
  EXPECT_EQ(on_login("squeue -h -o %r -j " + after), "Dependency\n") << "it waits for it still";
  EXPECT_TRUE(eventually(seconds(120),
                         [&] {
                           const auto now = node(sleeper);
                           return now.find(" State=IDLE") != std::string::npos &&
                                  now.find("DRAIN") == std::string::npos;
                         }))
      << node(sleeper) << log();
  std::cerr << "Slurm has it again after " << since() << " s\n";
  on_login("scancel " + after + " " + low.at(sleeper));
  expect_to_end(other(sleeper), low.at(other(sleeper)));
}

/// A pool of whose hosts nothing is promised has the room of one of the two.
TEST_F(SlurmUrgent, WhoWasPromisedNothingGoesBeforeAnybodySleeps) {
  auto cluster = read_text(file("cluster.hcl"));
  const auto begin = cluster.find("  pool \"urgent\" {"), end = cluster.find("\n  }\n", begin) + 5;
  ASSERT_NE(begin, std::string::npos);
  auto spot = cluster.substr(begin, end - begin);
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"urgent\"", "\"spot\""},
                                 {"u%d", "s%d"},
                                 {"urgent     = true", "opportunistic = true"},
                                 {"owner      = \"physics\"", ""},
                                 {"\"10s\"", "\"10m\""}})
    spot = replaced(spot, from, to);
  cluster.insert(end, "\n" + spot);
  write_text(file("cluster.hcl"), replaced(cluster, "    promises {\n", "    promises {\n      notice = \"5s\"\n"));
  auto slurm = read_text(file("slurm.conf"));
  slurm = replaced(slurm, "${slurm.pools.urgent.node_line}",
                   "${slurm.pools.urgent.node_line}\n${slurm.pools.spot.node_line}");
  slurm = replaced(slurm, "Nodes=${slurm.pools.batch.nodes} ",
                   "Nodes=${slurm.pools.batch.nodes},${slurm.pools.spot.nodes} ");
  write_text(file("slurm.conf"), slurm);
  write_text(file("slurmd.hcl"), replaced(read_text(file("slurmd.hcl")), "^(batch|urgent)$", "^(batch|urgent|spot)$"));
  up();

  const auto promised = submit("-p batch -C batch --wrap 'sleep 3000'");
  const auto lost = submit("-p batch -C spot --wrap 'sleep 3000'");
  for (const auto& id : {promised, lost})
    ASSERT_TRUE(eventually(seconds(120), [&] { return job(id) == "RUNNING 0\n"; })) << log();
  const auto begun = std::chrono::steady_clock::now();
  const auto high = submit("-p urgent -t 5 --wrap 'sleep 5'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(lost) == "PENDING 1\n"; })) << log();
  EXPECT_THAT(cluster_->underway({"elastic", "status"}).out, HasSubstr("makes room for u1"));
  ASSERT_TRUE(eventually(seconds(180), [&] {
    EXPECT_NE(job(promised), "SUSPENDED 0\n") << "its sleep was not needed";
    return job(high) == "COMPLETED 0\n";
  })) << log();
  std::cerr << "the urgent job has ended after "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() << " s\n";
  EXPECT_TRUE(eventually(seconds(60), [&] {
    return cluster_->underway({"elastic", "status"}).out.find("makes room for u1") == std::string::npos;
  })) << "it ends with the urgent host";
  EXPECT_NE(job(promised), "SUSPENDED 0\n");
  on_login("scancel " + lost + " " + promised);
}

}  // namespace
}  // namespace underway::harness

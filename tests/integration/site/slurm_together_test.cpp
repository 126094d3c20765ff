// A Slurm job of two hosts that sleep, wake and move: its ranks (harness/slurm/two_ranks.cpp) speak to each other all
// the time, and end with the number that they would have had without.
#include <chrono>
#include <iostream>

#include "harness/slurm/urgent_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::uint64_t mix(std::uint64_t x) {  // splitmix64, Vigna 2015
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// As a rank writes it.
std::string result_after(std::uint64_t rounds) {
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) number = mix(number);
  return fmt::format("{} {:016x}\n", rounds, number);
}

class SlurmTogether : public UrgentSite {
 protected:
  /// Beside the machines a host f1 in Slurm, which answers for them when both sleep.
  void SetUp() override {
    UrgentSite::SetUp();
    if (IsSkipped()) return;
    auto cluster = read_text(file("cluster.hcl"));
    cluster = replaced(cluster, "  # Holds the machines of the two pools below", R"(  pool "front" {
    hostname = "f%d"
    cpus     = 1
    memory   = 500 # MiB

    slurm {
      most     = 1
      join     = "cloud"
      programs = ["/usr/sbin/slurmd"]
    }
  }

  # Holds the machines of the two pools below)");
    write_text(file("cluster.hcl"), replaced(cluster, "size              = 2", metal()));
    write_text(file("slurm.conf"), replaced(read_text(file("slurm.conf")), "${slurm.pools.urgent.node_line}",
                                            "${slurm.pools.urgent.node_line}\n${slurm.pools.front.node_line}"));
    write_text(file("slurmd.hcl"),
               replaced(read_text(file("slurmd.hcl")), "^(batch|urgent)$", "^(batch|urgent|front)$"));
  }
  virtual const char* metal() const { return "size              = 2"; }

  /// The job, once both ranks run. The program comes with the script, and goes to the second host by Slurm.
  std::string two_hosts() const {
    up();
    const auto written = cluster_->on(
        "login", "{ echo '#!/bin/bash'; echo \"base64 -d <<'END' | gunzip >/var/lib/sent\"; gzip -c " + binary_dir() +
                     "/bin/two_ranks | base64; cat; } >/root/together.sh <<'SCRIPT'\nEND\nchmod 755 /var/lib/sent\n"
                     "sbcast -f /var/lib/sent /var/lib/two_ranks\necho begun >>/var/lib/begun\n"
                     "srun /var/lib/two_ranks 7100 /var/lib/enough /var/lib/result\n"
                     "until [ -e /var/lib/read ]; do sleep 0.1; done\nSCRIPT\n");
    EXPECT_EQ(written.exit_code, 0) << written.err;
    const auto id = submit("-N2 --ntasks-per-node=1 -t 30 /root/together.sh");
    EXPECT_TRUE(eventually(seconds(150), [&] { return ranks() == 2; })) << log();
    EXPECT_EQ(job(id), "RUNNING 0\n");
    return id;
  }
  int ranks() const {
    int out = 0;
    for (const auto* host : {"b1", "b2"}) out += on(host, "pgrep -x two_ranks").empty() ? 0 : 1;
    return out;
  }
  /// `underway host …`
  Finished host(std::vector<std::string> words) const {
    words.insert(words.begin(), "host");
    return cluster_->underway(std::move(words), seconds(120));
  }
  bool both_sleep(const std::string& id) const {
    return job(id) == "SUSPENDED 0\n" && machines("b1").empty() && machines("b2").empty();
  }
  void expect_to_end(const std::string& id) const {
    on("b1", "touch /var/lib/enough");
    std::string result;
    ASSERT_TRUE(eventually(seconds(60), [&] { return !(result = on("b1", "cat /var/lib/result")).empty(); })) << log();
    const auto rounds = std::stoull(result);
    EXPECT_GT(rounds, 10U);
    EXPECT_EQ(result, result_after(rounds));
    EXPECT_EQ(on("b2", "cat /var/lib/result"), result);
    EXPECT_EQ(on("b1", "cat /var/lib/begun"), "begun\n");
    on("b1", "touch /var/lib/read");
    EXPECT_TRUE(eventually(seconds(60), [&] { return job(id) == "COMPLETED 0\n"; })) << job(id) << log();
  }
};

/// Server and agents are killed while they fall asleep, and while they wake.
TEST_F(SlurmTogether, SleepForUrgentWorkAndEndExactly) {
  const auto id = two_hosts();
  ASSERT_FALSE(HasFailure());
  const auto begun = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const auto high = submit("-p urgent -t 5 --wrap 'until [ -e /var/lib/enough ]; do sleep 0.2; done'");
  kill_everybody(2);
  ASSERT_TRUE(eventually(seconds(90), [&] { return both_sleep(id); })) << log();
  std::cerr << "both are asleep after " << since() << " s\n";
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(high) == "RUNNING 0\n"; })) << log();
  std::cerr << "the urgent job runs after " << since() << " s\n";
  // As it was decided last, which may have been while they fell asleep.
  EXPECT_TRUE(eventually(seconds(15), [&] {
    const auto status = cluster_->underway({"elastic", "status"}).out;
    return status.find("b1 sleeps") != std::string::npos && status.find("b2 sleeps") != std::string::npos;
  })) << cluster_->underway({"elastic", "status"}).out;
  EXPECT_TRUE(both_sleep(id)) << "one of the two nodes has room, and that is not enough";
  on("u1", "touch /var/lib/enough");
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(high) == "COMPLETED 0\n"; })) << log();
  kill_everybody(2);
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(id) == "RUNNING 0\n"; })) << log();
  std::cerr << "the job of both goes on after " << since() << " s\n";
  EXPECT_EQ(ranks(), 2);
  expect_to_end(id);
}

TEST_F(SlurmTogether, ByHandAllAreNamed) {
  const auto id = two_hosts();
  ASSERT_FALSE(HasFailure());
  const auto alone = host({"suspend", "b1"});
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_THAT(alone.err, HasSubstr("the Slurm job " + id + " is on b2, too"));
  EXPECT_THAT(alone.err, HasSubstr("`underway host suspend b1 b2`"));
  EXPECT_EQ(job(id), "RUNNING 0\n");
  const auto both = host({"suspend", "b1", "b2"});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err << log();
  EXPECT_TRUE(both_sleep(id)) << log();
  const auto half = host({"wake", "b1"});
  EXPECT_NE(half.exit_code, 0);
  EXPECT_THAT(half.err, HasSubstr("`underway host wake b1 b2`"));
  EXPECT_TRUE(both_sleep(id));
  const auto awake = host({"wake", "b1", "b2"});
  EXPECT_EQ(awake.exit_code, 0) << awake.out << awake.err << log();
  EXPECT_TRUE(eventually(seconds(60), [&] { return job(id) == "RUNNING 0\n"; })) << log();
  expect_to_end(id);
}

class SlurmTogetherWithANodeMore : public SlurmTogether {
 protected:
  const char* metal() const override { return "size              = 3"; }
};

/// The machine of one host goes to another node: the job stands still meanwhile on both.
TEST_F(SlurmTogetherWithANodeMore, TheirJobGoesOnWhenOneOfThemHasMoved) {
  const auto id = two_hosts();
  ASSERT_FALSE(HasFailure());
  const auto from = holder("b2");
  ASSERT_NE(from, "");
  const auto done = cluster_->underway({"node", "maintain", "-yes", "-detach", from}, seconds(60));
  ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  bool suspended = false;
  EXPECT_TRUE(eventually(seconds(150),
                         [&] {
                           suspended = suspended || job(id) == "SUSPENDED 0\n";
                           return suspended && holder("b2") != from && job(id) == "RUNNING 0\n";
                         }))
      << suspended << log();
  EXPECT_NE(holder("b2"), from);
  EXPECT_EQ(ranks(), 2);
  expect_to_end(id);
}

}  // namespace
}  // namespace underway::harness

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "elastic/preemption/victims.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Candidate candidate(std::string job, std::vector<std::string> hosts, std::int64_t cpus, Duration price) {
  Candidate out;
  out.job = std::move(job);
  out.hosts = std::move(hosts);
  out.cpus = cpus;
  out.memory_mb = 1024;
  out.suspend = price;
  return out;
}

UrgentNeed urgent(std::int64_t nodes, std::int64_t cpus) {
  UrgentNeed need;
  need.job = "99";
  need.priority = 1000;
  need.nodes = nodes;
  need.cpus = cpus;
  need.memory_mb = cpus * 1024;
  need.expected = 1h;
  return need;
}

std::vector<VictimHost> hosts(std::initializer_list<std::string> names) {
  std::vector<VictimHost> out;
  for (const auto& name : names) out.push_back({name, 0, 64 * 1024, {}, {}});
  return out;
}

TEST(Victims, AreASetNotTheNextBestJob) {
  // By itself each of the small ones is cheaper, together they are not: 3 × 4 × 10 s against 8 × 12 s.
  const auto chosen = choose_victims(urgent(1, 8), hosts({"h1"}),
                                     {candidate("a", {"h1"}, 4, 10s), candidate("b", {"h1"}, 3, 10s),
                                      candidate("c", {"h1"}, 2, 10s), candidate("d", {"h1"}, 8, 9s)},
                                     {});
  ASSERT_TRUE(chosen.found) << chosen.why;
  EXPECT_THAT(chosen.jobs, ElementsAre("d"));
  EXPECT_EQ(chosen.cost, 72'000);
  EXPECT_EQ(chosen.bound, chosen.cost);
}

TEST(Victims, TakeTheCheaperHostsAndUseAJobOnBothOnce) {
  const auto chosen = choose_victims(
      urgent(2, 4), hosts({"h1", "h2", "h3"}),
      {candidate("wide", {"h1", "h2"}, 4, 10s), candidate("a", {"h3"}, 4, 15s), candidate("b", {"h2"}, 4, 15s)}, {});
  ASSERT_TRUE(chosen.found) << chosen.why;
  EXPECT_THAT(chosen.jobs, ElementsAre("wide"));
  EXPECT_THAT(chosen.hosts, ElementsAre("h1", "h2"));
}

TEST(Victims, MayHaveSeveralPartsOnOneHost) {
  const std::vector<Candidate> few = {candidate("wide", {"h1", "h1", "h2"}, 4, 10s), candidate("a", {"h2"}, 4, 10s)};
  auto chosen = choose_victims(urgent(1, 8), hosts({"h1", "h2"}), few, {});
  ASSERT_TRUE(chosen.found) << chosen.why;
  EXPECT_THAT(chosen.jobs, ElementsAre("wide"));
  EXPECT_THAT(chosen.hosts, ElementsAre("h1"));
  auto many = few;
  for (std::size_t i = 0; i < kExactCandidates; ++i)
    many.push_back(candidate(fmt::format("b{}", i), {fmt::format("h{}", i + 3)}, 4, 10s));
  chosen = choose_victims(urgent(1, 8), hosts({"h1", "h2", "h3", "h4", "h5"}), many, {});
  ASSERT_TRUE(chosen.found) << chosen.why;
  EXPECT_THAT(chosen.jobs, ElementsAre("wide"));
  EXPECT_LE(chosen.bound, chosen.cost);
}

TEST(Victims, AreNotNeededWhereThereIsRoom) {
  auto free = hosts({"h1"});
  free[0].cpus_free = 8;
  const auto chosen = choose_victims(urgent(1, 8), free, {candidate("a", {"h1"}, 4, 10s)}, {});
  EXPECT_TRUE(chosen.found);
  EXPECT_THAT(chosen.jobs, IsEmpty());
}

TEST(Victims, AreSparedWhatTheyWerePromised) {
  Promises promises;
  promises.max_suspensions = 2;
  promises.max_asleep = 4h;
  auto often = candidate("often", {"h1"}, 8, 1s), tired = candidate("tired", {"h1"}, 8, 1s),
       urgent_too = candidate("urgent", {"h1"}, 8, 1s);
  often.suspensions = 2;
  tired.asleep = 3h + 30min;
  urgent_too.priority = 1000;
  auto metal = candidate("metal", {"h1"}, 8, 1s);
  metal.suspendable = false;
  const auto none = choose_victims(urgent(1, 8), hosts({"h1"}), {often, tired, urgent_too, metal}, promises);
  EXPECT_FALSE(none.found);
  EXPECT_THAT(none.why,
              HasSubstr("0 of 1 suitable hosts could have that if 0 jobs slept; 4 jobs may not be suspended"));
  EXPECT_THAT(spared(often, urgent(1, 8), hosts({"h1"}), promises), HasSubstr("suspended 2 times"));
  EXPECT_THAT(spared(tired, urgent(1, 8), hosts({"h1"}), promises),
              HasSubstr("slept for 3h30m, and is promised at most 4h"));
  EXPECT_TRUE(choose_victims(urgent(1, 8), hosts({"h1"}), {often, candidate("other", {"h1"}, 8, 9h)}, promises).found);
}

TEST(Victims, OnCoInvestedNodesAreWhoeverDoesNotOwnThem) {
  auto owned = hosts({"h1", "h2"});
  owned[0].owner = "physics";
  auto theirs = candidate("theirs", {"h1"}, 8, 1s), guest = candidate("guest", {"h1"}, 8, 90s),
       other = candidate("other", {"h2"}, 8, 30s);
  theirs.account = "physics";
  guest.account = "biology";
  guest.priority = 5000;
  other.priority = 5000;
  UrgentNeed owner = urgent(1, 8);
  owner.account = "physics";
  const auto chosen = choose_victims(owner, owned, {theirs, guest, other}, {});
  EXPECT_THAT(chosen.jobs, ElementsAre("theirs")) << "of the same account the one of lower priority";
  theirs.priority = 1000;
  EXPECT_THAT(choose_victims(owner, owned, {theirs, guest, other}, {}).jobs, ElementsAre("guest"))
      << "whatever its priority: it is on their node, and other is not";
}

TEST(Victims, OfAnOwnerMakeWayForNobodyElse) {
  auto owned = hosts({"h1"});
  owned[0].owner = "physics";
  auto theirs = candidate("theirs", {"h1"}, 8, 1s);
  theirs.account = "physics";
  UrgentNeed stranger = urgent(1, 8);
  stranger.account = "biology";
  EXPECT_THAT(spared(theirs, stranger, owned, {}), HasSubstr("nodes of its account 'physics'"));
  auto guest = theirs;
  guest.account = "chemistry";
  guest.priority = 5000;
  UrgentNeed owner = urgent(1, 8);
  owner.account = "physics";
  EXPECT_EQ(spared(guest, owner, owned, {}), "");
  EXPECT_THAT(spared(guest, stranger, owned, {}), HasSubstr("its priority is 5000"));
}

struct Case {
  std::vector<VictimHost> hosts;
  std::vector<Candidate> candidates;
  UrgentNeed need;
};

Case random_case(std::uint64_t seed, std::size_t jobs, std::int64_t host_count, int wide_percent) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  Case out;
  for (std::int64_t i = 0; i < host_count; ++i)
    out.hosts.push_back({fmt::format("h{}", i), below(3), below(4096), {}, {}});
  for (std::size_t i = 0; i < jobs; ++i) {
    std::vector<std::string> on = {fmt::format("h{}", below(host_count))};
    if (below(100) < wide_percent) {
      const auto other = fmt::format("h{}", below(host_count));
      if (other != on[0]) on.push_back(other);
    }
    Candidate job = candidate(fmt::format("j{}", i), on, 1 + below(8), std::chrono::seconds(1 + below(600)));
    job.memory_mb = 256 + below(8192);
    job.restart = std::chrono::milliseconds(below(30'000));
    out.candidates.push_back(std::move(job));
  }
  out.need = urgent(1 + below(std::min<std::int64_t>(host_count, 4)), 4 + below(12));
  out.need.memory_mb = below(16 * 1024);
  return out;
}

/// Every subset, with nothing of the library but the cost of one candidate. -1: none does.
std::int64_t cheapest_by_force(const Case& it) {
  constexpr std::size_t kMost = 4;
  std::array<std::int64_t, kMost> cpus{}, memory{};
  std::vector<std::vector<std::size_t>> on(it.candidates.size());
  std::vector<std::int64_t> costs;
  for (std::size_t i = 0; i < it.candidates.size(); ++i) {
    for (const auto& host : it.candidates[i].hosts) on[i].push_back(static_cast<std::size_t>(host[1] - '0'));
    costs.push_back(it.candidates[i].cost());
  }
  std::int64_t best = -1;
  for (std::uint64_t set = 0; set < (std::uint64_t{1} << it.candidates.size()); ++set) {
    for (std::size_t h = 0; h < it.hosts.size(); ++h) {
      cpus[h] = it.hosts[h].cpus_free;
      memory[h] = it.hosts[h].memory_free_mb;
    }
    std::int64_t cost = 0;
    for (std::size_t i = 0; i < it.candidates.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      cost += costs[i];
      for (const std::size_t h : on[i]) {
        cpus[h] += it.candidates[i].cpus;
        memory[h] += it.candidates[i].memory_mb;
      }
    }
    std::int64_t fit = 0;
    for (std::size_t h = 0; h < it.hosts.size(); ++h)
      fit += cpus[h] >= it.need.cpus && memory[h] >= it.need.memory_mb ? 1 : 0;
    if (fit >= it.need.nodes && (best < 0 || cost < best)) best = cost;
  }
  return best;
}

/// The chosen set by itself covers the need.
void expect_covers(const Case& it, const Victims& chosen) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> room;
  for (const auto& host : it.hosts) room[host.name] = {host.cpus_free, host.memory_free_mb};
  for (const auto& job : it.candidates) {
    if (std::find(chosen.jobs.begin(), chosen.jobs.end(), job.job) == chosen.jobs.end()) continue;
    for (const auto& host : job.hosts) {
      room[host].first += job.cpus;
      room[host].second += job.memory_mb;
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(chosen.hosts.size()), it.need.nodes);
  for (const auto& host : chosen.hosts) {
    EXPECT_GE(room[host].first, it.need.cpus);
    EXPECT_GE(room[host].second, it.need.memory_mb);
  }
}

TEST(Victims, AreTheBestSetOfAllForUpToTwelveCandidates) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Case it = random_case(seed, 4 + seed % 9, 1 + static_cast<std::int64_t>(seed % 4), 30);
    const auto chosen = choose_victims(it.need, it.hosts, it.candidates, {});
    const std::int64_t best = cheapest_by_force(it);
    ASSERT_EQ(chosen.found, best >= 0) << chosen.why;
    if (best < 0) continue;
    ++found;
    EXPECT_EQ(chosen.cost, best);
    expect_covers(it, chosen);
  }
  EXPECT_GT(found, 30) << "cases that have an answer";
}

TEST(Victims, OfAThousandCostAtMostAFewPercentMoreThanAnyCould) {
  for (std::uint64_t seed = 0; seed < 13; ++seed) {
    for (const std::int64_t host_count : {1, 10, 100}) {
      SCOPED_TRACE(fmt::format("seed {} on {} hosts", seed, host_count));
      Case it = random_case(seed, 1000, host_count, 0);
      if (host_count == 1) {  // one large host: some hundred jobs make way
        it.need.nodes = 1;
        it.need.cpus = 600;
        it.need.memory_mb = 700 * 1024;
      }
      const auto chosen = choose_victims(it.need, it.hosts, it.candidates, {});
      ASSERT_TRUE(chosen.found) << chosen.why;
      expect_covers(it, chosen);
      EXPECT_LE(static_cast<double>(chosen.cost), static_cast<double>(chosen.bound) * 1.05);
    }
  }
}

TEST(Victims, AreBoundedFromBelow) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    const Case it = random_case(seed, 14, 4, 20);  // more than are looked at in every combination
    const auto chosen = choose_victims(it.need, it.hosts, it.candidates, {});
    const std::int64_t best = cheapest_by_force(it);
    ASSERT_EQ(chosen.found, best >= 0);
    if (best < 0) continue;
    EXPECT_LE(chosen.bound, best) << "no set costs less than the bound";
    EXPECT_GE(chosen.cost, best);
    expect_covers(it, chosen);
  }
}

}  // namespace
}  // namespace underway::elastic

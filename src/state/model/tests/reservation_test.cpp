// Reservations of hosts, as an administrator writes them.
#include <gmock/gmock.h>

#include "model/cluster.hpp"

namespace underway::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HostReservation course(std::string name = "course", std::int64_t hosts = 4) {
  return {.name = std::move(name),
          .hosts = hosts,
          .from = "2026-12-01T09:00:00Z",
          .until = "2026-12-01T13:00:00+01:00",
          .accounts = {"teaching"}};
}

Cluster tide() {
  Pool pool{.name = "burst", .size = 0, .hostname = "b%d", .cpus = 4, .memory_mb = 1000};
  pool.slurm = SlurmJoin{.most = 6};
  pool.elastic = PoolElastic{};
  pool.elastic->reservations = {course()};
  Cluster out;
  out.name = "tide";
  out.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  out.pools = {pool};
  return out;
}

TEST(Reservation, IsOfTimesHostsAndPeople) {
  EXPECT_THAT(problems(tide()), IsEmpty());
  EXPECT_EQ(course().ends() - course().begins(), std::chrono::hours(3));
  auto past = course();
  past.from = "2001-01-01T09:00:00Z";
  past.until = "2001-01-01T10:00:00Z";
  EXPECT_THAT(problems({past}, 6, "here"), IsEmpty()) << "a file in git stays as it is";
}

TEST(Reservation, IsToldAllThatIsWrongAtOnce) {
  HostReservation it{.name = "-x", .hosts = 7, .from = "2026-12-01T09:00:00", .until = "noon", .users = {"a,b", "-c"}};
  EXPECT_THAT(problems({it, it}, 6, "here"), testing::SizeIs(13));
  EXPECT_THAT(
      problems({it}, 6, "here"),
      ElementsAre(HasSubstr("here: reservation '-x': its name is"), HasSubstr("hosts is 7; at least 1, and at most 6"),
                  HasSubstr("from is '2026-12-01T09:00:00', which is no time with a zone"),
                  HasSubstr("until is 'noon'"), HasSubstr("'a,b' is no name of a user"),
                  HasSubstr("'-c' is no name of a user")));
  auto nobody = course();
  nobody.accounts.clear();
  nobody.until = nobody.from;
  EXPECT_THAT(problems({nobody}, 6, "here"),
              ElementsAre(HasSubstr("the second is later"), HasSubstr("it is for nobody")));
}

TEST(Reservation, TogetherTheyHaveNoMoreThanThePool) {
  auto later = course("later", 3);
  later.from = "2026-12-01T12:00:00Z";
  later.until = "2026-12-01T14:00:00Z";
  EXPECT_THAT(problems({course(), later}, 6, "here"), IsEmpty()) << "one ends as the other begins";
  later.from = "2026-12-01T11:59:59Z";
  EXPECT_THAT(problems({later, course()}, 6, "here"),
              ElementsAre("here: reservations 'later', 'course' have 7 hosts at 2026-12-01T11:59:59Z, and the pool has "
                          "at most 6"));
}

TEST(Reservation, IsOfAPoolThatIsSureOfItsHosts) {
  auto cluster = tide();
  cluster.pools[0].elastic->asked_by = AskedBy::slurm;
  EXPECT_THAT(problems(cluster), ElementsAre(HasSubstr("elastic: reservation, asked_by: ")));
  cluster = tide();
  cluster.pools[0].elastic->opportunistic = true;
  EXPECT_THAT(problems(cluster), ElementsAre(HasSubstr("elastic: reservation, opportunistic: ")));
  cluster = tide();
  cluster.pools[0].elastic->yields = true;
  EXPECT_THAT(problems(cluster), testing::Contains(HasSubstr("elastic: reservation, yields: ")));
}

TEST(Reservation, HasANameThatNoOtherPoolHas) {
  auto cluster = tide();
  cluster.pools.push_back(cluster.pools[0]);
  cluster.pools[1].name = "more";
  cluster.pools[1].hostname = "m%d";
  EXPECT_THAT(problems(cluster),
              ElementsAre("pool 'more': elastic: reservation 'course': pool 'burst' has one of this name"));
}

}  // namespace
}  // namespace underway::model

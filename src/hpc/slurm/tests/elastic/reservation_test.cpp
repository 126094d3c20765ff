#include "slurm/elastic/reservation.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TimePoint utc(const char* time) { return *parse_time(time); }

Reservation course() {
  return {.name = "course",
          .begins = utc("2026-12-01T09:00:00Z"),
          .ends = utc("2026-12-01T13:00:00Z"),
          .nodes = {"c1", "c2", "c4"},
          .users = {"alice", "bob"}};
}

constexpr const char* kReservationPrinted =
    "ReservationName=course StartTime=2026-12-01T09:00:00 EndTime=2026-12-01T13:00:00 Duration=04:00:00 Nodes=c[1-2,4] "
    "NodeCnt=3 CoreCnt=3 Features=(null) PartitionName=(null) Flags=IGNORE_JOBS,SPEC_NODES TRES=cpu=3 "
    "Users=alice,bob Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a "
    "MaxStartDelay=(null) Comment=by hand Users=mallory";

TEST(SlurmReservation, IsReadAsFarAsItMakesSense) {
  EXPECT_THAT(parse_reservations(kReservationPrinted), ElementsAre(course()));
  EXPECT_THAT(parse_reservations("No reservations in the system\n"), IsEmpty());
  EXPECT_THAT(parse_reservations("ReservationName=a StartTime=never EndTime=2026-12-01T13:00:00 Nodes=c1\n"
                                 "ReservationName= StartTime=2026-12-01T09:00:00 EndTime=2026-12-01T13:00:00\n"
                                 "ReservationName=b\n"),
              IsEmpty());
  const auto odd = parse_reservations(
      "ReservationName=a StartTime=2026-12-01T09:00:00 EndTime=2026-12-01T13:00:00 Nodes=c[1-\n"
      "ReservationName=b StartTime=2026-12-01T09:00:00 EndTime=2026-12-01T13:00:00 Nodes=c[1-60000]\n"
      "ReservationName=c StartTime=2026-12-01T09:00:00 EndTime=2026-12-01T13:00:00 Nodes=d[1-60000]\n");
  ASSERT_THAT(odd, SizeIs(3));
  EXPECT_THAT(odd[0].nodes, IsEmpty());
  EXPECT_THAT(odd[1].nodes, SizeIs(60'000));
  EXPECT_THAT(odd[2].nodes, IsEmpty()) << "of all together there is an end";
}

TEST(SlurmReservation, IsMadeOfNodesForSomeFromThenOn) {
  EXPECT_THAT(create_command(course(), utc("2026-12-01T08:00:00Z")),
              ElementsAre("env", "TZ=UTC", "scontrol", "create", "reservation", "reservationname=course",
                          "starttime=2026-12-01T09:00:00", "endtime=2026-12-01T13:00:00", "nodes=c[1-2,4]",
                          "flags=ignore_jobs", "users=alice,bob"));
  auto late = course();
  late.accounts = {"teaching"};
  const auto words = create_command(late, utc("2026-12-01T09:30:00Z"));
  EXPECT_EQ(words[6], "starttime=now") << "Slurm refuses what is over";
  EXPECT_EQ(words[10], "accounts=teaching");
}

TEST(SlurmReservation, IsChangedWhereItDiffers) {
  const auto before = utc("2026-12-01T08:00:00Z"), during = utc("2026-12-01T10:00:00Z");
  const auto has = course();
  auto wanted = course();
  EXPECT_THAT(update_command(has, wanted, before), IsEmpty());
  wanted.ends += std::chrono::seconds(59);
  EXPECT_THAT(update_command(has, wanted, before), IsEmpty()) << "for Slurm minutes do";
  wanted.begins += std::chrono::minutes(30);
  wanted.nodes = {"c1", "c5"};
  EXPECT_THAT(update_command(has, wanted, before),
              ElementsAre("env", "TZ=UTC", "scontrol", "update", "reservationname=course",
                          "starttime=2026-12-01T09:30:00", "nodes=c[1,5]"));
  wanted = course();
  wanted.begins = utc("2026-12-01T08:30:00Z");
  EXPECT_THAT(update_command(has, wanted, during), IsEmpty()) << "it has begun";
  wanted.ends = utc("2026-12-01T14:00:00Z");
  wanted.users = {"alice"};
  EXPECT_THAT(update_command(has, wanted, during),
              ElementsAre("env", "TZ=UTC", "scontrol", "update", "reservationname=course",
                          "endtime=2026-12-01T14:00:00", "users=alice"));
}

TEST(SlurmReservation, IsDeletedByItsName) {
  EXPECT_THAT(delete_reservation_command("course"), ElementsAre("scontrol", "delete", "reservation=course"));
}

}  // namespace
}  // namespace underway::slurm

// How long the controller of examples/decoupled is away when it moves, beside its own stop and start.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "integration/decoupled/decoupled.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;

class DecoupledGap : public DecoupledCluster {
 protected:
  /// For how long slurmctld does not answer a client that connects every 5 ms while `something` is done to it.
  milliseconds gap_of_controller(const std::function<void()>& something) const {
    const Prober quick(cluster_, "c1", {{"slurmctld", "tcp", "10.78.0.5", 6817}}, milliseconds(5));
    EXPECT_TRUE(quick.all_answer(seconds(10), 20)) << quick.report();
    quick.measure_anew();  // how long it took to answer at all is no gap of this
    const auto failed = quick.readings().at("slurmctld").failed;
    something();
    EXPECT_TRUE(eventually(seconds(60), [&] { return quick.readings().at("slurmctld").failed > failed; }));
    EXPECT_TRUE(quick.all_answer(seconds(60), 100)) << quick.report();
    return quick.readings().at("slurmctld").longest;
  }
  bool is_held() const {
    const auto config = cluster_.enter("login", "scontrol show config");
    return config.exit_code != 0 || config.out.find("= 65533 sec") != std::string::npos;
  }
};

TEST_F(DecoupledGap, AMoveOfTheControllerTakesLittleLongerThanItsOwnStopAndStart) {
  Farm farm(cluster_, farm_options());
  ASSERT_EQ(farm.plant(8), 8);
  ASSERT_TRUE(farm.settled());
  std::vector<milliseconds> own, moves;
  for (int i = 0; i < 3; ++i) {
    own.push_back(gap_of_controller([&] {
                    // Its capsule waits for 0.1 s before it starts it again.
                    const auto told = cluster_.enter(host_of("slurm-services"), "pkill -TERM -o -x slurmctld");
                    EXPECT_EQ(told.exit_code, 0) << told.err;
                  }) -
                  milliseconds(100));
    moves.push_back(gap_of_controller([&] {
      const std::string to = host_of("slurm-services") == "infra1" ? "infra2" : "infra1";
      const auto moved = cluster_.underway({"capsule", "move", "slurm-services", "-to", to}, seconds(180));
      EXPECT_EQ(moved.exit_code, 0) << moved.out << moved.err;
      std::cout << moved.out << moved.err;
    }));
    // It came from somewhere else, so it was held until it had been compared with its nodes.
    EXPECT_TRUE(eventually(seconds(60), [&] { return !is_held(); }));
    std::cout << fmt::format("slurmctld's own stop and start: {} ms; the move: {} ms\n", own.back().count(),
                             moves.back().count());
  }
  std::ranges::sort(own);
  std::ranges::sort(moves);
  EXPECT_LE(moves[1].count(), own[1].count() * 3 / 2) << "the medians of three";
  EXPECT_THAT(farm.harvest().problems, IsEmpty());
}

}  // namespace
}  // namespace underway::harness

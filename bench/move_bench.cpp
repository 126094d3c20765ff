// For how long a client misses a service that `underway capsule move` takes from one host of a real cluster to another:
// a client on a third host connects every 5 ms. What the driver alone, a script and podman need is in capsule_bench.
// Needs root and busybox-static.
//
//   move_bench [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "harness/capsule/counting_capsule.hpp"

namespace {

using namespace underway::harness;
using std::chrono::milliseconds;
using std::chrono::seconds;

void measure(const std::string& what, CountingCapsule::Kind kind, int rounds) {
  const CountingCapsule capsule(kind);
  std::vector<milliseconds::rep> all;
  for (int round = 0; round < rounds; ++round) {
    const Prober client = capsule.client("c1", milliseconds(5));
    if (!client.all_answer(seconds(10), 200)) throw std::runtime_error("it does not answer\n" + capsule.status());
    const auto moved = capsule.cluster().underway(
        {"capsule", "move", "counter", "-to", capsule.other_than(capsule.owner())}, seconds(60));
    if (moved.exit_code != 0) throw std::runtime_error(moved.err);
    if (!client.all_answer(seconds(10))) throw std::runtime_error("it does not answer\n" + capsule.status());
    all.push_back(client.readings()["counter"].longest.count());
  }
  std::sort(all.begin(), all.end());
  std::cout << fmt::format("{:<64} median {:5} ms   least {:5}   most {:5}   n={}\n", what, all[all.size() / 2],
                           all.front(), all.back(), all.size())
            << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  try {
    measure("capsule move, stateless, pre-staged: without an answer", CountingCapsule::Kind::stateless, rounds);
    measure("capsule move, with an overlay and steps: without an answer", CountingCapsule::Kind::stateful, rounds);
  } catch (const std::exception& e) {
    std::cerr << "move_bench: " << e.what() << "\n";
    return 1;
  }
  return 0;
}

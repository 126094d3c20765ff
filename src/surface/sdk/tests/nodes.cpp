// A program of somebody else's that speaks to a server: it lists the nodes, and why a job is as it is. What it is
// linked with is what the SDK needs, and no more (alone_test.cpp).
#include <fmt/format.h>

#include <cstdio>

#include "base/error.hpp"
#include "sdk/client.hpp"

int main(int argc, char** argv) {
  using namespace underway;
  try {
    sdk::Client client(sdk::address_from_environment("/var/lib/underway/run/agent.sock"));
    for (const auto& node : client.nodes()) fmt::print("{} {}\n", node.name, describe::spell(node.status));
    for (int i = 1; i < argc; ++i) fmt::print("{}\n", client.explain_job(argv[i]).advice);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.one_line());
    return 1;
  }
}

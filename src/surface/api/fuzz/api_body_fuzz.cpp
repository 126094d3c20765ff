// Bodies of the routes that read most of what strangers send: registering, planning, parsing, clusters, search,
// variables. The first byte picks the route. Whatever comes, the answer is a success or a refusal, never an internal
// error.
#include <cstdlib>

#include "api/testing/world.hpp"

namespace {
constexpr const char* kTargets[] = {"/v1/jobs",         "/v1/job/web/plan",         "/v1/jobs/parse",
                                    "/v1/validate/job", "/v1/underway/cluster/hpc", "/v1/underway/cluster/hpc/plan",
                                    "/v1/search",       "/v1/var/db/main",          "/v1/var/db/main?lock-acquire"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using underway::api::testing::World;
  if (size < 1 || size > 64 * 1024) return 0;
  static int runs = 0;
  static std::unique_ptr<World> world;
  if (!world || ++runs % 1000 == 0) world = std::make_unique<World>();  // what was registered does not pile up
  const auto* target = kTargets[data[0] % std::size(kTargets)];
  const auto response = world->put(target, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (response.status == 500) std::abort();
  return 0;
}

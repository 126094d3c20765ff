#include "api/rights_reference.hpp"
#include "api/testing/world.hpp"
#include "golden.hpp"

namespace underway::api::testing {
namespace {

TEST(RightsReference, IsAsTheRoutesAre) {
  const World world;
  expect_golden(std::string(UNDERWAY_SOURCE_DIR) + "/docs/reference/acl.md", rights_reference(world.routes));
}

}  // namespace
}  // namespace underway::api::testing

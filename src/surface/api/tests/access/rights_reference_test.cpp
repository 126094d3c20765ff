#include "api/access/rights_reference.hpp"
#include "api/testing/world.hpp"
#include "harness/places.hpp"
#include "tests/golden.hpp"

namespace underway::api::testing {
namespace {

TEST(RightsReference, IsAsTheRoutesAre) {
  const World world;
  expect_golden(source_dir() + "/docs/reference/acl.md", rights_reference(world.routes));
}

}  // namespace
}  // namespace underway::api::testing

// Taking away what is not there says so, but where Nomad's clients count on its being no failure.
#include "api/testing/world.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

TEST(Deletes, OfWhatIsNotThereAre404) {
  World world({.acl = true});
  world.peer = {.address = "unix", .uid = 0};
  const std::string id = uuid(4711);
  const std::vector<std::pair<std::string, int>> cases = {
      {"/v1/job/nothing", 200},  // as Nomad: whoever takes a job away twice is done
      {"/v1/acl/policy/nothing", 404},
      {"/v1/acl/token/" + id, 404},
      {"/v1/acl/role/" + id, 404},
      {"/v1/acl/auth-method/nothing", 404},
      {"/v1/acl/binding-rule/" + id, 404},
      {"/v1/namespace/nothing", 404},
      {"/v1/node/pool/nothing", 404},
      {"/v1/quota/nothing", 404},
      {"/v1/service/nothing/" + id, 404},
      {"/v1/var/nothing", 204},  // as Nomad
      {"/v1/volume/host/" + id, 404},
      {"/v1/volume/host/" + id + "/delete", 404},
      {"/v1/volumes/claims/" + id, 404},
      {"/v1/operator/keyring/key/" + id, 404},
      {"/v1/job/nothing/versions/tag/tag", 404},
      {"/v1/underway/cluster/nothing", 404},
      {"/v1/underway/join-token/nothing", 404}};
  for (const auto& [target, status] : cases) {
    const auto response = world.send("DELETE", target);
    EXPECT_EQ(response.status, status) << target << ": " << response.body;
  }
}

}  // namespace
}  // namespace underway::api::testing

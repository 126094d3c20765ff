// What validating and planning a job warn of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/world.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

model::Job job_with(const std::string& data) {
  model::Job job = server::testing::make_job("web");
  auto& entry = job.groups[0].tasks[0].templates.emplace_back();
  entry.destination = "local/x.conf";
  entry.data = data;
  return job;
}

std::string warnings(World& world, const std::string& target, const model::Job& job) {
  const auto response = world.put(target, World::job_body(job));
  EXPECT_EQ(response.status, 200) << response.body;
  return std::string(json::parse(response.body).at("Warnings").as_string());
}

TEST(JobWarnings, OfTemplatesAreToldByValidateAndPlan) {
  World world;
  world.join(server::testing::make_node(1));
  for (const char* target : {"/v1/validate/job", "/v1/job/web/plan"}) {
    SCOPED_TRACE(target);
    const auto told = warnings(world, target, job_with("a\n{{ connect \"x\" }}{{ secret \"y\" }}"));
    EXPECT_THAT(told, StartsWith("2 warning(s):\n\n* group 'g', task 't', template 'local/x.conf', 2:4: function "
                                 "`connect` is refused"));
    EXPECT_THAT(told, HasSubstr("\n* group 'g', task 't', template 'local/x.conf', 2:21: `secret` asks Vault"));
    EXPECT_THAT(warnings(world, target, job_with("{{ if }}")), HasSubstr("1:7: missing value for if"));
    EXPECT_EQ(warnings(world, target, job_with("{{ env \"x\" }}{{ service \"y\" }}")), "");
  }
}

TEST(JobWarnings, AreNotOfWhatANodeReadsFromTheRealOnes) {
  World world;
  auto node = server::testing::make_node(1);
  node.attributes["template.secret"] = "vault";
  world.join(node);
  const auto job = job_with("{{ key \"x\" }}{{ secret \"y\" }}");
  const auto told = warnings(world, "/v1/validate/job", job);
  EXPECT_THAT(told, StartsWith("1 warning(s):"));
  EXPECT_THAT(told, HasSubstr("`key` asks Consul"));
}

}  // namespace
}  // namespace underway::api::testing

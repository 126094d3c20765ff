// Services that name no catalogue.
#include "api/testing/world.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

/// A job with services that name none, an empty one, and the built-in one; of the group and of its task.
std::string body() {
  auto text = json::parse(World::job_body(make_job("web")));
  auto& group = text.as_object()["Job"].as_object()["TaskGroups"].as_array()[0].as_object();
  group["Services"] = json::parse(R"([{"Name":"a"},{"Name":"b","provider":""},{"Name":"c","Provider":"nomad"}])");
  group["Tasks"].as_array()[0].as_object()["Services"] = json::parse(R"([{"Name":"d"}])");
  return boost::json::serialize(text);
}

std::vector<std::string> providers(World& world) {
  EXPECT_EQ(world.put("/v1/jobs", body()).status, 200);
  std::vector<std::string> out;
  const auto job = world.read("/v1/job/web");
  const auto& group = job.at("TaskGroups").at(0);
  const auto& task = group.at("Tasks").at(0);
  for (const auto* owner : {&group, &task}) {
    for (const auto& service : owner->at("Services").as_array())
      out.emplace_back(std::string_view(service.at("Provider").as_string()));
  }
  return out;
}

TEST(ServiceProvider, IsTheBuiltInCatalogueWhereNoneIsNamed) {
  World world;
  EXPECT_EQ(providers(world), (std::vector<std::string>{"nomad", "nomad", "nomad", "nomad"}));
}

TEST(ServiceProvider, IsTheOneThatTheAgentSaysWhereNoneIsNamed) {
  World world;
  world.api.service_provider = "consul";
  EXPECT_EQ(providers(world), (std::vector<std::string>{"consul", "consul", "nomad", "consul"}));
}

}  // namespace
}  // namespace underway::api::testing

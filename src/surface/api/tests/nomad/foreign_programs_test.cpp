// What programs of other people send, call by call as they were seen to, and what they read of the answers unasked:
// Ansible's modules (community.general 9.5), Prometheus' and Traefik's discovery, consul-template 0.41, nomad-tools
// 0.5.
#include "api/testing/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

using server::testing::run_until;

constexpr const char* kFile = R"(job "shop" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["600"]
      }
    }
  }
})";

/// The members that are missing.
std::vector<std::string> missing(const boost::json::value& from, const std::vector<const char*>& names) {
  std::vector<std::string> out;
  for (const char* name : names)
    if (!from.as_object().contains(name)) out.emplace_back(name);
  return out;
}

TEST(AnsiblesJobs, AreParsedPlannedAndRegisteredOnce) {
  World world;
  const auto parsed =
      world.send("POST", "/v1/jobs/parse",
                 boost::json::serialize(boost::json::object{{"JobHCL", kFile}, {"Canonicalize", false}}));
  ASSERT_EQ(parsed.status, 200) << parsed.body;
  // It writes the envelope's key small, and takes the plan's word for whether to register.
  const std::string body = R"({"job":)" + parsed.body + R"(,"Diff":true,"PolicyOverride":false})";
  const auto planned = [&] {
    const auto answer = world.send("POST", "/v1/job/shop/plan", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::string(json::parse(answer.body).at("Diff").at("Type").as_string());
  };
  EXPECT_EQ(planned(), "Added");
  EXPECT_EQ(world.send("POST", "/v1/jobs", R"({"job":)" + parsed.body + "}").status, 200);
  EXPECT_EQ(planned(), "None");

  // With force_start it sends back what it read, stopped no more.
  EXPECT_EQ(world.send("DELETE", "/v1/job/shop").status, 200);
  auto read = world.read("/v1/job/shop");
  read.as_object()["Status"] = "running";
  read.as_object()["Stop"] = false;
  EXPECT_EQ(world.send("POST", "/v1/jobs", R"({"job":)" + boost::json::serialize(read) + "}").status, 200);
  EXPECT_EQ(world.read("/v1/job/shop").at("Stop"), false);
}

TEST(AnsiblesTokens, SayEverythingThatTheModuleReads) {
  World world({.acl = true, .network_bootstrap = true, .readable_token_secrets = true});
  world.peer = {.address = "127.0.0.1:4000"};
  EXPECT_EQ(world.get("/v1/acl/tokens").status, 403) << "by which it sees that it may have to bootstrap";
  const auto first = world.send("POST", "/v1/acl/bootstrap");
  ASSERT_EQ(first.status, 200) << first.body;
  const std::vector<const char*> kRead = {"AccessorID", "CreateIndex", "CreateTime",  "ExpirationTTL", "ExpirationTime",
                                          "Global",     "Hash",        "ModifyIndex", "Name",          "Policies",
                                          "Roles",      "SecretID",    "Type"};
  EXPECT_THAT(missing(json::parse(first.body), kRead), ::testing::IsEmpty());
  world.token = json::parse(first.body).at("SecretID").as_string();
  EXPECT_EQ(world.read("/v1/acl/tokens").at(0).at("Name"), "Bootstrap Token") << "by which it knows it again";
  const auto made =
      world.send("POST", "/v1/acl/token", R"({"Name":"dev","Type":"client","Policies":["readonly"],"Global":false})");
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_THAT(missing(json::parse(made.body), kRead), ::testing::IsEmpty());
}

class Discovery : public ::testing::Test {
 protected:
  Discovery() {
    world.link(1);
    model::Job job = make_job("web", 2);
    job.groups[0].services.push_back({.name = "front", .tags = {"traefik.enable=true"}});
    world.run(job);
    run_until(world.loop, [&] { return world.read("/v1/service/front").as_array().size() == 2; });
  }
  World world;
};

TEST_F(Discovery, OfPrometheusAndTraefikFindsEachInstance) {
  const auto services = world.read("/v1/services?namespace=default&region=global&stale=");
  EXPECT_EQ(services.at(0).at("Services").at(0).at("ServiceName"), "front");
  const auto instances = world.read("/v1/service/front?namespace=default&region=global&stale=");
  for (const auto& instance : instances.as_array())
    EXPECT_THAT(missing(instance, {"ID", "ServiceName", "Namespace", "NodeID", "Datacenter", "JobID", "AllocID", "Tags",
                                   "Address", "Port"}),
                ::testing::IsEmpty());
}

TEST_F(Discovery, OfConsulTemplateTakesSomeByAKey) {
  const auto once = world.read("/v1/service/front?choose=1%7Ckey&namespace=default&stale=");
  ASSERT_EQ(once.as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/service/front?choose=1%7Ckey&namespace=default&stale="), once) << "the same one again";
}

TEST_F(Discovery, OfNomadToolsFindsAnAllocationByItsDigits) {
  const std::string id = world.allocation_of("web");
  std::string digits = id;
  std::erase(digits, '-');
  for (const std::string& prefix : {id, id.substr(0, 8), digits, digits.substr(0, 20), id.substr(0, 9)}) {
    const auto found = world.read("/v1/allocations?prefix=" + prefix);
    ASSERT_EQ(found.as_array().size(), 1u) << prefix;
    EXPECT_EQ(std::string_view(found.at(0).at("ID").as_string()), id);
  }
  EXPECT_EQ(world.read("/v1/allocations?prefix=no-digits").as_array().size(), 0u);
}

}  // namespace
}  // namespace underway::api::testing

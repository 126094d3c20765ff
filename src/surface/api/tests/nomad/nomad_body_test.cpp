// Bodies as Nomad's servers write them: null for nothing, and no member that its clients look at without asking first.
#include "api/nomad/nomad_body.hpp"

#include "api/testing/world.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using boost::json::kind;
using boost::json::value;
using model::ClientStatus;

class NomadBodyTest : public ::testing::Test {
 protected:
  NomadBodyTest() { world.join(make_node(1)); }

  /// "/0/TaskStates": null when nothing is there.
  static const value* at(const value& body, std::string_view pointer) {
    boost::system::error_code failed;
    return body.find_pointer(pointer, failed);
  }
  static void expect_null(const value& body, std::initializer_list<std::string_view> pointers) {
    for (const auto pointer : pointers) {
      const auto* found = at(body, pointer);
      ASSERT_NE(found, nullptr) << pointer << " of " << body;
      EXPECT_TRUE(found->is_null()) << pointer << " is " << *found;
    }
  }
  static void expect_absent(const value& body, std::initializer_list<std::string_view> pointers) {
    for (const auto pointer : pointers) EXPECT_EQ(at(body, pointer), nullptr) << pointer << " of " << body;
  }
  static std::int64_t number(const value& body, std::string_view pointer) {
    const auto* found = at(body, pointer);
    EXPECT_NE(found, nullptr) << pointer << " of " << body;
    return found != nullptr && found->is_number() ? found->to_number<std::int64_t>() : -1;
  }
  value plan(const model::Job& job) {
    const auto response = world.put("/v1/job/" + job.id + "/plan", World::job_body(job));
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  }
  static model::Job large(const std::string& id = "large") {
    model::Job job = make_job(id);
    job.groups[0].tasks[0].resources.cpu = 1'000'000;
    return job;
  }

  World world;
};

TEST_F(NomadBodyTest, AllocationsHaveWhatAGenuineNodeStatusAddsUp) {
  model::Job job = make_job("web", 1);
  model::Task first = job.groups[0].tasks[0];
  first.name = "first";
  first.resources.cpu = 100;
  first.resources.memory_mb = 10;
  first.lifecycle.emplace().hook = model::LifecycleHook::prestart;
  job.groups[0].tasks[0].resources.cpu = 500;
  job.groups[0].tasks[0].resources.memory_mb = 256;
  job.groups[0].tasks.push_back(first);
  ASSERT_EQ(world.run(job).status, 200);
  // command/node_status.go dereferences all three of Resources; alloc_status.go those of TaskResources.
  for (const auto& body : {world.read("/v1/allocation/" + world.allocation_of("web")),
                           world.read("/v1/node/" + uuid(1) + "/allocations").at(0)}) {
    EXPECT_EQ(number(body, "/Resources/CPU"), 600);
    EXPECT_EQ(number(body, "/Resources/MemoryMB"), 266);
    EXPECT_EQ(number(body, "/Resources/DiskMB"), 300);
    EXPECT_EQ(number(body, "/TaskResources/t/CPU"), 500);
    EXPECT_EQ(number(body, "/TaskResources/t/MemoryMB"), 256);
    EXPECT_EQ(number(body, "/TaskResources/first/CPU"), 100);
    EXPECT_EQ(number(body, "/SharedResources/DiskMB"), 300);
    EXPECT_EQ(body.at("AllocatedResources").at("TaskLifecycles").at("first").at("Hook"), "prestart");
    expect_null(body,
                {"/AllocatedResources/TaskLifecycles/t", "/AllocatedResources/Tasks/t/Networks",
                 "/AllocatedResources/Shared/Networks", "/AllocatedResources/Shared/Ports", "/Resources/Networks"});
    EXPECT_EQ(number(body, "/Metrics/NodesAvailable/dc1"), 1);
    expect_null(body, {"/Metrics/ClassFiltered", "/Metrics/QuotaExhausted", "/Metrics/ResourcesExhausted"});
    EXPECT_EQ(at(body, "/NetworkStatus")->kind(), kind::object) << "alloc_status.go looks into it unasked";
    EXPECT_EQ(at(body, "/Job/TaskGroups")->kind(), kind::array);
    expect_absent(body, {"/PreemptedAllocations", "/RescheduleTracker", "/FollowupEvalID", "/DesiredDescription",
                         "/DesiredTransition", "/NextAllocation"});
  }
  const auto listed = world.read("/v1/allocations?resources=true").at(0);
  EXPECT_EQ(listed.at("AllocatedResources").at("TaskLifecycles").at("first").at("Hook"), "prestart");
  expect_null(listed, {"/RescheduleTracker", "/PreemptedAllocations", "/TaskStates", "/DesiredTransition/Migrate",
                       "/DesiredTransition/ForceReschedule", "/DeploymentStatus"});
  expect_absent(world.read("/v1/allocations").at(0), {"/AllocatedResources", "/WaitingFor"});
}

TEST_F(NomadBodyTest, TasksThatHaveNotEndedSayNullAndNotTheYearOne) {
  ASSERT_EQ(world.run(make_job("web", 1)).status, 200);
  auto running = report(world.allocation_of("web"), ClientStatus::running, true);
  running.task_states["t"].started_at = unix_nanos(world.clock.now());
  running.task_states["t"].events.push_back({.type = "Started", .time = 1, .message = "Task started by client"});
  world.update(uuid(1), running);
  const auto states = world.read("/v1/job/web/allocations").at(0).at("TaskStates");
  EXPECT_TRUE(states.at("t").at("StartedAt").is_string());
  expect_null(states, {"/t/FinishedAt", "/t/LastRestart", "/t/TaskHandle"});
  for (const char* always : {"DriverError", "KillReason", "RestartReason", "Message", "TaskSignal"})
    EXPECT_EQ(states.at("t").at("Events").at(0).at(always), "") << always;
}

TEST_F(NomadBodyTest, JobsSayNullWhereNothingIsSaid) {
  model::Job batch = make_job("once", 1, model::JobType::batch);
  ASSERT_EQ(world.run(batch).status, 200);
  const auto job = world.read("/v1/job/once");
  expect_null(job, {"/Constraints", "/Affinities", "/Spreads", "/Meta", "/Periodic", "/ParameterizedJob", "/Payload",
                    "/Multiregion", "/TaskGroups/0/Networks", "/TaskGroups/0/Services", "/TaskGroups/0/Volumes",
                    "/TaskGroups/0/Update", "/TaskGroups/0/ShutdownDelay", "/TaskGroups/0/Scaling",
                    "/TaskGroups/0/Tasks/0/Env", "/TaskGroups/0/Tasks/0/Templates", "/TaskGroups/0/Tasks/0/Vault",
                    "/TaskGroups/0/Tasks/0/Resources/Devices", "/TaskGroups/0/Tasks/0/CSIPluginConfig"});
  EXPECT_EQ(number(job, "/Update/MaxParallel"), 0) << "a struct there, not a pointer to one";
  EXPECT_EQ(*at(job, "/TaskGroups/0/Consul/Namespace"), "");
  expect_absent(job, {"/DependsOn", "/UI", "/VersionTag", "/Cluster", "/Migrate", "/TaskGroups/0/Disconnect",
                      "/TaskGroups/0/Tasks/0/Actions", "/TaskGroups/0/Tasks/0/Resources/NUMA"});
  EXPECT_EQ(world.read("/v1/jobs").at(0).as_object().if_contains("Meta"), nullptr);
  EXPECT_EQ(world.read("/v1/jobs?meta=true").at(0).as_object().if_contains("Meta"), nullptr) << "it has none";
}

TEST_F(NomadBodyTest, JobsAreWrittenBackAsTheyWereRead) {
  for (const auto type : {model::JobType::service, model::JobType::batch, model::JobType::system}) {
    SCOPED_TRACE(describe::spell(type));
    const std::string id(describe::spell(type));
    ASSERT_EQ(world.run(make_job(id, 1, type)).status, 200);
    const auto read = world.read("/v1/job/" + id);
    const auto written = world.put("/v1/jobs", boost::json::serialize(boost::json::object{{"Job", read}}));
    ASSERT_EQ(written.status, 200) << written.body;
    EXPECT_EQ(world.read("/v1/job/" + id).at("Version"), 0) << read;
  }
}

TEST_F(NomadBodyTest, EvaluationsLeaveOutWhatIsEmpty) {
  ASSERT_EQ(world.run(make_job("web", 1)).status, 200);
  const auto evaluation = world.read("/v1/job/web/evaluations").at(0);
  expect_absent(evaluation, {"/NodeID", "/FailedTGAllocs", "/WaitUntil", "/BlockedEval", "/EscapedComputedClass"});
  EXPECT_EQ(number(evaluation, "/QueuedAllocations/g"), 0);
  EXPECT_GT(number(evaluation, "/SnapshotIndex"), 0);
  const std::string id(std::string_view(evaluation.at("ID").as_string()));
  EXPECT_TRUE(world.read("/v1/evaluation/" + id + "?related=true").at("RelatedEvals").is_null());
}

TEST_F(NomadBodyTest, PlansCountWhatCannotBePlacedAndSayNullOfNothing) {
  const auto fits = plan(make_job("web", 1));
  expect_null(fits,
              {"/FailedTGAllocs", "/CreatedEvals", "/Annotations/PreemptedAllocs", "/NextPeriodicLaunch", "/Diff"});
  EXPECT_EQ(fits.at("Index"), 0);
  EXPECT_EQ(fits.at("Warnings"), "");
  // command/job_plan.go: exits with 1 when Stop + Place + Migrate + DestructiveUpdate + Canary is above 0.
  const auto failed = plan(large());
  EXPECT_EQ(number(failed, "/Annotations/DesiredTGUpdates/g/Place"), 1);
  EXPECT_EQ(at(failed, "/FailedTGAllocs/g")->kind(), kind::object);
  ASSERT_EQ(world.run(make_job("web", 1)).status, 200);
  const auto same = plan(make_job("web", 1));
  EXPECT_EQ(same.at("Index"), same.at("JobModifyIndex"));
  EXPECT_EQ(number(same, "/Annotations/DesiredTGUpdates/g/Place"), 0);
}

TEST_F(NomadBodyTest, NamespacesAndPoolsAreNullWhereNothingIsNarrowed) {
  ASSERT_EQ(world.put("/v1/namespace", R"({"Name":"dev"})").status, 200);
  ASSERT_EQ(
      world.put("/v1/namespace", R"({"Name":"narrow","Capabilities":{"EnabledTaskDrivers":["exec"]},"Meta":{"a":"b"}})")
          .status,
      200);
  ASSERT_EQ(world.put("/v1/node/pools", R"({"Name":"gpu"})").status, 200);
  expect_null(world.read("/v1/namespace/dev"), {"/Capabilities", "/Meta", "/NodePoolConfiguration"});
  expect_absent(world.read("/v1/namespace/dev"), {"/AllowedUsers", "/HostRights", "/RawExecAsRoot"});
  const auto narrow = world.read("/v1/namespace/narrow");
  expect_null(narrow, {"/Capabilities/DisabledTaskDrivers"});
  expect_absent(narrow, {"/Capabilities/EnabledNetworkModes"});
  EXPECT_EQ(*at(narrow, "/Capabilities/EnabledTaskDrivers/0"), "exec");
  EXPECT_NE(narrow.at("Hash"), world.read("/v1/namespace/dev").at("Hash"));
  expect_null(world.read("/v1/node/pool/gpu"), {"/SchedulerConfiguration", "/Meta"});
}

TEST_F(NomadBodyTest, NodesHaveWhatAGenuineNodeStatusLooksAt) {
  const auto node = world.read("/v1/node/" + uuid(1));
  expect_null(node, {"/HostVolumes", "/HostNetworks", "/DrainStrategy", "/LastDrain", "/Events/0/Details",
                     "/Resources/Devices", "/ReservedResources/Cpu/ReservedCpuCores", "/NodeResources/Devices"});
  for (const char* of : {"/Resources", "/Reserved"}) {
    // computeNodeTotalResources dereferences these of both.
    for (const char* member : {"/CPU", "/MemoryMB", "/DiskMB"}) EXPECT_GE(number(node, std::string(of) + member), 0);
  }
  EXPECT_EQ(at(node, "/CSINodePlugins")->kind(), kind::object);
  EXPECT_EQ(*at(node, "/ReservedResources/Networks/ReservedHostPorts"), "");
  expect_absent(world.read("/v1/nodes").at(0), {"/NodeResources", "/Attributes", "/Host"});
  EXPECT_EQ(at(world.read("/v1/nodes?resources=true").at(0), "/NodeResources/Cpu")->kind(), kind::object);
}

TEST_F(NomadBodyTest, ReadersOfOursTakeNullForNothing) {
  EXPECT_TRUE(json::decode_text<std::vector<model::Job>>("null").empty());
  EXPECT_TRUE((json::decode_text<std::map<std::string, model::AllocMetric>>("null").empty()));
  ASSERT_EQ(world.run(make_job("web", 1)).status, 200);
  const auto row = *world.tables().find_allocation(world.allocation_of("web"));
  auto read = json::decode<model::Allocation>(world.read("/v1/allocation/" + row.id));
  read.network_status.reset();  // told as an empty one when there is none
  EXPECT_TRUE(describe::equal(read, row)) << json::encode(read) << "\n" << json::encode(row);
}

}  // namespace
}  // namespace underway::api::testing

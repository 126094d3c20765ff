#include "node/task/environment.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "node/template/template_renderer.hpp"
#include "tests/fixture.hpp"

namespace underway::node {
namespace {

using ::testing::HasSubstr;

model::Node make_node() {
  model::Node node;
  node.id = "00000000-0000-4000-8000-000000000001";
  node.name = "n1";
  node.attributes = {{"unique.network.ip-address", "10.77.0.11"},
                     {"cpu.arch", "amd64"},
                     {"driver.exec", "1"},
                     {"driver.exec.version", "2"},
                     {"unique.hostname", "c1"}};
  node.meta = {{"rack", "r7"}};
  node.networks = {{"default", "eth0", "10.77.0.11", "10.77.0.11/24"}};
  return node;
}

TEST(Environment, HasNomadsNames) {
  auto order = make_order({make_task("main")});
  order.job.meta["site"] = "lab";
  order.job.groups[0].meta["odd-key"] = "${NOMAD_TASK_NAME}!";
  order.job.groups[0].tasks[0].env = {{"WHO", "${attr.unique.hostname} ${env[\"NOMAD_META_SITE\"]} ${node.class}|"}};
  order.job.groups[0].tasks[0].resources.memory_max_mb = 512;
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  order.order.allocation.resources.ports = {{"http-main", 8080, 80, ""}};
  const model::Node node = make_node();
  const EnvironmentInputs inputs{.node = node,
                                 .allocation = order.order.allocation,
                                 .group = order.job.groups[0],
                                 .task = order.job.groups[0].tasks[0],
                                 .paths = {"/a/alloc", "/a/main/local", "/a/main/secrets"},
                                 .parent_cgroup = "underway",
                                 .user = "slurm",
                                 .home = "/var/lib/slurm",
                                 .host = {{"PATH", "/bin"}}};
  const model::StringMap expected = {{"HOME", "/var/lib/slurm"},
                                     {"LOGNAME", "slurm"},
                                     {"USER", "slurm"},
                                     {"PATH", "/bin"},
                                     {"NOMAD_ADDR_http_main", "10.77.0.11:8080"},
                                     {"NOMAD_ALLOC_ADDR_http_main", "10.77.0.11:8080"},
                                     {"NOMAD_ALLOC_DIR", "/a/alloc"},
                                     {"NOMAD_ALLOC_ID", kAllocationId},
                                     {"NOMAD_ALLOC_INDEX", "3"},
                                     {"NOMAD_ALLOC_INTERFACE_http_main", "eth0"},
                                     {"NOMAD_ALLOC_IP_http_main", "10.77.0.11"},
                                     {"NOMAD_ALLOC_NAME", "web.api[3]"},
                                     {"NOMAD_ALLOC_PORT_http_main", "80"},
                                     {"NOMAD_CPU_LIMIT", "100"},
                                     {"NOMAD_DC", "dc1"},
                                     {"NOMAD_GROUP_NAME", "api"},
                                     {"NOMAD_HOST_ADDR_http_main", "10.77.0.11:8080"},
                                     {"NOMAD_HOST_IP_http_main", "10.77.0.11"},
                                     {"NOMAD_HOST_PORT_http_main", "8080"},
                                     {"NOMAD_IP_http_main", "10.77.0.11"},
                                     {"NOMAD_JOB_ID", "web"},
                                     {"NOMAD_JOB_NAME", "web"},
                                     {"NOMAD_MEMORY_LIMIT", "300"},
                                     {"NOMAD_MEMORY_MAX_LIMIT", "512"},
                                     {"NOMAD_META_ODD_KEY", "main!"},
                                     {"NOMAD_META_SITE", "lab"},
                                     {"NOMAD_META_odd_key", "main!"},
                                     {"NOMAD_META_site", "lab"},
                                     {"NOMAD_NAMESPACE", "default"},
                                     {"NOMAD_PARENT_CGROUP", "underway"},
                                     {"NOMAD_PORT_http_main", "80"},
                                     {"NOMAD_REGION", "global"},
                                     {"NOMAD_SECRETS_DIR", "/a/main/secrets"},
                                     {"NOMAD_SHORT_ALLOC_ID", "6d3f5a0e"},
                                     {"NOMAD_TASK_DIR", "/a/main/local"},
                                     {"NOMAD_TASK_NAME", "main"},
                                     {"WHO", "c1 lab |"}};
  EXPECT_EQ(build_environment(inputs).environment(), expected);
}

TEST(Environment, OfTheAgentIsPassedOnWithoutItsCredentials) {
  const char* const environment[] = {"PATH=/x",          "LANG=C",        "AWS_SECRET_ACCESS_KEY=s",
                                     "UNDERWAY_TOKEN=t", "OS_PASSWORD=p", nullptr};
  EXPECT_EQ(host_environment(environment), (model::StringMap{{"PATH", "/x"}, {"LANG", "C"}}));
}

TEST(EnvironmentFile, IsReadAsAShellWould) {
  EXPECT_EQ(parse_environment_file("# c\n\nA=1\nexport B = \"two words\\n\"\nC='x#y'\nD=z # tail\n"),
            (model::StringMap{{"A", "1"}, {"B", "two words\n"}, {"C", "x#y"}, {"D", "z"}}));
  EXPECT_THROW(parse_environment_file("A=1\nnonsense\n"), Error);
  EXPECT_THROW(parse_environment_file("A=\"open\n"), Error);
}

TEST(Interpolation, LeavesWhatItDoesNotKnow) {
  Interpolation in(make_node(), "global");
  in.set_environment({{"A", "1"}, {"odd..name", "2"}});
  EXPECT_EQ(in.apply("${A} ${meta.rack} ${attr.cpu.arch} ${node.unique.name} ${env[\"odd..name\"]}"),
            "1 r7 amd64 n1 2");
  EXPECT_EQ(in.apply("${B} $A ${ ${x:-1} ${attr.nope} $${A}"), "${B} $A ${ ${x:-1} ${attr.nope} $1");
}

class TemplateTest : public ::testing::Test {
 protected:
  TemplateTest() : interpolation(make_node(), "global") {
    interpolation.set_environment({{"NOMAD_PORT_http", "8080"}, {"NOMAD_TASK_DIR", "/x"}, {"HOME", "/root"}});
    context = template_context(interpolation);
  }
  Interpolation interpolation;
  hcl::Context context;
};

TEST_F(TemplateTest, DataKeepsWhatIsMeantForOthers) {
  EXPECT_EQ(render_data("port ${NOMAD_PORT_http} on ${attr.cpu.arch}, ${meta.rack}; ${x} ${y:-z} $$ ${", context, "t"),
            "port 8080 on amd64, r7; ${x} ${y:-z} $$ ${");
  EXPECT_EQ(render_data("${attr[\"driver.exec\"]} ${attr.driver.exec.version} ${env.HOME} ${upper(meta[\"rack\"])}",
                        context, "t"),
            "1 2 /root R7");
}

TEST_F(TemplateTest, AKnownRootWithoutTheNameIsAnErrorWithItsPlace) {
  try {
    render_data("a ${attr.cpu.nope} b", context, "template 'local/x'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_THAT(error.one_line(), HasSubstr("nope"));
  }
}

TEST(Destination, StaysInTheTasksDirectories) {
  const std::string root = "/data/alloc/id";
  const TaskPaths host{root + "/alloc", root + "/main/local", root + "/main/secrets"};
  const TaskPaths inner{"/alloc", "/local", "/secrets"};
  EXPECT_EQ(resolve_destination("local/x", "main", root, host), "main/local/x");
  EXPECT_EQ(resolve_destination(root + "/main/secrets/key", "main", root, host), "main/secrets/key");
  EXPECT_EQ(resolve_destination("/secrets/key", "main", root, inner), "main/secrets/key");
  EXPECT_EQ(resolve_destination("/alloc/data/x", "main", root, inner), "alloc/data/x");
  EXPECT_EQ(resolve_destination("../alloc/data/x", "main", root, host), "alloc/data/x");
  EXPECT_EQ(resolve_destination("/etc/passwd", "main", root, host), "main/etc/passwd");
  for (const char* path : {"../other/local/x", "../../x", "local/../../../x", "private/run-1/state", "../.."}) {
    SCOPED_TRACE(path);
    EXPECT_THROW(resolve_destination(path, "main", root, host), Error);
  }
}

TEST(Templates, AreWrittenWithTheirModeAndEnvironmentOnce) {
  TemporaryDirectory data;
  const AllocationDirectory directory(data.path(), kAllocationId);
  os::make_directories(directory.task("main") + "/local");
  os::make_directories(directory.shared());
  auto task = make_task("main");
  task.templates.push_back(
      {.destination = "local/deep/a.env", .data = "PORT=${NOMAD_PORT_x}\n", .perms = "0600", .env = true});
  Interpolation interpolation(make_node(), "global");
  interpolation.set_environment({{"NOMAD_PORT_x", "7"}});
  const TemplateInputs inputs{.task = task,
                              .interpolation = interpolation,
                              .allocation_root = directory.root(),
                              .view = directory.host_paths("main"),
                              .owner = {::geteuid(), ::getegid()}};
  auto first = render_templates(inputs);
  EXPECT_EQ(first.changed, std::vector<std::size_t>{0});
  EXPECT_EQ(first.environment, (model::StringMap{{"PORT", "7"}}));
  struct stat status{};
  ASSERT_EQ(::stat((directory.task("main") + "/local/deep/a.env").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_TRUE(render_templates(inputs).changed.empty());
}

TEST(Templates, ALinkThatTheTaskMadeIsNotFollowedOutside) {
  TemporaryDirectory data;
  const AllocationDirectory directory(data.path(), kAllocationId);
  os::make_directories(directory.task("main") + "/local");
  os::make_directories(data.path() + "/outside");
  ASSERT_EQ(::symlink((data.path() + "/outside").c_str(), (directory.task("main") + "/local/out").c_str()), 0);
  auto task = make_task("main");
  task.templates.push_back({.destination = "local/out/x", .data = "text"});
  const Interpolation interpolation(make_node(), "global");
  const TemplateInputs inputs{.task = task,
                              .interpolation = interpolation,
                              .allocation_root = directory.root(),
                              .view = directory.host_paths("main"),
                              .owner = {::geteuid(), ::getegid()}};
  EXPECT_THROW(render_templates(inputs), Error);
  EXPECT_FALSE(os::exists(data.path() + "/outside/x"));
}

TEST(TemplateChange, IsTheStrongestOfWhatChanged) {
  std::vector<model::Template> templates(4);
  templates[0].change_mode = model::ChangeMode::noop;
  templates[1].change_mode = model::ChangeMode::signal;
  templates[1].change_signal = "sigusr1";
  templates[2].change_mode = model::ChangeMode::restart;
  templates[3].change_mode = model::ChangeMode::restart;
  templates[3].once = true;
  EXPECT_FALSE(decide_change(templates, {0, 3}).restart);
  EXPECT_EQ(decide_change(templates, {0, 1}).signals, std::vector<std::string>{"SIGUSR1"});
  EXPECT_TRUE(decide_change(templates, {1, 2}).restart);
}

TEST(Fingerprint, HasNomadsNamesAndTheConfigurationsFigures) {
  TemporaryDirectory data;
  Options options;
  options.data_dir = data.path();
  options.name = "c1";
  options.cpu_total_compute = 8000;
  options.cpu_cores = 8;
  options.memory_total_mb = 16000;
  options.reserved.cpu = 500;
  const model::Node node = fingerprint(Machine{}, options, "00000000-0000-4000-8000-000000000001", TimePoint{});
  const auto& found = node.attributes;
  for (const char* name : {"cpu.arch", "kernel.name", "kernel.version", "kernel.arch", "os.name", "os.signals",
                           "unique.storage.bytestotal", "numa.node.count", "nomad.revision", "underway.version"})
    EXPECT_TRUE(found.contains(name)) << name;
  EXPECT_EQ(found.at("cpu.totalcompute"), "8000");
  EXPECT_EQ(found.at("cpu.usablecompute"), "7500");
  EXPECT_EQ(found.at("cpu.numcores"), "8");
  EXPECT_EQ(found.at("memory.totalbytes"), std::to_string(16000LL << 20));
  EXPECT_EQ(found.at("unique.hostname"), "c1");
  EXPECT_EQ(found.at("nomad.version"), "1.6.5");
  EXPECT_EQ(found.at("kernel.name"), "linux");
  EXPECT_EQ(node.resources.memory_mb, 16000);
}

TEST(Fingerprint, ReadsWhatTheKernelTells) {
  TemporaryDirectory machine;
  os::make_directories(machine.path() + "/proc");
  os::make_directories(machine.path() + "/etc");
  std::ofstream(machine.path() + "/proc/cpuinfo") << "model name\t: Fast 9000\ncpu MHz\t\t: 2400.5\n";
  std::ofstream(machine.path() + "/proc/meminfo") << "MemTotal:       2048 kB\n";
  std::ofstream(machine.path() + "/etc/os-release") << "ID=debian\nVERSION_ID=\"12\"\n";
  Options options;
  options.data_dir = machine.path();
  Findings findings;
  fingerprint_cpu({machine.path(), "pack:2 numa:1 pu:2"}, options, findings);
  fingerprint_memory({machine.path()}, options, findings);
  fingerprint_host({machine.path()}, options, findings);
  EXPECT_EQ(findings.attributes.at("cpu.modelname"), "Fast 9000");
  EXPECT_EQ(findings.attributes.at("cpu.frequency"), "2401");
  EXPECT_EQ(findings.attributes.at("numa.node.count"), "2");
  EXPECT_EQ(findings.attributes.at("cpu.totalcompute"), std::to_string(4 * 2401));
  EXPECT_EQ(findings.attributes.at("memory.totalbytes"), "2097152");
  EXPECT_EQ(findings.attributes.at("os.name"), "debian");
  EXPECT_EQ(findings.attributes.at("os.version"), "12");
}

TEST(Identity, IsMadeOnceAndKept) {
  TemporaryDirectory data;
  SeededIds ids(1);
  const NodeIdentity first = open_identity(data.path(), ids);
  const NodeIdentity second = open_identity(data.path(), ids);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(first.secret, second.secret);
  EXPECT_NE(first.id, first.secret);
  struct stat status{};
  ASSERT_EQ(::stat((data.path() + "/node/secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Fingerprint, FindsTheAddressOfEachHostNetwork) {
  Options options;
  options.host_networks = {{"by-device", "lo", "", ""}, {"by-cidr", "", "", "127.0.0.0/8"}};
  Findings findings;
  fingerprint_network(Machine{}, options, findings);
  ASSERT_GE(findings.networks.size(), 2u);
  for (std::size_t i = findings.networks.size() - 2; i < findings.networks.size(); ++i) {
    EXPECT_EQ(findings.networks[i].ip, "127.0.0.1");
    EXPECT_EQ(findings.networks[i].device, "lo");
  }
  for (const auto& [network, expect] : std::vector<std::pair<model::NodeNetwork, std::string>>{
           {{"far", "", "", "203.0.113.0/24"},
            "host_network 'far' has no IPv4 address here: wanted: in 203.0.113.0/24"},
           {{"both", "lo", "", "203.0.113.0/24"},
            "host_network 'both' has no IPv4 address here: wanted: on interface 'lo' in 203.0.113.0/24"},
           {{"wrong", "", "", "10.0.0.0"}, "host_network 'wrong': '10.0.0.0' is no IPv4 network"}}) {
    options.host_networks = {network};
    try {
      fingerprint_network(Machine{}, options, findings);
      ADD_FAILURE() << network.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.one_line(), expect);
    }
  }
}

}  // namespace
}  // namespace underway::node

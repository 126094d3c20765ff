// From config and image to what the runtime reads.
#include "pod/bundle.hpp"

#include <boost/json/serialize.hpp>

#include "driver/seccomp.hpp"

namespace underway::pod {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

BundleInput input() {
  BundleInput in;
  in.config.image = "x";
  in.image.entrypoint = {"/entry"};
  in.image.cmd = {"cmd"};
  in.image.env = {"PATH=/image", "LANG=C"};
  in.image.working_dir = "/home";
  in.env = {{"NOMAD_TASK_NAME", "web"}, {"LANG", "de"}};
  in.task = "web";
  in.alloc_id = "7f3a9c12-0000";
  in.task_dir = "/a/web";
  in.alloc_dir = "/a/alloc";
  in.etc = "/p/etc";
  in.cgroup = "/underway/7f/web";
  in.cgroups = {{"/sys/fs/cgroup/memory/underway/7f/web", "/sys/fs/cgroup/memory"},
                {"/sys/fs/cgroup/cpu/underway/7f/web", "/sys/fs/cgroup/cpu"}};
  return in;
}

std::string mount_at(const json::object& bundle, std::string_view target) {
  for (const auto& mount : bundle.at("mounts").as_array()) {
    if (mount.at("destination").as_string() == target) return json::serialize(mount);
  }
  return "none";
}

std::vector<std::string> texts(const json::value& list) {
  std::vector<std::string> out;
  for (const auto& each : list.as_array()) out.emplace_back(each.as_string());
  return out;
}

TEST(Bundle, RunsWhatImageAndConfigSay) {
  oci::ImageConfig image;
  image.entrypoint = {"/entry"};
  image.cmd = {"cmd"};
  Config config;
  EXPECT_THAT(argv_of(config, image), ElementsAre("/entry", "cmd"));
  config.args = {"a"};
  EXPECT_THAT(argv_of(config, image), ElementsAre("/entry", "a"));
  config.command = "c";
  EXPECT_THAT(argv_of(config, image), ElementsAre("/entry", "c", "a"));
  config = {};
  config.entrypoint = {"/own"};
  EXPECT_THAT(argv_of(config, image), ElementsAre("/own"));
  config.entrypoint.emplace();
  config.command = "c";
  EXPECT_THAT(argv_of(config, image), ElementsAre("c"));
}

TEST(Bundle, HasTheTasksDirectoriesEnvironmentAndGroup) {
  const auto bundle = make_bundle(input());
  EXPECT_THAT(mount_at(bundle, "/alloc"), HasSubstr("/a/alloc"));
  EXPECT_THAT(mount_at(bundle, "/local"), HasSubstr("/a/web/local"));
  EXPECT_THAT(mount_at(bundle, "/secrets"), HasSubstr("/a/web/secrets"));
  EXPECT_THAT(mount_at(bundle, "/etc/hosts"), HasSubstr("/p/etc/hosts"));
  EXPECT_THAT(mount_at(bundle, "/sys/fs/cgroup/memory"), HasSubstr("\"ro\""));
  const auto& process = bundle.at("process").as_object();
  const auto env = texts(process.at("env"));
  EXPECT_THAT(
      env, testing::IsSupersetOf({"PATH=/image", "LANG=de", "NOMAD_TASK_NAME=web", "HOME=/", "HOSTNAME=web-7f3a9c12"}));
  EXPECT_EQ(process.at("cwd"), "/home");
  EXPECT_EQ(bundle.at("linux").at("cgroupsPath"), "/underway/7f/web");
  EXPECT_THAT(json::serialize(bundle.at("linux").at("namespaces")), Not(HasSubstr("network")));
}

TEST(Bundle, PutsEveryKeyWhereTheRuntimeLooksForIt) {
  auto in = input();
  Config& c = in.config;
  c.working_dir = "/w";
  c.hostname = "h";
  c.read_only = true;
  c.volumes = {{.source = "/srv", .target = "/srv", .read_only = true, .options = {}},
               {.source = "local/a", .target = "/a", .options = {"rshared"}},
               {.source = "", .target = "/run", .options = {"size=1m"}}};
  c.shm_bytes = 4096;
  c.ulimits["nofile"] = {"RLIMIT_NOFILE", 1, 2};
  c.sysctl = {{"net.core.somaxconn", "5"}};
  c.own_network = true;
  c.no_new_privileges = true;
  c.labels = {{"a", "b"}};
  c.oom_score_adj = 5;
  c.init = true;
  in.init = "/usr/bin/catatonit";
  c.cap_add = {"net_raw"};
  in.user = {.uid = 33, .gid = 34, .groups = {29}, .name = "web", .home = "/srv"};
  in.devices = {{.target = "/dev/fuse", .major = 10, .minor = 229, .access = "rw"}};
  in.seccomp = driver::default_seccomp(capabilities_of(c));
  const auto bundle = make_bundle(in);
  const auto& process = bundle.at("process").as_object();
  EXPECT_THAT(texts(process.at("args")), ElementsAre("/run/init", "--", "/entry", "cmd"));
  EXPECT_EQ(process.at("cwd"), "/w");
  EXPECT_EQ(bundle.at("hostname"), "h");
  EXPECT_EQ(json::serialize(process.at("user")), R"({"uid":33,"gid":34,"additionalGids":[29]})");
  EXPECT_EQ(json::serialize(process.at("rlimits")), R"([{"type":"RLIMIT_NOFILE","soft":1,"hard":2}])");
  EXPECT_EQ(process.at("noNewPrivileges"), true);
  EXPECT_EQ(process.at("oomScoreAdj"), 5);
  EXPECT_THAT(texts(process.at("capabilities").at("ambient")), ElementsAre("CAP_NET_RAW"));
  EXPECT_EQ(texts(process.at("capabilities").at("bounding")).size(), 12U);
  EXPECT_THAT(mount_at(bundle, "/srv"), HasSubstr(R"("ro")"));
  EXPECT_THAT(mount_at(bundle, "/a"), HasSubstr(R"("/a/web/local/a","options":["rshared","rbind","rw"])"));
  EXPECT_THAT(mount_at(bundle, "/run"), HasSubstr("size=1m"));
  EXPECT_THAT(mount_at(bundle, "/dev/shm"), HasSubstr("size=4096"));
  EXPECT_THAT(mount_at(bundle, "/run/init"), HasSubstr("catatonit"));
  const auto& linux_part = bundle.at("linux").as_object();
  EXPECT_EQ(linux_part.at("sysctl").at("net.core.somaxconn"), "5");
  EXPECT_THAT(json::serialize(linux_part.at("namespaces")), HasSubstr("network"));
  EXPECT_THAT(json::serialize(linux_part.at("devices")),
              HasSubstr(R"("path":"/dev/fuse","type":"c","major":10,"minor":229)"));
  EXPECT_EQ(json::serialize(linux_part.at("resources").at("devices").at(0)), R"({"allow":false,"access":"rwm"})");
  EXPECT_EQ(linux_part.at("seccomp").at("defaultAction"), "SCMP_ACT_ERRNO");
  EXPECT_THAT(texts(linux_part.at("maskedPaths")), testing::Contains("/proc/kcore"));
  EXPECT_EQ(bundle.at("annotations").at("a"), "b");
  const auto rules = device_rules(c, in.devices);
  EXPECT_FALSE(rules.front().allow);
  EXPECT_EQ(rules.back().rule, "c 10:229 rw");
}

TEST(Bundle, PrivilegedSeesAllAndMayAll) {
  auto in = input();
  in.config.privileged = true;
  in.seccomp = driver::default_seccomp(0);
  const auto bundle = make_bundle(in);
  EXPECT_FALSE(bundle.at("linux").as_object().contains("maskedPaths"));
  EXPECT_FALSE(bundle.at("linux").as_object().contains("seccomp"));
  EXPECT_THAT(texts(bundle.at("process").at("capabilities").at("effective")), testing::Contains("CAP_SYS_ADMIN"));
  EXPECT_TRUE(device_rules(in.config, {}).empty());
}

TEST(Bundle, MapsUsersAndTakesFromTheHostWhatTheirNamespaceMayNotMake) {
  auto in = input();
  in.devices = {{.target = "/dev/ours", .source = "/dev/fuse", .major = 10, .minor = 229}};
  EXPECT_THAT(json::serialize(make_bundle(in).at("linux")), Not(HasSubstr("Mappings")));
  EXPECT_THAT(mount_at(make_bundle(in), "/dev/pts"), HasSubstr("gid=5"));
  in.uids = {{0, 524288, 65535}, {65535, 1000, 1}};
  in.gids = {{0, 600000, 65536}};
  in.sys = "/stage/sys";
  const auto bundle = make_bundle(in);
  const auto& linux_part = bundle.at("linux").as_object();
  EXPECT_EQ(json::serialize(linux_part.at("uidMappings")),
            R"([{"containerID":0,"hostID":524288,"size":65535},{"containerID":65535,"hostID":1000,"size":1}])");
  EXPECT_EQ(json::serialize(linux_part.at("gidMappings")), R"([{"containerID":0,"hostID":600000,"size":65536}])");
  EXPECT_THAT(json::serialize(linux_part.at("namespaces")), HasSubstr(R"({"type":"user"})"));
  EXPECT_FALSE(linux_part.contains("devices"));
  EXPECT_EQ(mount_at(bundle, "/dev/ours"),
            R"({"destination":"/dev/ours","type":"bind","source":"/dev/fuse","options":["rbind","rprivate","rw"]})");
  EXPECT_EQ(mount_at(bundle, "/sys"), R"({"destination":"/sys","type":"bind","source":"/stage/sys",)"
                                      R"("options":["nosuid","noexec","nodev","rbind","rprivate","ro"]})");
  EXPECT_THAT(mount_at(bundle, "/proc"), HasSubstr(R"("type":"proc")"));
  EXPECT_THAT(mount_at(bundle, "/dev/pts"), HasSubstr("gid=5"));
  in.proc = "/stage/proc";
  in.gids = {{0, 600000, 5}};
  EXPECT_THAT(mount_at(make_bundle(in), "/proc"), HasSubstr("/stage/proc"));
  EXPECT_THAT(mount_at(make_bundle(in), "/dev/pts"), Not(HasSubstr("gid=5")));
}

TEST(Bundle, WritesHostsAndResolver) {
  Config config;
  config.extra_hosts = {"db:10.0.0.5", "six:fd00::1"};
  EXPECT_EQ(hosts_file(config, "web", "127.0.0.1 localhost"),
            "127.0.0.1 localhost\n127.0.1.1 web\n10.0.0.5 db\nfd00::1 six\n");
  EXPECT_EQ(resolv_conf(config, "nameserver 1.1.1.1\n"), "nameserver 1.1.1.1\n");
  config.dns = {"9.9.9.9"};
  config.dns_search = {"a.b", "c"};
  EXPECT_EQ(resolv_conf(config, "search x\nnameserver 1.1.1.1\noptions ndots:3\n"),
            "options ndots:3\nnameserver 9.9.9.9\nsearch a.b c\n");
}

TEST(Seccomp, FollowsTheCapabilities) {
  const auto sys_time = os::find_capability("sys_time").value();
  EXPECT_NE(json::serialize(driver::default_seccomp(0)), json::serialize(driver::default_seccomp(sys_time)));
  EXPECT_FALSE(driver::compile_seccomp(driver::default_seccomp(0)).empty());
  const auto own = driver::parse_seccomp(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
    {"names": ["mkdir"], "action": "SCMP_ACT_ERRNO", "excludes": {"caps": ["CAP_SYS_TIME"]}}]})",
                                         sys_time, "p");
  EXPECT_TRUE(own.at("syscalls").as_array().empty());
  EXPECT_ANY_THROW(driver::parse_seccomp("[]", 0, "p"));
  EXPECT_ANY_THROW(driver::parse_seccomp(R"({"defaultAction": "SCMP_ACT_DANCE"})", 0, "p"));
}

}  // namespace
}  // namespace underway::pod

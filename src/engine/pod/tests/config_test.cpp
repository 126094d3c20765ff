// Every key of a container's config: what it becomes, and what is said of a wrong one.
#include "pod/config.hpp"

#include <boost/json/parse.hpp>

#include "base/text.hpp"

namespace underway::pod {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Policy kOpen{.volumes = true, .privileged = true, .allowed = 0};
const Policy kClosed{.volumes = false, .privileged = false, .allowed = 0};

struct Read {
  Config config;
  std::vector<std::string> problems;
};
Read read(const std::string& keys, const Policy& policy = {.allowed = 0}) {
  Read out;
  const auto comma = keys.empty() ? "" : ", ";
  out.config = parse_config(boost::json::parse(R"({"image": "busybox")" + std::string(comma) + keys + "}"), policy,
                            out.problems);
  return out;
}

TEST(ContainerConfig, ReadsEveryKey) {
  const auto [c, problems] = read(R"(
    "command": "/bin/a", "args": ["x", 1], "entrypoint": ["/e", "f"], "working_dir": "/w", "hostname": "h",
    "auth": {"username": "u", "password": "p", "tls_verify": false}, "image_pull_timeout": "90s", "force_pull": true,
    "volumes": ["/srv:/srv:ro,z", "local/a:/a"], "tmpfs": ["/run:size=1m"], "shm_size": "128m",
    "mount": [{"type": "bind", "source": "local/b", "target": "/b", "readonly": true}],
    "devices": ["/dev/fuse", "/dev/null:/dev/nil:rw"], "privileged": true, "cap_add": ["net_raw"], "cap_drop": ["CHOWN"],
    "ulimit": {"nofile": "10:20", "core": "-1"}, "sysctl": {"net.core.somaxconn": 5, "kernel.sem": "1 2 3 4"},
    "network_mode": "none", "ports": ["http"], "dns": ["1.1.1.1"], "dns_search": ["a.b"], "dns_options": ["ndots:2"],
    "extra_hosts": ["db:10.0.0.5", "six:fd00::1"], "labels": {"a": "b"}, "logging": {"driver": "none"}, "init": true,
    "init_path": "/sbin/tini", "pids_limit": 7, "memory_reservation": "64m", "memory_swap": "1g", "memory_swappiness": 10,
    "cpu_hard_limit": true, "cpu_cfs_period": 50000, "readonly_rootfs": true, "group_add": ["audio"],
    "security_opt": ["no-new-privileges", "seccomp=/etc/p.json"], "apparmor_profile": "x", "userns": "host",
    "pid_mode": "host", "ipc_mode": "private", "uts_mode": "host", "oom_score_adj": 5)",
                                  kOpen);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(c.command, "/bin/a");
  EXPECT_THAT(c.args, ElementsAre("x", "1"));
  EXPECT_THAT(*c.entrypoint, ElementsAre("/e", "f"));
  EXPECT_EQ(c.working_dir, "/w");
  EXPECT_EQ(c.hostname, "h");
  EXPECT_EQ(c.username + c.password, "up");
  EXPECT_FALSE(c.tls_verify);
  EXPECT_EQ(c.pull_timeout, std::chrono::seconds(90));
  EXPECT_TRUE(c.force_pull);
  ASSERT_EQ(c.volumes.size(), 4U);  // in the order of the keys
  const auto find = [&](const std::string& target) {
    return *std::find_if(c.volumes.begin(), c.volumes.end(), [&](const auto& v) { return v.target == target; });
  };
  EXPECT_TRUE(find("/srv").read_only);
  EXPECT_EQ(find("/a").source, "local/a");
  EXPECT_TRUE(find("/b").read_only);
  EXPECT_THAT(find("/run").options, ElementsAre("size=1m"));
  EXPECT_EQ(c.shm_bytes, 128U << 20);
  ASSERT_EQ(c.devices.size(), 2U);
  EXPECT_EQ(c.devices[1].target + c.devices[1].access, "/dev/nilrw");
  EXPECT_TRUE(c.privileged);
  EXPECT_EQ(c.ulimits.at("nofile").soft, 10U);
  EXPECT_EQ(c.ulimits.at("nofile").hard, 20U);
  EXPECT_EQ(c.ulimits.at("core").hard, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(c.sysctl.at("net.core.somaxconn"), "5");
  EXPECT_TRUE(c.own_network);
  EXPECT_FALSE(c.own_pids);
  EXPECT_TRUE(c.own_ipc);
  EXPECT_FALSE(c.own_uts);
  EXPECT_FALSE(c.log);
  EXPECT_EQ(c.pids_limit, 7U);
  EXPECT_EQ(c.memory_reservation, 64U << 20);
  EXPECT_EQ(c.memory_swap, std::int64_t{1} << 30);
  EXPECT_EQ(c.memory_swappiness, 10);
  EXPECT_TRUE(c.cpu_hard_limit);
  EXPECT_EQ(c.cpu_period, 50000U);
  EXPECT_TRUE(c.read_only);
  EXPECT_TRUE(c.no_new_privileges);
  EXPECT_EQ(c.seccomp, "/etc/p.json");
  EXPECT_EQ(c.oom_score_adj, 5);
}

TEST(ContainerConfig, UnderstandsTheDockerDriversWords) {
  const auto [c, problems] =
      read(R"("work_dir": "/w", "dns_servers": ["1.1.1.1"], "dns_search_domains": ["a"], "userns_mode": "auto",
    "mounts": [{"type": "tmpfs", "target": "/t"}], "sysctl": [{"kernel.sem": "1 2 3 4"}],
    "devices": [{"host_path": "/dev/fuse"}], "logging": {"type": "json-file", "config": {"max-size": "1m"}})");
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(c.working_dir, "/w");
  EXPECT_THAT(c.dns, ElementsAre("1.1.1.1"));
  EXPECT_EQ(c.volumes.at(0).target, "/t");
  EXPECT_EQ(c.devices.at(0).target, "/dev/fuse");
  EXPECT_TRUE(c.log);
  EXPECT_EQ(c.user_namespace.mode, UserNamespace::Mode::automatic);
}

TEST(ContainerConfig, SaysWhatIsWrongWithEveryKey) {
  const struct {
    const char* keys;
    const char* problem;
  } kCases[] = {
      {R"("imge": "x")", "config.imge: is not known; did you mean 'image'?"},
      {R"("image": 3)", ""},
      {R"("image": "UPPER CASE")", "config.image: "},
      {R"("auth": {"user": "x"})", "config.auth.user: is not known"},
      {R"("image_pull_timeout": "soon")", "config.image_pull_timeout: must be a duration"},
      {R"("force_pull": "maybe")", "config.force_pull: must be true or false"},
      {R"("command": ["x"])", "config.command: must be a string"},
      {R"("args": "x")", "config.args: must be a list of strings"},
      {R"("entrypoint": {"a": 1})", "config.entrypoint: must be a list of strings"},
      {R"("working_dir": "here")", "config.working_dir: must be an absolute path"},
      {R"("volumes": ["/a"])", "config.volumes: '/a' must be source:target"},
      {R"("volumes": ["../a:/a"])", "config.volumes: '../a' must not hold '..'"},
      {R"("volumes": ["/a:b"])", "config.volumes: 'b' must be an absolute path"},
      {R"("volumes": ["/a:/"])", "cannot take the place of the container's root"},
      {R"("tmpfs": ["run"])", "config.tmpfs: 'run' must be /path"},
      {R"("shm_size": "much")", "config.shm_size: must be a size"},
      {R"("mount": [{"type": "volume", "source": "v", "target": "/v"}])", "config.mount.type: 'volume' cannot be had"},
      {R"("mount": [{"kind": "bind", "target": "/v", "type": "tmpfs"}])", "config.mount.kind: is not known"},
      {R"("devices": ["/dev/a:/dev/b:x"])", "config.devices: '/dev/a:/dev/b:x' must be"},
      {R"("privileged": true)", "config.privileged: is not allowed on this node"},
      {R"("cap_add": ["net_rw"])", "config.cap_add: there is no capability 'net_rw'; did you mean 'net_raw'?"},
      {R"("cap_add": ["sys_admin"])", "config.cap_add: 'sys_admin' is not among those that this node allows"},
      {R"("cap_add": ["all"])", "config.cap_add: 'all' is not allowed"},
      {R"("cap_drop": ["x"])", "config.cap_drop: there is no capability 'x'"},
      {R"("ulimit": {"files": "1"})", "config.ulimit.files: is no limit"},
      {R"("ulimit": {"nofile": "2:1"})", "config.ulimit.nofile: '2:1' must be"},
      {R"("sysctl": {"net.x": "1"})", "would change the host"},
      {R"("sysctl": {"vm.swappiness": "1"})", "is no setting of a container"},
      {R"("userns": "nomap")", "config.userns: 'nomap' cannot be had: is for containers of users who are not root"},
      {R"("userns": "ns:/proc/1/ns/user")", "config.userns: 'ns' cannot be had: a job cannot choose a namespace"},
      {R"("userns": "container:x")", "config.userns: 'container' cannot be had: "},
      {R"("userns": "guest")", "config.userns: 'guest' is not known: 'host', 'auto', 'private' and 'keep-id' are"},
      {R"("userns": ["auto"])", "config.userns: must be a string"},
      {R"("userns": "host:size=1")", "config.userns: 'host' takes no options"},
      {R"("userns": "auto:size=much")", "config.userns: size 'much' must be a number from 1 on"},
      {R"("userns": "auto:size=0")", "config.userns: size '0' must be"},
      {R"("userns": "auto:uid=5")", "config.userns: 'uid=5' is not known: size=…, uidmapping=… and gidmapping=… are"},
      {R"("userns": "auto:uidmapping=0:1000")", "config.userns: uidmapping '0:1000' must be container:host:count"},
      {R"("userns": "auto:uidmapping=0:@1000:1")", "config.userns: uidmapping '0:@1000:1' must be"},
      {R"("userns": "auto:gidmapping=0:4294967290:9")", "config.userns: gidmapping '0:4294967290:9' must be"},
      {R"("userns": "auto:uidmapping=0:1000:5,uidmapping=7:1004:1")", "has a number that another one has"},
      {R"("userns": "auto:uidmapping=0:1000:5,uidmapping=4:2000:1")", "has a number that another one has"},
      {R"("userns": "keep-id:size=5")", "config.userns: keep-id takes no size"},
      {R"("userns": "keep-id:uid=web")", "config.userns: uid 'web' must be a number"},
      {R"("userns": "keep-id:")", "config.userns: '' is not known: uid=… and gid=… are"},
      {R"("volumes": ["/a:/a:idmap=uids=0-1-10"])", "config.volumes: 'idmap=uids=0-1-10' cannot be had"},
      {R"("network_mode": "bridge")", "config.network_mode: 'bridge' cannot be had"},
      {R"("pid_mode": "host")", "config.pid_mode: 'host' is not allowed"},
      {R"("ipc_mode": "some")", "config.ipc_mode: must be 'private' or 'host'"},
      {R"("extra_hosts": ["db"])", "config.extra_hosts: 'db' must be name:address"},
      {R"("labels": ["a"])", "config.labels: must be a block"},
      {R"("logging": {"driver": "journald"})", "config.logging.driver: 'journald' cannot be had"},
      {R"("init": 1)", "config.init: must be true or false"},
      {R"("init_path": "tini")", "config.init_path: must be an absolute path"},
      {R"("pids_limit": -2)", "config.pids_limit: must be a whole number"},
      {R"("memory_reservation": "-1")", "config.memory_reservation: must be a size"},
      {R"("memory_swappiness": 101)", "config.memory_swappiness: must be a whole number, 0 to 100"},
      {R"("cpu_cfs_period": 5)", "config.cpu_cfs_period: must be a whole number"},
      {R"("oom_score_adj": 2000)", "config.oom_score_adj: must be a whole number"},
      {R"("security_opt": ["label=x"])", "config.security_opt: 'label=x' cannot be had"},
      {R"("security_opt": ["seccomp=unconfined"])", "seccomp=unconfined is not allowed on this node"},
      {R"("security_opt": ["seccomp=here"])", "seccomp must be 'unconfined' or the absolute path"},
      {R"("selinux_opts": ["x"])", "config.selinux_opts: cannot be had: "},
      {R"("socket": "x")", "config.socket: cannot be had: "},
      {R"("port_map": {"a": 1})", "config.port_map: cannot be had: "},
      {R"("tty": true)", "config.tty: cannot be had: "},
      {R"("storage_opt": {"size": "1G"})", "config.storage_opt: cannot be had: "},
  };
  for (const auto& [keys, problem] : kCases) {
    SCOPED_TRACE(keys);
    const auto problems = read(keys).problems;
    if (*problem != '\0') EXPECT_THAT(join(problems, "\n"), HasSubstr(problem));
  }
  std::vector<std::string> problems;
  parse_config(boost::json::object{}, kOpen, problems);
  EXPECT_THAT(problems, ElementsAre("config.image: is required"));
}

TEST(ContainerConfig, ReadsTheUserNamespaceAsPodmanWritesIt) {
  using Mode = UserNamespace::Mode;
  const auto space = [](const char* text) {
    auto [config, problems] = read(fmt::format(R"("userns": "{}")", text));
    EXPECT_THAT(problems, IsEmpty()) << text;
    return config.user_namespace;
  };
  EXPECT_EQ(space("").mode, Mode::host);
  EXPECT_EQ(space("host").mode, Mode::host);
  EXPECT_EQ(space("${meta.userns}").mode, Mode::host);
  EXPECT_EQ(space("private").mode, Mode::automatic);
  EXPECT_EQ(space("auto").mode, Mode::automatic);
  EXPECT_EQ(space("auto").size, 65536U);
  const auto named = space("auto:size=4096,uidmapping=0:1000:1,uidmapping=5:2000:2,gidmapping=7:100:1");
  EXPECT_EQ(named.size, 4096U);
  EXPECT_EQ(named.uids, (os::IdMap{{0, 1000, 1}, {5, 2000, 2}}));
  EXPECT_EQ(named.gids, (os::IdMap{{7, 100, 1}}));
  EXPECT_EQ(space("keep-id").mode, Mode::keep_id);
  EXPECT_EQ(space("keep-id:uid=200,gid=210").uid, 200U);
  EXPECT_EQ(space("keep-id:uid=200,gid=210").gid, 210U);
  EXPECT_TRUE(read(R"("volumes": ["/srv:/srv:idmap,ro"])").config.volumes.at(0).mapped);
}

TEST(ContainerConfig, TakesNothingOfTheHostWhereTheClientForbidsIt) {
  for (const auto* keys :
       {R"("volumes": ["/srv:/srv"])", R"("mount": [{"type": "bind", "source": "/a", "target": "/a"}])",
        R"("devices": ["/dev/fuse"])", R"("image": "oci:/srv/image:v1")"}) {
    SCOPED_TRACE(keys);
    EXPECT_THAT(join(read(keys, kClosed).problems, "\n"), HasSubstr("not allowed on this node"));
  }
  EXPECT_THAT(read(R"("volumes": ["local/a:/a"])", kClosed).problems, IsEmpty());
}

TEST(ContainerConfig, WaitsForVariables) {
  EXPECT_THAT(
      read(
          R"("image": "${meta.image}", "volumes": ["${v}"], "memory_swap": "${m}", "pids_limit": "${p}", "ulimit": {"nofile": "${n}"},
                      "extra_hosts": ["${h}"], "network_mode": "${w}", "force_pull": "${f}")")
          .problems,
      IsEmpty());
}

TEST(ContainerConfig, CapabilitiesAreThoseOfPodman) {
  const auto names = os::capability_names(capabilities_of(Config()));
  EXPECT_EQ(names.size(), 11U);
  EXPECT_THAT(names, testing::Not(testing::Contains("mknod")));
  Config config;
  config.cap_drop = {"all"};
  config.cap_add = {"NET_RAW"};
  EXPECT_THAT(os::capability_names(capabilities_of(config)), ElementsAre("net_raw"));
}

TEST(ContainerConfig, WithoutTheRightItsRootIsNobodyOfTheHost) {
  const Policy own{.allowed = 0, .host_users = false};
  using Mode = UserNamespace::Mode;
  for (const auto* said :
       {R"("init": false)", R"("userns": "")", R"("userns": "auto")", R"("userns_mode": "private")"}) {
    const auto given = read(said, own);
    EXPECT_EQ(given.config.user_namespace.mode, Mode::automatic) << said;
    EXPECT_THAT(given.problems, IsEmpty());
  }
  for (const auto* said : {"host", "keep-id", "auto:uidmapping=0:0:1", "auto:gidmapping=0:0:1"}) {
    const auto given = read(fmt::format(R"("userns": "{}")", said), own);
    ASSERT_EQ(given.problems.size(), 1U) << said;
    EXPECT_THAT(given.problems[0], HasSubstr("takes the right 'root' of its namespace"));
  }
  EXPECT_EQ(read("").config.user_namespace.mode, Mode::host) << "with it, as podman has it";
}

TEST(ContainerConfig, SizesHaveUnits) {
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_EQ(parse_size("1.5k"), 1536U);
  EXPECT_EQ(parse_size("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("2x"), std::nullopt);
  EXPECT_EQ(parse_size(""), std::nullopt);
}

}  // namespace
}  // namespace underway::pod

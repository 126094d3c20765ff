#include "drivers/config_problems.hpp"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

namespace underway::drivers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> problems(const std::string& driver, std::string_view config) {
  model::Task task;
  task.driver = driver;
  task.config = boost::json::parse(config);
  return config_problems(task);
}

TEST(ConfigProblems, AnUnknownKeyComesWithTheNearestKnownOne) {
  EXPECT_THAT(problems("raw_exec", R"({"command": "/bin/true", "argz": []})"),
              ElementsAre("config.argz: is not known; did you mean 'args'?"));
  EXPECT_THAT(problems("exec", R"({"command": "/bin/true", "ulimit": {"nofile": "1024"}})"),
              ElementsAre("config.ulimit: is not known; did you mean 'ulimits'?"));
  EXPECT_THAT(problems("podman", R"({"image": "busybox", "comand": "x"})"),
              ElementsAre("config.comand: is not known; did you mean 'command'?"));
  EXPECT_THAT(problems("charliecloud", R"({"image": "busybox", "imag": "x"})"), ElementsAre(HasSubstr("config.imag")));
  EXPECT_THAT(problems("capsule", R"({"image": "x:1", "hostnam": "x"})"), ElementsAre(HasSubstr("hostname")));
  EXPECT_THAT(problems("qemu", R"({"image": "x", "vcpuss": 2})"),
              ElementsAre("config.vcpuss: is not known; did you mean 'vcpus'?"));
}

TEST(ConfigProblems, WrongTypesAndWhatIsMissingAreToldOfEachDriver) {
  EXPECT_THAT(problems("raw_exec", R"({"args": "x"})"),
              ElementsAre("config.command: is required", "config.args: must be a list of strings"));
  EXPECT_THAT(problems("docker", "{}"), ElementsAre("config.image: is required"));
  EXPECT_THAT(problems("exec", R"({"command": "x", "cap_add": ["net_rat"]})"), ElementsAre(HasSubstr("net_raw")));
}

TEST(ConfigProblems, LeavesToTheNodeWhatOnlyItKnows) {
  EXPECT_THAT(problems("mock_driver", R"({"run_for": "1s"})"), IsEmpty()) << "a driver that is not ours";
  EXPECT_THAT(problems("exec", R"({"command": "x", "cap_add": ["sys_admin"], "pid_mode": "${meta.mode}",
                                   "work_dir": "${NOMAD_TASK_DIR}"})"),
              IsEmpty())
      << "what nodes allow, and what waits for a variable";
  EXPECT_THAT(problems("podman", R"({"image": "busybox", "privileged": true, "pid_mode": "host",
                                     "devices": ["/dev/null"], "volumes": ["/srv:/srv"]})"),
              IsEmpty());
}

TEST(ConfigProblems, TakesTheKeysOfNomadsDrivers) {
  EXPECT_THAT(problems("raw_exec", R"({"command": "x", "args": [], "work_dir": "/", "oom_score_adj": 1,
                                       "denied_envvars": ["A"]})"),
              IsEmpty());
  EXPECT_THAT(problems("docker", R"({"image": "redis:7", "ports": ["db"], "auth": [{"username": "a", "password": "b"}],
                                     "logging": [{"type": "json-file"}], "mount": [{"type": "tmpfs", "target": "/x"}],
                                     "dns_servers": ["10.0.0.1"], "work_dir": "/srv"})"),
              IsEmpty());
  EXPECT_THAT(problems("qemu", R"({"image_path": "local/linux.img", "accelerator": "kvm", "graceful_shutdown": true,
                                   "guest_agent": true, "drive_interface": "virtio", "args": ["-nodefaults"],
                                   "port_map": [{"http": 8080}]})"),
              IsEmpty());
}

}  // namespace
}  // namespace underway::drivers

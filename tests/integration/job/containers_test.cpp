// Containers on a real agent, from job files that say podman and docker.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "harness/capsule/image.hpp"
#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::string job(const std::string& id, const std::string& driver, const std::string& image) {
  return fmt::format(R"(job "{0}" {{
  update {{
    min_healthy_time = "200ms"
  }}
  group "g" {{
    network {{
      port "http" {{}}
    }}
    task "t" {{
      driver = "{1}"
      user   = "web"
      template {{
        data        = "rendered"
        destination = "local/file"
      }}
      config {{
        image           = "{2}"
        command         = "/bin/sh"
        args            = ["-c", "echo begun $NOMAD_TASK_NAME $OF; sleep 86397 & wait"]
        ports           = ["http"]
        readonly_rootfs = true
        ulimit {{
          nofile = "512:512"
        }}
      }}
      resources {{
        cpu    = 10
        memory = 30
      }}
    }}
  }}
}}
)",
                     id, driver, image);
}

std::string only_allocation(const Machine& machine, const std::string& job) {
  const std::string list = machine.underway({"operator", "api", "/v1/job/" + job + "/allocations"}).out;
  return list.substr(list.find("\"ID\":\"") + 6, 36);
}

TEST(Containers, RunFromJobFilesOfBothNamesAndOutliveTheAgent) {
  if (shell("command -v crun || command -v runc").exit_code != 0) GTEST_SKIP() << "needs crun or runc";
  if (shell("test -x /bin/busybox").exit_code != 0) GTEST_SKIP() << "needs busybox-static";
  Machine machine;
  const auto made = make_image(machine.directory());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::map<std::string, std::string> allocations, born;
  const auto inside = [&](const std::string& id, const std::string& line) {
    const auto done = machine.underway({"alloc", "exec", allocations[id], "/bin/sh", "-c", line});
    return done.out + done.err;
  };
  for (const auto* name : {"podman", "docker"}) {
    SCOPED_TRACE(name);
    const auto started = machine.run_job(name, job(name, name, "oci:" + machine.directory() + "/image:v1"));
    ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine.log());
    allocations[name] = only_allocation(machine, name);
    EXPECT_EQ(inside(name,
                     "id -u; cat /local/file; echo; echo $NOMAD_ALLOC_DIR $OF $NOMAD_PORT_http > /dev/null; stat -c %U "
                     "/secrets"),
              "33\nrendered\nweb\n");
    EXPECT_THAT(inside(name, "echo x > /x"), HasSubstr("Read-only"));
    EXPECT_THAT(machine.underway({"alloc", "logs", allocations[name]}).out, HasSubstr("begun t image"));
    born[name] = inside(name, "cat /proc/1/stat");
  }
  // As /secrets is another file system there: that of the task, and no other.
  const auto asked = [] {
    return shell(
               "for p in $(pgrep -x -f 'sleep 86397'); do curl -s -o /dev/null -w '%{http_code} ' --unix-socket "
               "/proc/$p/root/secrets/api.sock http://localhost/v1/jobs; done")
        .out;
  };
  const bool has_curl = shell("command -v curl").exit_code == 0;
  if (has_curl)
    EXPECT_TRUE(eventually(seconds(10), [&] { return asked() == "401 401 "; }))
        << "the Task API asks for a token: " << asked();
  // Both have the image: it is no garbage.
  const auto layers = [&] { return shell("ls " + machine.state() + "/oci/layers | wc -l").out; };
  const auto collect = [&] { return machine.underway({"operator", "api", "/v1/client/gc"}).exit_code; };
  const std::string held = layers();
  EXPECT_NE(held, "0\n");
  EXPECT_EQ(collect(), 0);
  EXPECT_EQ(layers(), held) << "an image in use was collected";
  machine.kill_agent();
  machine.start();
  if (has_curl) EXPECT_TRUE(eventually(seconds(20), [&] { return asked() == "401 401 "; })) << asked();
  for (const auto& [name, stat] : born) {
    SCOPED_TRACE(name);
    const auto start_of = [](const std::string& text) {  // field 22 of proc_pid_stat(5)
      std::istringstream words(text);
      std::string word;
      for (int i = 0; i < 22; ++i) words >> word;
      return word;
    };
    EXPECT_TRUE(eventually(seconds(20), [&] { return start_of(inside(name, "cat /proc/1/stat")) == start_of(stat); }));
    const auto stopped = machine.underway({"job", "stop", "-purge", name});
    EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  }
  EXPECT_TRUE(eventually(seconds(20), [&] { return collect() == 0 && layers() == "0\n"; })) << "nobody uses it";
}

TEST(Containers, WhoseRootIsNobodyOnTheHostKeepTheirNumbersWhileTheyRun) {
  if (shell("command -v crun || command -v runc").exit_code != 0) GTEST_SKIP() << "needs crun or runc";
  if (shell("test -x /bin/busybox").exit_code != 0) GTEST_SKIP() << "needs busybox-static";
  Machine machine;
  const auto made = make_image(machine.directory());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::map<std::string, std::string> allocations, maps;
  const auto inside = [&](const std::string& id, const std::string& line) {
    const auto done = machine.underway({"alloc", "exec", allocations[id], "/bin/sh", "-c", line});
    return done.out + done.err;
  };
  const auto start = [&](const std::string& name) {
    std::string text = job(name, "podman", "oci:" + machine.directory() + "/image:v1");
    text.insert(text.find("        command "), "        userns          = \"auto\"\n");
    const auto started = machine.run_job(name, text);
    ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine.log());
    allocations[name] = only_allocation(machine, name);
    maps[name] = inside(name, "cat /proc/self/uid_map");
    EXPECT_EQ(inside(name, "id -u; cat /local/file; echo; stat -c %U /secrets /local; echo x > /local/mine"),
              "33\nrendered\nweb\nweb\n");
    EXPECT_EQ(shell(fmt::format("stat -c %u {}/client/alloc/{}/t/local/mine", machine.state(), allocations[name])).out,
              "33\n");
    EXPECT_THAT(machine.underway({"alloc", "logs", allocations[name]}).out, HasSubstr("begun t image"));
  };
  start("first");
  start("second");
  EXPECT_NE(maps["first"], maps["second"]);
  machine.kill_agent();
  machine.start();
  EXPECT_TRUE(eventually(seconds(20), [&] { return inside("first", "cat /proc/self/uid_map") == maps["first"]; }));
  start("third");
  EXPECT_NE(maps["third"], maps["first"]) << "the next agent knows who has which";
  EXPECT_NE(maps["third"], maps["second"]);
  const auto run = fmt::format("ls -d {}/client/alloc/{}/t/private/*.pod", machine.state(), allocations["first"]);
  EXPECT_EQ(shell(run).exit_code, 0);
  EXPECT_EQ(machine.underway({"job", "stop", "-purge", "first"}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return shell(run).exit_code != 0; })) << "it is not cleared away";
  start("fourth");
  EXPECT_EQ(maps["fourth"], maps["first"]) << "what was given back is there again";
  for (const auto* name : {"second", "third", "fourth"})
    EXPECT_EQ(machine.underway({"job", "stop", "-purge", name}).exit_code, 0);
}

}  // namespace
}  // namespace underway::harness

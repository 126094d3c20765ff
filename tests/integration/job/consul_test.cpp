// A real Consul (1.8.7 of Debian 11) as the source of templates: followed, gone, and there again.
#include <gmock/gmock.h>

#include <filesystem>

#include "harness/machine.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// packaging/slurm-roots brings it.
const std::string kConsul = source_dir() + "/build/roots/bullseye/usr/bin/consul";

std::string job(const std::string& id, const std::string& data) {
  return "job \"" + id +
         "\" {\n  update {\n    min_healthy_time = \"200ms\"\n  }\n  group \"g\" {\n    task \"t\" {\n" +
         "      driver = \"raw_exec\"\n      config {\n        command = \"/bin/sleep\"\n        args = [\"86397\"]\n  "
         "    }\n" +
         "      template {\n        destination = \"local/conf\"\n        change_mode = \"noop\"\n        splay = "
         "\"0s\"\n" +
         "        data = <<EOF\n" + data +
         "\nEOF\n      }\n      resources {\n        cpu = 10\n        memory = 20\n      }\n" + "    }\n  }\n}\n";
}

class ConsulTemplates : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kConsul)) GTEST_SKIP() << "needs " << kConsul << ": packaging/slurm-roots makes it";
    machine_.emplace();
    write_text(
        machine_->directory() + "/agent.hcl",
        "client {\n  template {\n    compat {\n      consul {\n        address = \"http://127.0.0.1:8500\"\n      }\n"
        "    }\n  }\n}\n");
    machine_->kill_agent();
    machine_->start();
  }
  void start_consul() {
    consul_.emplace(Command{.argv = {kConsul, "agent", "-dev", "-bind=127.0.0.1", "-log-level=err"}});
    ASSERT_TRUE(eventually(seconds(30), [] { return consul("kv put ready 1").exit_code == 0; }));
  }
  void stop_consul() {
    consul_->signal(SIGKILL);
    consul_->wait(seconds(5));
    consul_.reset();
  }
  static Finished consul(const std::string& line) { return shell(kConsul + " " + line); }
  std::string allocation(const std::string& id) const {
    const std::string list = machine_->underway({"operator", "api", "/v1/job/" + id + "/allocations"}).out;
    const auto at = list.find("\"ID\":\"");
    return at == std::string::npos ? "" : list.substr(at + 6, 36);
  }
  std::string conf(const std::string& id) const {
    return machine_->underway({"alloc", "fs", allocation(id), "t/local/conf"}).out;
  }

  std::optional<Background> consul_;
  std::optional<Machine> machine_;
};

TEST_F(ConsulTemplates, FollowKeysAndServicesAndOutliveTheirServer) {
  start_consul();
  ASSERT_EQ(consul("kv put app/greeting hello").exit_code, 0);
  ASSERT_EQ(
      consul("services register -name=db -id=db-1 -address=10.9.8.7 -port=5432 -tag=main -meta=version=14").exit_code,
      0);
  const auto started = machine_->run_job(
      "web", job("web",
                 "{{ key \"app/greeting\" }} {{ range service \"main.db\" }}{{ .Address }}:{{ .Port }} "
                 "{{ .ServiceMeta.version }} {{ .Status }}{{ end }} {{ range ls \"app\" }}{{ .Key }}{{ end }}"
                 "{{ range services }} {{ .Name }}{{ end }} {{ keyOrDefault \"app/none\" \"none\" }}"));
  ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine_->log());
  EXPECT_EQ(conf("web"), "hello 10.9.8.7:5432 14 passing greeting consul db none\n");

  ASSERT_EQ(consul("kv put app/greeting goodbye").exit_code, 0);
  EXPECT_TRUE(eventually(seconds(10), [&] { return conf("web").starts_with("goodbye "); })) << conf("web");
  ASSERT_EQ(consul("services register -name=db -id=db-1 -address=10.9.8.7 -port=5433 -tag=main").exit_code, 0);
  EXPECT_TRUE(eventually(seconds(10), [&] { return conf("web").find(":5433") != std::string::npos; })) << conf("web");

  stop_consul();
  write_text(machine_->directory() + "/late.hcl", job("late", "{{ key \"late/x\" }}"));
  EXPECT_EQ(machine_->underway({"job", "run", "-detach", machine_->directory() + "/late.hcl"}).exit_code, 0);
  std::string told;
  EXPECT_TRUE(eventually(seconds(20), [&] {
    told = machine_->underway({"alloc", "status", allocation("late")}).out;
    return told.find("Connection refused") != std::string::npos;
  })) << told;
  EXPECT_THAT(told, HasSubstr("kv.block(late/x)"));
  EXPECT_THAT(conf("web"), HasSubstr("goodbye 10.9.8.7:5433"));
  EXPECT_THAT(machine_->underway({"alloc", "status", allocation("web")}).out, HasSubstr("running"));

  start_consul();  // without what it knew: the key is gone, and what was written stays
  ASSERT_EQ(consul("kv put late/x here").exit_code, 0);
  EXPECT_TRUE(eventually(seconds(60), [&] { return conf("late") == "here\n"; })) << told;
  EXPECT_THAT(conf("web"), HasSubstr("goodbye"));
  machine_->underway({"job", "stop", "-purge", "-yes", "late"});
}

}  // namespace
}  // namespace underway::harness

// Templates of tasks: what they see of the node, and how a task follows what they asked for.
#include <csignal>

#include "node/task/task_event.hpp"
#include "node/template/template_renderer.hpp"
#include "tests/fixture.hpp"

namespace underway::node {
namespace {

using model::TaskRunState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Variables by path; nothing is known of services.
class FakeClusterData final : public ClusterData {
 public:
  std::map<std::string, std::string> passwords;  ///< by path
  bool linked = true;
  std::vector<gotemplate::Dependencies> watched;
  TemplateAsker last_asker;
  std::string last_namespace;

  Answer<std::optional<gotemplate::Variable>> variable(const TemplateAsker& asker, const std::string& path,
                                                       const std::string& ns) override {
    last_asker = asker;
    last_namespace = ns;
    if (!linked) return std::nullopt;
    const auto found = passwords.find(path);
    if (found == passwords.end()) return std::optional<gotemplate::Variable>();
    return std::optional(gotemplate::Variable{{.path = path}, {{"password", found->second}}});
  }
  Answer<std::vector<gotemplate::VariableMetadata>> variables(const TemplateAsker&, const std::string&,
                                                              const std::string&) override {
    return std::nullopt;
  }
  Answer<std::vector<gotemplate::ServiceInstance>> service(const TemplateAsker&, const std::string&) override {
    return std::nullopt;
  }
  Answer<std::vector<gotemplate::ServiceSummary>> services(const TemplateAsker&) override { return std::nullopt; }
  std::shared_ptr<void> watch(const TemplateAsker&, const gotemplate::Dependencies& what,
                              std::function<void()> changed) override {
    watched.push_back(what);
    auto token = std::make_shared<std::function<void()>>(std::move(changed));
    changed_ = token;
    return token;
  }
  /// False when nobody watches.
  bool tell() {
    const auto changed = changed_.lock();
    if (changed) (*changed)();
    return changed != nullptr;
  }

 private:
  std::weak_ptr<std::function<void()>> changed_;
};

class TaskTemplateTest : public ::testing::Test {
 protected:
  TaskTemplateTest() {
    options.data_dir = directory.path();
    options.secrets_in_memory = false;
    node.name = "n1";
    node.id = "00000000-0000-4000-8000-000000000001";
    node.attributes["cpu.arch"] = "amd64";
    context.cluster_data = &cluster;
  }
  ~TaskTemplateTest() override {
    if (!runner) return;
    runtime.run(runner->let_go());
    runner.reset();
    runtime.settle();
  }

  static model::Template password_template() {
    return {.destination = "local/conf",
            .data = "pass={{ with nomadVar \"nomad/jobs/x\" }}{{ .password }}{{ end }}\n",
            .splay = 0s};
  }
  void run(std::vector<model::Template> templates) {
    auto task = make_task("main");
    task.templates = std::move(templates);
    auto order = make_order({task});
    files.write_order(kAllocationId, order);
    runner = std::make_unique<AllocationRunner>(context, files, std::move(order), AllocationState{}, [] {});
    runner->start();
    runtime.settle();
  }
  /// A task with a secret of that path, and what uses it.
  static model::Task secret_task(const std::string& path) {
    auto task = make_task("main");
    task.secrets = {{.name = "db", .provider = "nomad", .path = path}};
    task.env["DSN"] = "user:${secret.db.password}@db";
    task.templates = {{.destination = "local/conf", .data = "pass=${secret.db.password}\n", .splay = 0s}};
    task.config = boost::json::object{{"token", "${secret.db.password}"}};
    return task;
  }
  void run(model::Task task) {
    auto order = make_order({std::move(task)});
    files.write_order(kAllocationId, order);
    runner = std::make_unique<AllocationRunner>(context, files, std::move(order), AllocationState{}, [] {});
    runner->start();
    runtime.settle();
  }
  /// What SIGKILL of the agent leaves: files, and tasks that run on.
  void restart_agent() {
    runtime.run(runner->let_go());
    runner.reset();
    runtime.settle();
    std::vector<std::string> problems;
    auto all = files.read_all(problems);
    runner = std::make_unique<AllocationRunner>(context, files, all.at(0).order, all.at(0).state, [] {});
    runtime.run(runner->reattach());
    runner->start();
    runtime.settle();
  }
  void tell() {
    ASSERT_TRUE(cluster.tell());
    runtime.settle();
    runtime.advance(0s);
  }
  model::TaskState state() { return runner->update().task_states.at("main"); }
  std::string rendered() { return os::read_file(directory.path() + "/alloc/" + kAllocationId + "/main/local/conf"); }

  TemporaryDirectory directory;
  FakeRuntime runtime;
  FakeDrivers drivers;
  Options options;
  model::Node node;
  model::StringMap host;
  NodeStats stats;
  FakeClusterData cluster;
  RunnerContext context{runtime, drivers, options, node, host, stats};
  StateFiles files{directory.path()};
  std::unique_ptr<AllocationRunner> runner;
};

TEST_F(TaskTemplateTest, ATaskWaitsForAVariableAndSaysSo) {
  run({password_template()});
  EXPECT_EQ(state().state, TaskRunState::pending);
  EXPECT_EQ(state().events.back().type, protocol::event::kTemplate);
  EXPECT_EQ(state().events.back().message, "Missing: nomad.var.block(nomad/jobs/x@default.global)");
  EXPECT_THAT(cluster.watched.back().variables, ElementsAre("nomad/jobs/x"));
  const std::size_t events = state().events.size();
  tell();  // something else changed
  EXPECT_EQ(state().events.size(), events);
  cluster.passwords["nomad/jobs/x"] = "s3cret";
  tell();
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(rendered(), "pass=s3cret\n");
  EXPECT_EQ(cluster.last_asker.task, "main");
}

TEST_F(TaskTemplateTest, ASecretIsSeenByTheEnvironmentTheTemplatesAndTheConfig) {
  auto task = secret_task("nomad/jobs/${NOMAD_JOB_NAME}");
  task.secrets[0].config = boost::json::object{{"namespace", "ops"}};
  cluster.passwords["nomad/jobs/web"] = "s3cret";
  run(task);
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(rendered(), "pass=s3cret\n");
  EXPECT_EQ(drivers.running.at("main")->spec.environment.at("DSN"), "user:s3cret@db");
  EXPECT_EQ(drivers.running.at("main")->spec.config.at("token").as_string(), "s3cret");
  EXPECT_EQ(cluster.last_asker.task, "main");
  EXPECT_EQ(cluster.last_namespace, "ops");
  EXPECT_THAT(cluster.watched.front().variables, ElementsAre("nomad/jobs/web@ops"));
}

TEST_F(TaskTemplateTest, ATaskWaitsForItsSecretAndSaysWhichVariable) {
  run(secret_task("nomad/jobs/x"));
  EXPECT_EQ(state().state, TaskRunState::pending);
  EXPECT_EQ(state().events.back().message, "Missing: variable 'nomad/jobs/x' of namespace 'default' for secret 'db'");
  cluster.passwords["nomad/jobs/x"] = "s3cret";
  tell();
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(rendered(), "pass=s3cret\n");
}

TEST_F(TaskTemplateTest, AChangedSecretIsSeenWhenTheTaskStartsAgain) {
  cluster.passwords["nomad/jobs/x"] = "first";
  run(secret_task("nomad/jobs/x"));
  cluster.passwords["nomad/jobs/x"] = "second";
  tell();
  EXPECT_EQ(rendered(), "pass=first\n");
  EXPECT_EQ(drivers.order.size(), 1u);
  runner->restart("main");
  runtime.settle();
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(rendered(), "pass=second\n");
  EXPECT_EQ(drivers.running.at("main")->spec.environment.at("DSN"), "user:second@db");
}

TEST_F(TaskTemplateTest, AfterARestartOfTheAgentTemplatesStillSeeTheSecret) {
  cluster.passwords["nomad/jobs/x"] = "s3cret";
  run(secret_task("nomad/jobs/x"));
  cluster.linked = false;
  restart_agent();
  EXPECT_EQ(rendered(), "pass=s3cret\n");
  EXPECT_EQ(state().state, TaskRunState::running);
  cluster.linked = true;
  tell();
  EXPECT_EQ(rendered(), "pass=s3cret\n");
  EXPECT_EQ(drivers.order.size(), 1u);
}

TEST_F(TaskTemplateTest, ASecretIsInNoEventAndNoFileOfTheAgent) {
  cluster.passwords["nomad/jobs/x"] = "s3cret";
  drivers.failures = {Error(Code::invalid, "cannot log in with 's3cret'")};
  run(secret_task("nomad/jobs/x"));
  EXPECT_THAT(state().events.at(state().events.size() - 2).message,
              HasSubstr("cannot log in with '${secret.db.password}'"));
  std::string kept;
  for (const char* name : {"order.json", "state.json"})
    kept += os::read_file(directory.path() + "/node/allocations/" + kAllocationId + "/" + name);
  EXPECT_EQ(kept.find("s3cret"), std::string::npos) << kept;
}

TEST_F(TaskTemplateTest, ATaskThatWaitsCanBeStopped) {
  run({password_template()});
  StoredOrder stop = make_order({});
  stop.order.allocation = runner->allocation();
  stop.job = *runner->allocation().job;
  stop.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(stop);
  runtime.settle();
  EXPECT_EQ(state().state, TaskRunState::dead);
  EXPECT_TRUE(drivers.order.empty());
}

TEST_F(TaskTemplateTest, AChangedVariableSignalsTheTask) {
  cluster.passwords["nomad/jobs/x"] = "one";
  auto entry = password_template();
  entry.change_mode = model::ChangeMode::signal;
  entry.change_signal = "SIGHUP";
  run({entry});
  ASSERT_EQ(state().state, TaskRunState::running);
  tell();
  EXPECT_TRUE(drivers.running.at("main")->signals.empty());
  cluster.passwords["nomad/jobs/x"] = "two";
  tell();
  EXPECT_EQ(rendered(), "pass=two\n");
  EXPECT_THAT(drivers.running.at("main")->signals, ElementsAre(SIGHUP));
}

TEST_F(TaskTemplateTest, WhatChangesWhileTheTaskIsBeingStartedIsSeenAfterwards) {
  cluster.passwords["nomad/jobs/x"] = "one";
  auto entry = password_template();
  entry.change_mode = model::ChangeMode::signal;
  entry.change_signal = "SIGHUP";
  drivers.before_start = [&] {
    cluster.passwords["nomad/jobs/x"] = "two";
    EXPECT_TRUE(cluster.tell());
  };
  run({entry});
  runtime.advance(0s);
  ASSERT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(rendered(), "pass=two\n");
  EXPECT_THAT(drivers.running.at("main")->signals, ElementsAre(SIGHUP));
}

TEST_F(TaskTemplateTest, DataThatKeepsChangingIsLeftToSettle) {
  cluster.passwords["nomad/jobs/x"] = "one";
  auto entry = password_template();
  entry.change_mode = model::ChangeMode::noop;
  entry.wait = model::TemplateWait{.min = 5s, .max = 12s};
  run({entry});
  for (int i = 0; i < 2; ++i) {
    cluster.passwords["nomad/jobs/x"] = "two" + std::to_string(i);
    tell();
    runtime.advance(4s);
    EXPECT_EQ(rendered(), "pass=one\n");
  }
  ASSERT_TRUE(cluster.tell());
  runtime.advance(5s);  // 12 s after the first change, although the last one is only 4 s old
  EXPECT_EQ(rendered(), "pass=two1\n");
}

TEST_F(TaskTemplateTest, AVariableThatIsDeletedLeavesTheFileAsItWas) {
  cluster.passwords["nomad/jobs/x"] = "one";
  run({password_template()});
  cluster.passwords.clear();
  tell();
  EXPECT_EQ(rendered(), "pass=one\n");
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(state().events.back().message, "Missing: nomad.var.block(nomad/jobs/x@default.global)");
}

TEST_F(TaskTemplateTest, WithoutTheLinkNothingIsKnown) {
  context.cluster_data = nullptr;
  run({{.destination = "local/conf", .data = "{{ range nomadService \"db\" }}{{ end }}"}});
  EXPECT_EQ(state().state, TaskRunState::pending);
  EXPECT_EQ(state().events.back().message, "Missing: nomad.service(db)");
}

TEST_F(TaskTemplateTest, SeesTheEnvironmentTheNodeAndItsFiles) {
  run({{.destination = "local/a", .data = "text"},
       {.destination = "local/conf",
        .data = "{{ env \"NOMAD_TASK_NAME\" }} ${NOMAD_TASK_NAME} {{ env \"attr.cpu.arch\" }} {{ file \"local/a\" }} "
                "{{ env \"NOTHING\" }}|<< 1 >>"}});
  EXPECT_EQ(rendered(), "main main amd64 text |<< 1 >>");
}

TEST_F(TaskTemplateTest, DelimitersAndMissingKeysAreAsTheJobSays) {
  run({{.destination = "local/conf",
        .data = "{{ x }} << (parseJSON \"{}\").a >>",
        .left_delimiter = "<<",
        .right_delimiter = ">>"}});
  EXPECT_EQ(rendered(), "{{ x }} <no value>");
}

TEST_F(TaskTemplateTest, AnErrorFailsTheTaskAndShowsTheLine) {
  run({{.destination = "local/conf", .data = "a\n{{ (parseJSON \"{}\").a }}", .error_on_missing_key = true}});
  EXPECT_EQ(state().state, TaskRunState::dead);
  const auto& events = state().events;
  const auto failure =
      std::ranges::find_if(events, [](const auto& e) { return e.message.find("no entry") != std::string::npos; });
  ASSERT_NE(failure, events.end());
  EXPECT_THAT(
      failure->message,
      // As Go says it: the place is that of the last argument that was looked at.
      HasSubstr("template: local/conf:2:14: executing \"local/conf\" at <\"{}\">: map has no entry for key \"a\""));
}

TEST_F(TaskTemplateTest, FilesOutsideOfTheAllocationAreRefused) {
  run({{.destination = "local/conf", .data = "{{ file \"../../../../../../etc/passwd\" }}"}});
  EXPECT_EQ(state().state, TaskRunState::dead);
}

}  // namespace
}  // namespace underway::node

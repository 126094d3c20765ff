#include "model/validate/validate.hpp"

namespace underway::model {
namespace {

Job sound() {
  Job job;
  job.id = "web";
  job.groups.resize(1);
  job.groups[0].name = "g";
  job.groups[0].tasks.resize(1);
  Task& task = job.groups[0].tasks[0];
  task.name = "t";
  task.driver = "exec";
  job.canonicalize();
  return job;
}

Template writes(std::string destination) {
  Template t;
  t.destination = std::move(destination);
  t.data = "x";
  return t;
}

TEST(Validate, AcceptsASoundJob) { EXPECT_EQ(validate(sound()), std::vector<Problem>{}); }

TEST(Validate, NamesPlaceAndValueOfEveryProblem) {
  using Tasks = std::vector<Task>;
  struct Case {
    void (*change)(Job&, TaskGroup&, Task&);
    const char* expect;
  };
  const Case cases[] = {
      {[](Job& j, TaskGroup&, Task&) { j.id = ""; }, "the job has no ID"},
      {[](Job& j, TaskGroup&, Task&) { j.id = "a b"; }, "the ID 'a b' holds a space"},
      {[](Job& j, TaskGroup&, Task&) { j.id = std::string("a\0b", 3); }, "the ID holds a NUL"},
      {[](Job& j, TaskGroup&, Task&) { j.priority = 101; }, "priority = 101 is not between 1 and 100"},
      {[](Job& j, TaskGroup&, Task&) { j.priority = -1; }, "priority = -1 is not between 1 and 100"},
      {[](Job& j, TaskGroup&, Task&) { j.ns = "a/b"; }, "namespace 'a/b': 1 to 128 letters, digits and '-'"},
      {[](Job& j, TaskGroup&, Task&) { j.node_pool = ""; }, "node_pool '': 1 to 128 letters, digits, '-' and '_'"},
      {[](Job& j, TaskGroup&, Task&) { j.datacenters.clear(); }, "datacenters is empty"},
      {[](Job& j, TaskGroup&, Task&) { j.groups.clear(); }, "the job has no group"},
      {[](Job& j, TaskGroup&, Task&) { j.depends_on = {{"web", {}}}; }, "depends_on: the job depends on itself"},
      {[](Job& j, TaskGroup&, Task&) { j.depends_on = {{"a", {}}, {"a", {}}}; }, "depends_on: job 'a' is named twice"},
      {[](Job& j, TaskGroup& g, Task&) {
         const TaskGroup copy = g;
         j.groups.push_back(copy);
       },
       "group 'g' is declared twice"},
      {[](Job&, TaskGroup& g, Task&) { g.count = 50'001; }, "the groups' counts are 50001 together, above 50000"},
      {[](Job&, TaskGroup& g, Task&) { g.count = -1; }, "group 'g': count = -1 is negative"},
      {[](Job& j, TaskGroup& g, Task&) {
         j.type = JobType::system;
         g.count = 2;
       },
       "group 'g': count = 2, but a system job runs once on every node"},
      {[](Job&, TaskGroup& g, Task&) { g.tasks.clear(); }, "group 'g': the group has no task"},
      {[](Job&, TaskGroup& g, Task& t) {
         const Task copy = t;
         g.tasks = Tasks{copy, copy};
       },
       "group 'g': task 't' is declared twice"},
      {[](Job&, TaskGroup&, Task& t) { t.name = "alloc"; },
       "group 'g' task 'alloc': a task may not be called 'alloc', the name of the shared directory"},
      {[](Job&, TaskGroup&, Task& t) { t.name = "a/b"; }, "group 'g' task 'a/b': the name may not hold slashes or NUL"},
      {[](Job&, TaskGroup&, Task& t) { t.secrets = {{.name = "s", .provider = "vault", .path = "p"}}; },
       "group 'g' task 't' secret 's': provider 'vault' is not supported: values come from variables, which is "
       "provider "
       "\"nomad\""},
      {[](Job&, TaskGroup&, Task& t) { t.secrets = {{.name = "s.s", .provider = "nomad", .path = "p"}}; },
       "group 'g' task 't' secret 's.s': a name is of letters, digits, '_' and '-'"},
      {[](Job&, TaskGroup&, Task& t) { t.secrets = {{.name = "s", .provider = "nomad"}}; },
       "group 'g' task 't' secret 's': path is empty"},
      {[](Job&, TaskGroup&, Task& t) {
         t.secrets = {{.name = "s", .provider = "nomad", .path = "p", .env = {{"A", "b"}}}};
       },
       "group 'g' task 't' secret 's': env is for providers that are programs; \"nomad\" is none"},
      {[](Job&, TaskGroup&, Task& t) {
         t.secrets = {{.name = "s", .provider = "nomad", .path = "p", .config = boost::json::object{{"engine", "kv"}}}};
       },
       "group 'g' task 't' secret 's': config: 'engine' is not the text namespace"},
      {[](Job&, TaskGroup&, Task& t) { t.driver = ""; }, "group 'g' task 't': driver is missing"},
      {[](Job&, TaskGroup&, Task& t) { t.resources.cpu = 0; }, "group 'g' task 't': cpu = 0 is below 1 MHz"},
      {[](Job&, TaskGroup&, Task& t) { t.resources.memory_mb = 9; }, "group 'g' task 't': memory = 9 is below 10 MiB"},
      {[](Job&, TaskGroup&, Task& t) { t.resources.memory_max_mb = 20; },
       "group 'g' task 't': memory_max = 20 is below memory = 300"},
      {[](Job&, TaskGroup&, Task& t) { t.kill_signal = "SIGFOO"; },
       "group 'g' task 't': kill_signal: there is no signal 'SIGFOO'"},
      {[](Job&, TaskGroup&, Task& t) { t.lifecycle.emplace(); },
       "group 'g': every task has a lifecycle block; one must be a main task without"},
      {[](Job&, TaskGroup& g, Task& t) {
         t.leader = true;
         Task other = t;
         other.name = "u";
         g.tasks.push_back(other);
       },
       "group 'g': tasks t, u are all leader; only one can be"},
      {[](Job&, TaskGroup& g, Task&) {
         g.networks.resize(1);
         g.networks[0].reserved_ports = {{"a", 0}};
       },
       "group 'g': port 'a': static = 0 is not between 1 and 65535"},
      {[](Job&, TaskGroup& g, Task&) {
         g.networks.resize(1);
         g.networks[0].reserved_ports = {{"a", 80}, {"b", 80}};
       },
       "group 'g': port 'b': 80 is already taken by port 'a'"},
      {[](Job&, TaskGroup& g, Task&) {
         g.networks.resize(1);
         g.networks[0].dynamic_ports = {{"a"}, {"a"}};
       },
       "group 'g': port 'a' is given twice"},
      {[](Job&, TaskGroup& g, Task&) {
         g.networks.resize(1);
         g.networks[0].mode = "bridged";
       },
       "group 'g': network: mode 'bridged' is none of host, bridge, none, cni/<name>"},
      {[](Job& j, TaskGroup&, Task&) { j.constraints = {{"a", "regex", "b"}}; },
       "constraint: there is no operator 'regex'; did you mean 'regexp'?"},
      {[](Job& j, TaskGroup&, Task&) { j.constraints = {{"", "version", ">= 1"}}; },
       "constraint: operator 'version' needs an attribute"},
      {[](Job&, TaskGroup&, Task& t) { t.constraints = {{"", "distinct_hosts", "true"}}; },
       "group 'g' task 't': constraint: distinct_hosts may not be given at a task, as its group is placed as a whole"},
      {[](Job&, TaskGroup& g, Task&) { g.restart->interval = 1s; }, "group 'g': restart: interval 1s is below 5s"},
      {[](Job&, TaskGroup& g, Task&) {
         g.restart->attempts = 10;
         g.restart->interval = 1min;
       },
       "group 'g': restart: 10 attempts, 15s apart, do not fit into an interval of 1m0s"},
      {[](Job&, TaskGroup&, Task& t) { t.templates = {writes("../../x")}; },
       "group 'g' task 't' template '../../x': destination leaves the allocation's directory"},
      {[](Job&, TaskGroup&, Task& t) { t.templates = {writes("local/x"), writes("local/x")}; },
       "group 'g' task 't' template 'local/x': another template writes the same destination"},
      {[](Job&, TaskGroup&, Task& t) {
         t.templates = {writes("x")};
         t.templates[0].data.clear();
       },
       "group 'g' task 't' template 'x': neither data nor source is given"},
      {[](Job&, TaskGroup&, Task& t) {
         t.templates = {writes("x")};
         t.templates[0].perms = "rw";
       },
       "group 'g' task 't' template 'x': perms 'rw' is not octal, like \"0644\""},
      {[](Job&, TaskGroup&, Task& t) {
         t.templates = {writes("x")};
         t.templates[0].change_mode = ChangeMode::script;
       },
       "group 'g' task 't' template 'x': change_mode is script, but change_script gives no command"},
      {[](Job&, TaskGroup&, Task& t) {
         t.artifacts.emplace_back().source = "/a";
         t.artifacts[0].destination = "a/../../../b";
       },
       "group 'g' task 't' artifact '/a': destination 'a/../../../b' leaves the allocation's directory"},
      {[](Job&, TaskGroup&, Task& t) { t.logs.max_files = 31; },
       "group 'g' task 't': logs: 31 files of 10 MB do not fit on the ephemeral_disk of 300 MB"},
      {[](Job&, TaskGroup&, Task& t) { t.env = {{"A=B", "x"}}; },
       "group 'g' task 't': env: 'A=B' is no name of a variable"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.expect);
    Job job = sound();
    c.change(job, job.groups[0], job.groups[0].tasks[0]);
    const auto problems = validate(job);
    ASSERT_EQ(problems.size(), 1u) << (problems.empty() ? "" : problems.back().text());
    EXPECT_EQ(problems[0].text(), c.expect);
  }
}

TEST(Validate, TellsABoundedNumberOfProblems) {
  Job job = sound();
  job.groups.assign(5000, TaskGroup{});
  const auto found = validate(job);
  ASSERT_EQ(found.size(), 101u);
  EXPECT_EQ(found.back().text(), "there are more problems than these 100");
}

TEST(Validate, BoundsWhatTheSchedulerAsksOfEachNode) {
  Job job = sound();
  for (int i = 0; i < 101; ++i) job.constraints.push_back({"${attr.kernel.name}", "regexp", fmt::format("a{}", i)});
  job.constraints.push_back({"${attr.kernel.name}", "regexp", std::string(4097, 'a')});
  job.affinities.resize(10'000, {"${attr.kernel.name}", "=", "linux", 50});
  const auto found = validate(job);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].text(), "there are 10102 constraints and affinities, above 10000");
  EXPECT_EQ(found[1].text(), "there are 102 different regular expressions, above 100");
  EXPECT_EQ(found[2].text(), "constraint: the regular expression has 4097 bytes, above 4096");
}

TEST(Validate, ReportsAllProblemsAtOnce) {
  Job job = sound();
  job.priority = 0;
  job.groups[0].count = -2;
  job.groups[0].tasks[0].driver = "";
  EXPECT_EQ(validate(job).size(), 3u);
}

TEST(Validate, LetsInterpolationAndTheSharedDirectoryPass) {
  Job job = sound();
  auto& task = job.groups[0].tasks[0];
  task.templates = {writes("../alloc/x"), writes("${NOMAD_ALLOC_DIR}/y"), writes("/local/z")};
  task.kill_signal = "sigterm";
  EXPECT_EQ(validate(job), std::vector<Problem>{});
}

TEST(Validate, AsksTheSchedulerAboutOperands) {
  Job job = sound();
  job.constraints = {{"${attr.kernel.version}", "version", "nonsense"}};
  ValidateOptions options;
  options.check_constraint = [](const Constraint& c) { return "'" + c.rtarget + "' is no version"; };
  ASSERT_EQ(validate(job, options).size(), 1u);
  EXPECT_EQ(validate(job, options)[0].text(), "constraint: 'nonsense' is no version");
}

TEST(Signals, AreKnownByName) {
  EXPECT_EQ(signal_number("SIGHUP"), 1);
  EXPECT_EQ(signal_number("SIGBOGUS"), std::nullopt);
}

}  // namespace
}  // namespace underway::model

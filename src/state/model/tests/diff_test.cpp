#include "model/diff/diff.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

Job sample() {
  Job job;
  job.id = "slurm";
  job.groups.resize(1);
  TaskGroup& group = job.groups[0];
  group.name = "ctl";
  group.networks.resize(1);
  group.networks[0].reserved_ports = {{"slurmctl", 6817}};
  group.tasks.resize(1);
  Task& task = group.tasks[0];
  task.name = "slurmctld";
  task.driver = "raw_exec";
  task.config = {{"command", "/usr/sbin/slurmctld"}, {"args", {"-D"}}};
  task.env = {{"A", "1"}};
  Template t;
  t.destination = "local/slurm.conf";
  t.data = "a\nb\nc\nd\ne\nf\n";
  task.templates = {t};
  job.constraints = {{"${attr.kernel.name}", "=", "linux"}};
  job.canonicalize();
  return job;
}

/// The tree as indented lines, "± name: old => new (annotations)": what the expectations below are written in.
void draw(const std::vector<FieldDiff>& fields, const std::vector<ObjectDiff>& objects, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  const auto sign = [](DiffType type) { return " +-~"[static_cast<int>(type)]; };
  for (const auto& f : fields) {
    if (f.type == DiffType::none) continue;
    out += fmt::format("{}{}{}: {} => {}", indent, sign(f.type), f.name, f.lines.empty() ? f.before : "...",
                       f.lines.empty() ? f.after : "...");
    out += f.annotations.empty() ? "\n" : fmt::format(" ({})\n", join(f.annotations, ", "));
    for (const auto& line : f.lines) out += indent + "  |" + line + "\n";
  }
  for (const auto& o : objects) {
    out += fmt::format("{}{}{}\n", indent, sign(o.type), o.name);
    draw(o.fields, o.objects, depth + 1, out);
  }
}

std::string draw(const JobDiff& diff) {
  std::string out;
  draw(diff.fields, diff.objects, 0, out);
  const auto sign = [](DiffType type) { return " +-~"[static_cast<int>(type)]; };
  for (const auto& group : diff.groups) {
    out += fmt::format("{}group {}\n", sign(group.type), group.name);
    draw(group.fields, group.objects, 1, out);
    for (const auto& task : group.tasks) {
      out += fmt::format("  {}task {} ({})\n", sign(task.type), task.name, join(task.annotations, ", "));
      draw(task.fields, task.objects, 2, out);
    }
  }
  return out;
}

TEST(JobDiff, ShowsWhatChangedAndWhatItLeadsTo) {
  struct Case {
    const char* name;
    void (*change)(Job&);
    const char* expect;
  };
  const Case cases[] = {
      {"nothing", [](Job&) {}, ""},
      {"server-kept fields take no part",
       [](Job& j) {
         j.version = 7;
         j.modify_index = 9;
         j.status = JobStatus::running;
       },
       ""},
      {"priority is in place", [](Job& j) { j.priority = 95; }, "~Priority: 50 => 95\n"},
      {"stopping is shown", [](Job& j) { j.stop = true; }, "~Stop: false => true\n"},
      {"count creates", [](Job& j) { j.groups[0].count = 3; }, "~group ctl\n  ~Count: 1 => 3 (forces create)\n"},
      {"count destroys", [](Job& j) { j.groups[0].count = 0; }, "~group ctl\n  ~Count: 1 => 0 (forces destroy)\n"},
      {"datacenters are a set", [](Job& j) { j.datacenters = {"dc1", "dc2"}; },
       "~Datacenters\n  +Datacenters:  => dc1\n  +Datacenters:  => dc2\n  -Datacenters: * => \n"},
      {"a single constraint is edited", [](Job& j) { j.constraints[0].rtarget = "macos"; },
       "~Constraint\n  ~RTarget: linux => macos\n"},
      {"two constraints come", [](Job& j) { j.constraints = {{"${attr.a}", "=", "1"}, {"${attr.b}", "=", "2"}}; },
       "+Constraint\n  +LTarget:  => ${attr.a}\n  +RTarget:  => 1\n  +Operand:  => =\n"
       "+Constraint\n  +LTarget:  => ${attr.b}\n  +RTarget:  => 2\n  +Operand:  => =\n"
       "-Constraint\n  -LTarget: ${attr.kernel.name} => \n  -RTarget: linux => \n  -Operand: = => \n"},
      {"driver config", [](Job& j) { j.groups[0].tasks[0].config = {{"command", "/bin/x"}, {"args", {"-D", "-v"}}}; },
       "~group ctl\n  ~task slurmctld (forces create/destroy update)\n    ~Config\n"
       "      +args[1]:  => -v (forces create/destroy update)\n"
       "      ~command: /usr/sbin/slurmctld => /bin/x (forces create/destroy update)\n"},
      {"kill timeout is in place", [](Job& j) { j.groups[0].tasks[0].kill_timeout = 20s; },
       "~group ctl\n  ~task slurmctld (forces in-place update)\n    ~KillTimeout: 5s => 20s\n"},
      {"environment", [](Job& j) { j.groups[0].tasks[0].env = {{"B", "2"}}; },
       "~group ctl\n  ~task slurmctld (forces create/destroy update)\n"
       "    -Env[A]: 1 =>  (forces create/destroy update)\n    +Env[B]:  => 2 (forces create/destroy update)\n"},
      {"a port", [](Job& j) { j.groups[0].networks[0].reserved_ports[0].value = 6819; },
       "~group ctl\n  ~Network\n    ~Static Port\n      ~Value: 6817 => 6819 (forces create/destroy update)\n"},
      {"resources", [](Job& j) { j.groups[0].tasks[0].resources.memory_mb = 512; },
       "~group ctl\n  ~task slurmctld (forces create/destroy update)\n    ~Resources\n"
       "      ~MemoryMB: 300 => 512 (forces create/destroy update)\n"},
      {"template text as lines", [](Job& j) { j.groups[0].tasks[0].templates[0].data = "a\nb\nc\nd\nE\nf\n"; },
       "~group ctl\n  ~task slurmctld (forces create/destroy update)\n    ~Template\n"
       "      ~EmbeddedTmpl: ... => ... (forces create/destroy update)\n"
       "        |@@ -2,5 +2,5 @@\n        | b\n        | c\n        | d\n        |-e\n        |+E\n        | f\n"},
      {"a second task",
       [](Job& j) {
         Task more;
         more.name = "log";
         more.driver = "exec";
         j.groups[0].tasks.push_back(more);
       },
       nullptr},
      {"a restart policy in place", [](Job& j) { j.groups[0].tasks[0].restart->attempts = 5; },
       "~group ctl\n  ~task slurmctld (forces in-place update)\n    ~RestartPolicy\n      ~Attempts: 2 => 5\n"},
  };
  const Job before = sample();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Job after = sample();
    c.change(after);
    const JobDiff d = diff(&before, &after);
    if (c.expect == nullptr) {
      ASSERT_EQ(d.groups.size(), 1u);
      ASSERT_EQ(d.groups[0].tasks.size(), 1u);
      EXPECT_EQ(d.groups[0].tasks[0].type, DiffType::added);
      EXPECT_EQ(d.groups[0].tasks[0].annotations, std::vector<std::string>{"forces create/destroy update"});
    } else {
      EXPECT_EQ(draw(d), c.expect);
      EXPECT_EQ(d.type, *c.expect == '\0' ? DiffType::none : DiffType::edited);
    }
  }
}

TEST(JobDiff, AddsAndRemovesWholeJobs) {
  const Job job = sample();
  const JobDiff added = diff(nullptr, &job), removed = diff(&job, nullptr);
  EXPECT_EQ(added.type, DiffType::added);
  EXPECT_EQ(added.groups.at(0).type, DiffType::added);
  EXPECT_EQ(added.groups.at(0).tasks.at(0).annotations, std::vector<std::string>{"forces create"});
  EXPECT_EQ(removed.type, DiffType::deleted);
  EXPECT_EQ(removed.groups.at(0).tasks.at(0).annotations, std::vector<std::string>{"forces destroy"});
}

TEST(JobDiff, ListsUnchangedFieldsOfAChangedBlock) {
  const Job before = sample();
  Job after = before;
  after.groups[0].tasks[0].resources.memory_mb = 512;
  const JobDiff tree = diff(&before, &after);
  const auto& object = tree.groups.at(0).tasks.at(0).objects.at(0);
  EXPECT_EQ(object.name, "Resources");
  EXPECT_EQ(object.fields.at(0).name, "CPU");
  EXPECT_EQ(object.fields.at(0).type, DiffType::none);
}

TEST(JobDiff, SpeaksNomadsNamesOnTheWire) {
  const Job before = sample();
  Job after = before;
  after.groups[0].count = 2;
  const auto value = json::to_value(diff(&before, &after)).as_object();
  EXPECT_EQ(value.at("Type").as_string(), "Edited");
  const auto& group = value.at("TaskGroups").as_array().at(0).as_object();
  const auto& field = group.at("Fields").as_array().at(0).as_object();
  EXPECT_EQ(field.at("Old").as_string(), "1");
  EXPECT_EQ(field.at("Annotations").as_array().at(0).as_string(), "forces create");
}

TEST(Destructive, FollowsTheDescriptions) {
  struct Case {
    const char* name;
    void (*change)(TaskGroup&);
    bool expect;
  };
  const Case cases[] = {
      {"nothing", [](TaskGroup&) {}, false},
      {"count", [](TaskGroup& g) { g.count = 9; }, false},
      {"constraint", [](TaskGroup& g) { g.constraints.push_back({"a", "=", "b"}); }, false},
      {"restart", [](TaskGroup& g) { g.restart->attempts = 9; }, false},
      {"kill timeout", [](TaskGroup& g) { g.tasks[0].kill_timeout = 9s; }, false},
      {"log files", [](TaskGroup& g) { g.tasks[0].logs.max_files = 2; }, false},
      {"logs off", [](TaskGroup& g) { g.tasks[0].logs.disabled = true; }, true},
      {"driver", [](TaskGroup& g) { g.tasks[0].driver = "exec"; }, true},
      {"memory", [](TaskGroup& g) { g.tasks[0].resources.memory_mb = 9; }, true},
      {"disk", [](TaskGroup& g) { g.ephemeral_disk.size_mb = 999; }, true},
      {"port", [](TaskGroup& g) { g.networks[0].dynamic_ports.push_back({"x"}); }, true},
      {"task renamed", [](TaskGroup& g) { g.tasks[0].name = "other"; }, true},
      {"task added", [](TaskGroup& g) { g.tasks.push_back(g.tasks[0]); }, true},
      {"meta", [](TaskGroup& g) { g.meta["a"] = "b"; }, true},
      {"artifact", [](TaskGroup& g) { g.tasks[0].artifacts.emplace_back().source = "/a"; }, true},
  };
  const TaskGroup before = sample().groups[0];
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    TaskGroup after = before;
    c.change(after);
    EXPECT_EQ(destructive_change(before, after), c.expect);
  }
}

TEST(Destructive, CountsTheJobsMetaToo) {
  const Job before = sample();
  Job after = before;
  EXPECT_FALSE(destructive_change(before, after, "ctl"));
  after.meta["rack"] = "1";
  EXPECT_TRUE(destructive_change(before, after, "ctl"));
  EXPECT_TRUE(destructive_change(before, before, "missing"));
}

TEST(DiffLines, IsAUnifiedDiff) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(diff_lines("a\nb\n", "a\nb\n"), Lines{});
  EXPECT_EQ(diff_lines("", "a\nb\n"), (Lines{"@@ -0,0 +1,2 @@", "+a", "+b"}));
  EXPECT_EQ(diff_lines("a\nb\n", ""), (Lines{"@@ -1,2 +0,0 @@", "-a", "-b"}));
  EXPECT_EQ(diff_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5!\n6\n7\n8\n9\n", 1),
            (Lines{"@@ -4,3 +4,3 @@", " 4", "-5", "+5!", " 6"}));
  EXPECT_EQ(diff_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n", 1),
            (Lines{"@@ -1 +1,2 @@", "+0", " 1", "@@ -8,2 +9 @@", " 8", "-9"}));
}

/// Applying the diff with full context gives back both sides.
TEST(DiffLines, HoldsBothTexts) {
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525u + 1013904223u, state >> 16; };
  for (int round = 0; round < 300; ++round) {
    std::string a, b;
    for (std::uint32_t i = next() % 12; i > 0; --i) a += std::string(1, static_cast<char>('a' + next() % 4)) + "\n";
    for (std::uint32_t i = next() % 12; i > 0; --i) b += std::string(1, static_cast<char>('a' + next() % 4)) + "\n";
    std::string got_a, got_b;
    for (const auto& line : diff_lines(a, b, 100)) {
      if (line[0] == '@') continue;
      if (line[0] != '+') got_a += line.substr(1) + "\n";
      if (line[0] != '-') got_b += line.substr(1) + "\n";
    }
    if (a == b) continue;
    EXPECT_EQ(got_a, a);
    EXPECT_EQ(got_b, b);
  }
}

TEST(ClusterDiff, NamesHostsThatComeAndGo) {
  Cluster before;
  before.name = "hpc";
  before.networks = {{"mgmt", "10.0.0.0/24"}};
  Pool compute;
  compute.name = "compute";
  compute.size = 4;
  compute.hostname = "c%d";
  before.pools = {compute};
  Cluster after = before;
  after.pools[0].size = 5;
  after.networks.push_back({"fabric", "10.1.0.0/24"});
  const ClusterDiff d = diff(&before, &after);
  EXPECT_EQ(d.hosts_added, std::vector<std::string>{"c5"});
  EXPECT_TRUE(d.hosts_removed.empty());
  std::string drawn;
  draw(d.object.fields, d.object.objects, 0, drawn);
  EXPECT_EQ(drawn,
            "+Network\n  +Name:  => fabric\n  +CIDR:  => 10.1.0.0/24\n  +NAT:  => false\n"
            "~Pool\n  ~Size: 4 => 5\n");
  EXPECT_EQ(diff(&after, &before).hosts_removed, std::vector<std::string>{"c5"});
  EXPECT_EQ(diff(&after, &after).object.type, DiffType::none);
}

}  // namespace
}  // namespace underway::model

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "harness/places.hpp"
#include "tests/job_text.hpp"

#include <fstream>

namespace underway::jobspec {
namespace {

std::string listing(const std::string& name) {
  std::ifstream in(test_dir() + "/listings/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PaperListings, AreAcceptedAsTheyStandGivenTheirTwoVariables) {
  Inputs inputs;
  inputs.variables = {{"datacenter", "dc1"}, {"slurm-ctld-host", "mgmt"}};
  const auto ctl = accept(listing("slurmctld.hcl"), inputs);
  EXPECT_EQ(ctl.id, "slurm-ctl");
  EXPECT_EQ(ctl.priority, 95);
  EXPECT_EQ(ctl.datacenters, std::vector<std::string>{"dc1"});
  ASSERT_EQ(ctl.constraints.size(), 1u);
  EXPECT_EQ(ctl.constraints[0].ltarget, "${attr.unique.hostname}");
  EXPECT_EQ(ctl.constraints[0].rtarget, "mgmt");
  ASSERT_EQ(ctl.groups.at(0).networks.size(), 1u);
  EXPECT_EQ(ctl.groups[0].networks[0].reserved_ports.at(0).label, "slurmctl");
  EXPECT_EQ(ctl.groups[0].networks[0].reserved_ports.at(0).value, 6817);

  Inputs only_datacenter;
  only_datacenter.variables = {{"datacenter", "dc1"}};
  const auto munge = accept(listing("munge.hcl"), only_datacenter);
  EXPECT_EQ(munge.type, model::JobType::system);
  EXPECT_EQ(munge.groups.at(0).tasks.at(0).user, "munge");
  EXPECT_EQ(json::parse(R"({"command": "/usr/sbin/munged", "args": ["--foreground", "--syslog"]})"),
            munge.groups[0].tasks[0].config);

  const auto slurmd = accept(listing("slurmd.hcl"), inputs);
  EXPECT_EQ(slurmd.groups.at(0).constraints.at(0).operand, "distinct_hosts");
  const auto& args = slurmd.groups[0].tasks.at(0).config.at("args").as_array();
  EXPECT_EQ(args.at(3).as_string(), "mgmt");
}

TEST(Variables, MustBeKnownAndGiven) {
  struct Case {
    const char* name;
    const char* text;
    Inputs inputs;
    const char* expect;  ///< the priority, or the error's first line
  };
  const std::string declared = "variable \"p\" {\n type = number\n default = 7\n}\n";
  const std::string uses = "priority = var.p";
  const std::string with = declared + job(uses), without = job(uses), plain = job("");
  const std::vector<Case> cases = {
      {"default", with.c_str(), {}, "7"},
      {"environment over default", with.c_str(), {.environment = {{"NOMAD_VAR_p", "8"}}}, "8"},
      {"file over environment",
       with.c_str(),
       {.variable_files = {{"v.hcl", "p = 9"}}, .environment = {{"NOMAD_VAR_p", "8"}}},
       "9"},
      {"argument over file",
       with.c_str(),
       {.variables = {{"p", "10"}}, .variable_files = {{"v.json", "{\"p\": 9}"}}},
       "10"},
      {"undeclared and given", without.c_str(), {.variables = {{"p", "11"}}}, "11"},
      {"undeclared and given by file", without.c_str(), {.variable_files = {{"v.hcl", "p = \"12\""}}}, "12"},
      {"undeclared and given by environment", without.c_str(), {.environment = {{"NOMAD_VAR_p", "13"}}}, "13"},
      {"undeclared and not given", without.c_str(), {}, "error: variable 'p' is neither declared nor given a value"},
      {"given and never used",
       plain.c_str(),
       {.variables = {{"p", "1"}}},
       "error: variable 'p' is given a value, and neither declared nor used"},
      {"given and never used, not strict", plain.c_str(), {.variables = {{"p", "1"}}, .strict = false}, "50"},
      {"typo",
       with.c_str(),
       {.variables = {{"pp", "1"}}},
       "error: variable 'pp' is given a value, and neither declared nor used"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto result = parse_job(c.text, "j.hcl", c.inputs);
    if (result.job)
      EXPECT_EQ(std::to_string(result.job->priority), c.expect);
    else
      EXPECT_EQ(split(result.diagnostics.render(), '\n').at(0), c.expect) << result.diagnostics.render();
  }
}

/// The same values are given to all files of a kind, and not each needs them all.
TEST(PaperListings, TakeAVariableTheyDoNotUseWithAWarning) {
  Inputs inputs;
  inputs.variables = {{"datacenter", "dc1"}, {"slurm-ctld-host", "mgmt"}};
  const auto result = parse_job(listing("munge.hcl"), "munge.hcl", inputs);
  EXPECT_TRUE(result.job);
  EXPECT_EQ(result.diagnostics.render(),
            "warning: variable 'slurm-ctld-host' is given a value, and neither declared nor used\n"
            "  do:    declare it: variable \"slurm-ctld-host\" {}\n");
  inputs.variables = {{"datacentre", "dc1"}};
  EXPECT_NE(errors_of(listing("munge.hcl"), inputs).find("'datacenter' is neither declared nor given a value"),
            std::string::npos);
}

/// The paper's lines are wrapped.
TEST(PaperListings, MayBeWrappedInsideOfAReference) {
  const auto parsed = accept(job("constraint {\n attribute = \"${attr.unique.hostname\n }\"\n value = \"x\"\n}"));
  EXPECT_EQ(parsed.constraints.at(0).ltarget, "${attr.unique.hostname}");
}

TEST(Variables, AreAskedForOnceHoweverOftenUsed) {
  EXPECT_EQ(errors_of("job \"j\" {\n  datacenters = [var.dc, \"${var.dc}-b\"]\n  group \"g\" {\n    task \"t\" {\n"
                      "      driver = \"exec\"\n    }\n  }\n}\n"),
            "error: variable 'dc' is neither declared nor given a value\n"
            "  at:    j.hcl:2:18\n"
            "       2 |   datacenters = [var.dc, \"${var.dc}-b\"]\n"
            "         |                  ^^^^^^\n"
            "  do:    give -var dc=…, or declare it: variable \"dc\" {}\n");
}

TEST(Locals, SeeVariablesAndEachOther) {
  const auto parsed = accept("variable \"a\" { default = 3 }\nlocals {\n b = local.c + 1\n c = var.a * 2\n}\n" +
                             job("priority = local.b"));
  EXPECT_EQ(parsed.priority, 7);
}

TEST(Sugar, TurnsATaskOfTheJobIntoAGroup) {
  const auto parsed = accept("job \"j\" {\n task \"web\" {\n driver = \"exec\"\n resources { cpu = 5 }\n }\n}\n");
  ASSERT_EQ(parsed.groups.size(), 1u);
  EXPECT_EQ(parsed.groups[0].name, "web");
  EXPECT_EQ(parsed.groups[0].tasks.at(0).resources.cpu, 5);
  EXPECT_TRUE(parsed.groups[0].restart);
}

TEST(Ports, AreStaticOnlyWhenTheySaySo) {
  const auto parsed =
      accept(job("", "network {\nmode = \"host\"\nport \"a\" {\nstatic = 80\n to = 8080\n}\nport \"b\" {}\n}"));
  const auto& network = parsed.groups.at(0).networks.at(0);
  EXPECT_EQ(network.mode, "host");
  ASSERT_EQ(network.reserved_ports.size(), 1u);
  EXPECT_EQ(network.reserved_ports[0].to, 8080);
  ASSERT_EQ(network.dynamic_ports.size(), 1u);
  EXPECT_EQ(network.dynamic_ports[0].label, "b");
}

TEST(Constraints, HaveShortForms) {
  struct Case {
    const char* text;
    model::Constraint expect;
  };
  const Case cases[] = {
      {"attribute = \"${attr.a}\"\n value = \"b\"", {"${attr.a}", "=", "b"}},
      {"attribute = attr.a\n operator = \"!=\"\n value = \"b\"", {"${attr.a}", "!=", "b"}},
      {"distinct_hosts = true", {"", "distinct_hosts", "true"}},
      {"operator = \"distinct_hosts\"\n value = \"true\"", {"", "distinct_hosts", "true"}},
      {"distinct_property = \"${meta.rack}\"", {"${meta.rack}", "distinct_property", ""}},
      {"distinct_property = \"${meta.rack}\"\n value = 2", {"${meta.rack}", "distinct_property", "2"}},
      {"attribute = \"${attr.a}\"\n version = \">= 1.2\"", {"${attr.a}", "version", ">= 1.2"}},
      {"attribute = \"${attr.a}\"\n semver = \">= 1.2\"", {"${attr.a}", "semver", ">= 1.2"}},
      {"attribute = \"${attr.a}\"\n regexp = \"^x\"", {"${attr.a}", "regexp", "^x"}},
      {"attribute = \"${attr.a}\"\n set_contains = \"x,y\"", {"${attr.a}", "set_contains", "x,y"}},
      {"attribute = \"${attr.a}\"\n set_contains_any = \"x,y\"", {"${attr.a}", "set_contains_any", "x,y"}},
      {"attribute = \"${attr.a}\"\n set_contains_all = \"x,y\"", {"${attr.a}", "set_contains_all", "x,y"}},
      {"is_set = \"${attr.a}\"", {"${attr.a}", "is_set", ""}},
      {"attribute = \"${attr.a}\"\n is_not_set = true", {"${attr.a}", "is_not_set", ""}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto parsed = accept(job(fmt::format("constraint {{\n{}\n}}", c.text)));
    ASSERT_EQ(parsed.constraints.size(), 1u);
    EXPECT_EQ(parsed.constraints[0].ltarget, c.expect.ltarget);
    EXPECT_EQ(parsed.constraints[0].operand, c.expect.operand);
    EXPECT_EQ(parsed.constraints[0].rtarget, c.expect.rtarget);
  }
  EXPECT_NE(errors_of(job("constraint { distinct_hosts = false }")).find("'distinct_hosts' must be true"),
            std::string::npos);
  EXPECT_NE(errors_of(job("constraint {\n attribute = \"a\"\n version = \"1\"\n regexp = \"x\"\n}"))
                .find("a second operator"),
            std::string::npos);
}

TEST(Restart, TakesWhatItLeavesOutFromWhatIsAround) {
  const auto parsed = accept(job("type = \"batch\"", "restart { delay = \"1s\" }", "restart { mode = \"delay\" }"));
  const auto& group = *parsed.groups.at(0).restart;
  EXPECT_EQ(group.attempts, 3);
  EXPECT_EQ(group.interval, std::chrono::hours(24));
  const auto& task = *parsed.groups[0].tasks.at(0).restart;
  EXPECT_EQ(task.delay, std::chrono::seconds(1));
  EXPECT_EQ(task.attempts, 3);
  EXPECT_EQ(task.mode, model::RestartMode::delay);
}

TEST(RunTime, ReferencesAreKeptAsText) {
  const auto parsed =
      accept(job("", "network {\n port \"db\" {}\n}",
                 "env {\n A = \"${NOMAD_PORT_db}\"\n B = \"x-${attr.cpu.arch}-${node.class}\"\n}\n"
                 "config {\n command = \"/bin/echo\"\n args = [\"${meta.rack}\", \"${upper(\"a\")}\"]\n}"));
  const auto& task = parsed.groups.at(0).tasks.at(0);
  EXPECT_EQ(task.env.at("A"), "${NOMAD_PORT_db}");
  EXPECT_EQ(task.env.at("B"), "x-${attr.cpu.arch}-${node.class}");
  EXPECT_EQ(task.config.at("args").as_array().at(0).as_string(), "${meta.rack}");
  EXPECT_EQ(task.config.at("args").as_array().at(1).as_string(), "A");
}

TEST(Maps, AreBlocksOrAttributes) {
  const auto parsed =
      accept(job("meta = { \"a.b\" = \"1\" }", "meta { c = 2 }",
                 "env = { \"X-Y\" = true }\nconfig {\n command = \"x\"\n mount {\n type = \"bind\"\n }\n"
                 " mount {\n type = \"tmpfs\"\n }\n}"));
  EXPECT_EQ(parsed.meta.at("a.b"), "1");
  EXPECT_EQ(parsed.groups.at(0).meta.at("c"), "2");
  EXPECT_EQ(parsed.groups[0].tasks.at(0).env.at("X-Y"), "true");
  EXPECT_EQ(json::parse(R"({"command": "x", "mount": [{"type": "bind"}, {"type": "tmpfs"}]})"),
            parsed.groups[0].tasks[0].config);
}

TEST(Dynamic, BlocksAreExpanded) {
  const auto parsed = accept(job("",
                                 "network {\n dynamic \"port\" {\n for_each = [\"a\", \"b\"]\n labels = [port.value]\n"
                                 " content {}\n }\n}"));
  ASSERT_EQ(parsed.groups.at(0).networks.at(0).dynamic_ports.size(), 2u);
  EXPECT_EQ(parsed.groups[0].networks[0].dynamic_ports[1].label, "b");
}

/// What the model gains must leave the list, and each name on it is refused where it could stand, with its reason.
TEST(Json, IsReadInItsThreeForms) {
  const auto native = accept(job("priority = 60", "count = 2", "env { A = \"b\" }"));
  const std::string api = json::encode(native);
  for (const std::string& text :
       {api, "{\"Job\": " + api + "}",
        std::string(R"({"job": {"j": {"priority": 60, "group": {"g": {"count": 2, "task": {"t":
          {"driver": "exec", "env": {"A": "b"}}}}}}}})")}) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(describe::equal(accept(text), native));
  }
}

TEST(Json, ErrorsNameThePathOrThePlace) {
  EXPECT_EQ(errors_of(R"({"ID": "j", "Priority": "high"})"),
            "error: Job.Priority: expected an integer\n  why:   found \"high\"\n");
  EXPECT_NE(errors_of("{\"job\": ").find("j.hcl:1:"), std::string::npos);
  EXPECT_NE(errors_of(R"({"job": {"j": {"prioriti": 1}}})").find("write 'priority'"), std::string::npos);
}

TEST(Count, IsTheLeastOfItsScalingWhenNothingElseIsSaid) {
  struct Case {
    const char* group;
    std::int64_t count;
  };
  const std::vector<Case> cases = {{"scaling {\nmin = 2\nmax = 5\n}", 2},
                                   {"scaling {\nmin = 0\nmax = 5\n}", 0},
                                   {"count = null\nscaling {\nmin = 2\nmax = 5\n}", 2},
                                   {"count = 1\nscaling {\nmin = 0\nmax = 5\n}", 1},
                                   {"scaling {\nmax = 5\n}", 1},
                                   {"", 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.group);
    EXPECT_EQ(accept(job("", c.group)).groups.at(0).count, c.count);
  }
}

TEST(Count, OnTheWireIsTheLeastOfItsScalingAsWell) {
  const auto count = [](const std::string& group) {
    return job_from_json(json::parse(R"({"ID":"j","TaskGroups":[{"Name":"g",)" + group + R"("Scaling":{"Min":3}}]})"))
        .groups.at(0)
        .count;
  };
  EXPECT_EQ(count(""), 3);
  EXPECT_EQ(count(R"("Count":null,)"), 3);
  EXPECT_EQ(count(R"("Count":1,)"), 1);
  EXPECT_EQ(count(R"("count":1,)"), 1);
}

TEST(Count, StandsInWhatIsWrittenWhereItsScalingWouldSayAnother) {
  const auto accepted = accept(job("", "count = 1\nscaling {\nmin = 0\nmax = 5\n}"));
  EXPECT_EQ(accept(write_job(accepted)).groups.at(0).count, 1);
  EXPECT_EQ(accept(R"({"job":)" + json::encode(accepted) + "}").groups.at(0).count, 1)
      << "the envelope in another case";
}

TEST(JobId, MayDifferFromTheLabelWhichIsTheNameThen) {
  const auto read = accept(job("id = \"web-7\""));
  EXPECT_EQ(read.id, "web-7");
  EXPECT_EQ(read.name, "j");
  const auto named = accept(job("id = \"web-7\"\nname = \"the web\""));
  EXPECT_EQ(named.name, "the web");
  EXPECT_EQ(accept(job("id = null")).id, "j");
  EXPECT_EQ(accept(R"({"job": {"j": {"id": "x", "group": {"g": {"task": {"t": {"driver": "exec"}}}}}}})").id, "x");
  EXPECT_NE(errors_of(job("id = \"web 7\"")).find("web 7"), std::string::npos);
}

TEST(Checks, WithoutANameDoNotClash) {
  const std::string service = R"(network {
      port "http" {}
    }
    service {
      name = "s"
      port = "http"
      check {
        type = "tcp"
        interval = "10s"
        timeout = "2s"
      }
      check {
        type = "http"
        path = "/"
        interval = "10s"
        timeout = "2s"
      }
    })";
  const auto read = accept(job("", service));
  EXPECT_EQ(read.groups.at(0).services.at(0).checks.at(0).name, "service: \"s\" check");
  EXPECT_EQ(read.groups[0].services[0].checks.at(1).name, "service: \"s\" check");
}

TEST(MemoryMax, MayBeWithoutALimit) {
  const auto read = accept(job("", "", "resources {\nmemory_max = -1\n}"));
  EXPECT_EQ(read.groups.at(0).tasks.at(0).resources.memory_max_mb, -1);
  EXPECT_GT(read.groups[0].total_resources().memory_max_mb, std::int64_t{1} << 39) << "where it is counted";
  EXPECT_NE(errors_of(job("", "", "resources {\nmemory_max = -2\n}")).find("memory_max = -2"), std::string::npos);
}

TEST(GivenNames, AreToldWithTheirValueEvenIfItIsTheDefault) {
  Inputs as_written;
  as_written.canonicalize = false;
  const auto told = [&](const std::string& text) {
    const auto result = parse_job(text, "j.hcl", as_written);
    return json::parse(encode_given(result.job.value(), result.given));
  };
  const auto said =
      told(job("priority = 50\nall_at_once = false\nname = \"j\"", "count = 1\nrestart {\nmode = \"fail\"\n}",
               "leader = false\nresources {\nmemory = 300\n}"));
  EXPECT_EQ(said.at("Priority"), 50);
  EXPECT_EQ(said.at("AllAtOnce"), false);
  const auto& group = said.at("TaskGroups").at(0);
  EXPECT_EQ(group.at("Count"), 1);
  EXPECT_EQ(group.at("RestartPolicy").at("Mode"), "fail");
  EXPECT_TRUE(group.at("RestartPolicy").at("Attempts").is_null());
  const auto& task = group.at("Tasks").at(0);
  EXPECT_EQ(task.at("Leader"), false);
  EXPECT_EQ(task.at("Resources").at("MemoryMB"), 300);
  EXPECT_TRUE(task.at("Resources").at("CPU").is_null());

  const auto bare = told(job(""));
  EXPECT_EQ(bare.at("ID"), "j");
  for (const char* name :
       {"Priority", "Region", "Namespace", "Type", "AllAtOnce", "Constraints", "ConsulToken", "Meta"})
    EXPECT_TRUE(bare.at(name).is_null()) << name;
  EXPECT_TRUE(bare.at("TaskGroups").at(0).at("Count").is_null());
  EXPECT_TRUE(bare.at("TaskGroups").at(0).at("RestartPolicy").is_null());
  EXPECT_EQ(bare.at("TaskGroups").at(0).at("Tasks").at(0).at("User"), "") << "a word, and not a pointer to one";
  EXPECT_EQ(bare.as_object().if_contains("DependsOn"), nullptr) << "Nomad does not know it";
  EXPECT_TRUE(describe::equal(job_from_json(bare), accept(job("")))) << "registering takes what parsing gives";
}

TEST(GivenNames, AreThoseOfTheWireToo) {
  Inputs as_written;
  as_written.canonicalize = false;
  const auto result =
      parse_job(R"({"id":"j","Priority":50,"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec",)"
                R"("Leader":false}]}]})",
                "j.json", as_written);
  const auto told = json::parse(encode_given(result.job.value(), result.given));
  EXPECT_EQ(told.at("Priority"), 50);
  EXPECT_TRUE(told.at("TaskGroups").at(0).at("Count").is_null());
  EXPECT_EQ(told.at("TaskGroups").at(0).at("Tasks").at(0).at("Driver"), "exec");
}

TEST(Files, AreOutOfReachWithoutADirectory) {
  const std::string text = job("priority = length(file(\"/etc/hostname\"))");
  const auto got = errors_of(text);
  EXPECT_NE(got.find("one may not call the function 'file'"), std::string::npos) << got;
  Inputs inputs;
  inputs.base_dir = test_dir();
  const auto parsed =
      accept(job("", "", "template {\n destination = \"local/a\"\n data = file(\"listings/munge.hcl\")\n}"), inputs);
  EXPECT_EQ(parsed.groups.at(0).tasks.at(0).templates.at(0).data, listing("munge.hcl"));
}

TEST(Roots, OfTheCallerAreKnown) {
  Inputs inputs;
  inputs.roots = {{"slurm", hcl::Value::object({{"conf", hcl::Value("x=1")}})}};
  const auto parsed = accept(job("meta { a = \"${slurm.conf}!\" }"), inputs);
  EXPECT_EQ(parsed.meta.at("a"), "x=1!");
  EXPECT_NE(errors_of(job("meta { a = slurm.cnf }"), inputs).find("conf"), std::string::npos);
}

TEST(ApiJson, TakesBlocksThatGoWritesOfNothingForNone) {
  // Nomad's servers write an `Update` of every job, and its library a `Consul` of every group.
  const auto job = job_from_json(json::parse(R"({"ID":"j","Type":"batch",
    "Update":{"Stagger":0,"MaxParallel":0,"HealthCheck":"","MinHealthyTime":0,"AutoRevert":false},
    "TaskGroups":[{"Name":"g","Consul":{"Namespace":""},"Update":null}]})"));
  EXPECT_FALSE(job.update);
  EXPECT_FALSE(job.groups.at(0).consul);
  // Who says only this means it: all at once, without a rollout.
  const auto at_once =
      job_from_json(json::parse(R"({"ID":"j","TaskGroups":[{"Name":"g","Update":{"MaxParallel":0}}]})"));
  ASSERT_TRUE(at_once.groups.at(0).update);
  EXPECT_EQ(at_once.groups.at(0).update->max_parallel, 0);
  const auto named = job_from_json(json::parse(R"({"ID":"j","TaskGroups":[{"Name":"g","Consul":{"Namespace":"n"}}]})"));
  EXPECT_TRUE(named.groups.at(0).consul);
}

}  // namespace
}  // namespace underway::jobspec

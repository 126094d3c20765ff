#include "migrate/files.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "fake_api.hpp"
#include "jobspec/jobspec.hpp"
#include "migrate/file_text.hpp"
#include "migrate/kinds.hpp"
#include "migrate/nomad_names.hpp"

namespace underway::migrate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const OutFile& file(const Files& files, const std::string& path) {
  for (const auto& out_file : files.files) {
    if (out_file.path == path) return out_file;
  }
  std::string paths;
  for (const auto& out_file : files.files) paths += " " + out_file.path;
  throw Error(Code::not_found, path + " is not among" + paths);
}

/// An Underway whose job says what no Nomad understands.
FakeApi underway_with_more() {
  auto api = small_nomad();
  std::string job = nomad_job("munge", "hpc", R"("DependsOn":[{"Job":"chrony","Scope":"node"}],)",
                              R"("Services":[{"Name":"auth","PortLabel":"db","Provider":"nomad"}],)", "raw_exec");
  job.replace(job.find("\"image\":\"redis:7\""), 17, "\"command\":\"/usr/sbin/munged\",\"kill_mode\":\"process\"");
  job.replace(job.find("\"CPU\":500"), 9, "\"CPU\":500,\"PIDs\":64");
  api.get("/v1/job/munge?namespace=hpc", job);
  api.get("/v1/namespaces", R"([{"Name":"hpc","Description":"Slurm \"x\" ${y}","Meta":{"owner":"ops"},)"
                            R"("Capabilities":{"EnabledTaskDrivers":["raw_exec"]},"RawExecAsRoot":true}])");
  return api;
}

std::string line(const std::string& text, std::size_t number) { return split(text, '\n').at(number - 1); }

TEST(Files, SayWhatANomadDoesNotKnowWithItsLine) {
  const auto files = make_files(underway_with_more().read(), {});
  const auto& job = file(files, "jobs/hpc/munge.nomad.hcl");
  std::map<std::string, const Inexpressible*> by_what;
  for (const auto& field : files.inexpressible) by_what[field.what] = &field;
  for (const auto& [what, first] : std::map<std::string, std::string>{
           {"depends_on", "depends_on {"},
           {"group 'cache' task 'redis' resources: pids", "pids = 64"},
           {"group 'cache' task 'redis': config.kill_mode", "kill_mode = \"process\""}}) {
    SCOPED_TRACE(what);
    ASSERT_TRUE(by_what.contains(what));
    EXPECT_EQ(by_what[what]->file, job.path);
    const auto there = line(job.text, by_what[what]->line);
    EXPECT_TRUE(there.starts_with("#")) << there;
    EXPECT_THAT(there, HasSubstr(first));
  }
  EXPECT_TRUE(by_what.contains("RawExecAsRoot"));
  EXPECT_EQ(files.inexpressible.size(), 4u);
  EXPECT_THAT(file(files, "README.md").text, HasSubstr("jobs/hpc/munge.nomad.hcl:"));
}

TEST(Files, OfAJobReadBackAsTheJobWithoutThat) {
  const auto files = make_files(underway_with_more().read(), {});
  const auto& text = file(files, "jobs/hpc/munge.nomad.hcl").text;
  EXPECT_THAT(text, HasSubstr("provider = \"nomad\"")) << "Nomad would take Consul";
  const auto read = jobspec::parse_job(text, "munge.nomad.hcl");
  ASSERT_TRUE(read.job) << text;
  EXPECT_TRUE(read.job->depends_on.empty());
  EXPECT_EQ(read.job->ns, "hpc");
  EXPECT_EQ(read.job->groups.at(0).tasks.at(0).resources.pids, 0);
  EXPECT_EQ(read.job->groups.at(0).tasks.at(0).resources.cpu, 500);
  EXPECT_EQ(read.job->groups.at(0).tasks.at(0).config.as_object().size(), 1u);
}

TEST(Files, AsJsonAreWithoutThatToo) {
  const auto files = make_files(underway_with_more().read(), {.format = Format::json});
  const auto body = json::parse(file(files, "jobs/hpc/munge.json").text).as_object();
  const auto& job = body.at("Job").as_object();
  EXPECT_FALSE(job.contains("DependsOn"));
  EXPECT_EQ(job.at("TaskGroups")
                .as_array()
                .at(0)
                .as_object()
                .at("Tasks")
                .as_array()
                .at(0)
                .as_object()
                .at("Config")
                .as_object()
                .size(),
            1u);
  EXPECT_EQ(files.inexpressible.size(), 4u);
  EXPECT_THAT(file(files, "restore.sh").text, HasSubstr("try job run -detach -json 'jobs/hpc/munge.json'"));
}

/// Every field that we describe and Nomad's table does not have. Whoever adds one finds it here.
void find_own(const describe::Structure& structure, std::set<std::string_view>& seen, std::set<std::string>& out) {
  if (!seen.insert(structure.name).second) return;
  for (const auto& field : structure.fields) {
    if (field.form == describe::Form::wire || field.form == describe::Form::label) continue;
    if (!nomad_knows(structure, field)) {
      out.insert(fmt::format("{} {}", structure.name, field.hcl));
      continue;
    }
    const auto* type = field.type;
    while (type->element != nullptr) type = type->element;
    if (type->kind == describe::Kind::structure) find_own(type->structure(), seen, out);
  }
}

TEST(NomadKnows, AllOfAJobButWhatIsOurs) {
  std::set<std::string_view> seen;
  std::set<std::string> own;
  find_own(describe::structure_of<model::Job>(), seen, own);
  EXPECT_EQ(own, (std::set<std::string>{"group depends_on", "job depends_on", "resources numa", "resources pids",
                                        "spread across_groups"}));
}

TEST(Files, HoldSecretsOnlyWhenAskedAndThenForTheirOwnerOnly) {
  auto api = small_nomad();
  const auto inventory = api.read();
  const auto without = make_files(inventory, {});
  for (const auto& out_file : without.files) {
    EXPECT_EQ(out_file.text.find("hush-hush"), std::string::npos) << out_file.path;
    EXPECT_EQ(out_file.text.find("tiger-42"), std::string::npos) << out_file.path;
  }
  EXPECT_THAT(file(without, "README.md").text, HasSubstr("variable 'nomad/jobs/munge' (hpc): a secret"));
  EXPECT_THAT(file(without, "restore.sh").text, Not(HasSubstr("var put")));

  const auto with = make_files(inventory, {.with_secrets = true});
  const auto& variable = file(with, "variables/hpc/nomad%2Fjobs%2Fmunge.json");
  EXPECT_THAT(variable.text, HasSubstr("hush-hush"));
  EXPECT_TRUE(variable.secret);
  EXPECT_TRUE(file(with, "auth-methods/site.json").secret);
  for (const auto& out_file : with.files) {
    if (!out_file.secret) EXPECT_EQ(out_file.text.find("hush-hush"), std::string::npos) << out_file.path;
  }
}

TEST(Files, KeepTheSourceOfAJobAsItWasWritten) {
  const auto files = make_files(small_nomad().read(), {.with_secrets = true, .for_nomad = false});
  EXPECT_EQ(file(files, "jobs/hpc/munge.source.hcl").text, "job \"munge\" { # by hand\n}");
  EXPECT_EQ(file(files, "jobs/hpc/munge.source.vars.hcl").text, "a = 1\n# -var b='2'\n");
  EXPECT_TRUE(file(files, "jobs/hpc/munge.source.vars.hcl").secret);
}

TEST(Files, OfNamespacesReadAsNomadsSpecification) {
  const auto files = make_files(underway_with_more().read(), {});
  EXPECT_EQ(file(files, "namespaces/hpc.hcl").text,
            "capabilities {\n  enabled_task_drivers = [\"raw_exec\"]\n}\ndescription = \"Slurm \\\"x\\\" $${y}\"\n"
            "meta {\n  owner = \"ops\"\n}\nname = \"hpc\"\n");
  EXPECT_EQ(file(files, "node-pools/gpu.hcl").text,
            "node_pool \"gpu\" {\n  description = \"GPUs\"\n  meta {\n    rack = \"7\"\n  }\n}\n");
  EXPECT_EQ(file(files, "policies/ops.hcl").text, "namespace \"hpc\" {\n  policy = \"write\"\n}\n");
}

TEST(Files, SayHowLongIdentitiesAreGoodAsADuration) {
  auto nomad = underway_with_more();
  nomad.get("/v1/node/pools", R"([{"Name":"gpu","NodeIdentityTTL":3600000000000}])");
  EXPECT_EQ(file(make_files(nomad.read(), {}), "node-pools/gpu.hcl").text,
            "node_pool \"gpu\" {\n  node_identity_ttl = \"1h0m0s\"\n}\n");
}

TEST(Files, NameTheBoundOnNodesThatNoFlagSets) {
  auto nomad = underway_with_more();
  nomad.get("/v1/operator/scheduler/configuration",
            R"({"SchedulerConfig":{"SchedulerAlgorithm":"spread","NodeLimitForFeasibilityChecks":7}})");
  const auto files = make_files(nomad.read(), {.for_nomad = true});
  const auto named = std::ranges::find(files.inexpressible, "NodeLimitForFeasibilityChecks", &Inexpressible::what);
  ASSERT_NE(named, files.inexpressible.end());
  EXPECT_THAT(named->why, HasSubstr("no flag"));
}

TEST(Files, StayInTheirDirectoryAndInTheirWordsWhateverNamesSay) {
  EXPECT_EQ(file_name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
  EXPECT_EQ(file_name(".."), "%2E.");
  EXPECT_EQ(file_name(""), "%");
  EXPECT_EQ(file_name("a.b-c_1"), "a.b-c_1");
  EXPECT_LE(file_name(std::string(4000, '/')).size(), 200u);
  EXPECT_NE(file_name(std::string(300, 'a') + "b"), file_name(std::string(300, 'a') + "c"));
  EXPECT_EQ(shell_word("it's $(rm -rf /)"), R"('it'\''s $(rm -rf /)')");
}

TEST(WriteFiles, MakesADirectoryForItsOwnerAndNeverOneThatHoldsSomething) {
  char name[] = "/tmp/underway-files-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string directory = std::string(name) + "/out";
  const auto mode = [&](const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat((directory + path).c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  };
  write_files(make_files(small_nomad().read(), {.with_secrets = true}), directory);
  EXPECT_EQ(mode(""), 0700u);
  EXPECT_EQ(mode("/variables/hpc/nomad%2Fjobs%2Fmunge.json"), 0600u);
  EXPECT_EQ(mode("/restore.sh"), 0755u);
  EXPECT_EQ(mode("/jobs/default/redis.nomad.hcl"), 0644u);
  EXPECT_THROW(write_files({}, directory), Error);
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace underway::migrate::testing

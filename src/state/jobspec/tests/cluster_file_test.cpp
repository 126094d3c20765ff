#include "jobspec/cluster_file.hpp"

#include "base/json/json.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace underway::jobspec {
namespace {

constexpr const char* kCluster = R"(variable "size" {
  type = number
  default = 4
}
locals {
  prefix = "c"
}
cluster "hpc" {
  datacenter = "dc9"
  network "mgmt" {
    cidr = "10.77.0.0/24"
  }
  network "fabric" {
    cidr = "10.78.0.0/24"
  }
  share "/home" {}
  pool "mgmt" {
    networks = ["mgmt"]
  }
  pool "compute" {
    size = var.size
    hostname = "${local.prefix}%d"
    networks = ["fabric", "mgmt"]
    cpus = 2
    meta {
      rack = "1"
    }
  }
}
)";

std::string service(const std::string& id, const std::string& more = "") {
  return "job \"" + id + "\" {\n" + more + "\n  task \"t\" {\n    driver = \"exec\"\n  }\n}\n";
}

DirectoryInputs inputs() {
  DirectoryInputs in;
  in.addresses = [](const model::Cluster& cluster) {
    Addresses out;
    int next = 1;
    for (const auto& pool : cluster.pools) {
      for (const auto& host : pool.host_names()) {
        out[host] = {{"mgmt", "10.77.0." + std::to_string(next)}, {"fabric", "10.78.0." + std::to_string(next)}};
        ++next;
      }
    }
    return out;
  };
  return in;
}

DirectoryResult load(const std::vector<SourceFile>& files, const DirectoryInputs& in = inputs()) {
  return load_directory(files, "/tmp", in);
}

std::string errors(const std::vector<SourceFile>& files, const DirectoryInputs& in = inputs()) {
  const auto result = load(files, in);
  EXPECT_FALSE(result.directory);
  return result.diagnostics.render();
}

TEST(ClusterFile, DescribesNetworksSharesAndPools) {
  const auto result = load({{"cluster.hcl", kCluster}});
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  const auto& cluster = result.directory->cluster;
  EXPECT_EQ(cluster.name, "hpc");
  EXPECT_EQ(cluster.networks.at(1).cidr, "10.78.0.0/24");
  EXPECT_EQ(cluster.shares.at(0).path, "/home");
  EXPECT_EQ(cluster.pools.at(1).host_names(), (std::vector<std::string>{"c1", "c2", "c3", "c4"}));
  EXPECT_EQ(cluster.pools.at(1).meta.at("rack"), "1");
  EXPECT_EQ(cluster.directory, "/tmp");
}

TEST(ClusterFile, SaysWhereMachinesMayBeInTheWordsOfAJobFile) {
  const std::string before =
      "cluster \"hpc\" {\n network \"lan\" {\n cidr = \"10.77.0.0/24\"\n}\n pool \"metal\" {\n bridges = true\n}\n"
      "pool \"burst\" {\n provider = \"qemu\"\n cpus = 1\n memory = 512\n machine {\n on = \"metal\"\n"
      "image = \"/image\"\n";
  const auto result =
      load({{"cluster.hcl", before + "constraint {\n distinct_hosts = true\n}\n"
                                     "constraint {\n attribute = \"${attr.cpu.arch}\"\n value = \"amd64\"\n}\n"
                                     "affinity {\n attribute = \"${node.class}\"\n value = \"new\"\n weight = -20\n}\n"
                                     "spread {\n attribute = \"${meta.rack}\"\n target \"r1\" {\n percent = 60\n}\n}\n"
                                     "}\n}\n}\n"}});
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  const auto& machine = *result.directory->cluster.pools.at(1).machine;
  EXPECT_EQ(machine.constraints.at(0).operand, "distinct_hosts");
  EXPECT_EQ(machine.constraints.at(1).ltarget, "${attr.cpu.arch}");
  EXPECT_EQ(machine.affinities.at(0).weight, -20);
  EXPECT_EQ(machine.spreads.at(0).attribute, "${meta.rack}");
  EXPECT_EQ(machine.spreads.at(0).targets.at(0).percent, 60);
  EXPECT_NE(errors({{"cluster.hcl", before + "spread {\n attribute = \"${metta.rack}\"\n}\n}\n}\n}\n"}})
                .find("unknown name 'metta'"),
            std::string::npos);
}

TEST(ClusterFile, SaysWhatItsJobsNeedOfNamespaces) {
  const std::string namespaces =
      "namespace \"default\" {\n  raw_exec_as_root = true\n  allowed_users = [\"slurm\"]\n"
      "  capabilities {\n    disabled_task_drivers = [\"exec\"]\n  }\n}\n";
  const auto result = load({{"cluster.hcl", kCluster + namespaces}, {"a.hcl", service("a")}});
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  ASSERT_EQ(result.directory->namespaces.size(), 1u);
  const auto& ns = result.directory->namespaces[0];
  EXPECT_EQ(ns.name, "default");
  EXPECT_TRUE(ns.raw_exec_as_root);
  EXPECT_EQ(ns.allowed_users, std::vector<std::string>{"slurm"});
  EXPECT_EQ(ns.capabilities.disabled_task_drivers, std::vector<std::string>{"exec"});
  EXPECT_NE(errors({{"cluster.hcl", kCluster + namespaces + namespaces}}).find("declared twice"), std::string::npos);
  EXPECT_NE(errors({{"cluster.hcl", kCluster + std::string("namespace \"a b\" {}\n")}}).find("a b"), std::string::npos);
}

constexpr const char* kFiles = R"(
file "/etc/motd" {
  content = "welcome to ${cluster.name}\n"
}
file "access" {
  path = "/etc/security/access.conf"
  content = "+:ALL:ALL\n"
  owner = "root"
  mode = "0600"
  secret = true
  template = "go"
  drift = "report"
  when_removed = "remove"
  xattr = { "user.origin" = "underway" }
  targets {
    pools = ["compute"]
    capsules = ["slurm-*"]
  }
  before {
    command = ["/bin/true"]
  }
  after {
    command = ["/usr/bin/scontrol", "reconfigure"]
    timeout = "30s"
  }
  reload {
    job = "slurmd"
  }
}
)";

TEST(ClusterFile, DeclaresFilesHereAndBeside) {
  const auto result = load({{"cluster.hcl", kCluster + std::string("file \"/etc/hosts\" {\n  content = slurm\n}\n")},
                            {"base.files.hcl", kFiles}},
                           [] {
                             auto in = inputs();
                             in.roots = [](const model::Cluster&, const hcl::Value&) {
                               return std::map<std::string, hcl::Value>{{"slurm", hcl::Value("10.0.0.1 a\n")}};
                             };
                             return in;
                           }());
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  const auto& files = result.directory->files;
  ASSERT_EQ(files.size(), 3);
  EXPECT_EQ(files[0].content, "10.0.0.1 a\n");
  EXPECT_EQ(files[1].content, "welcome to hpc\n");
  const auto& access = files[2];
  EXPECT_EQ(access.where(), "/etc/security/access.conf");
  EXPECT_EQ(model::file_mode(access), 0600);
  EXPECT_TRUE(access.secret);
  EXPECT_EQ(access.templating, model::FileTemplate::go);
  EXPECT_EQ(access.drift, model::DriftPolicy::report);
  EXPECT_EQ(access.when_removed, model::RemovedPolicy::remove);
  EXPECT_EQ(access.xattrs.at("user.origin"), "underway");
  EXPECT_EQ(access.targets.capsules, std::vector<std::string>{"slurm-*"});
  EXPECT_EQ(access.after->command.at(1), "reconfigure");
  EXPECT_EQ(access.after->timeout, std::chrono::seconds(30));
  EXPECT_EQ(access.reloads.at(0).signal, "SIGHUP");
}

TEST(ClusterFile, SaysWhatIsWrongWithFiles) {
  const auto said = errors({{"cluster.hcl", kCluster},
                            {"a.files.hcl",
                             "file \"/etc/a\" {\n  content = \"x\"\n}\nfile \"/etc/a\" {\n  content = \"y\"\n}\n"
                             "file \"etc/b\" {\n  content = \"x\"\n}\nfile \"/etc/c\" {\n  source = \"no/such\"\n}\n"
                             "file \"/etc/d\" {\n  contents = \"x\"\n}\n"}});
  EXPECT_NE(said.find("file '/etc/a' is declared twice"), std::string::npos) << said;
  EXPECT_NE(said.find("the path is not absolute"), std::string::npos) << said;
  EXPECT_NE(said.find("no/such"), std::string::npos) << said;
  EXPECT_NE(said.find("contents"), std::string::npos) << said;
}

TEST(Directory, ATreeIsTheFilesThatLieInIt) {
  const auto base = std::filesystem::temp_directory_path() / fmt::format("underway-tree-{}", ::getpid());
  std::filesystem::create_directories(base / "files/prolog.d/deep");
  const auto write = [&](const char* name, const char* text) { std::ofstream(base / "files/prolog.d" / name) << text; };
  write("10-check", "#!/bin/sh\n");
  write("deep/key", "secret");
  std::filesystem::permissions(base / "files/prolog.d/10-check", std::filesystem::perms(0750));
  std::filesystem::permissions(base / "files/prolog.d/deep/key", std::filesystem::perms(0600));
  std::filesystem::create_symlink("10-check", base / "files/prolog.d/20-again");
  const std::vector<SourceFile> sources = {{"cluster.hcl", kCluster},
                                           {"a.files.hcl",
                                            "file \"/etc/slurm/prolog.d\" {\n  type = \"directory\"\n  source = "
                                            "\"files/prolog.d\"\n  owner = \"slurm\"\n  mode = \"0700\"\n  targets "
                                            "{\n    pools = [\"compute\"]\n  }\n}\n"}};
  const auto read = load_directory(sources, base, inputs());
  ::mkfifo((base / "files/prolog.d/pipe").c_str(), 0600);
  const auto refused = load_directory(sources, base, inputs());
  std::filesystem::remove_all(base);

  ASSERT_TRUE(read.directory) << read.diagnostics.render();
  const auto& files = read.directory->files;
  std::vector<std::string> seen;
  for (const auto& file : files)
    seen.push_back(fmt::format("{} {} {:o} {}{}", file.where(), describe::spell(file.type), model::file_mode(file),
                               file.content.value_or(""), file.link));
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "/etc/slurm/prolog.d directory 700 ", "/etc/slurm/prolog.d/10-check file 750 #!/bin/sh\n",
                      "/etc/slurm/prolog.d/20-again symlink 644 10-check", "/etc/slurm/prolog.d/deep directory 755 ",
                      "/etc/slurm/prolog.d/deep/key file 600 secret"}));
  for (const auto& file : files) {
    EXPECT_EQ(file.owner, "slurm");
    EXPECT_EQ(file.targets.pools, std::vector<std::string>{"compute"});
  }
  EXPECT_EQ(files[1].when_removed, model::RemovedPolicy::remove);
  EXPECT_FALSE(refused.directory);
  EXPECT_NE(refused.diagnostics.render().find("neither a file, a directory nor a symbolic link"), std::string::npos);
}

TEST(Directory, JobsSeeTheClusterItsVariablesAndWhatTheCallerAdds) {
  auto in = inputs();
  in.inputs.variables = {{"size", "2"}};
  in.roots = [](const model::Cluster& cluster, const hcl::Value& root) {
    EXPECT_NE(root.find("pools"), nullptr);
    return std::map<std::string, hcl::Value>{
        {"slurm", hcl::Value::object({{"conf", hcl::Value("ClusterName=" + cluster.name)}})}};
  };
  const auto result = load({{"cluster.hcl", kCluster},
                            {"a.hcl", service("a", R"(
  datacenters = [cluster.datacenter]
  priority = cluster.pools.compute.size + 10
  meta {
    hosts = join(",", [for h in cluster.pools["compute"].hosts : "${h.name}=${h.address}/${h.addresses["mgmt"]}"])
    net = cluster.networks.fabric.cidr
    shared = "${var.size}${local.prefix}"
    conf = slurm.conf
    node = "${node.class}"
  })")},
                            {"b.hcl", service("b")}},
                           in);
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  ASSERT_EQ(result.directory->jobs.size(), 2u);
  const auto& a = result.directory->jobs[0];
  EXPECT_EQ(a.file, "a.hcl");
  EXPECT_EQ(a.job.cluster, "hpc");
  EXPECT_EQ(a.job.priority, 12);
  EXPECT_EQ(a.job.datacenters, std::vector<std::string>{"dc9"});
  EXPECT_EQ(a.job.meta.at("hosts"), "c1=10.78.0.2/10.77.0.2,c2=10.78.0.3/10.77.0.3");
  EXPECT_EQ(a.job.meta.at("net"), "10.78.0.0/24");
  EXPECT_EQ(a.job.meta.at("shared"), "2c");
  EXPECT_EQ(a.job.meta.at("conf"), "ClusterName=hpc");
  EXPECT_EQ(a.job.meta.at("node"), "${node.class}");
  EXPECT_EQ(result.directory->cluster.jobs, (std::vector<std::string>{"a", "b"}));
}

TEST(Directory, ReadsItsVariablesFileBelowArguments) {
  const std::vector<SourceFile> files = {{"cluster.hcl", kCluster},
                                         {"a.hcl", service("a", "priority = var.p")},
                                         {"underway.vars.hcl", "size = 3\np = 60\n"}};
  auto result = load(files);
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  EXPECT_EQ(result.directory->cluster.pools.at(1).size, 3);
  EXPECT_EQ(result.directory->jobs.at(0).job.priority, 60);
  auto in = inputs();
  in.inputs.variables = {{"p", "61"}};
  result = load(files, in);
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  EXPECT_EQ(result.directory->jobs.at(0).job.priority, 61);
}

TEST(Directory, KnowsAVariableWhenOneOfItsFilesDoes) {
  auto in = inputs();
  in.inputs.variables = {{"only_b", "x"}};
  const std::vector<SourceFile> files = {{"cluster.hcl", kCluster},
                                         {"a.hcl", service("a")},
                                         {"b.hcl", "variable \"only_b\" {\n  default = \"y\"\n}\n" + service("b")}};
  EXPECT_TRUE(load(files, in).directory);
  in.inputs.variables = {{"only_c", "x"}};
  EXPECT_EQ(errors(files, in),
            "error: variable 'only_c' is given a value, and neither declared nor used\n  do:    write 'only_b'\n");
}

TEST(Directory, ReportsTheErrorsOfAllFiles) {
  const auto got = errors({{"cluster.hcl", kCluster},
                           {"a.hcl", service("a", "prioriti = 1")},
                           {"b.hcl", "job \"b\" {\n"},
                           {"c.hcl", service("c", "priority = cluster.pool")}});
  for (const char* part : {"a.hcl:2:1", "b.hcl:", "c.hcl:2:"}) EXPECT_NE(got.find(part), std::string::npos) << got;
}

TEST(Directory, SaysErrorsInTheSharedPartOnce) {
  const auto got = errors({{"cluster.hcl", "locals {\n  x = var.missing\n}\n" + std::string(kCluster)},
                           {"a.hcl", service("a")},
                           {"b.hcl", service("b")}});
  EXPECT_EQ(got,
            "error: variable 'missing' is neither declared nor given a value\n  at:    cluster.hcl:2:7\n"
            "       2 |   x = var.missing\n         |       ^^^^^^^^^^^\n"
            "  do:    give -var missing=…, or declare it: variable \"missing\" {}\n");
}

TEST(Directory, RefusesWhatTheClusterLacks) {
  EXPECT_NE(errors({{"a.hcl", service("a")}}).find("there is no cluster.hcl"), std::string::npos);
  EXPECT_NE(errors({{"cluster.hcl", ""}}).find("declares no cluster"), std::string::npos);
  EXPECT_NE(errors({{"cluster.hcl", "cluster \"x\" {\n  pool \"p\" {\n    networks = [\"m\"]\n  }\n}\n"}})
                .find("network 'm' is not declared"),
            std::string::npos);
  EXPECT_NE(errors({{"cluster.hcl", "cluster \"x\" {\n  netwrk \"p\" {}\n}\n"}}).find("write 'network'"),
            std::string::npos);
}

TEST(Directory, ReportsWhatTheCallersHooksThrow) {
  auto in = inputs();
  in.addresses = [](const model::Cluster&) -> Addresses { throw Error(Code::exhausted, "no address is left"); };
  EXPECT_EQ(errors({{"cluster.hcl",
                     "cluster \"x\" {\n  network \"n\" {\n    cidr = \"10.0.0.0/24\"\n  }\n"
                     "  pool \"p\" {}\n}\n"}},
                   in),
            "error: no address is left\n  at:    cluster.hcl:1:1\n       1 | cluster \"x\" {\n"
            "         | ^^^^^^^^^^^\n");
}

TEST(Dependencies, ShowTheirCycle) {
  const auto depends = [](const std::string& on) { return "  depends_on {\n    job = \"" + on + "\"\n  }"; };
  EXPECT_EQ(errors({{"cluster.hcl", kCluster},
                    {"a.hcl", service("a", depends("b"))},
                    {"b.hcl", service("b", depends("c"))},
                    {"c.hcl", service("c", depends("a"))}}),
            "error: depends_on: the jobs wait for each other: a → b → c → a\n  at:    c.hcl:2:3\n"
            "       2 |   depends_on {\n         |   ^^^^^^^^^^\n  do:    remove one of these depends_on blocks\n");
  EXPECT_TRUE(load({{"cluster.hcl", kCluster},
                    {"a.hcl", service("a", depends("b"))},
                    {"b.hcl", service("b")},
                    {"c.hcl", service("c", depends("a") + "\n" + depends("b"))}})
                  .directory);
}

TEST(Dependencies, NameJobsThatExist) {
  const std::vector<SourceFile> files = {
      {"cluster.hcl", kCluster},
      {"a.hcl",
       "job \"a\" {\n  group \"g\" {\n    depends_on {\n      job = \"mungee\"\n      scope = \"node\"\n    }\n"
       "    task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n"},
      {"munge.hcl", service("munge")}};
  EXPECT_EQ(errors(files),
            "error: depends_on: there is no job 'mungee'\n  at:    a.hcl:3:5\n       3 |     depends_on {\n"
            "         |     ^^^^^^^^^^\n  do:    write 'munge'\n");
  auto in = inputs();
  in.job_exists = [](std::string_view id) { return id == "mungee"; };
  EXPECT_TRUE(load(files, in).directory);
}

TEST(Directory, RefusesAJobDeclaredTwiceNamingBothPlaces) {
  EXPECT_EQ(errors({{"cluster.hcl", kCluster}, {"a.hcl", service("x")}, {"b.hcl", service("x")}}),
            "error: job 'x' is declared twice\n  at:    b.hcl:1:1\n       1 | job \"x\" {\n         | ^^^^^^^\n"
            "  why:   the first is at a.hcl:1:1\n");
}

TEST(Directory, IsReadFromDisk) {
  const auto directory = std::filesystem::temp_directory_path() / fmt::format("jobspec-test-{}", ::getpid());
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "cluster.hcl") << kCluster;
  std::ofstream(directory / "a.hcl") << service("a", "meta {\n  x = file(\"data.txt\")\n}");
  std::ofstream(directory / "data.txt") << "hello";
  std::ofstream(directory / "notes.md") << "not HCL {";
  const auto result = load_directory(directory, inputs());
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  EXPECT_EQ(result.directory->jobs.at(0).job.meta.at("x"), "hello");
  EXPECT_NE(load_directory(directory, inputs()).diagnostics.render().find("ENOENT"), std::string::npos);
}

// --- rollouts

model::UpdatePolicy update_of(const std::string& type, const std::string& update,
                              const std::string& cluster = kCluster) {
  const auto result = load({{"cluster.hcl", cluster}, {"a.hcl", service("a", type + update)}});
  EXPECT_TRUE(result.directory) << result.diagnostics.render();
  if (!result.directory) return {};
  const auto& job = result.directory->jobs[0].job;
  return model::update_policy(job, job.groups[0]);
}

constexpr const char* kSystem = "type = \"system\"\nnode_pool = \"all\"\n";

TEST(ClusterFile, RollsOutSafelyWhatSaysNothingOfIt) {
  using namespace std::chrono_literals;
  const auto everywhere = update_of(kSystem, "");
  EXPECT_EQ(everywhere.max_parallel, 1);
  EXPECT_EQ(everywhere.canary, 1) << "percent, rounded up";
  EXPECT_TRUE(everywhere.auto_promote);
  EXPECT_TRUE(everywhere.auto_revert);
  EXPECT_EQ(everywhere.min_healthy_time, 5s);
  EXPECT_EQ(everywhere.healthy_deadline, 40s);
  EXPECT_EQ(everywhere.progress_deadline, 10min);
  const auto update = update_of("", "");
  EXPECT_EQ(update.max_parallel, 1);
  EXPECT_EQ(update.canary, 0);
  EXPECT_TRUE(update.auto_revert);
  EXPECT_FALSE(update.auto_promote);
  EXPECT_EQ(update.healthy_deadline, 5min);
  const auto by_itself =
      parse_job("job \"a\" {\n" + std::string(kSystem) + "task \"t\" {\n driver = \"exec\"\n}\n}\n", "a.hcl", {});
  EXPECT_EQ(model::update_policy(*by_itself.job, by_itself.job->groups[0]).max_parallel, 0) << "as in Nomad";
}

TEST(ClusterFile, TakesATenthOfTheHostsAtATime) {
  std::string text = kCluster;
  const std::string size = "default = 4";
  ASSERT_NE(text.find(size), std::string::npos);
  text.replace(text.find(size), size.size(), "default = 400");
  EXPECT_EQ(update_of(kSystem, "", text).max_parallel, 40);
  EXPECT_EQ(update_of("type = \"system\"\nnode_pool = \"compute\"\n", "", text).max_parallel, 40);
  EXPECT_EQ(update_of("type = \"system\"\nnode_pool = \"mgmt\"\n", "", text).max_parallel, 1);
}

TEST(ClusterFile, RollsOutAsAJobSays) {
  using namespace std::chrono_literals;
  const auto said = update_of(kSystem, "update {\n max_parallel = 2\n auto_promote = false\n canary = 20\n}\n");
  EXPECT_EQ(said.max_parallel, 2);
  EXPECT_EQ(said.canary, 20);
  EXPECT_FALSE(said.auto_promote);
  EXPECT_TRUE(said.auto_revert);
  const auto without = update_of(kSystem, "update {\n canary = 0\n}\n");
  EXPECT_EQ(without.canary, 0);
  EXPECT_FALSE(without.auto_promote);
  const auto at_once = update_of(kSystem, "update {\n max_parallel = 0\n}\n");
  EXPECT_FALSE(at_once.rolls());
  EXPECT_EQ(at_once.canary, 0);
  const auto slow = update_of(kSystem, "update {\n min_healthy_time = \"2m\"\n}\n");
  EXPECT_EQ(slow.min_healthy_time, 2min);
  EXPECT_EQ(slow.healthy_deadline, 5min);
  const auto quick = update_of(kSystem, "update {\n healthy_deadline = \"4s\"\n}\n");
  EXPECT_EQ(quick.min_healthy_time, 2s);
}

TEST(ClusterFile, TakesNoCapsuleBackWithoutItsData) {
  const std::string capsule =
      "job \"a\" {\n task \"t\" {\n driver = \"capsule\"\n config {\n image = \"svc:1\"\n}\n}\n}\n";
  const auto result = load({{"cluster.hcl", kCluster}, {"a.hcl", capsule}});
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  const auto& job = result.directory->jobs[0].job;
  EXPECT_FALSE(model::update_policy(job, job.groups[0]).auto_revert);
}

TEST(ClusterFile, LetsAGroupSayItsOwn) {
  const std::string group =
      "group \"g\" {\n update {\n max_parallel = 0\n}\n task \"t\" {\n driver = \"exec\"\n}\n}\n"
      "group \"h\" {\n task \"t\" {\n driver = \"exec\"\n}\n}\n";
  const auto result =
      load({{"cluster.hcl", kCluster}, {"a.hcl", "job \"a\" {\n" + std::string(kSystem) + group + "}\n"}});
  ASSERT_TRUE(result.directory) << result.diagnostics.render();
  const auto& job = result.directory->jobs[0].job;
  EXPECT_FALSE(model::update_policy(job, job.groups[0]).rolls());
  EXPECT_EQ(model::update_policy(job, job.groups[1]).canary, 1);
}

}  // namespace
}  // namespace underway::jobspec

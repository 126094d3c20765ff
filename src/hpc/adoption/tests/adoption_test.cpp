#include "adoption/plan/adoption.hpp"

#include <filesystem>
#include <fstream>

#include "adoption/plan/plan_text.hpp"
#include "adoption/testing/paper_site.hpp"
#include "base/text.hpp"
#include "imagebuild/definition.hpp"
#include "inspection/survey_host.hpp"
#include "jobspec/cluster_file.hpp"
#include "os/file.hpp"

namespace underway::adoption {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSlurmConf = R"(ClusterName=lcc
SlurmctldHost=sms(10.1.0.1)
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/var/run/slurm/slurmctld.pid
SlurmctldLogFile=/var/log/slurmctld.log
PrologSlurmctld=/etc/slurm/prolog.sh
SlurmdTimeout=300
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
JobCompPass=hunter2
SchedulerType=sched/backfill
NodeName=c[1-4] NodeAddr=10.1.1.[1-4] CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=normal Nodes=c[1-4] Default=YES
)";

constexpr const char* kWarewulfNodes = R"(nodeprofiles:
  default:
    comment: the default profile
    container name: rocky-8
nodes:
  c1:
    profiles:
    - default
    network devices:
      default:
        ipaddr: 10.1.1.1
        hwaddr: 00:25:90:aa:bb:01
  c2:
    profiles: [default]
    network devices:
      default: {ipaddr: 10.1.1.2}
)";

constexpr const char* kWarewulfConf = R"(ipaddr: 10.1.0.1
netmask: 255.255.0.0
network: 10.1.0.0
warewulf:
  port: 9873
dhcp:
  enabled: true
  range start: 10.1.255.251
  range end: 10.1.255.253
)";

/// The root directory of a management server as the recipes of OpenHPC make it, with the files that Debian's packages
/// install where this machine has them.
class Adopt : public ::testing::Test {
 protected:
  Adopt() {
    std::string pattern = (fs::temp_directory_path() / "adopt-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    put("/etc/hostname", "sms\n");
    put("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    put("/etc/passwd",
        "root:x:0:0::/root:/bin/bash\nslurm:x:64030:64030::/:/usr/sbin/nologin\nann:x:1000:1000::/home/ann:/bin/"
        "bash\n");
    put("/etc/group", "root:x:0:\n");
    put("/etc/hosts", "10.1.0.1 sms\n");
    put("/etc/shadow", "ann:$y$secretsecret:1::::::\n");
    put("/etc/slurm/slurm.conf", kSlurmConf);
    put("/etc/slurm/slurmdbd.conf",
        "StorageType=accounting_storage/"
        "mysql\nStorageHost=localhost\nStorageUser=slurm\nStoragePass=hunter2\nStorageLoc=slurm_acct_db\n"
        "SlurmUser=slurm\nLogFile=/var/log/slurm/slurmdbd.log\n");
    put("/etc/munge/munge.key", "verysecretmungekey");
    put("/etc/exports", "/opt/ohpc/pub *(ro,no_subtree_check)\n/home *(rw,no_root_squash)\n");
    put("/etc/warewulf/nodes.conf", kWarewulfNodes);
    put("/etc/warewulf/warewulf.conf", kWarewulfConf);
    put("/etc/nftables.conf", "table ip nat {\n  chain post {\n    oifname \"eth1\" masquerade\n  }\n}\n");
    put("/etc/sysctl.d/90.conf", "net.ipv4.ip_forward=1\n");
    put("/etc/cron.d/wwgetfiles", "*/5 * * * * root /warewulf/bin/wwgetfiles\n");
    copy("/etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst\nallow 10.1.0.0/16\n");
    copy("/etc/rsyslog.conf",
         "module(load=\"imudp\")\ninput(type=\"imudp\" port=\"514\")\n*.* @@splunk.example.org:514\n");
    copy("/etc/postfix/main.cf", "myhostname = sms\nrelayhost = [smtp.example.org]\n");
    copy("/etc/ganglia/gmond.conf", "udp_send_channel {\n  host = sms\n  port = 8649\n}\n");
    for (const char* unit : {"slurmctld", "slurmdbd", "munge", "mariadb", "chrony", "rsyslog", "postfix"})
      service(unit);
  }
  ~Adopt() override { fs::remove_all(root_); }

  void put(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  /// This machine's file, and `more` behind it.
  void copy(const std::string& path, std::string_view more) {
    std::string text;
    if (fs::exists(path)) text = os::read_file(path);
    put(path, text + std::string(more));
  }
  void service(const std::string& name) {
    const std::string unit = "/lib/systemd/system/" + name + ".service";
    static const std::map<std::string, std::string> kPrograms = {{"munge", "munged"},
                                                                 {"mariadb", "mariadbd"},
                                                                 {"chrony", "chronyd"},
                                                                 {"rsyslog", "rsyslogd"},
                                                                 {"postfix", "postfix"}};
    const auto program = kPrograms.find(name);
    if (fs::exists(unit))
      put(unit, os::read_file(unit));
    else
      put(unit, "[Service]\nExecStart=/usr/sbin/" + (program == kPrograms.end() ? name : program->second) + "\n");
    const std::string wants = root_ + "/etc/systemd/system/multi-user.target.wants";
    fs::create_directories(wants);
    fs::create_symlink(unit, wants + "/" + name + ".service");
  }

  Adoption adopt(const traffic::Traffic& traffic = testing::paper_traffic(), AdoptionOptions options = {}) {
    const auto host = inspection::survey_host({.root = root_}, TimePoint{});
    const auto division = divide(traffic, {host}, {}, ServiceCatalog{});
    return plan_adoption(host, inspection::read_site(root_), division, options);
  }

  /// Every file with its bytes: what a survey must leave as it is.
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      if (entry.is_regular_file()) out[entry.path().string()] = os::read_file(entry.path().string());
    return out;
  }

  std::string root_;
};

std::string problems_of(const Adoption& adoption) {
  std::vector<jobspec::SourceFile> sources;
  for (const auto& [name, text] : adoption.files)
    if (name.ends_with(".hcl") && name.find('/') == std::string::npos) sources.push_back({name, text});
  std::string out = jobspec::load_directory(sources, "/", {}).diagnostics.render();
  const auto canary = adoption.files.find("canary/slurm-canary.hcl");
  if (canary != adoption.files.end()) out += jobspec::parse_job(canary->second, canary->first).diagnostics.render();
  for (const auto& [name, text] : adoption.files)
    if (name.starts_with("images/") && name.ends_with(".hcl"))
      out += imagebuild::parse_definition(text, name, "/").diagnostics.render();
  return out;
}

TEST_F(Adopt, SiteIsReadFromItsConfiguration) {
  const inspection::Site site = inspection::read_site(root_);
  EXPECT_EQ(site.slurm.cluster, "lcc");
  EXPECT_EQ(site.slurm.controller, "sms(10.1.0.1)");
  EXPECT_EQ(site.slurm.state_directory, "/var/spool/slurmctld");
  EXPECT_TRUE(site.slurm.accounting);
  EXPECT_EQ(site.accounting.database, "slurm_acct_db");
  EXPECT_TRUE(site.accounting.has_password);
  ASSERT_EQ(site.warewulf.nodes.size(), 2U);
  EXPECT_THAT(site.warewulf.nodes[1].addresses, ElementsAre("10.1.1.2"));
  EXPECT_EQ(site.warewulf.port, 9873);
  EXPECT_THAT(site.users, ElementsAre("ann"));
  EXPECT_THAT(site.time_clients, Contains("allow 10.1.0.0/16"));
  EXPECT_THAT(site.log_outputs, Contains("@@splunk.example.org:514"));
  EXPECT_EQ(site.mail.at("relayhost"), "[smtp.example.org]");
  EXPECT_THAT(site.ganglia, Contains("udp_send_channel host sms port 8649"));
  EXPECT_TRUE(site.gaps.empty()) << join(site.gaps, "\n");
}

TEST_F(Adopt, PlanAndFilesComeOutAndParse) {
  const Adoption adoption = adopt();
  EXPECT_EQ(problems_of(adoption), "");
  for (const char* file : {"PLAN.md", "cluster.hcl", "slurm-services.hcl", "ntp.hcl", "syslog.hcl", "routing.hcl",
                           "images/slurm-services.hcl", "synchronised-files.sh", "canary/slurm-canary.hcl",
                           "canary/canary.conf", "survey/host.json", "survey/division.html"})
    EXPECT_TRUE(adoption.files.contains(file)) << file;
  EXPECT_THAT(adoption.files.at("cluster.hcl"), HasSubstr("raw_exec_as_root = true"));
  const std::string& plan = adoption.files.at("PLAN.md");
  EXPECT_THAT(plan, HasSubstr("## 1. Record a week of traffic"));
  EXPECT_THAT(plan, HasSubstr("Canary: a few drained nodes"));
  EXPECT_THAT(plan, HasSubstr("scontrol update nodename=c1,c2 state=drain"));
  EXPECT_THAT(plan, HasSubstr("underway survey check-silent"));
  EXPECT_THAT(plan, HasSubstr("Move Slurm, last and in one go"));
}

/// The step's text, from its title to the next one.
std::string slurm_step_of(const Adoption& adoption) {
  const std::string& plan = adoption.files.at("PLAN.md");
  const auto at = plan.find("Move Slurm, last and in one go");
  return plan.substr(at, plan.find("\n## ", at) - at);
}

/// Whether the lines stand in the text in this order.
std::string first_that_is_missing(std::string_view text, const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto at = text.find(line);
    if (at == std::string_view::npos) return line;
    text.remove_prefix(at + line.size());
  }
  return {};
}

TEST_F(Adopt, SlurmMovesWithoutAMomentOfTwoControllersOrOfNoState) {
  const std::string step = slurm_step_of(adopt());
  EXPECT_EQ(
      first_that_is_missing(step, {"SlurmdTimeout=3600",
                                   "scontrol reconfigure",
                                   "underway file add /etc/slurm/slurm.conf",
                                   "squeue -a -h -t R",
                                   "systemctl disable --now slurmctld.service",
                                   "systemctl disable --now slurmdbd.service",
                                   "systemctl disable --now mariadb.service",
                                   "! pgrep -ax 'mariadbd|slurmctld|slurmdbd' && ls -l /var/spool/slurmctld/job_state",
                                   "# on infra1",
                                   "--delete sms:/var/spool/slurmctld/ ",
                                   "ip address add ",
                                   "underway node eligibility -disable infra2",
                                   "underway job run slurm-services.hcl",
                                   "comm -23",
                                   "-e 's/^#before# //'",
                                   "until underway file status",
                                   "scontrol reconfigure",
                                   "The way back",
                                   "SlurmdTimeout=3600",
                                   "underway job stop slurm-services",
                                   "ip address add ",
                                   "! pgrep -ax",
                                   "--delete --no-devices",
                                   "sms:/var/spool/slurmctld/",
                                   "systemctl enable --now mariadb.service",
                                   "systemctl enable --now slurmdbd.service",
                                   "systemctl enable --now slurmctld.service",
                                   "-e 's/^#before# //'"}),
      "")
      << step;
  EXPECT_THAT(step, Not(HasSubstr("munge.service"))) << "the server's own commands need it";
  EXPECT_THAT(step, Not(HasSubstr("--ignore-missing-args"))) << "no state is a reason to stop";
}

TEST_F(Adopt, NodesThatAreNeverTakenForDeadNeedNoLongerTimeout) {
  put("/etc/slurm/slurm.conf", std::string(kSlurmConf) + "SlurmdTimeout=0\n");
  EXPECT_THAT(slurm_step_of(adopt()), Not(HasSubstr("SlurmdTimeout=3600")));
}

TEST_F(Adopt, ControllerAsksBeforeItStarts) {
  const Adoption adoption = adopt();
  const std::string& job = adoption.files.at("slurm-services.hcl");
  EXPECT_THAT(job, HasSubstr("step \"probe\" {\n          command = [\"/usr/lib/capsule/may-start\"]"));
  EXPECT_THAT(job, HasSubstr("kill_timeout = \"260s\"")) << "the sum of what its services may take";
  EXPECT_THAT(adoption.files.at("images/slurm-services.hcl"), HasSubstr("source = \"files/slurm-services/may-start\""));
  const std::string& asks = adoption.files.at("images/files/slurm-services/may-start");
  EXPECT_THAT(asks, HasSubstr("state=/var/spool/slurmctld user=slurm port=6817\n"));
  EXPECT_THAT(asks, HasSubstr("database=slurm_acct_db\n"));
  EXPECT_THAT(adoption.files.at("canary/slurm-canary.hcl"), Not(HasSubstr("may-start")));
}

TEST_F(Adopt, WhatTheHostTellsIsFilledIn) {
  const Adoption adoption = adopt();
  EXPECT_THAT(adoption.files.at("slurm-services.hcl"), HasSubstr("for d in /var/run/slurm; do"));
  EXPECT_THAT(adoption.files.at("slurm-services.hcl"), HasSubstr("for d in /var/log/slurm; do"));
  EXPECT_THAT(adoption.files.at("PLAN.md"), HasSubstr("Users of services: `slurm 64030:64030`"));
  EXPECT_THAT(join(adoption.notes, "\n"), HasSubstr("PrologSlurmctld=/etc/slurm/prolog.sh"));
  EXPECT_THAT(adoption.files.at("images/slurm-services.hcl"), HasSubstr("remove = [\"/var/spool/slurmctld/*\""))
      << adoption.files.at("images/slurm-services.hcl");
}

TEST_F(Adopt, InterfaceIsTheOneOfTheSurvey) {
  inspection::HostSurvey host = inspection::survey_host({.root = root_}, TimePoint{});
  host.interfaces = {{"prov.7", "", {"10.1.0.1/16"}}};
  const auto division = divide(testing::paper_traffic(), {host}, {}, ServiceCatalog{});
  const std::string step = slurm_step_of(plan_adoption(host, inspection::read_site(root_), division, {}));
  EXPECT_THAT(step, HasSubstr("echo 1 >/proc/sys/net/ipv4/conf/prov.7/promote_secondaries && ip address add "));
  EXPECT_THAT(step, HasSubstr("ip address del 10.1.0.1/16 dev prov.7"));
  EXPECT_THAT(slurm_step_of(adopt()), HasSubstr("dev IFACE")) << "a root directory has no interfaces";
}

TEST_F(Adopt, DatabaseThatOthersNeedIsASiteMatter) {
  inspection::HostSurvey host = inspection::survey_host({.root = root_}, TimePoint{});
  host.programs.push_back(testing::program("httpd", "httpd.service", {}, {{"mariadbd", "connection", "socket"}}));
  const auto division = divide(testing::paper_traffic(), {host}, {}, ServiceCatalog{});
  EXPECT_THAT(join(plan_adoption(host, inspection::read_site(root_), division, {}).notes, "\n"),
              HasSubstr("httpd of the server needs mariadbd, which moves with Slurm"));
}

TEST_F(Adopt, EveryStepHasItsWayBack) {
  const std::string plan = adopt().files.at("PLAN.md");
  std::size_t steps = 0, backs = 0;
  for (const auto& line : split(plan, '\n')) {
    if (line.starts_with("## ") && std::isdigit(static_cast<unsigned char>(line[3])) != 0) ++steps;
    if (line.starts_with("**The way back:**")) ++backs;
  }
  EXPECT_GT(steps, 10U);
  EXPECT_EQ(steps, backs);
}

TEST_F(Adopt, SecretsAreNamedAndNeverCopied) {
  for (const auto& [name, text] : adopt().files) {
    SCOPED_TRACE(name);
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(text, Not(HasSubstr("verysecretmungekey")));
    EXPECT_THAT(text, Not(HasSubstr("secretsecret")));
  }
  EXPECT_THAT(adopt().files.at("PLAN.md"), HasSubstr("Secret, not read: `/etc/munge/munge.key`"));
  EXPECT_THAT(
      adopt().files.at("synchronised-files.sh"),
      HasSubstr("underway file add /etc/munge/munge.key -secret -owner munge -group munge -capsule 'slurm-*'\n"));
}

TEST_F(Adopt, PasswordOfTheDatabaseGoesToOneCapsuleAlone) {
  const std::string files = adopt().files.at("synchronised-files.sh");
  EXPECT_THAT(
      files,
      HasSubstr(
          "underway file add /etc/slurm/slurmdbd.conf -secret -owner slurm -group slurm -capsule slurm-services\n"));
  EXPECT_THAT(files, HasSubstr("underway file add /etc/slurm/slurm.conf -owner root -group root -capsule 'slurm-*'\n"));
}

TEST_F(Adopt, NothingOnTheMachineChanges) {
  const auto before = tree();
  adopt();
  EXPECT_EQ(tree(), before);
}

TEST_F(Adopt, CanaryHasPortsStateAndNodesOfItsOwn) {
  const std::string canary = adopt().files.at("canary/canary.conf");
  EXPECT_THAT(canary, HasSubstr("SlurmctldPort=16817\nSlurmdPort=16818\n"));
  EXPECT_THAT(canary, HasSubstr("StateSaveLocation=/var/spool/slurmctld-canary\n"));
  EXPECT_THAT(canary, HasSubstr("NodeName=c1 CPUs=8 RealMemory=16000 State=UNKNOWN\n"));
  EXPECT_THAT(canary, HasSubstr("PartitionName=canary Nodes=c1,c2"));
  EXPECT_THAT(canary, HasSubstr("SchedulerType=sched/backfill"));
  EXPECT_THAT(canary, Not(HasSubstr("c[1-4]")));
  EXPECT_THAT(canary, Not(HasSubstr("accounting_storage/slurmdbd")));
  EXPECT_THAT(canary, Not(HasSubstr("ClusterName=lcc")));
}

TEST_F(Adopt, AddressesAreSuggestedThatNobodyHas) {
  const Adoption adoption = adopt();
  EXPECT_THAT(adoption.files.at("slurm-services.hcl"), HasSubstr("addresses = [\"10.1.0.1/16\"]"));
  std::set<std::string> seen;
  for (const char* name : {"ntp.hcl", "mail.hcl", "syslog.hcl", "routing.hcl", "canary/slurm-canary.hcl"}) {
    const std::string& text = adoption.files.at(name);
    const auto at = text.find("addresses = [\"");
    const std::string address = text.substr(at + 14, text.find('"', at + 14) - at - 14);
    EXPECT_TRUE(seen.insert(address).second) << address;
    for (const char* taken : {"10.1.255.251/16", "10.1.255.252/16", "10.1.255.253/16", "10.1.0.1/16"})
      EXPECT_NE(address, taken);
  }
}

TEST_F(Adopt, WithoutTrafficItSaysThatNothingIsKnownAndStillPlans) {
  const Adoption adoption = adopt({});
  EXPECT_EQ(problems_of(adoption), "");
  EXPECT_THAT(join(adoption.notes, "\n"), HasSubstr("there is no traffic"));
  EXPECT_TRUE(adoption.files.contains("slurm-services.hcl"));
}

TEST_F(Adopt, HostileConfigurationStaysText) {
  put("/etc/hostname", "sms$(reboot)`id`\n");
  put("/etc/slurm/slurm.conf",
      "ClusterName=\"${file(\"/etc/shadow\")}\nSlurmctldHost=x|y\nStateSaveLocation=/var/$(reboot);'x\n"
      "NodeName=c[1-99999999] CPUs=1\nNodeName=';reboot;'\n");
  put("/etc/warewulf/nodes.conf", "nodes: {a: &a [*a, *a]}\n---\n- [[[[\n");
  put("/etc/exports", "/srv/`reboot`|x *(ro)\n");
  const Adoption adoption = adopt();
  EXPECT_EQ(problems_of(adoption), "");
  const std::string& plan = adoption.files.at("PLAN.md");
  EXPECT_THAT(plan, Not(HasSubstr("`reboot`")));
  EXPECT_THAT(plan, Not(HasSubstr(" $(reboot)")));
}

TEST_F(Adopt, EmptyRootGivesAPlanWithQuestions) {
  fs::remove_all(root_);
  fs::create_directories(root_);
  const Adoption adoption = adopt({});
  EXPECT_EQ(problems_of(adoption), "");
  EXPECT_THAT(join(adoption.notes, "\n"), HasSubstr("no slurm.conf"));
}

TEST(PlanText, WordsOfTheShellAreQuoted) {
  EXPECT_EQ(shell_word("c1,c2"), "c1,c2");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("a'; reboot"), "'a'\\''; reboot'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a\nb"), "'a b'");
  EXPECT_EQ(markdown_text("a|b*c"), "a\\|b\\*c");
  EXPECT_EQ(markdown_code("a`b|c"), "`a b c`");
}

}  // namespace
}  // namespace underway::adoption

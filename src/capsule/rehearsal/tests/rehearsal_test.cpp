// Clones of real capsules: what is found out by them, what they cannot reach, and what is left of them.
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <thread>

#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/snapshot_store.hpp"
#include "rehearsal/rehearsal.hpp"
#include "tests/capsules.hpp"

namespace underway::rehearsal {
namespace {

using run::eventually;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Rehearsals : public run::Capsules {
 protected:
  void TearDown() override {
    EXPECT_EQ(left_behind(), std::vector<std::string>{});
    run::Capsules::TearDown();
  }

  Options rehearsal_options() {
    Options options;
    options.driver = this->options();
    options.place = directory_ + "/rehearsals";
    options.cgroup = group_ + "/rehearsals";
    options.self.name = "sms1";
    return options;
  }

  /// For the capsule that `run` starts.
  RehearsalRequest request(const run::TaskSpec& run, std::vector<model::RehearsalScript> scripts = {}) {
    RehearsalRequest request;
    request.ns = "default";
    request.name = run.env.at("NOMAD_JOB_ID");
    request.group = request.name;
    request.job.id = request.name;
    request.job.groups.emplace_back().name = request.name;
    auto& task = request.job.groups.back().tasks.emplace_back();
    task.name = run.task;
    task.driver = "capsule";
    task.config = run.config;
    request.scripts = std::move(scripts);
    request.patience = seconds{30};
    return request;
  }

  std::vector<std::string> left_behind() const {
    std::vector<std::string> found;
    const auto place = directory_ + "/rehearsals";
    for (const auto& ns : os::exists(place) ? os::list_directory(place) : std::vector<os::DirectoryEntry>()) {
      for (const auto& entry : os::list_directory(place + "/" + ns.name)) {
        if (!entry.name.ends_with(".lock")) found.push_back(entry.name);
      }
    }
    if (auto group = os::Cgroup::find(os::CgroupSystem::probe(), group_ + "/rehearsals")) {
      for (const auto pid : group->processes()) found.push_back(fmt::format("process {}", pid));
      group->release();
    }
    for (const auto& open : ledger_ ? ledger_->unsettled() : std::vector<os::Ledger::Open>()) {
      if (open.item.owner.find("rehearse/") != std::string::npos)
        found.push_back(fmt::format("ledger {} {}", open.item.kind, open.item.object));
    }
    for (const auto& mount : os::list_mounts()) {
      if (mount.target.starts_with(place)) found.push_back("mount " + mount.target);
    }
    return found;
  }
};

/// Says "here" to whoever connects to port 7777 of any address in a network namespace.
class Greeter {
 public:
  explicit Greeter(const net::Namespace& in) {
    in.run([&] {
      listening_ = os::Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in6 any{};
      any.sin6_family = AF_INET6;
      any.sin6_port = htons(7777);
      EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
      EXPECT_EQ(::listen(listening_.get(), 8), 0);
    });
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (!os::wait_for(listening_.get(), POLLIN, 50)) continue;
        const os::Fd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (connection) os::write_all(connection, "here\n", "a greeting");
      }
    });
  }

 private:
  os::Fd listening_;
  std::jthread thread_;
};

std::string say(const model::Rehearsal& told) {
  std::string text;
  for (const auto& finding : told.findings)
    text += fmt::format("{} {} {}\n", finding.name, finding.passed ? "passed" : std::to_string(finding.result),
                        finding.output);
  return text;
}

constexpr const char* kCheck =
    R"({"step": [{"check": [{"command": ["/bin/sh", "-c", "cat /var/lib/state && test -f /local/conf"]}]}]})";

TEST_F(Rehearsals, StartACloneWithTheDataAndTheFilesOfTheCapsuleAndRunTheScripts) {
  const auto more = fmt::format(
      R"({{"overlay": [{{"kind": "ext4", "size": "32M"}}], "bind": [{{"/srv": [{{"source": "{}/srv"}}]}}], {}}})",
      directory_, std::string(kCheck).substr(1, std::string(kCheck).size() - 2));
  os::make_directories(directory_ + "/srv");
  const auto run =
      spec("web", config("test -f /var/lib/state || echo kept > /var/lib/state; exec sleep 1000", "10.9.0.5/24", more));
  os::make_directories(run.task_dir + "/local");
  os::make_directories(run.task_dir + "/secrets", 0700);
  os::write_file(run.task_dir + "/local/conf", "configured\n");
  os::write_file(run.task_dir + "/secrets/key", "secret\n", 0400);
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return shell(task, "cat /var/lib/state") == "kept"; }));
  const auto before = task.status().process;
  auto wanted = request(run, {{"look", "#!/bin/sh\ncat /local/conf /secrets/key; hostname; ip -o addr show eth0\n"},
                              {"write", "#!/bin/sh\necho x > /srv/file || echo changed > /var/lib/state; exit 3\n"},
                              {"last", "#!/bin/sh\ncat /var/lib/state; echo $NOMAD_JOB_ID\n"}});
  const auto told = rehearse(rehearsal_options(), wanted);
  ASSERT_EQ(told.findings.size(), 5U) << say(told);
  EXPECT_TRUE(told.findings[0].passed) << say(told);
  EXPECT_EQ(told.findings[1].output, "kept");
  EXPECT_TRUE(told.findings[2].passed);
  EXPECT_THAT(told.findings[2].output, AllOf(HasSubstr("configured\nsecret\nweb\n"), HasSubstr("10.9.0.5/24")));
  EXPECT_EQ(told.findings[3].result, 3) << "a script that fails keeps none of the others from being run";
  EXPECT_THAT(told.findings[3].output, HasSubstr("Read-only file system"));
  EXPECT_EQ(told.findings[4].output, "changed\nweb");
  EXPECT_FALSE(told.passed());
  EXPECT_THAT(told.problem(), HasSubstr("write failed (3)"));
  EXPECT_EQ(told.image, "plain:1.0");
  EXPECT_TRUE(told.digest.starts_with("sha256:"));
  EXPECT_FALSE(told.snapshot.empty());
  // The capsule has noticed nothing, and the snapshot is gone again.
  EXPECT_EQ(shell(task, "cat /var/lib/state; ls /srv"), "kept");
  EXPECT_EQ(task.status().process, before);
  EXPECT_TRUE(control(run).status().healthy());
  EXPECT_THAT(overlay::list_snapshots(directory_ + "/capsules/default/web/snapshots"), testing::IsEmpty());
  end(task);
}

TEST_F(Rehearsals, CopyFilesThatComeAndGoMeanwhile) {
  const auto run = spec("web", config("exec sleep 1000"));
  os::make_directories(run.task_dir + "/local/deep");
  os::write_file(run.task_dir + "/local/deep/conf", "configured\n", 0640);
  auto& task = start(run);
  const std::jthread restless([&run](const std::stop_token& enough) {
    constexpr int kAtATime = 500;
    const auto name = [&run](int n) { return fmt::format("{}/local/passing.{}", run.task_dir, n); };
    for (int n = 0; !enough.stop_requested(); ++n) {
      os::write_file(name(n), "x", 0600, {}, os::Durability::cached);
      if (n >= kAtATime) ::unlink(name(n - kAtATime).c_str());
    }
  });
  for (int round = 0; round < 3; ++round) {
    const auto told =
        rehearse(rehearsal_options(), request(run, {{"look",
                                                     "#!/bin/sh\ncat /local/deep/conf; stat -c %a /local/deep/conf; "
                                                     "ls -A /local | grep -v passing\n"}}));
    ASSERT_TRUE(told.passed()) << say(told);
    EXPECT_EQ(told.findings.back().output, "configured\n640\ndeep");
  }
  end(task);
}

TEST_F(Rehearsals, TakeTheSnapshotThatTheyAreToldAndAnotherImage) {
  const auto other = pack_image("other", [](const std::string& root) { os::write_file(root + "/etc/motd", "new\n"); });
  const auto run = spec("web", config("echo one > /var/lib/state; exec sleep 1000"));
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return shell(task, "cat /var/lib/state") == "one"; }));
  const auto snapshots = directory_ + "/capsules/default/web/snapshots";
  end(task);
  overlay::SnapshotStore snapshot_store(directory_ + "/capsules/default/web", {.overlay = {}, .capsule = "default/web"},
                                        clock_);
  const auto snapshot = snapshot_store.take("by hand");
  os::write_file(directory_ + "/capsules/default/web/overlay/upper/var/lib/state", "two\n");
  auto wanted = request(run, {{"look", "#!/bin/sh\ncat /etc/motd\n"}});
  // The service would write it again.
  wanted.job.groups[0].tasks[0].config = boost::json::parse(
      config("exec sleep 1000", "", R"({"step": [{"check": [{"command": ["/bin/cat", "/var/lib/state"]}]}]})"));
  wanted.snapshot = snapshot.id;
  wanted.image = other;
  const auto told = rehearse(rehearsal_options(), wanted);
  EXPECT_TRUE(told.passed()) << say(told);
  EXPECT_EQ(told.findings.at(1).output, "one");
  EXPECT_EQ(told.findings.at(2).output, "new");
  EXPECT_EQ(told.image, "other:1.0");
  EXPECT_EQ(told.snapshot, snapshot.id);
  EXPECT_EQ(overlay::list_snapshots(snapshots).size(), 1U);
}

/// As a database does: a newer one reads what an older one left when it ended, and not what it had open.
constexpr const char* kOpensAndCloses = R"(if [ -e /etc/newer ]; then
  grep -q closed /var/lib/state || { echo "it was cut short"; exit 1; }
  exec sleep 1000
fi
echo open > /var/lib/state
trap 'echo closed > /var/lib/state; exit 0' TERM
while :; do sleep 0.1; done)";

TEST_F(Rehearsals, EndWhatRanBeforeAsAnUpgradeDoes) {
  const auto newer = pack_image("newer", [](const std::string& root) { os::write_file(root + "/etc/newer", ""); });
  const auto run =
      spec("web", config(kOpensAndCloses, "", R"({"step": [{"before_stop": [{"command": ["/bin/sleep", "1000"]}]}]})"));
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return shell(task, "cat /var/lib/state") == "open"; }));
  auto wanted = request(run);
  wanted.image = newer;
  const auto cut_short = rehearse(rehearsal_options(), wanted);
  EXPECT_FALSE(cut_short.passed());
  EXPECT_THAT(cut_short.problem(), HasSubstr("it was cut short"));
  wanted.stop_first = true;
  const auto ended = rehearse(rehearsal_options(), wanted);
  EXPECT_TRUE(ended.passed()) << say(ended);
  EXPECT_EQ(ended.findings.at(0).name, "stop");
  EXPECT_EQ(ended.findings.at(1).name, "start");
  EXPECT_EQ(ended.image, "newer:1.0");
  EXPECT_EQ(shell(task, "cat /var/lib/state"), "open") << "the capsule itself goes on";
  end(task, SIGKILL);
}

TEST_F(Rehearsals, TellOfACheckThatFailsAndTryNoScriptThen) {
  const auto run =
      spec("web", config("exec sleep 1000", "",
                         R"({"step": [{"check": [{"command": ["/bin/sh", "-c", "echo no database; exit 4"]}]}]})"));
  auto& task = start(run);
  const auto told = rehearse(rehearsal_options(), request(run, {{"never", "#!/bin/sh\ntrue\n"}}));
  ASSERT_EQ(told.findings.size(), 2U) << say(told);
  EXPECT_TRUE(told.findings[0].passed);
  EXPECT_EQ(told.findings[1].result, 4);
  EXPECT_EQ(told.problem(), "check failed (4): no database");
  end(task);
}

TEST_F(Rehearsals, TellWhyAServiceDoesNotStart) {
  const auto run = spec("web", config("exec sleep 1000"));
  auto& task = start(run);
  auto wanted = request(run);
  wanted.job.groups[0].tasks[0].config =
      boost::json::parse(config("echo reading tables; echo cannot read table users: column is missing >&2; exit 7", "",
                                R"({"attempts": 0, "step": [{"probe": [{"command": ["/bin/false"]}]}]})"));
  const auto told = rehearse(rehearsal_options(), wanted);
  ASSERT_EQ(told.findings.size(), 1U);
  EXPECT_FALSE(told.findings[0].passed);
  EXPECT_THAT(told.findings[0].output,
              AllOf(HasSubstr("service main did not start"), HasSubstr("main: reading tables"),
                    HasSubstr("main: cannot read table users: column is missing"), HasSubstr("given up")));
  // An image that there is not is no failure of ours either.
  wanted.image = "nowhere:9";
  EXPECT_THAT(rehearse(rehearsal_options(), wanted).problem(), HasSubstr("nowhere"));
  end(task);
}

TEST_F(Rehearsals, GiveUpAServiceThatNeverGetsReadyAndAScriptThatDoesNotEnd) {
  const auto run = spec("web", config("exec sleep 1000"));
  auto& task = start(run);
  auto wanted = request(run, {{"slow", "#!/bin/sh\necho begun; sleep 1000\n"}});
  wanted.patience = seconds{2};
  auto told = rehearse(rehearsal_options(), wanted);
  ASSERT_EQ(told.findings.size(), 3U) << say(told);
  EXPECT_EQ(told.findings[2].result, 124);
  EXPECT_THAT(told.findings[2].output, AllOf(HasSubstr("begun"), HasSubstr("did not end within")));
  wanted.job.groups[0].tasks[0].config.at("service").at(0).at("main").at(0).as_object()["ready"] =
      boost::json::array{"/bin/false"};
  told = rehearse(rehearsal_options(), wanted);
  ASSERT_EQ(told.findings.size(), 1U);
  EXPECT_EQ(told.findings[0].result, 124);
  EXPECT_THAT(told.findings[0].output, HasSubstr("service main was not ready within"));
  end(task);
}

TEST_F(Rehearsals, ReachNobodyAndAreReachedByNobody) {
  const auto run = spec(
      "web",
      config("while true; do echo original | nc -l -p 80; done", "10.9.0.5/24",
             R"({"network": [{"test": [{"addresses": ["10.9.0.5/24", "fd00:9::5/64"], "gateway": "10.9.0.1"}]}]})"));
  auto& task = start(run);
  // A listener on the bridge, and one of the host's on all its addresses.
  const auto other = neighbour("other", "10.9.0.9/24");
  net::Netlink here(net::Namespace::current());
  here.add_address("br-test", *net::parse_cidr("10.9.0.1/24"));
  const Greeter at_host(net::Namespace::current()), at_other(other.inside);
  ASSERT_TRUE(eventually([&] { return other.ask("10.9.0.5", 80) == "original"; }));
  EXPECT_EQ(shell(task, "nc -w 2 10.9.0.1 7777 </dev/null; nc -w 2 10.9.0.9 7777 </dev/null"), "here\nhere");

  auto wanted = request(run, {{"reach",
                               "#!/bin/sh\nfor there in 10.9.0.1 10.9.0.9; do nc -w 1 $there 7777 </dev/null "
                               "2>/dev/null; done; ip -o link | wc -l\n"},
                              {"serve", "#!/bin/sh\necho clone | nc -l -p 81 & sleep 1; nc -w 1 10.9.0.5 81\n"}});
  wanted.job.groups[0].tasks[0].config.at("service").at(0).at("main").at(0).at("command").at(2) =
      "while true; do echo clone | nc -l -p 80; done";
  auto options = rehearsal_options();
  std::vector<std::string> answers;
  const auto links = here.links();
  options.on_step = [&](const std::string& step) {
    if (step != "script") return;
    EXPECT_EQ(here.links(), links) << "of the clone's links none is the host's";
    for (int n = 0; n < 5; ++n) answers.push_back(other.ask("10.9.0.5", 80));
    answers.push_back(other.ask("10.9.0.5", 81));
  };
  const auto told = rehearse(options, wanted);
  ASSERT_EQ(told.findings.size(), 4U) << say(told);
  EXPECT_THAT(told.findings[2].output, testing::StrEq("2")) << "lo and eth0";
  EXPECT_EQ(told.findings[3].output, "clone") << "inside it has the capsule's address";
  for (const auto& answer : answers) EXPECT_THAT(answer, Not(HasSubstr("clone")));
  EXPECT_THAT(answers, testing::Contains("original"));
  EXPECT_TRUE(eventually([&] { return other.ask("10.9.0.5", 80) == "original"; }));
  end(task);
}

TEST_F(Rehearsals, OfOneCapsuleAreOneAtATimeAndEndWhenNobodyWaits) {
  const auto run = spec("web", config("exec sleep 1000"));
  auto& task = start(run);
  auto options = rehearsal_options();
  std::string second;
  bool stop = false;
  options.on_step = [&](const std::string& step) {
    if (step != "script") return;
    try {
      rehearse(rehearsal_options(), request(run));
    } catch (const Error& error) {
      EXPECT_TRUE(is_under_way(error));
      second = error.text();
    }
    stop = true;
  };
  options.cancelled = [&] { return stop; };
  EXPECT_THAT(run::failure_of([&] { rehearse(options, request(run, {{"slow", "#!/bin/sh\nsleep 1000\n"}})); }),
              HasSubstr("the rehearsal was given up"));
  EXPECT_THAT(second, HasSubstr("the rehearsal of web"));
  EXPECT_THAT(run::failure_of([&] { rehearse(rehearsal_options(), request(run, {{"x", "echo"}})); }),
              HasSubstr("must begin with #!"));
  end(task);
}

TEST_F(Rehearsals, EndInTheMiddleOfACheckWhenNobodyWaits) {
  const auto run = spec("web", config("exec sleep 1000", {},
                                      R"({"step": [{"check": [{"command": ["/bin/sh", "-c", "exec sleep 1000"]}]}]})"));
  auto& task = start(run);
  auto options = rehearsal_options();
  std::atomic<bool> checks = false;
  int looks = 0;
  options.on_step = [&](const std::string& step) { checks = step == "check"; };
  options.cancelled = [&] { return checks && ++looks > 3; };
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(run::failure_of([&] { rehearse(options, request(run)); }), HasSubstr("the rehearsal was given up"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds{25}) << "the check was waited for";
  end(task);
}

TEST_F(Rehearsals, LeaveNothingWhenTheAgentIsKilledInTheMiddle) {
  const auto run = spec("web", config("echo one > /var/lib/state; exec sleep 1000", "10.9.0.5/24",
                                      R"({"overlay": [{"kind": "ext4", "size": "32M"}]})"));
  auto& task = start(run);
  const auto original = task.status().process;
  for (const std::string step :
       {"fill", "files", "start", "start: image", "start: overlay", "start: mount", "start: layer", "start: links",
        "start: launch", "start: probe", "start: go", "start: unmount", "started", "check", "script"}) {
    SCOPED_TRACE(step);
    tasks_.clear();
    driver_.reset();
    ledger_.reset();
    const pid_t child = ::fork();
    if (child == 0) {
      ledger_.emplace(directory_ + "/ledger");
      auto options = rehearsal_options();
      options.on_step = [&](const std::string& at) {
        if (at == step) ::kill(::getpid(), SIGKILL);
      };
      std::cerr << run::failure_of([&] { rehearse(options, request(run, {{"true", "#!/bin/sh\ntrue\n"}})); }) << "\n";
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    restart_agent();
    if (step != "fill") {
      EXPECT_THAT(left_behind(), Not(testing::IsEmpty()));
    }
    sweep(rehearsal_options());
    EXPECT_EQ(left_behind(), std::vector<std::string>{});
    tasks_.emplace_back(run, driver_->recover(run));
    EXPECT_EQ(tasks_.back().second->status().process, original);
    EXPECT_TRUE(control(run).status().healthy());
  }
  end(*tasks_.back().second);
}

}  // namespace
}  // namespace underway::rehearsal

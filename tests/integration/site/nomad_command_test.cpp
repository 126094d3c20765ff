// A site's scripts under Nomad's name: the link, a real agent, and what each line answers.
#include <csignal>
#include <filesystem>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr const char* kWeb = R"(job "web" {
  group "g" {
    count = 1
    reschedule {
      attempts  = 0
      unlimited = false
    }
    update {
      min_healthy_time = "100ms"
      health_check     = "task_states"
    }
    task "t" {
      driver = "raw_exec"
      user   = "nobody"
      config {
        command = "/bin/sh"
        args    = ["-c", "for i in 1 2 3; do echo line $i; done; echo wrong >&2; exec sleep 600"]
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
}
)";

class NomadCommand : public testing::Test {
 protected:
  void SetUp() override {
    link_ = machine_.directory() + "/bin/nomad";
    std::filesystem::create_directory(machine_.directory() + "/bin");
    std::filesystem::create_symlink(std::filesystem::canonical(machine_.command({}).argv.front()), link_);
  }

  /// A script as a site has it: `nomad` is the link, and NOMAD_ADDR says where the agent is.
  Finished script(const std::string& text, seconds limit = seconds(90)) const {
    Command command{.argv = {"/bin/sh", "-euc", text}, .directory = machine_.directory(), .limit = limit};
    command.env["PATH"] = machine_.directory() + "/bin:/usr/bin:/bin";
    command.env["NOMAD_ADDR"] = "unix://" + machine_.state() + "/run/agent.sock";
    return run(command);
  }
  std::string printed(const std::string& text) const {
    const auto done = script(text);
    EXPECT_EQ(done.exit_code, 0) << text << "\n" << done.out << done.err;
    return done.out;
  }
  /// What a template prints, without the end of its line.
  std::string value(const std::string& text) const {
    const auto out = printed(text);
    return out.substr(0, out.find('\n'));
  }
  int code(const std::string& text) const { return script(text).exit_code; }
  void write(const std::string& name, const std::string& text) const {
    write_text(machine_.directory() + "/" + name, text);
  }
  static bool has(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  }

  /// An agent of its own, by the link; it answers at the address before this returns.
  Background agent(const std::string& words, const std::string& address) const {
    Command command{.argv = {"/bin/sh", "-c", "exec " + link_ + " agent " + words + " 2>agent-by-link.log"},
                    .directory = machine_.directory()};
    Background running(command);
    EXPECT_TRUE(eventually(seconds(30), [&] { return code("NOMAD_ADDR=" + address + " nomad server members") == 0; }))
        << read_text(machine_.directory() + "/agent-by-link.log");
    return running;
  }

  Machine machine_;
  std::string link_;
};

TEST_F(NomadCommand, RunsAScriptOfASite) {
  write("web.hcl", kWeb);
  EXPECT_EQ(code("nomad job plan web.hcl"), 1) << "something would be placed";
  const auto ran = printed("nomad job run web.hcl");
  EXPECT_TRUE(has(ran, ": Monitoring evaluation \"")) << ran;
  EXPECT_TRUE(has(ran, "finished with status \"complete\"")) << ran;
  EXPECT_TRUE(has(ran, "\nStatus      = successful\n")) << ran;
  EXPECT_EQ(code("nomad plan web.hcl"), 0) << "nothing would change";
  EXPECT_EQ(code("nomad plan no-such.hcl"), 255);

  // What scripts take out of it: a template, ids of eight characters, JSON.
  EXPECT_EQ(printed("nomad job status -t '{{.Status}} {{range .TaskGroups}}{{.Name}}={{.Count}}{{end}}' web"),
            "running g=1\n");
  const auto allocs = printed("nomad job allocs -t '{{range .}}{{.ID}}{{end}}' web");
  const auto id = allocs.substr(0, 8);
  const auto table = printed("nomad job status web");
  EXPECT_TRUE(has(table, "Task Group  Queued  Starting  Running  Failed  Complete  Lost  Unknown")) << table;
  EXPECT_TRUE(has(table, "\nID        Node ID   Task Group  Version  Desired  Status   Created")) << table;
  EXPECT_TRUE(has(table, "\n" + id + "  ")) << table;
  EXPECT_TRUE(has(printed("nomad alloc status -json " + id), "\"ClientStatus\": \"running\""));
  EXPECT_TRUE(has(printed("nomad alloc status " + id), "\nTask \"t\" is \"running\"\n"));
  EXPECT_TRUE(has(printed("nomad status " + id), "\nTask \"t\" is \"running\"\n")) << "an id of any kind";
  EXPECT_TRUE(has(printed("nomad node status"), "ID        Node Pool  DC   Name"));
  EXPECT_TRUE(has(printed("nomad node status -self"), "\nAllocated Resources\n"));
  EXPECT_EQ(printed("nomad operator api /v1/jobs?prefix=we < /dev/null").substr(0, 1), "[");

  // Logs: the end of one, both followed, and the session's exit code.
  EXPECT_TRUE(eventually(seconds(30), [&] { return printed("nomad alloc logs " + id) == "line 1\nline 2\nline 3\n"; }));
  EXPECT_EQ(printed("nomad alloc logs -tail -n 1 " + id), "line 3\n");
  EXPECT_EQ(printed("nomad logs -stderr -job web"), "wrong\n");
  EXPECT_EQ(code("nomad alloc exec " + id + " /bin/sh -c 'exit 7'"), 7);
  EXPECT_EQ(printed("nomad exec -job web /bin/echo -n hello"), "hello");
  EXPECT_TRUE(has(printed("nomad alloc fs " + id), "alloc/"));
  const auto followed =
      script("timeout 20 nomad alloc logs -f " + id + " & sleep 3; nomad job stop -detach web; wait $!");
  EXPECT_TRUE(has(followed.out, "line 3\n")) << followed.out << followed.err;
  EXPECT_TRUE(has(followed.err, "wrong\n")) << followed.err;

  // Stopped, started again, and taken away.
  EXPECT_TRUE(eventually(seconds(20), [&] { return has(printed("nomad status"), "dead (stopped)"); }));
  EXPECT_EQ(printed("nomad job start -detach web").substr(0, 15), "Evaluation ID: ");
  EXPECT_TRUE(has(printed("nomad job stop -purge -yes we"), "finished with status \"complete\""));
  EXPECT_EQ(code("nomad job status web"), 1);
  EXPECT_TRUE(has(script("nomad job status web").err, "No job(s) with prefix or ID \"web\" found"));
}

TEST_F(NomadCommand, SaysWithItsExitCodeWhatBecameOfAJob) {
  write("large.hcl", replaced(kWeb, "memory = 20", "memory = 90000000"));
  const auto unplaced = script("nomad job run large.hcl");
  EXPECT_EQ(unplaced.exit_code, 2) << unplaced.out;
  EXPECT_TRUE(has(unplaced.out, "but failed to place all allocations:")) << unplaced.out;
  printed("nomad job stop -purge web");

  write("broken.hcl", replaced(kWeb, "min_healthy_time = \"100ms\"",
                               "min_healthy_time  = \"30s\"\n      healthy_deadline  = \"40s\"\n      "
                               "progress_deadline = \"0s\""));
  write("broken.hcl", replaced(read_text(machine_.directory() + "/broken.hcl"), "exec sleep 600", "exit 3"));
  write("broken.hcl", replaced(read_text(machine_.directory() + "/broken.hcl"), "    update {",
                               "    restart {\n      attempts = 0\n      mode     = \"fail\"\n    }\n    update {"));
  const auto failed = script("nomad job run broken.hcl");
  EXPECT_EQ(failed.exit_code, 1) << failed.out << failed.err;
  EXPECT_TRUE(has(failed.out, "\nStatus      = failed\n")) << failed.out;

  EXPECT_EQ(code("nomad job run -check-index 7 web.hcl"), 1) << "there is no such file";
  EXPECT_EQ(code("nomad nonsense"), 127);
  EXPECT_EQ(code("nomad license get"), 1);
  EXPECT_EQ(code("NOMAD_ADDR=http://127.0.0.1:1 nomad node status"), 1);
}

constexpr const char* kSlow = R"(job "slow" {
  group "g" {
    reschedule {
      delay     = "1h"
      unlimited = true
    }
    restart {
      attempts = 0
      mode     = "fail"
    }
    shutdown_delay = "1h"
    task "init" {
      driver = "exec"
      lifecycle {
        hook = "prestart"
      }
      config {
        command = "/bin/sh"
        args    = ["-c", "echo begun >> $NOMAD_ALLOC_DIR/data/begun"]
      }
    }
    task "t" {
      driver         = "exec"
      shutdown_delay = "1h"
      config {
        command = "/bin/sleep"
        args    = ["86387"]
      }
    }
  }
}
)";

/// One version, wherever a client looks for it.
TEST_F(NomadCommand, SaysOneVersionEverywhere) {
  const std::string wanted = "1.6.5";
  const auto text = printed("nomad version");
  EXPECT_TRUE(text.starts_with("Nomad v" + wanted + "\nUnderway ")) << text;
  EXPECT_EQ(printed("nomad -version"), text);
  EXPECT_EQ(printed("nomad version | grep -oE '[0-9]+\\.[0-9]+\\.[0-9]+' | head -1"), wanted + "\n");
  ASSERT_TRUE(eventually(seconds(30), [&] { return has(printed("nomad node status"), "ready"); }));
  EXPECT_EQ(value("nomad node status -t '{{range .}}{{.Version}}{{end}}'"), wanted);
  EXPECT_EQ(value("nomad server members -t '{{range .}}{{.Tags.build}}{{end}}'"), wanted);
  EXPECT_EQ(value("nomad agent-info -t '{{.config.Version.Version}} {{.stats.nomad.version}}'"), wanted + " " + wanted);
  EXPECT_TRUE(has(printed("nomad operator autopilot health"), "  " + wanted + "  "));
}

/// Standard output is a pipe here, as it is for whoever takes a line out of it.
TEST_F(NomadCommand, WritesIntoPipesWhatScriptsTakeOutOfThem) {
  write("web.hcl", kWeb);
  const auto plan = script("nomad job plan web.hcl");
  EXPECT_TRUE(has(plan.out, "+ Job: \"web\"\n+ Task Group: \"g\" (1 create)\n  + Task: \"t\" (forces create)\n"))
      << plan.out;
  EXPECT_TRUE(has(plan.out, "\nJob Modify Index: 0\n")) << plan.out;
  printed("nomad job run web.hcl");
  EXPECT_EQ(code("nomad job run -check-index 1 web.hcl"), 1);
  EXPECT_TRUE(has(script("nomad job run -check-index 1 web.hcl").out, "Enforcing job modify index 1"));

  const auto latest = printed("nomad job deployments -latest web");
  EXPECT_TRUE(has(latest, "\nJob Version = 0\nStatus      = successful\n")) << latest;
  EXPECT_TRUE(has(printed("nomad job deployments -latest -json web"), "\"JobVersion\": 0"));
  const auto id = value("nomad job allocs -t '{{range .}}{{.ID}}{{end}}' web");
  EXPECT_TRUE(has(printed("nomad job allocs -verbose web"), id));
  EXPECT_TRUE(has(printed("nomad alloc fs -stat " + id + " alloc/logs"), "Content Type"));
  EXPECT_TRUE(has(printed("nomad alloc checks " + id), "Status of 0 Nomad Service Checks"));
  EXPECT_TRUE(has(printed("nomad alloc status -stats " + id), "\nCPU Stats\n"));
  const auto node = value("nomad node status -t '{{range .}}{{.ID}}{{end}}'");
  EXPECT_TRUE(has(printed("nomad node status -short -self"), " = " + node + "\n")) << "the whole id";
  EXPECT_TRUE(has(printed("nomad node pool jobs def"), "ID   Type     Priority  Status   Submit Date"));
  EXPECT_TRUE(
      has(printed("nomad deployment status -monitor $(nomad job deployments -t '{{range .}}{{.ID}}{{end}}' web)"),
          "Monitoring deployment"));

  EXPECT_TRUE(has(printed("nomad var put a/b key=value"), "\"key\": \"value\""));
  EXPECT_TRUE(
      has(printed("nomad var put -force -out none a/b key=value"), "Created variable \"a/b\" with modify index "));
  EXPECT_EQ(code("nomad var get -out hcl a/b > b.hcl && nomad var put @b.hcl && nomad var put @b.hcl"), 1)
      << "the index of what was read is no more";
  EXPECT_EQ(printed("nomad var purge a/b"), "Successfully purged variable \"a/b\"!\n");
  EXPECT_TRUE(
      has(printed("nomad operator snapshot save x.snap && nomad operator snapshot inspect x.snap"), "\nIndex "));

  // One that is missing does not keep the other running.
  EXPECT_EQ(code("nomad job stop -detach no-such web"), 1);
  EXPECT_TRUE(eventually(seconds(20), [&] { return has(printed("nomad status"), "dead (stopped)"); }));
  EXPECT_EQ(code("echo n | nomad job stop we"), 0);
  EXPECT_TRUE(has(printed("echo n | nomad job stop we"), "Cancelling job stop\n"));

  // The whole id and -self are asked nothing; what begins so is.
  printed("nomad node drain -enable -ignore-system -detach " + node);
  EXPECT_EQ(printed("nomad node drain -disable -m enough -self"), "Node \"" + node + "\" drain strategy unset\n");
  EXPECT_TRUE(has(printed("echo n | nomad node drain -enable " + node.substr(0, 8)), "Canceling drain toggle\n"));
}

TEST_F(NomadCommand, StopsRestartsAndReschedulesWithoutWaiting) {
  write("slow.hcl", kSlow);
  printed("nomad job run -detach slow.hcl");
  const auto ids = [&](const std::string& condition) {
    return printed("nomad job allocs -t '{{range .}}{{if " + condition + "}}{{.ID}} {{end}}{{end}}' slow");
  };
  const auto running = [&] {
    const auto id = ids("and (eq .ClientStatus \"running\") (eq .DesiredStatus \"run\")");
    return id.empty() ? id : id.substr(0, id.size() - 1);
  };
  const auto runs_after = [&](const std::string& old) {
    return eventually(seconds(30), [&] { return !running().empty() && running() != old; });
  };
  ASSERT_TRUE(runs_after("")) << printed("nomad job allocs -json slow");
  const auto first = running();
  // Only what runs is restarted, and the server hears a little later that it did not for a moment.
  const auto runs_again = [&](const std::string& restarts) {
    const std::string ask = "nomad alloc status -t '{{with index .TaskStates \"t\"}}{{.State}} {{.Restarts}}{{end}}' ";
    return eventually(seconds(30), [&] { return has(printed(ask + first), "running " + restarts); }) &&
           eventually(seconds(30), [&] { return running() == first; });
  };

  // Those that have ended too.
  EXPECT_EQ(printed("nomad alloc fs " + first + " alloc/data/begun"), "begun\n");
  EXPECT_EQ(code("nomad alloc restart -all-tasks " + first + " t"), 1);
  printed("nomad alloc restart -all-tasks " + first);
  EXPECT_TRUE(
      eventually(seconds(30), [&] { return printed("nomad fs " + first + " alloc/data/begun") == "begun\nbegun\n"; }));
  EXPECT_TRUE(runs_again("1"));
  printed("nomad job restart -yes -all-tasks slow");
  EXPECT_TRUE(eventually(
      seconds(30), [&] { return has(printed("nomad fs " + first + " alloc/data/begun"), "begun\nbegun\nbegun"); }));
  EXPECT_TRUE(runs_again("2"));

  // It failed, and would be tried again in an hour. Its logs are there though it never wrote.
  EXPECT_EQ(printed("nomad alloc fs " + first + " alloc/logs/t.stdout.0"), "");
  EXPECT_EQ(printed("nomad alloc fs " + first + " alloc/logs/t.stderr.0"), "");
  printed("nomad alloc signal -s SIGKILL " + first + " t");
  EXPECT_TRUE(eventually(seconds(30), [&] { return has(ids("eq .ClientStatus \"failed\""), first); }));
  printed("nomad job eval -detach slow");
  EXPECT_EQ(running(), "");
  printed("nomad job eval -force-reschedule -detach slow");
  ASSERT_TRUE(runs_after(first));

  // No delay of an hour.
  const auto ended = [&](const std::string& id) {
    return eventually(seconds(30), [&] { return has(ids("eq .ClientStatus \"complete\""), id); });
  };
  const auto second = running();
  printed("nomad alloc stop -detach " + second);
  printed("nomad alloc stop -no-shutdown-delay -detach " + second);
  EXPECT_TRUE(ended(second)) << "it waited already";
  ASSERT_TRUE(runs_after(second));
  const auto third = running();
  printed("nomad job restart -yes -reschedule -no-shutdown-delay slow");
  EXPECT_TRUE(ended(third));
  const auto last = running();
  printed("nomad job stop -no-shutdown-delay -detach slow");
  EXPECT_TRUE(ended(last));
}

TEST_F(NomadCommand, TellsOperatorsWhatTheyAskFor) {
  EXPECT_TRUE(has(printed("nomad server members"), "Name"));
  EXPECT_TRUE(has(printed("nomad agent-info"), "\n  "));
  EXPECT_TRUE(has(printed("nomad operator metrics -format prometheus"), "# TYPE "));
  EXPECT_TRUE(has(printed("nomad operator debug -duration 1s -interval 1s -output ."), "Created debug directory: "));
  EXPECT_TRUE(has(printed("cat nomad-debug-*/cluster/agent-self.json"), "\"stats\""));
  EXPECT_TRUE(has(printed("nomad var put -force -in json a/b key=value && nomad var get -item key a/b"), "value"));
  // Ours asks before a variable is lost; that client does not, and its scripts could not answer.
  EXPECT_TRUE(has(printed("nomad var put -force a/gone key=value && nomad var purge a/gone 2>&1"), "purged"));
  write("gone.hcl", "node {\n  policy = \"read\"\n}\n");
  EXPECT_TRUE(has(printed("nomad acl policy apply gone gone.hcl && nomad acl policy delete gone 2>&1"),
                  "Successfully deleted gone policy!"));
  EXPECT_EQ(printed("nomad var get -out go-template -template '{{.Items.key}}' a/b"), "value\n");
  EXPECT_EQ(printed("nomad var list -out terse"), "a/b\n");
  EXPECT_TRUE(has(printed("nomad namespace list -t '{{range .}}{{.Name}} {{end}}'"), "default "));
  EXPECT_TRUE(has(printed("nomad quota init q.hcl && nomad node pool init p.hcl && nomad fmt -check q.hcl p.hcl"),
                  "written to p.hcl"));
  write("agent.hcl.site", "server { enabled = true }\ndata_dir = \"/x\"\nconsul { address = \"a\" }\n");
  const auto valid = script("nomad config validate agent.hcl.site");
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_TRUE(has(valid.err, "`consul` has no effect")) << valid.err;
}

TEST_F(NomadCommand, KeepsRootKeysAndMakesCertificates) {
  const auto key_that_is = [&](const std::string& state) {
    const auto id = printed("nomad operator root keyring list -verbose | awk '$2 == \"" + state + "\" { print $1 }'");
    return id.substr(0, id.find('\n'));
  };
  printed("nomad var put nomad/jobs/a password=sesame");
  const auto first = key_that_is("active");
  EXPECT_TRUE(has(printed("nomad operator root keyring rotate -prepublish 1h"), "  prepublished  "));
  EXPECT_EQ(key_that_is("active"), first);
  printed("nomad operator root keyring rotate -now");
  EXPECT_EQ(key_that_is("inactive"), first);
  EXPECT_EQ(code("nomad operator root keyring remove " + first), 1) << "a variable is sealed under it";
  printed("nomad operator root keyring remove -force " + first);
  EXPECT_EQ(printed("nomad var get -item password nomad/jobs/a"), "sesame\n");
  EXPECT_EQ(code("nomad operator root keyring rotate -full -prepublish 1h"), 1);
  EXPECT_EQ(code("nomad operator root keyring rotate -prepublish soon"), 1);

  printed("nomad tls ca create -domain site -name-constraint -additional-domain hpc.org -organization 'HPC Site'");
  const auto said = printed("openssl x509 -in site-agent-ca.pem -noout -subject -ext nameConstraints");
  for (const char* word : {"O = HPC Site", "DNS:localhost", "DNS:site", "DNS:hpc.org"})
    EXPECT_TRUE(has(said, word)) << word << " in " << said;
  printed("nomad tls cert create -server -domain site -additional-dnsname mgmt.hpc.org");
  EXPECT_TRUE(has(printed("openssl x509 -in global-server-site.pem -noout -subject"), "server.global.site"));
  const auto foreign = script("nomad tls cert create -cli -domain site -additional-dnsname mgmt.elsewhere.org");
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_TRUE(has(foreign.err, "permitted subtree violation")) << foreign.err;
  EXPECT_EQ(code("nomad tls ca create -country Switzerland"), 1);
  EXPECT_EQ(code("nomad tls ca create -additional-domain hpc.org"), 1);
}

TEST_F(NomadCommand, ServesScriptsOfOperators) {
  EXPECT_EQ(printed("nomad check"), "agent is healthy\n");
  EXPECT_EQ(code("NOMAD_ADDR=http://127.0.0.1:1 nomad check"), 2);
  printed("nomad operator api -H 'X-Mark: here' /v1/jobs < /dev/null");
  EXPECT_TRUE(has(printed("nomad operator api -H 'X-Nomad-Token: guessed' /v1/jobs < /dev/null"), "oken"));
  EXPECT_EQ(code("nomad check -min-peers 1"), 2) << "there is one server, and no peer of it";
  EXPECT_EQ(code("nomad check -min-peers 0 -min-servers 1"), 0);
  EXPECT_EQ(code("nomad operator api -H nonsense /v1/jobs < /dev/null"), 1);
  printed("nomad volume init -json");
  EXPECT_TRUE(has(printed("nomad volume create volume.host.json"), "==> Created host volume data with ID "));

  // The two characters that end a session leave the command's terminal.
  if (shell("command -v script").exit_code != 0) GTEST_SKIP() << "needs script of bsdutils";
  write("web.hcl", kWeb);
  printed("nomad job run web.hcl");
  const auto ended = script(
      "for i in 1 2 3 4 5; do sleep 1; printf '\\r~.' || break; done 2>/dev/null | "
      "timeout 20 script -qec 'nomad exec -t -job web /bin/cat' /dev/null");
  EXPECT_TRUE(has(ended.out, "Connection closed")) << ended.out;
}

TEST_F(NomadCommand, StartsAnAgentWithTheFilesOfASite) {
  ASSERT_EQ(shell("mkdir " + machine_.directory() + "/nomad.d").exit_code, 0);
  write("nomad.d/10-server.hcl",
        "data_dir = \"" + machine_.directory() +
            "/by-link\"\nserver {\n  enabled = true\n  bootstrap_expect = 1\n  raw_exec_as_root = true\n}\n"
            "consul { address = \"127.0.0.1:8500\" }\nacl { enabled = false }\n");
  write("nomad.d/20-ports.json", R"({"ports": {"http": 4747}, "tls": {"http": false}, "name": "by-file"})");
  {
    const auto running = agent("-config nomad.d -log-json", "http://127.0.0.1:4747");
    EXPECT_TRUE(has(printed("nomad server members -address http://127.0.0.1:4747"), "\nby-file"));
    write("web.hcl", kWeb);
    EXPECT_EQ(code("nomad job run -detach -address http://127.0.0.1:4747 web.hcl"), 0) << "root, by raw_exec";
    EXPECT_TRUE(has(read_text(machine_.directory() + "/agent-by-link.log"), "`consul` has no effect"));
  }
  const auto refused = script("nomad agent -config nomad.d -bootstrap-expect 3");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "the only one")) << refused.err;
}

/// What a test harness made for Nomad does: it writes a configuration of its own, starts `nomad agent -config` and
/// speaks plain HTTP to it.
TEST_F(NomadCommand, IsAsOpenAsNomadForAHarnessThatAsksForIt) {
  const std::string address = "http://127.0.0.1:4848", data = machine_.directory() + "/harness";
  write("harness.json", R"({"data_dir": ")" + data + R"(", "log_level": "ERROR", "ports": {"http": 4848},
    "server": {"enabled": true, "bootstrap_expect": 1}, "acl": {"enabled": true}})");
  {
    const auto site = agent("-config harness.json -name site", "unix://" + data + "/run/agent.sock");
    EXPECT_NE(code("curl -sf " + address + "/v1/status/leader"), 0) << "a site's own file stays safe";
  }
  Background running(
      {.argv = {"/bin/sh", "-c",
                "UNDERWAY_NOMAD_COMPAT=true exec " + link_ + " agent -config harness.json 2>harness.log"},
       .directory = machine_.directory()});
  ASSERT_TRUE(eventually(seconds(30), [&] { return code("curl -sf " + address + "/v1/status/leader") == 0; }));
  const std::string curl = "curl -s -w ' %{http_code}' ";
  EXPECT_TRUE(has(printed(curl + address + "/v1/status/leader"), " 200"));
  EXPECT_TRUE(has(printed(curl + address + "/v1/acl/tokens"), " 403")) << "acl { enabled = true } was said";
  const auto first = printed(curl + "-X PUT " + address + "/v1/acl/bootstrap");
  ASSERT_TRUE(has(first, " 200")) << first;
  const auto begin = first.find("\"SecretID\":\"") + 12;
  const std::string secret = first.substr(begin, 36);
  const std::string as_root = "-H 'X-Nomad-Token: " + secret + "' ";
  const auto made =
      printed(curl + as_root + "-X PUT -d '{\"Name\":\"t\",\"Type\":\"management\"}' " + address + "/v1/acl/token");
  const auto id = made.substr(made.find("\"AccessorID\":\"") + 14, 36);
  const auto told = made.substr(made.find("\"SecretID\":\"") + 12, 36);
  EXPECT_TRUE(has(printed(curl + as_root + address + "/v1/acl/token/" + id), told)) << "a secret is read again";

  // At log_level ERROR too it says what was given up, and how to have it back.
  const auto log = read_text(machine_.directory() + "/harness.log");
  for (const char* back :
       {"UNDERWAY_NOMAD_COMPAT in the environment", "`tls { http = true }`", "`acl { network_bootstrap = false }`",
        "`acl { readable_token_secrets = false }`", "`server { raw_exec_as_root = false }`"})
    EXPECT_TRUE(has(log, back)) << back << " in\n" << log;
  EXPECT_FALSE(has(log, "`acl { enabled = true }`")) << "its own word is not told";
}

TEST_F(NomadCommand, StartsAnAgentToTryThingsWith) {
  auto running = agent("-dev", "http://127.0.0.1:4646");
  const std::string dev = "NOMAD_ADDR=http://127.0.0.1:4646 ";
  EXPECT_TRUE(eventually(seconds(30), [&] { return has(printed(dev + "nomad node status"), "ready"); }));
  EXPECT_EQ(code(dev + "nomad job init -short && " + dev + "nomad job validate example.nomad.hcl"), 0);
  write("web.hcl", kWeb);
  EXPECT_EQ(code(dev + "nomad job run web.hcl"), 0);
  EXPECT_EQ(code(dev + "nomad job validate -json http://127.0.0.1:4646/v1/job/web"), 0) << "a job file at a URL";
  EXPECT_EQ(code(dev + "nomad job plan -json http://127.0.0.1:4646/v1/job/web"), 0);
  const auto nowhere = script(dev + "nomad job run http://127.0.0.1:4646/v1/job/no-such");
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_TRUE(has(nowhere.err, "'http://127.0.0.1:4646/v1/job/no-such' cannot be fetched")) << nowhere.err;
  EXPECT_TRUE(has(nowhere.err, "the server answered 404")) << nowhere.err;
  // It ends with everything that it runs, also what it is told to begin just then.
  EXPECT_EQ(code(dev + "nomad job scale -detach web 4"), 0);
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait(seconds(30)), 0);
}

}  // namespace
}  // namespace underway::harness

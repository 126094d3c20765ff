// Moving in and out with real agents: one plays the Nomad, as whose API it answers, the other takes over.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "harness/machine.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

const std::string kSecret = "correct-horse-battery-staple-4711";

std::string job_file(const std::string& id, const std::string& ns, const std::string& more = "", bool batch = false) {
  return "job \"" + id + "\" {\n  namespace = \"" + ns + "\"\n" + more +
         (batch ? "  type = \"batch\"\n" : "  update {\n    min_healthy_time = \"200ms\"\n  }\n") +
         "  group \"g\" {\n    task \"t\" {\n      driver = "
         "\"raw_exec\"\n      config {\n        command = \"/bin/sleep\"\n        args = [\"86397\"]\n      }\n"
         "      resources {\n        cpu = 10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

/// With ACLs, which root at the socket is above. A Nomad tells the secrets of its tokens.
void switch_acl_on(Machine& machine, bool readable_token_secrets = false) {
  const std::string more = readable_token_secrets ? "  readable_token_secrets = true\n" : "";
  write_text(machine.directory() + "/agent.hcl", "acl {\n  enabled = true\n" + more + "}\n");
  machine.kill_agent();
  machine.start();
}

void must(const Finished& done) { ASSERT_EQ(done.exit_code, 0) << done.out << done.err; }

void fill(Machine& nomad) {
  must(nomad.underway({"namespace", "apply", "-description", "Slurm", "-raw-exec-as-root", "hpc"}));
  must(nomad.run_job("web", job_file("web", "default", "  meta {\n    owner = \"ops\"\n  }\n")));
  must(nomad.run_job("munge", job_file("munge", "hpc")));
  must(nomad.run_job("slurmctld", job_file("slurmctld", "hpc", "  depends_on {\n    job = \"munge\"\n  }\n")));
  must(nomad.run_job("nightly", job_file("nightly", "hpc", "  periodic {\n    cron = \"@yearly\"\n  }\n", true)));
  auto put = nomad.command({"var", "put", "-namespace", "hpc", "nomad/jobs/munge", "key=-"});
  put.input = kSecret;
  must(run(put));
  write_text(nomad.directory() + "/ops.hcl", "namespace \"hpc\" {\n  policy = \"write\"\n}\n");
  must(nomad.underway({"acl", "policy", "apply", "-description", "Operators", "ops", nomad.directory() + "/ops.hcl"}));
  must(nomad.underway({"acl", "role", "create", "-name", "operators", "-policy", "ops"}));
  must(nomad.underway({"operator", "scheduler", "set-config", "-scheduler-algorithm", "spread"}));
}

/// The secret of a new token.
std::string make_token(const Machine& nomad, const std::string& name) {
  const auto made = nomad.underway({"acl", "token", "create", "-name", name, "-role-name", "operators", "-json"});
  must(made);
  return std::string(boost::json::parse(made.out).at("SecretID").as_string());
}

Command migrate(const Machine& here, const Machine& nomad, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"migrate", "from-nomad", "-nomad-addr", "unix://" + nomad.state() + "/run/agent.sock"});
  return here.command(std::move(more));
}

std::string hcl(const Machine& machine, const std::string& ns, const std::string& job) {
  return machine.underway({"job", "inspect", "-namespace", ns, "-hcl", job}).out;
}

/// Sleepers of jobs below a machine's directory.
std::string tasks_of(const Machine& machine) {
  return shell("for p in $(pgrep -f '^/bin/sleep 86397'); do grep -qsz " + machine.directory() +
               " /proc/$p/environ && echo $p; done; true")
      .out;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(Migrate, TakesEverythingOverAndStartsNothing) {
  Machine nomad, here;
  switch_acl_on(nomad, true);
  switch_acl_on(here);
  fill(nomad);
  const std::string ci = make_token(nomad, "ci");
  must(here.underway({"namespace", "apply", "-raw-exec-as-root", "hpc"}));

  const auto planned = run(migrate(here, nomad));
  EXPECT_EQ(planned.exit_code, 1) << planned.err;
  for (const std::string line :
       {"~ namespace hpc: Description", "+ ACL policy ops", "+ ACL role operators", "+ ACL token ",
        "~ scheduler configuration: SchedulerAlgorithm", "+ variable nomad/jobs/munge (hpc)",
        "+ job web (default), stopped", "+ job slurmctld (hpc), stopped"})
    EXPECT_NE(planned.out.find(line), std::string::npos) << line << " is not in\n" << planned.out << planned.err;
  EXPECT_LT(planned.out.find("job munge"), planned.out.find("job slurmctld")) << "which depends on it";
  EXPECT_EQ(planned.out.find(kSecret), std::string::npos);
  EXPECT_EQ(planned.out.find(ci), std::string::npos);
  EXPECT_EQ(here.underway({"job", "status", "-namespace", "*"}).out.find("munge"), std::string::npos);

  const auto applied = run(migrate(here, nomad, {"-apply"}));
  EXPECT_EQ(applied.exit_code, 0) << applied.out << applied.err;
  const auto again = run(migrate(here, nomad));
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;

  for (const auto& [ns, job] : std::vector<std::pair<std::string, std::string>>{
           {"default", "web"}, {"hpc", "munge"}, {"hpc", "slurmctld"}, {"hpc", "nightly"}}) {
    EXPECT_NE(hcl(here, ns, job), "");
    EXPECT_EQ(hcl(here, ns, job), hcl(nomad, ns, job));
    EXPECT_NE(here.underway({"job", "status", "-namespace", ns, job}).out.find("dead"), std::string::npos) << job;
  }
  EXPECT_EQ(here.underway({"var", "get", "-namespace", "hpc", "-item", "key", "nomad/jobs/munge"}).out, kSecret);
  EXPECT_NE(here.underway({"acl", "role", "list"}).out.find("operators"), std::string::npos);
  // Who has a token of the Nomad goes on with it.
  auto as_ci = here.command({"job", "status", "-namespace", "hpc"});
  as_ci.env["NOMAD_TOKEN"] = ci;
  EXPECT_NE(run(as_ci).out.find("slurmctld"), std::string::npos);
  as_ci.env["NOMAD_TOKEN"] = "00000000-0000-4000-8000-000000000000";
  EXPECT_NE(run(as_ci).exit_code, 0) << "it was the token that counted";
  EXPECT_NE(here.underway({"operator", "api", "/v1/job/munge/submission?version=0&namespace=hpc"}).out.find("86397"),
            std::string::npos)
      << "the file as it was written";
  EXPECT_EQ(tasks_of(here), "");
  EXPECT_NE(tasks_of(nomad), "");
  EXPECT_EQ(shell("grep -l -e '" + kSecret + "' -e '" + ci + "' " + here.log() + " " + nomad.log()).out, "");
}

TEST(Migrate, StartsAJobOnceItIsStoppedThere) {
  Machine nomad, here;
  must(nomad.run_job("web", job_file("web", "default")));
  must(run(migrate(here, nomad, {"-apply"})));
  const auto refused = run(migrate(here, nomad, {"-job", "web", "-start", "-apply"}));
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_NE(refused.out.find("nomad job stop -namespace default web"), std::string::npos) << refused.out;
  EXPECT_EQ(tasks_of(here), "");

  must(nomad.underway({"job", "stop", "web"}));
  ASSERT_TRUE(eventually(seconds(20), [&] { return tasks_of(nomad).empty(); }));
  Finished started;
  EXPECT_TRUE(eventually(seconds(20),
                         [&] {  // the node's last word may still be on its way
                           started = run(migrate(here, nomad, {"-job", "web", "-start", "-apply"}));
                           return started.exit_code == 0;
                         }))
      << started.out << started.err;
  EXPECT_TRUE(eventually(seconds(20), [&] { return !tasks_of(here).empty(); }));

  // It is ours now, whatever becomes of it there.
  must(nomad.run_job("web", job_file("web", "default", "  priority = 70\n")));
  const auto left = run(migrate(here, nomad, {"-apply"}));
  EXPECT_EQ(left.exit_code, 1);
  EXPECT_NE(left.out.find("it runs here and differs"), std::string::npos) << left.out;
  EXPECT_EQ(hcl(here, "default", "web").find("priority"), std::string::npos);
}

TEST(Migrate, GoesOnWhereItWasWhenTheTargetWasKilled) {
  constexpr int kJobs = 200;
  Machine nomad, here;
  for (int i = 0; i < kJobs; ++i) {
    const std::string id = "job-" + std::to_string(i);
    // Parameterized: they are registered, and nothing of them runs.
    must(nomad.run_job(id, job_file(id, "default", "  parameterized {}\n", true)));
  }
  const std::string out = here.directory() + "/out";
  auto command = migrate(here, nomad, {"-apply"});
  std::string line = "exec";
  for (const auto& word : command.argv) line += " '" + word + "'";
  command.argv = {"/bin/sh", "-c", line + " > " + out + " 2>&1"};
  Background applying(command);
  ASSERT_TRUE(
      eventually(seconds(30), [&] { return count(read_text(out), "done: ") >= 3 || applying.wait(seconds(0)) >= 0; }));
  here.kill_agent();
  EXPECT_EQ(applying.wait(seconds(60)), 1) << read_text(out);
  EXPECT_NE(read_text(out).find("run the same command again"), std::string::npos) << read_text(out);
  here.start();
  const auto again = run(migrate(here, nomad, {"-apply"}));
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  const auto planned = run(migrate(here, nomad));
  EXPECT_EQ(planned.exit_code, 0) << planned.out;
  for (int i = 0; i < kJobs; ++i) {
    const std::string id = "job-" + std::to_string(i);
    EXPECT_EQ(hcl(here, "default", id), hcl(nomad, "default", id));
  }
}

TEST(Migrate, EndsWhenTheNomadDoesNotAnswer) {
  Machine here;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 8), 0);  // the kernel takes connections, and nobody reads them
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto ended = here.underway({"migrate", "from-nomad", "-timeout", "2s", "-nomad-addr",
                                    "http://127.0.0.1:" + std::to_string(::ntohs(address.sin_port))});
  ::close(listener);
  EXPECT_EQ(ended.exit_code, 255) << ended.out << ended.err;
  EXPECT_FALSE(ended.timed_out);
  const auto same =
      here.underway({"migrate", "from-nomad", "-nomad-addr", "unix://" + here.state() + "/run/agent.sock"});
  EXPECT_EQ(same.exit_code, 255) << "it would read from itself";
}

TEST(Export, IsReadByAnotherControlPlane) {
  Machine here, other;
  switch_acl_on(here);
  switch_acl_on(other);
  fill(here);
  const std::string directory = here.directory() + "/export";
  const auto exported = here.underway({"export", "-out", directory, "-with-secrets"});
  EXPECT_EQ(exported.exit_code, 0) << exported.out << exported.err;
  EXPECT_NE(shell("cat " + directory + "/README.md").out.find("depends_on"), std::string::npos);
  EXPECT_EQ(shell("find " + directory + "/variables -type f ! -perm 600").out, "");

  // The script speaks Nomad's command line, which is ours too.
  const auto script = [&](const std::string& what) {
    auto command = other.command({});
    command.argv = {"/bin/sh", directory + "/restore.sh"};
    if (!what.empty()) command.argv.push_back(what);
    command.env["NOMAD"] = binary_dir() + "/bin/underway";
    return run(command);
  };
  must(script(""));
  EXPECT_EQ(other.underway({"job", "status", "-namespace", "*"}).out.find("munge"), std::string::npos)
      << "jobs wait until they are asked for";
  // What Nomad has no word for.
  for (const std::string ns : {"default", "hpc"}) must(other.underway({"namespace", "apply", "-raw-exec-as-root", ns}));
  must(script("jobs"));
  for (const auto& [ns, job] :
       std::vector<std::pair<std::string, std::string>>{{"default", "web"}, {"hpc", "munge"}, {"hpc", "nightly"}})
    EXPECT_EQ(hcl(other, ns, job), hcl(here, ns, job));
  EXPECT_EQ(hcl(other, "hpc", "slurmctld").find("depends_on"), std::string::npos);
  EXPECT_NE(hcl(other, "hpc", "slurmctld").find("86397"), std::string::npos);
  EXPECT_EQ(other.underway({"var", "get", "-namespace", "hpc", "-item", "key", "nomad/jobs/munge"}).out, kSecret);
  EXPECT_NE(other.underway({"namespace", "status", "hpc"}).out.find("Slurm"), std::string::npos);
  EXPECT_EQ(here.underway({"export", "-out", directory}).exit_code, 1) << "it holds something";
}

}  // namespace
}  // namespace underway::harness

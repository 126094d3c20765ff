// Files that are the same everywhere, on the example cluster: edits, hooks, secrets, local edits, killed agents, a
// management host that is off.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

const std::string kSecret = "a-key-of-four-nodes-9182";
const std::vector<std::string> kHosts = {"mgmt", "login", "c1", "c2"};

std::string block(const std::string& name, const std::string& inside) {
  return "file \"" + name + "\" {\n" + inside + "\n}\n";
}

class Files : public testing::Test {
 protected:
  void declare(const std::string& blocks) { write_text(cluster_.slurm() + "/site.files.hcl", blocks); }
  void master(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(cluster_.slurm() + "/files");
    write_text(cluster_.slurm() + "/files/" + name, bytes);
  }
  Finished apply() const {
    return cluster_.underway({"apply", "-yes", "-var", "compute_nodes=2", cluster_.slurm()}, seconds(150));
  }
  /// The agent of a host, from outside.
  int agent_of(const std::string& host) const {
    for (const int pid : cluster_.agents()) {
      const auto name = shell("cat /proc/" + std::to_string(pid) + "/root/etc/hostname");
      if (name.out == host + "\n") return pid;
    }
    return -1;
  }
  std::string on(const std::string& host, const std::string& line) const { return cluster_.on(host, line).out; }
  bool synced() const { return cluster_.underway({"file", "status"}).exit_code == 0; }
  void wait_until_synced() const {
    EXPECT_TRUE(eventually(seconds(30), [&] { return synced(); })) << cluster_.underway({"file", "status"}).out;
  }

  Cluster cluster_;
};

TEST_F(Files, AreTheSameEverywhereWhateverHappens) {
  const std::string passwd = read_text("/etc/passwd");
  master("passwd", passwd);
  master("slurm.conf", "# first\n");
  const std::string passwd_block = block("/etc/passwd", "source = \"files/passwd\"");
  const std::string conf_block =
      block("/etc/slurm-site/slurm.conf",
            "source = \"files/slurm.conf\"\nowner = \"slurm\"\nmode = \"0640\"\n"
            "after {\n  command = [\"/bin/sh\", \"-c\", \"echo reconfigured >> /var/tmp/hooks\"]\n}\n"
            "reload {\n  job = \"slurmd\"\n}");
  const std::string secret_block =
      block("/etc/site.key", "content = \"" + kSecret + "\"\nsecret = true\ntargets {\n  nodes = [\"c1\"]\n}");
  const std::string greeting_block =
      block("/etc/greeting",
            "content = \"I am {{ .Id }} beside {{ range .AllNodes }}{{ .Id }} {{ end }}\\n\"\n"
            "template = \"go\"");
  const std::string old_block = block("/etc/old", "content = \"x\"\nwhen_removed = \"remove\"");
  declare(passwd_block + conf_block + secret_block + greeting_block + old_block);
  cluster_.up({"-var", "compute_nodes=2"});
  wait_until_synced();

  // Byte-exact, with owner and mode; a template for each; secrets where they belong and nowhere else.
  for (const auto& host : kHosts) {
    EXPECT_EQ(on(host, "cat /etc/passwd"), passwd) << host;
    EXPECT_EQ(on(host, "stat -c '%U %a' /etc/slurm-site/slurm.conf; cat /etc/slurm-site/slurm.conf"),
              "slurm 640\n# first\n");
    EXPECT_EQ(on(host, "cat /etc/greeting"), "I am " + host + " beside c1 c2 login mgmt \n");
    EXPECT_EQ(on(host, "cat /var/tmp/hooks"), "reconfigured\n") << host;
    EXPECT_EQ(on(host, "cat /etc/old"), "x");
  }
  EXPECT_EQ(on("c1", "stat -c %a /etc/site.key; cat /etc/site.key"), "600\n" + kSecret);
  EXPECT_NE(on("c2", "ls /etc/site.key 2>&1"), "/etc/site.key\n");
  // Not by a command on the host: what is run there is audited, with its words.
  const std::string other = "/proc/" + std::to_string(agent_of("c2")) + "/root";
  EXPECT_EQ(shell("grep -rla " + kSecret + " " + other + "/etc " + other + "/var/lib/underway-node").out, "");
  EXPECT_EQ(shell("grep -la " + kSecret + " " + cluster_.state() + "/server/*").out, "") << "sealed in the store";
  EXPECT_EQ(cluster_.underway({"file", "show", "-content", "/etc/site.key"}).exit_code, 1);

  // A change arrives everywhere at once; whoever reads sees the old file or the new one.
  const std::string seen = "/proc/" + std::to_string(agent_of("c1")) + "/root/etc/passwd";
  const std::string changed = passwd + "ann:x:4711:4711:Ann:/home/ann:/bin/sh\n";
  std::atomic<bool> over = false;
  std::atomic<long> reads = 0, torn = 0;
  std::thread reader([&] {
    while (!over) {
      const auto text = std::filesystem::exists(seen) ? read_text(seen) : std::string();
      if (text != passwd && text != changed) ++torn;
      ++reads;
    }
  });
  master("passwd", changed);
  master("slurm.conf", "# second\n");
  const auto plan = cluster_.underway({"plan", "-var", "compute_nodes=2", cluster_.slurm()});
  EXPECT_NE(plan.out.find("file /etc/passwd: changed"), std::string::npos) << plan.out << plan.err;
  const auto applied = apply();
  EXPECT_EQ(applied.exit_code, 0) << applied.out << applied.err;
  wait_until_synced();
  for (const auto& host : kHosts) {
    EXPECT_EQ(on(host, "cat /etc/passwd"), changed) << host;
    EXPECT_EQ(on(host, "id -u ann"), "4711\n");
    EXPECT_EQ(on(host, "cat /var/tmp/hooks"), "reconfigured\nreconfigured\n") << "once per change, on " << host;
  }
  over = true;
  reader.join();
  EXPECT_EQ(torn, 0) << "of " << reads << " reads";
  EXPECT_GT(reads, 1000);
  const auto events = cluster_.underway({"file", "status", "c1"});
  EXPECT_NE(events.out.find("SIGHUP to job 'slurmd': 1 tasks"), std::string::npos) << events.out;

  // A local edit is put right; one that is only reported stays, is told, and is shown.
  cluster_.on("c2", "echo intruder:x:0:0::/:/bin/sh >> /etc/passwd");
  EXPECT_EQ(cluster_.underway({"file", "sync", "c2"}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return on("c2", "cat /etc/passwd") == changed; }));
  declare(passwd_block + conf_block + secret_block + greeting_block +
          block("/etc/motd", "content = \"welcome\\n\"\ndrift = \"report\""));
  EXPECT_EQ(apply().exit_code, 0);
  wait_until_synced();
  for (const auto& host : kHosts)
    EXPECT_NE(on(host, "ls /etc/old 2>&1"), "/etc/old\n") << "it is not declared any more";
  cluster_.on("c2", "echo mine > /etc/motd");
  cluster_.underway({"file", "sync"});
  EXPECT_TRUE(eventually(seconds(20), [&] {
    return cluster_.underway({"file", "status", "/etc/motd"}).out.find("drifted") != std::string::npos;
  }));
  const auto diff = cluster_.underway({"file", "diff", "/etc/motd"});
  EXPECT_EQ(diff.exit_code, 1);
  EXPECT_NE(diff.out.find("-welcome\n+mine\n"), std::string::npos) << diff.out << diff.err;
  EXPECT_NE(cluster_.underway({"status"}).out.find("files were changed by hand on c2"), std::string::npos);
  EXPECT_EQ(on("c2", "cat /etc/motd"), "mine\n");
  cluster_.on("c2", "echo welcome > /etc/motd");
  cluster_.underway({"file", "sync"});
  wait_until_synced();

  // An agent that is killed while it applies: the command before goes on, and nothing is done twice.
  declare(passwd_block + conf_block + secret_block + greeting_block +
          block("/etc/slow",
                "content = \"slow\\n\"\nbefore {\n  command = [\"/bin/sh\", \"-c\", "
                "\"echo begun >> /var/tmp/slow; until test -e /var/tmp/go; do sleep 0.05; done\"]\n}\n"
                "after {\n  command = [\"/bin/sh\", \"-c\", \"echo done >> /var/tmp/slow\"]\n}"));
  EXPECT_EQ(apply().exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return on("c1", "cat /var/tmp/slow") == "begun\n"; }));
  const int killed = agent_of("c1");
  ASSERT_GT(killed, 0);
  ::kill(killed, SIGKILL);
  for (const auto& host : kHosts) cluster_.on(host, "touch /var/tmp/go");
  EXPECT_TRUE(eventually(seconds(60), [&] { return on("c1", "cat /etc/slow") == "slow\n"; }));
  wait_until_synced();
  for (const auto& host : kHosts) EXPECT_EQ(on(host, "cat /var/tmp/slow"), "begun\ndone\n") << host;

  // The management side is off: nodes keep what they have, and nothing else happens.
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  const std::string root = "/proc/" + std::to_string(agent_of("c1")) + "/root";
  write_text(root + "/etc/greeting", "edited\n");
  EXPECT_EQ(read_text(root + "/etc/passwd"), changed);
  EXPECT_TRUE(stays(seconds(3), [&] { return read_text(root + "/etc/greeting") == "edited\n"; }));
  cluster_.up({"-var", "compute_nodes=2"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return on("c1", "cat /etc/greeting").starts_with("I am c1"); }));
  wait_until_synced();

  // By hand, beside the directory; and what the directory declares is changed there.
  auto add = cluster_.command({"file", "add", "-mode", "0600", "/etc/by-hand", "-"});
  add.input = "by hand\n";
  const auto added = run(add);
  EXPECT_EQ(added.exit_code, 0) << added.err;
  wait_until_synced();
  EXPECT_EQ(on("login", "stat -c %a /etc/by-hand; cat /etc/by-hand"), "600\nby hand\n");
  EXPECT_EQ(cluster_.underway({"file", "remove", "/etc/passwd"}).exit_code, 1);
  EXPECT_NE(cluster_.underway({"file", "list"}).out.find("/etc/by-hand"), std::string::npos);
  EXPECT_EQ(cluster_.underway({"file", "remove", "/etc/by-hand"}).exit_code, 0);
}

}  // namespace
}  // namespace underway::harness

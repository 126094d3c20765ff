// The log capsule of examples/decoupled and a central log host, which is a real rsyslogd on a host of its own: every
// line of the nodes arrives there, whatever is rotated, moved, or away for a while.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "harness/capsule/capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kCentral = "10.78.0.99";
constexpr int kWindow = 16;  ///< how many lines may come twice when the connection breaks, as the forwarder has it

constexpr const char* kBefore = R"(namespace "default" {
  raw_exec_as_root = true
}
locals {
  gateway = "10.78.0.1"
  log     = "10.78.0.7"
}
)";

constexpr const char* kHosts = R"(
  datacenter = "dc1"
  network "prov" { cidr = "10.78.0.0/24" }
  share "/home" {}
  pool "infra" {
    size     = 2
    hostname = "infra%d"
    bridges  = true
  }
  pool "compute" {
    hostname = "c%d"
  }
  pool "outside" {
    hostname = "outside"
  }
}
)";

constexpr const char* kCentralConf = R"(main_queue(queue.type="Direct")
module(load="imrelp")
input(type="imrelp" port="2514")
module(load="imtcp")
input(type="imtcp" port="1514")
template(name="line" type="string" string="%pri-text% %hostname% %syslogtag%%msg%\n")
action(type="omfile" file="/home/central" template="line")
)";

class LogCapsule : public Capsule {
 public:
  explicit LogCapsule(std::vector<std::string> settings)
      : Capsule("log", "decoupled", "infra1", "infra2", "/var/log"), settings_(std::move(settings)) {
    declare();
    cluster().lose_patience();
    settings_.emplace_back("log_host=" + std::string(kCentral));
    std::vector<std::string> more;
    for (const auto& setting : settings_) more.insert(more.end(), {"-var", setting});
    cluster().up(more);
    find_shared("c1", "/home");
    write_text(shared() + "/central.conf", kCentralConf);
    shell_on("outside", fmt::format("ip addr add {}/24 dev eth0", kCentral));
  }

  std::string shell_on(const std::string& host, const std::string& line) const {
    const auto done = cluster().enter(host, line);
    EXPECT_EQ(done.exit_code, 0) << host << ": " << line << "\n" << done.out << done.err;
    return done.out;
  }

  void start_central() const {
    shell_on("outside", "rsyslogd -f /home/central.conf -i /home/central.pid");
    EXPECT_TRUE(eventually(seconds(10), [&] {
      return cluster().enter("outside", "ss -Hltn 'sport = :2514' | grep -q .").exit_code == 0;
    }));
  }
  void kill_central() const { shell_on("outside", "kill -9 $(cat /home/central.pid)"); }

  /// Of the lines "NAME: line N end" in a file or files; `last` is the greatest number.
  struct Counted {
    long long lines = 0, numbers = 0, last = 0;
  };
  Counted counted(const std::string& text) const {
    Counted out;
    const std::string file = shared() + "/counted";
    write_text(file, text);
    std::istringstream(shell(fmt::format("grep -o 'line [0-9]* end' {0} | grep -o '[0-9]*' >{0}.n; wc -l <{0}.n; "
                                         "sort -un {0}.n | wc -l; sort -n {0}.n | tail -n 1",
                                         file))
                           .out) >>
        out.lines >> out.numbers >> out.last;
    return out;
  }
  Counted arrived() const { return counted(central()); }
  std::string central() const { return read_text(shared() + "/central"); }

  void rotate() const {
    const auto done = inside("logrotate -f --state /var/lib/logrotate/position /etc/logrotate.d/messages");
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  }
  void move() const {
    const std::string to = other_than(owner());
    const auto done = cluster().underway({"capsule", "move", name(), "-to", to}, seconds(60));
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err << status();
    EXPECT_EQ(owner(), to);
  }
  /// The one that runs.
  std::string allocation() const {
    std::istringstream rows(cluster().underway({"job", "allocs", name()}).out);
    for (std::string row; std::getline(rows, row);) {
      if (row.find(" running ") != std::string::npos) return row.substr(0, row.find(' '));
    }
    ADD_FAILURE() << "it does not run\n" << status();
    return {};
  }
  /// Until another first process runs: the command ends as soon as the node knows of it, and on a busy machine lines
  /// still arrive, and the next step begins, before the capsule has stopped.
  void restart() const {
    const auto begun = [&] { return inside("cut -d ' ' -f 22 /proc/1/stat"); };
    const auto before = begun();
    EXPECT_EQ(before.exit_code, 0) << before.out << before.err;
    const auto done = cluster().underway({"alloc", "restart", allocation()});
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
    EXPECT_TRUE(eventually(seconds(30), [&] {
      const auto now = begun();
      return now.exit_code == 0 && now.out != before.out;
    })) << status();
  }
  std::string says() const { return cluster().underway({"alloc", "logs", "-job", name()}).out; }
  Finished check() const { return inside("/usr/lib/capsule/log/forward check"); }

 private:
  void declare() const {
    const std::string directory = cluster().directory() + "/";
    const std::string declared = read_text(directory + "cluster.hcl");
    const auto from = declared.find("\ncluster \"") + 1;
    const std::string head = declared.substr(from, declared.find('{', from) - from + 1);
    for (const auto& entry : fs::directory_iterator(directory)) {
      const auto name = entry.path().filename();
      if (name.extension() == ".hcl" && name != "log.hcl" && name != "node-log.hcl") fs::remove(entry.path());
    }
    write_text(directory + "cluster.hcl", kBefore + head + kHosts);
  }

  std::vector<std::string> settings_;
};

/// A node that logs numbered lines until it is told that there are enough.
class Lines {
 public:
  Lines(const LogCapsule& log, const std::string& host)
      : log_(log),
        host_(host),
        writer_({.argv = {"nsenter", "--all", "--target", std::to_string(log.cluster().agent_of(host)), "sh", "-c",
                          R"sh(
             n=0
             until [ -e /tmp/enough ]; do
               n=$((n + 1))
               echo "line $n end"
               [ $((n % 20)) != 0 ] || sleep 0.02
             done | logger -p local3.warning -t counted)sh"}}) {}
  void end() {
    log_.shell_on(host_, "touch /tmp/enough");
    EXPECT_EQ(writer_.wait(seconds(20)), 0);
  }

 private:
  const LogCapsule& log_;
  std::string host_;
  Background writer_;
};

TEST(LogForward, SendsEveryLineOnceThroughRotationsMovesAndRestartsAndWhileTheCentralHostIsAway) {
  const LogCapsule log({});
  log.start_central();
  Lines lines(log, "c1");
  const auto more_arrive = [&](long long than) {
    return eventually(seconds(30), [&] { return log.arrived().last > than; });
  };
  ASSERT_TRUE(more_arrive(500)) << log.status() << log.says();
  log.rotate();
  log.move();
  ASSERT_TRUE(more_arrive(log.arrived().last + 500)) << log.says();
  log.rotate();
  log.restart();
  ASSERT_TRUE(more_arrive(log.arrived().last + 500)) << log.says();
  const auto in_order = log.arrived();
  EXPECT_EQ(in_order.lines, in_order.numbers) << "it was stopped in order, and nothing comes twice";

  // The central host dies, and the capsule moves with what waits, on which the one after it goes on.
  log.kill_central();
  const long long at_death = log.arrived().last;
  const auto waiting = [&] {
    const auto said = log.check();
    EXPECT_EQ(said.exit_code, 0) << said.out << said.err;
    return std::atof(said.out.c_str());
  };
  ASSERT_TRUE(eventually(seconds(30), [&] { return waiting() >= 0.1; })) << log.says();
  log.rotate();
  log.move();
  const double before = waiting();
  EXPECT_GE(before, 0.1);
  ASSERT_TRUE(eventually(seconds(30), [&] { return waiting() > before; })) << log.says();
  EXPECT_EQ(log.arrived().last, at_death);
  log.start_central();
  lines.end();
  LogCapsule::Counted in_capsule, arrived;
  EXPECT_TRUE(eventually(seconds(60),
                         [&] {
                           in_capsule = log.counted(log.inside("zcat -f /var/log/messages*").out);
                           arrived = log.arrived();
                           return in_capsule.numbers == in_capsule.last && arrived.last == in_capsule.last &&
                                  arrived.numbers == arrived.last;
                         }))
      << fmt::format("{} were sent; the capsule has {}, the central host {}", in_capsule.last, in_capsule.numbers,
                     arrived.numbers)
      << log.says();
  EXPECT_GT(arrived.last, 2000);
  EXPECT_LE(arrived.lines - arrived.numbers, kWindow) << "the central host died once";
  EXPECT_THAT(log.says(), HasSubstr("takes no lines"));
  EXPECT_THAT(log.says(), HasSubstr("takes lines again"));
  std::cout << fmt::format("{} lines, of which {} came twice\n", arrived.numbers, arrived.lines - arrived.numbers);
}

TEST(LogForward, DropsTheOldestOfWhatIsTooMuchAndSaysSo) {
  const LogCapsule log({"log_protocol=tcp", "log_port=1514", "log_limit=1"});
  // Three times what may wait, in files of their own. What was under way when the forwarder last began a new file, less
  // than a sixteenth of what may wait, stays in that.
  const std::string small = "test $(stat -c %s /var/spool/forward/lines 2>/dev/null || echo 0) -lt 65536";
  for (int round = 0; round < 8; ++round) {
    log.shell_on("c1", fmt::format("seq -f \"line %.0f end $(printf %04000d 0)\" {} {} | "
                                   "logger -S 8k -p local3.warning -t counted",
                                   100 * round + 1, 100 * round + 100));
    EXPECT_TRUE(eventually(seconds(30), [&] {
      return log.counted(log.inside("cat /var/log/messages").out).last == 100 * round + 100 &&
             log.inside(small).exit_code == 0;
    })) << log.says();
  }
  Finished said;
  EXPECT_TRUE(eventually(seconds(30),
                         [&] {
                           said = log.check();
                           return said.out.find(" 0 lines") == std::string::npos && std::atof(said.out.c_str()) <= 1.0;
                         }))
      << said.out << said.err;
  EXPECT_NE(said.exit_code, 0) << "nearly as much waits as may: " << said.out;
  EXPECT_THAT(log.says(), HasSubstr("lines from "));

  log.start_central();
  // Of the lines of the nodes themselves, too.
  long long dropped = 0, sent = 0, arrived = 0;
  EXPECT_TRUE(eventually(seconds(30),
                         [&] {
                           const std::string text = log.central(), note = " forward: ";
                           dropped = 0;
                           arrived = std::ranges::count(text, '\n');
                           for (auto at = text.find(note); at != std::string::npos;
                                at = text.find(note, at + 1), --arrived)
                             dropped += std::atoll(text.c_str() + at + note.size());
                           sent = std::ranges::count(log.inside("cat /var/log/messages").out, '\n');
                           return arrived + dropped == sent;
                         }))
      << sent << " were sent, " << arrived << " arrived, and " << dropped << " were said to be dropped\n"
      << log.says();
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(log.arrived().last, 800) << "the newest were dropped";
  EXPECT_THAT(log.central(), HasSubstr("local3.warning c1 counted: line 800 end"));
  EXPECT_TRUE(eventually(seconds(30), [&] { return log.check().exit_code == 0; })) << log.check().out;
  EXPECT_THAT(log.cluster().underway({"alloc", "checks", log.allocation()}).out, HasSubstr("wait for 10.78.0.99:1514"));
}

}  // namespace
}  // namespace underway::harness

// How soon what a capsule replaces is on its standby, and what that costs the server and the agents of both nodes, in
// processor time of /proc/PID/stat. Needs root and busybox-static; `decoupled` also the packages of examples/decoupled.
//
//   copies_bench [SAVES]              from the rename of a small file to its arrival
//   copies_bench sync [SAVES]         what a save takes without and with `sync`, as a client sees it
//   copies_bench decoupled [SECONDS]  the Slurm services: at rest, and while jobs are submitted
//   copies_bench synced [SECONDS]     the same, with `sync`
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "harness/capsule/counting_capsule.hpp"

namespace {

using namespace underway::harness;
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
namespace fs = std::filesystem;

/// Milliseconds that a process has used, or its children that have ended: the commands of Slurm by which the server
/// asks slurmctld how it is, every two seconds.
double cpu_of(int pid, bool children) {
  const auto text = read_text("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 2)));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;  // proc_pid_stat(5)
  double sum = 0, ticks = 0;
  for (int field = 14; field <= 17; ++field) {
    if (fields >> ticks && children == (field >= 16)) sum += ticks;
  }
  return 1000 * sum / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// Of the server and of two nodes.
struct Spent {
  Spent(const Cluster& cluster, const std::string& from, const std::string& to)
      : pids{cluster.server_agents(), {cluster.agent_of(from)}, {cluster.agent_of(to)}} {
    restart();
  }
  void restart() {
    before = now();
    since = steady_clock::now();
  }
  /// Milliseconds of the three, and of the commands that they have run.
  std::array<double, 4> now() const {
    std::array<double, 4> out{};
    for (std::size_t part = 0; part < pids.size(); ++part) {
      for (const int pid : pids[part]) {
        out[part] += cpu_of(pid, false);
        out[3] += cpu_of(pid, true);
      }
    }
    return out;
  }
  void print(const std::string& what) const {
    const double wall = duration<double, std::milli>(steady_clock::now() - since).count();
    auto share = now();
    for (std::size_t part = 0; part < share.size(); ++part) share[part] = 100 * (share[part] - before[part]) / wall;
    std::cout << fmt::format("{:<44} {:5.2f} % of a core   server {:.2f}   owner {:.2f}   standby {:.2f}   ", what,
                             share[0] + share[1] + share[2], share[0], share[1], share[2])
              << fmt::format("(and commands {:.2f}; {:.0f} s)\n", share[3], wall / 1000) << std::flush;
  }

  std::array<std::vector<int>, 3> pids;
  std::array<double, 4> before{};
  steady_clock::time_point since;
};

void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::string copy_on(const Cluster& cluster, const std::string& host, const std::string& capsule) {
  return fmt::format("/proc/{}/root/var/lib/underway-node/capsules/default/{}/overlay/copy", cluster.agent_of(host),
                     capsule);
}

void measure_arrival(int saves) {
  const CountingCapsule capsule;
  const std::string from = capsule.owner(), to = capsule.other_than(from);
  const auto inside = fmt::format("/proc/{}/root/srv/", capsule.services(from).at(0));
  const auto arrived = copy_on(capsule.cluster(), to, "counter") + "/tree/srv/state";
  const auto save = [&](const std::string& text) {
    write_text(inside + "state.new", text);
    fs::rename(inside + "state.new", inside + "state");
  };
  save("first");
  must(eventually(seconds(60), [&] { return read_text(arrived) == "first"; }), "no copy arrives\n" + capsule.status());
  std::this_thread::sleep_for(seconds(2));
  Spent spent(capsule.cluster(), from, to);
  std::this_thread::sleep_for(seconds(30));
  spent.print("nothing is written");
  std::vector<double> all;
  spent.restart();
  for (int number = 0; number < saves; ++number) {
    std::this_thread::sleep_for(seconds(1));
    const auto text = std::to_string(number);
    const auto begun = steady_clock::now();
    save(text);
    while (read_text(arrived) != text) {
      must(steady_clock::now() - begun < seconds(60), "it does not arrive\n" + capsule.status());
      std::this_thread::sleep_for(milliseconds(1));
    }
    all.push_back(duration<double, std::milli>(steady_clock::now() - begun).count());
  }
  spent.print("a file is replaced once a second");
  std::sort(all.begin(), all.end());
  std::cout << fmt::format("{:<44} median {:.0f} ms   least {:.0f}   most {:.0f}   n={}\n", "from rename to arrival",
                           all[all.size() / 2], all.front(), all.back(), all.size());
}

/// Asks the counter once, which saves before it answers; milliseconds. From the network of the calling thread.
double ask() {
  const auto begun = steady_clock::now();
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(7000);
  ::inet_pton(AF_INET, "10.78.0.200", &to.sin_addr);
  char answer[64];
  const bool answered =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 && ::recv(fd, answer, sizeof answer, 0) > 0;
  ::close(fd);
  must(answered, "the capsule does not answer");
  return duration<double, std::milli>(steady_clock::now() - begun).count();
}

void measure_saves(CountingCapsule::Kind kind, const std::string& name, int saves) {
  const CountingCapsule capsule(kind);
  const std::string from = capsule.owner(), to = capsule.other_than(from);
  must(eventually(seconds(60), [&] { return capsule.at_rest() && capsule.record().copied_at > 0; }), capsule.status());
  std::this_thread::sleep_for(seconds(5));
  std::vector<double> all;
  Spent spent(capsule.cluster(), from, to);
  std::string problem;
  std::jthread([&] {
    try {
      const auto network = fmt::format("/proc/{}/ns/net", capsule.cluster().agent_of("c1"));
      const int fd = ::open(network.c_str(), O_RDONLY | O_CLOEXEC);
      must(fd >= 0 && ::setns(fd, CLONE_NEWNET) == 0, "cannot enter the network of c1");
      ::close(fd);
      for (int number = 0; number < saves; ++number) all.push_back(ask());
    } catch (const std::exception& e) {
      problem = e.what();
    }
  }).join();
  must(problem.empty(), problem);
  spent.print(name);
  std::sort(all.begin(), all.end());
  std::cout << fmt::format("{:<44} median {:.1f} ms   least {:.1f}   most {:.1f}   n={}\n", "a save and its answer",
                           all[all.size() / 2], all.front(), all.back(), all.size());
}

/// How old the newest copy was when it was asked, now and then, as the server knows it; milliseconds.
long long age(const Cluster& cluster, const std::string& copy) {
  const auto text = read_text(copy + "/copy.json");
  const auto at = text.find("\"At\":");
  must(at != std::string::npos, "no copy\n" + cluster.underway({"status"}).out);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count() - std::atoll(text.c_str() + at + 5) / 1'000'000;
}

/// In the first `config` of a job file.
void add_sync(const std::string& path) {
  std::string text = read_text(path);
  const std::string begin = "config {\n";
  const auto at = text.find(begin);
  must(at != std::string::npos, "no config in " + path);
  write_text(path, text.insert(at + begin.size(), "protect {\n  sync = true\n}\n"));
}

void measure_decoupled(int span, bool synced) {
  Cluster cluster("decoupled");
  if (synced) add_sync(cluster.directory() + "/slurm-services.hcl");
  cluster.up();
  const auto status = [&] { return cluster.underway({"capsule", "status", "slurm-services"}).out; };
  must(eventually(seconds(120), [&] { return status().find("what it wrote in the last") != std::string::npos; }),
       "no copies\n" + status());
  const std::string words = cluster.underway({"status"}).out;
  const auto row = words.find("slurm-services  infra");
  must(row != std::string::npos, words);
  const std::string from = words.substr(row + 16, 6), to = from == "infra1" ? "infra2" : "infra1";
  const auto copy = copy_on(cluster, to, "slurm-services");
  std::this_thread::sleep_for(seconds(30));
  Spent spent(cluster, from, to);
  std::this_thread::sleep_for(seconds(span));
  spent.print("slurm-services, at rest");
  spent.restart();
  // Four that pause so long submit about a hundred a second, of which the budget speaks.
  const auto line = fmt::format(
      "end=$(( $(date +%s) + {} )); for w in 1 2 3 4; do (while [ $(date +%s) -lt $end ]; do "
      "sbatch -H --mem=16 -o /dev/null --wrap true >/dev/null && echo; sleep 0.025; done) & done; wait",
      span);
  Finished submitted;
  std::jthread submitting([&] {
    try {
      submitted = cluster.enter("login", line, seconds(span + 120));
    } catch (const std::exception& e) {
      submitted.err = e.what();
    }
  });
  std::vector<long long> ages;
  const auto begun = steady_clock::now();
  while (steady_clock::now() < begun + seconds(span)) {
    // Before the first submission nothing is written, and the newest copy is as old as that.
    const auto since = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun).count();
    if (const auto found = age(cluster, copy); found <= since || since > 5000) ages.push_back(found);
    std::this_thread::sleep_for(milliseconds(50));
  }
  spent.print("slurm-services, jobs are submitted");
  submitting.join();
  std::sort(ages.begin(), ages.end());
  std::cout << fmt::format("{:<44} median {} ms   99 % below {}   most {}\n", "age of the newest copy meanwhile",
                           ages[ages.size() / 2], ages[ages.size() * 99 / 100], ages.back())
            << fmt::format("{:<44} {} {}\n", "submitted a second, by four",
                           submitted.out.size() / static_cast<std::size_t>(span), submitted.err)
            << cluster.underway({"capsule", "services", "slurm-services"}).out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool decoupled = mode == "decoupled" || mode == "synced", sync = mode == "sync";
  const int at = decoupled || sync ? 2 : 1, number = argc > at ? std::atoi(argv[at]) : 30;
  try {
    if (sync) {
      measure_saves(CountingCapsule::Kind::saving, "without sync", std::max(1, number));
      measure_saves(CountingCapsule::Kind::synced, "with sync", std::max(1, number));
    } else if (decoupled)
      measure_decoupled(std::max(1, number), mode == "synced");
    else
      measure_arrival(std::max(1, number));
  } catch (const std::exception& e) {
    std::cerr << "copies_bench: " << e.what() << "\n";
    return 1;
  }
  return 0;
}

// How soon a node that comes serves the Slurm job that waits for it, beside Slurm's own way to cloud nodes in the same
// run; what a node's going costs; and how soon one that was held is let in. Real slurmctld and slurmd in namespaces of
// their own. Needs root; of the releases of Slurm those of which there are roots (packaging/slurm-roots).
//
//   slurm_join_bench [JOINS]   nodes that join, 20 unless told otherwise
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <thread>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/elastic/members.hpp"

namespace {

using namespace underway;
using namespace underway::harness;
using slurm::JoinMode;
using std::chrono::milliseconds;
using std::chrono::seconds;

void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void print(const std::string& what, std::vector<double> ms) {
  must(!ms.empty(), what + ": nothing was measured");
  std::sort(ms.begin(), ms.end());
  const auto at = [&](std::size_t percent) { return ms[std::min(ms.size() - 1, ms.size() * percent / 100)]; };
  std::cout << fmt::format("{:<64} median {:7.0f} ms   p95 {:7.0f}   most {:7.0f}   n={}\n", what, at(50), at(95),
                           ms.back(), ms.size())
            << std::flush;
}

/// A slurmctld with a pool of which no node is there.
class Pool {
 public:
  Pool(const SlurmRelease& release, JoinMode mode, int nodes, const std::string& more, bool asks)
      : mode_(mode), pool_{.name = "burst", .cpus = 4, .memory_mb = 2000} {
    for (int i = 1; i <= nodes; ++i) pool_.hosts.push_back("b" + std::to_string(i));
    const slurm::AskPrograms programs{.resume = "/usr/sbin/pool-resume",
                                      .suspend = "/usr/sbin/pool-suspend",
                                      .resume_fail = "/usr/sbin/pool-resume-fail"};
    auto made = slurm::render_join(mode, *slurm::find_version(release.version), {pool_}, {}, {},
                                   asks ? std::optional(programs) : std::nullopt);
    must(made.problems.empty(), "the configuration cannot work");
    made.lines.back() += " Default=YES MaxTime=INFINITE";
    // Before 23.02 select/linear is Slurm's default, which gives out whole nodes.
    if (mode == JoinMode::cloud) made.options.emplace_back("SelectType=select/cons_tres");
    site_ = std::make_unique<SlurmPool>(release, made.text() + more);
    if (mode == JoinMode::cloud && !asks) tell(slurm::absent_command(pool_.hosts));
  }

  const SlurmPool& site() const { return *site_; }
  const std::vector<std::string>& hosts() const { return pool_.hosts; }

  void tell(const slurm::Command& command) const {
    const auto said = site_->run(command);
    must(said.exit_code == 0, command.front() + ": " + said.err);
  }
  /// Boots it; in milliseconds of the clock: when slurmd was started, and when Slurm showed that it had registered.
  std::pair<double, double> join(const std::string& node, const std::string& address) const {
    if (mode_ == JoinMode::cloud) tell(slurm::address_command({{node, address}}));
    std::string words;
    for (const auto& word : slurm::slurmd_words(mode_, pool_, node)) words += " '" + word + "'";
    const auto said =
        site_->shell("date +%s%3N; pool-host on " + node + " " + address + words + "; until scontrol -o show node " +
                     node + " 2>&1 | grep -qE 'State=(IDLE|MIXED|ALLOCATED)[+A-Z_]* '; do :; done; date +%s%3N");
    const auto lines = split(said.out, '\n');
    must(lines.size() >= 2, "slurmd does not come: " + said.err);
    return {leading_number_or<double>(lines[0], 0), leading_number_or<double>(lines[1], 0)};
  }
  /// Submits a job that says when it runs; `words`: what else of sbatch.
  std::string submit(const std::string& words = "") const {
    return site_->submit(
        words +
        " --wrap 'date +%s%3N > /srv/state/began.$SLURM_JOB_ID.new; mv /srv/state/began.$SLURM_JOB_ID.new "
        "/srv/state/began.$SLURM_JOB_ID'");
  }
  double began(const std::string& job) const {
    std::string out;
    must(eventually(seconds(120),
                    [&] { return !(out = site_->shell("cat /srv/state/began." + job + " 2>&-").out).empty(); }),
         "the job does not run: " + site_->shell("squeue; sinfo").out);
    return leading_number_or<double>(out, 0);
  }

 private:
  JoinMode mode_;
  slurm::ElasticPool pool_;
  std::unique_ptr<SlurmPool> site_;
};

std::string place(std::size_t index) { return fmt::format("10.9.{}.{}", 1 + index / 200, 1 + index % 200); }

void measure_joins(const SlurmRelease& release, JoinMode mode, int joins, const std::string& schedule,
                   const std::string& name) {
  const Pool pool(release, mode, joins, schedule, false);
  std::vector<double> idle, runs, all, gone;
  for (std::size_t i = 0; i < pool.hosts().size(); ++i) {
    const auto& node = pool.hosts()[i];
    const auto job = pool.submit();
    // Not in step with anything that slurmctld does once a second.
    std::this_thread::sleep_for(milliseconds(700 + 137 * (i % 10)));
    const auto [started, registered] = pool.join(node, place(i));
    const double began = pool.began(job);
    idle.push_back(registered - started);
    runs.push_back(std::max(0.0, began - registered));
    all.push_back(began - started);
    must(eventually(seconds(20), [&] { return pool.site().shell("squeue -h").out.empty(); }), "the job does not end");
    // It goes, so that the next job waits for the next node.
    pool.tell({"scontrol", "update", "nodename=" + node, "state=drain", "reason=bench"});
    pool.site().cut(node);
    const slurm::Command forget = mode == JoinMode::dynamic ? slurm::Command{"scontrol", "delete", "nodename=" + node}
                                                            : slurm::absent_command({node});
    const auto before = std::chrono::steady_clock::now();
    pool.tell(forget);
    gone.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count());
  }
  const auto title = fmt::format("{} {}, {}: ", release.version, slurm::to_string(mode), name);
  print(title + "slurmd started -> registered", idle);
  print(title + "registered -> waiting job runs", runs);
  print(title + "slurmd started -> waiting job runs", all);
  print(title + (mode == JoinMode::dynamic ? "deleted" : "down"), gone);
}

/// Slurm gives powered-down nodes to jobs and asks for them.
void measure_slurms_own(const SlurmRelease& release, int joins) {
  const Pool pool(release, JoinMode::cloud, joins, "", true);
  std::vector<std::string> jobs;
  std::map<std::string, double> registered;
  for (int i = 0; i < joins; ++i) {
    // Each on a node of its own: those that are up already would be given without being asked for.
    jobs.push_back(pool.submit("--exclusive -w " + pool.hosts()[static_cast<std::size_t>(i)]));
    std::string node;
    const auto asked = [&] {
      for (const auto& call : split(pool.site().shell("cat /srv/asked/calls 2>&-").out, '\n')) {
        const auto words = split(call, ' ');
        if (words.size() > 1 && words[0] == "resume" && !registered.contains(std::string(words[1]))) node = words[1];
      }
      return !node.empty();
    };
    must(eventually(seconds(60), asked), "Slurm does not ask");
    registered[node] = pool.join(node, place(static_cast<std::size_t>(i))).second;
    // The next one comes at another point of the 30 s.
    std::this_thread::sleep_for(milliseconds(3700));
  }
  std::vector<double> runs;
  for (const auto& job : jobs) {
    const double began = pool.began(job);
    auto node = pool.site().shell("scontrol -o show job " + job + " | grep -o ' NodeList=[^ ]*' | cut -d= -f2").out;
    node.erase(node.find_last_not_of('\n') + 1);
    runs.push_back(began - registered.at(node));
  }
  print(fmt::format("{} Slurm's own cloud nodes: registered -> its job runs", release.version), runs);
}

void measure_held(const SlurmRelease& release, int times) {
  const Pool pool(release, JoinMode::cloud, 1, "", false);
  pool.join("b1", "10.9.1.1");
  std::vector<double> idle;
  for (int i = 0; i < times; ++i) {
    pool.tell({"scontrol", "update", "nodename=b1", "state=drain", "reason=bench"});
    std::this_thread::sleep_for(milliseconds(900 + 137 * i));
    const auto said = pool.site().shell(
        "date +%s%3N; scontrol update nodename=b1 state=resume; until scontrol -o show node b1 | grep -qE "
        "'State=IDLE\\+CLOUD '; do :; done; date +%s%3N");
    const auto lines = split(said.out, '\n');
    must(lines.size() >= 2, said.err);
    idle.push_back(leading_number_or<double>(lines[1], 0) - leading_number_or<double>(lines[0], 0));
  }
  print(fmt::format("{} a held node is cured -> idle", release.version), idle);
}

}  // namespace

int main(int argc, char** argv) {
  const int joins = std::max(2, argc > 1 ? std::atoi(argv[1]) : 20);
  const std::string usual = "SchedulerParameters=bf_interval=1,sched_min_interval=100000,sched_interval=1\n";
  try {
    for (const auto& release : slurm_releases()) {
      if (!std::filesystem::exists(release.root + "/usr/sbin/slurmctld")) {
        std::cout << release.version << ": there is no " << release.root << "\n";
        continue;
      }
      const auto version = *slurm::find_version(release.version);
      const auto mode = slurm::choose_join({.slurmctld = version, .select_type = "select/cons_tres"}).mode;
      measure_joins(release, mode, joins, usual, "asked once a second");
      measure_joins(release, mode, std::min(joins, 10), "", "Slurm's default scheduling");
      if (mode == JoinMode::dynamic) measure_joins(release, JoinMode::cloud, joins, usual, "asked once a second");
      measure_slurms_own(release, std::min(joins, 8));
      measure_held(release, 10);
    }
  } catch (const std::exception& e) {
    std::cerr << "slurm_join_bench: " << e.what() << "\n";
    return 1;
  }
  return 0;
}

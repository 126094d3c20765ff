#include "harness/slurm/submitters.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "harness/farm_records.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr int kLines = 40;

/// DIRECTORY NAME
constexpr const char* kJob = R"sh(#!/bin/sh
echo "$SLURM_JOB_ID $SLURM_RESTART_COUNT" >> "$1/$2.ran"
i=0
while [ $i -lt 40 ]; do
  echo "$2 line $i of a job's output"
  i=$((i + 1))
done
)sh";

/// DIRECTORY WHO PAUSE
constexpr const char* kSubmitter = R"sh(
n=0
while [ ! -e "$1/stop" ]; do
  n=$((n + 1))
  began=$(date +%s.%N)
  id=$(sbatch --parsable --job-name="$(basename "$1")" --mem=16 --chdir=/ --output="$1/$2.$n.out" "$1/job" "$1" "$2.$n" 2>"$1/$2.err")
  echo "$2.$n $? $began $(date +%s.%N) ${id:--} $(tr '\n' ' ' <"$1/$2.err")" >>"$1/$2.log"
  sleep "$3"
done
)sh";

std::string output_of(const std::string& name) {
  std::string out;
  for (int i = 0; i < kLines; ++i) out += fmt::format("{} line {} of a job's output\n", name, i);
  return out;
}

}  // namespace

Submitters::Submitters(const Cluster& cluster, std::string host, std::string name)
    : cluster_(cluster), host_(std::move(host)), name_(std::move(name)) {
  on_host(fmt::format("mkdir -p {0}; cat >{0}/job <<'EOF'\n{1}EOF\ncat >{0}/submit <<'EOF'\n{2}EOF\n", directory(),
                      kJob, kSubmitter));
}

Submitters::~Submitters() { stop(); }

Finished Submitters::on_host(const std::string& line, seconds limit) const {
  return cluster_.enter(host_, line, limit);
}

void Submitters::start(int count, double pause) {
  on_host("rm -f " + directory() + "/stop");
  for (int i = 0; i < count; ++i) {
    const auto line = fmt::format("exec sh {0}/submit {0} {1} {2}", directory(), ++begun_, pause);
    running_.emplace_back(
        Command{.argv = {"nsenter", "--all", "--target", std::to_string(cluster_.agent_of(host_)), "sh", "-c", line}});
  }
}

void Submitters::stop() {
  if (running_.empty()) return;
  on_host("touch " + directory() + "/stop");
  // Longer than a command of Slurm can wait.
  for (auto& submitter : running_) EXPECT_EQ(submitter.wait(seconds(180)), 0) << "a submitter hangs";
  running_.clear();
}

std::vector<Submission> Submitters::submissions() const {
  std::vector<Submission> out;
  std::istringstream lines(on_host(fmt::format("cat {}/*.log 2>/dev/null", directory())).out);
  for (std::string line; std::getline(lines, line);) {
    Submission submission;
    std::istringstream words(line);
    words >> submission.name >> submission.exit_code >> submission.began >> submission.ended >> submission.id;
    std::getline(words, submission.said);
    if (submission.id == "-") submission.id.clear();
    out.push_back(std::move(submission));
  }
  return out;
}

std::vector<std::string> Submitters::problems(seconds limit) const {
  const auto all = submissions();
  std::vector<std::string> out;
  std::vector<AccountingRow> rows;
  std::map<std::string, std::string> names;
  for (const auto& submission : all) {
    if (submission.exit_code != 0 || submission.id.empty())
      out.push_back(fmt::format("{}: sbatch ended with {} after {:.1f} s:{}", submission.name, submission.exit_code,
                                submission.ended - submission.began, submission.said));
    if (!submission.id.empty() && !names.emplace(submission.id, submission.name).second)
      out.push_back(fmt::format("{}: job {} is that of {} too", submission.name, submission.id, names[submission.id]));
  }
  const bool ended = eventually(limit, [&] {
    const auto asked = on_host(
        "SLURM_TIME_FORMAT=%s sacct -D -X -n -P -o JobIDRaw,State,ExitCode,NodeList,Start,End --starttime now-1day "
        "--name " +
        name_);
    rows = parse_accounting(asked.out);
    // What ended while the controller was dead is CANCELLED first, and becomes what it was when the nodes have been
    // asked.
    std::set<std::string> over;
    for (const auto& row : rows) {
      if (is_over(row) && row.state == "COMPLETED") over.insert(row.id);
    }
    return std::ranges::all_of(names, [&](const auto& job) { return over.contains(job.first); });
  });
  if (!ended)
    out.push_back("not all have completed:\n" +
                  on_host("squeue -h -o '%i %T %r %S'; sinfo -N -o '%N %T %E'; scontrol ping").out);
  std::map<std::string, const AccountingRow*> told;
  for (const auto& row : rows) {
    // It was launched, which slurmd could not confirm as slurmctld ended in that moment, and waited again: what it
    // wrote says below that it has run once.
    if (row.state == "REQUEUED") continue;
    if (!told.emplace(row.id, &row).second) out.push_back("the accounting has job " + row.id + " twice");
    if (!names.contains(row.id)) out.push_back(fmt::format("job {} ({}) was told to nobody", row.id, row.state));
  }
  // As the machine sees what all hosts see.
  const auto files = fmt::format("/proc/{}/root{}/", cluster_.agent_of(host_), directory());
  for (const auto& [id, name] : names) {
    const auto row = told.find(id);
    const auto state = row == told.end() ? "unknown" : row->second->state + " " + row->second->exit_code;
    const auto text = read_text(files + name + ".out"), ran = read_text(files + name + ".ran");
    if (state != "COMPLETED 0:0") out.push_back(fmt::format("{}: job {} is {}", name, id, state));
    if (text != output_of(name)) out.push_back(fmt::format("{}: job {} wrote:\n{}", name, id, text));
    // Its number, and how often it was queued again: slurmctld may stop before it has told a node of a job that it has
    // started, and then the job waits again, and has run once.
    if (ran != id + " \n" && ran != id + " 0\n" && ran != id + " 1\n")
      out.push_back(fmt::format("{}: job {} ran so: '{}'", name, id, ran));
  }
  return out;
}

}  // namespace underway::harness

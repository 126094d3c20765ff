#include "harness/farm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <utility>

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr seconds kSoon{60};

/// The job: DIRECTORY, seconds to last (0: until DIRECTORY/release exists), exit code. It needs perl-base alone, which
/// every Debian has, and asks nothing of the network.
constexpr const char* kFarmProgram = R"perl(#!/usr/bin/perl
use strict;
my ($directory, $lasting, $code) = @ARGV;
my $id = $ENV{SLURM_JOB_ID};
my $restarts = $ENV{SLURM_RESTART_COUNT} // 0;
mkdir $directory;
open(my $out, '>>', "$directory/$id") or die "cannot write $directory/$id: $!";
sub say_line { syswrite($out, "$_[0]\n") or exit 99; }
sub uptime { open(my $in, '<', '/proc/uptime'); my ($now) = split(' ', <$in>); return $now; }
for my $signal ('TERM', 'INT', 'CONT', 'HUP') { $SIG{$signal} = sub { say_line("signal $signal"); exit 98 if $signal ne 'CONT'; }; }
my ($number, $sum, $begin) = (0, 0, uptime());
say_line("start $restarts " . time() . " $begin");
until ($lasting ? uptime() - $begin >= $lasting : -e "$directory/release") {
  select(undef, undef, undef, 0.1);
  ++$number;
  $sum = ($sum * 1000003 + $number + $id) % 4294967291;
  say_line("$number $sum " . uptime());
}
say_line("end $code " . time());
exit $code;
)perl";

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

}  // namespace

Farm::Farm(const Cluster& cluster, Options options) : options_(std::move(options)) {
  if (!options_.on) {
    options_.on = [&cluster](const std::string& host, const std::string& line, seconds limit) {
      return cluster.on(host, line, limit);
    };
  }
  if (!options_.saved) {
    options_.saved = [on = options_.on] {
      return std::atoll(on("mgmt", "stat -c %Y /var/lib/slurm/slurmctld/job_state", kSoon).out.c_str());
    };
  }
}

int Farm::plant(int count, seconds lasting) {
  // One line for each job: its id, or nothing when sbatch failed.
  std::string line = fmt::format("cat > /tmp/{0}.pl <<'EOF'\n{1}EOF\n", options_.name, kFarmProgram);
  const std::size_t first = planted_.size();
  std::vector<int> codes;
  for (int i = 0; i < count; ++i) {
    codes.push_back((first + static_cast<std::size_t>(i)) % 3 == 2 ? 3 : 0);
    std::string where = options_.partition.empty() ? "" : "--partition=" + options_.partition;
    if (options_.spread)
      where += " --nodelist=" + options_.nodes[(first + static_cast<std::size_t>(i)) % options_.nodes.size()];
    line += fmt::format(
        "echo id $(sbatch --parsable --job-name={0} {1} --chdir=/ --output=/dev/null --mem=16 /tmp/{0}.pl {2} {3} "
        "{4})\n",
        options_.name, where, directory(), lasting.count(), codes.back());
  }
  const auto finished = options_.on(options_.submit_host, line, kSoon + seconds(count));
  std::istringstream answers(finished.out);
  std::size_t answered = 0, at = 0;
  for (std::string answer; std::getline(answers, answer);) {
    const auto words = words_of(answer);
    if (words.empty() || words[0] != "id" || at >= codes.size()) continue;
    if (words.size() == 2) {
      planted_.push_back({words[1].substr(0, words[1].find(';')), codes[at]});
      ++answered;
    }
    ++at;
  }
  if (std::cmp_less(answered, count)) std::cout << "the farm was refused: " << finished.err;
  unanswered_ += count - static_cast<int>(answered);
  return static_cast<int>(answered);
}

testing::AssertionResult Farm::settled(seconds limit) const {
  const std::string ask = fmt::format("squeue -h -t PD,CF -n {} -o %i; echo asked $?; date +%s", options_.name);
  long long since = 0;
  const bool started = eventually(limit, [&] {
    const auto words = words_of(options_.on(options_.submit_host, ask, kSoon).out);
    if (words.size() != 3 || words[1] != "0") return false;  // somebody waits, or nobody answers
    since = std::atoll(words[2].c_str());
    return true;
  });
  if (!started) {
    const auto told = options_.on(options_.submit_host, "squeue; sinfo -N -l; scontrol show partition", kSoon);
    return testing::AssertionFailure() << "not all run\n" << told.out << told.err;
  }
  // Times are in seconds: what was saved in that very second may have been saved before, and a farm that only runs
  // gives slurmctld no reason to save again. It saves every 5 s at most.
  const std::string touch = fmt::format(
      "squeue -h -t R -n {} -o %i | head -n 1 | xargs -r -I ID scontrol update jobid=ID comment=$(date +%s)",
      options_.name);
  auto next = std::chrono::steady_clock::now() + seconds(5);
  const auto saved = [&] {
    if (options_.saved() > since) return true;
    if (std::chrono::steady_clock::now() < next) return false;
    options_.on(options_.submit_host, touch, kSoon);
    next += seconds(5);
    return false;
  };
  if (!eventually(limit, saved))
    return testing::AssertionFailure() << "saved last at " << options_.saved() << ", and all ran at " << since;
  return testing::AssertionSuccess();
}

void Farm::release() const {
  for (const auto& node : options_.nodes) {
    const auto finished = options_.on(node, fmt::format("mkdir -p {0} && touch {0}/release", directory()), kSoon);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }
}

std::vector<AccountingRow> Farm::accounting() const {
  const std::string ask =
      "SLURM_TIME_FORMAT=%s sacct -D -X -n -P -o JobIDRaw,State,ExitCode,NodeList,Start,End --starttime now-1day "
      "--name " +
      options_.name;
  return parse_accounting(options_.on(options_.submit_host, ask, kSoon).out);
}

Harvest Farm::harvest(seconds limit) const {
  release();
  std::vector<AccountingRow> rows;
  eventually(limit, [&] {
    rows = accounting();
    std::set<std::string> over;
    for (const auto& row : rows) {
      // slurmdbd may hear of the end first.
      if (is_over(row) && row.start.value_or(0) > 0) over.insert(row.id);
    }
    return std::ranges::all_of(planted_, [&](const PlantedJob& job) { return over.contains(job.id); });
  });
  std::string written;
  for (const auto& node : options_.nodes) {
    const std::string read =
        fmt::format("cd {} 2>/dev/null || exit 0; for f in [0-9]*; do [ ! -e $f ] || sed \"s/^/{} $f /\" $f; done",
                    directory(), node);
    const auto files = options_.on(node, read, kSoon);
    EXPECT_EQ(files.exit_code, 0) << files.err;
    written += files.out;
  }
  const auto records = parse_records(written);
  Harvest harvest{.problems = differences(planted_, records, rows, options_.gap, unanswered_), .jobs = records.size()};
  for (const auto& record : records) {
    harvest.ticks += record.ticks;
    harvest.longest_gap = std::max(harvest.longest_gap, record.longest_gap);
  }
  return harvest;
}

}  // namespace underway::harness

#include "machines/ask.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "model/machine_set.hpp"
#include "slurm/hostlist.hpp"
#include "slurm/memory.hpp"
#include "slurm/queue.hpp"

namespace underway::machines {
namespace {

constexpr std::size_t kLongestComment = 4096;
constexpr std::size_t kLongestLine = 64UL * 1024;
constexpr std::size_t kMostNodes = 1000;
constexpr std::string_view kWord = "machines:";
/// Slurm's numbers of jobs have 26 bits (MaxJobId); links are named after them.
constexpr std::size_t kLongestId = 10;

/// What a word says that begins with "machines:".
Asked read_word(std::string_view word) {
  const auto star = word.find('*');
  const auto name = word.substr(0, star);
  const bool plain = !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  if (!plain) return {.wish = {}, .refusal = "its comment names no machines behind 'machines:'"};
  Wish wish{std::string(name)};
  if (star != std::string_view::npos) {
    const auto count = parse_number<std::int64_t>(word.substr(star + 1));
    if (!count || *count < 1 || *count > model::kMostMachinesPerNode)
      return {.wish = {},
              .refusal = fmt::format("how many machines of '{}' it wants on each node is no number from 1 to {}", name,
                                     model::kMostMachinesPerNode)};
    wish.per_node = *count;
  }
  return {.wish = std::move(wish), .refusal = {}};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && std::all_of(text.begin(), text.end(), is_digit);
}

std::vector<std::string> nodes_in(std::string_view list) {
  try {
    auto nodes = slurm::unfold_hosts(std::string(list));
    if (nodes.size() <= kMostNodes) return nodes;
  } catch (const Error&) {
    // no host list: it has no nodes yet
  }
  return {};
}

/// In MiB; a part of one is none.
std::optional<std::int64_t> memory_in(std::string_view text) {
  const auto megabytes = slurm::megabytes_in(text);
  return megabytes ? std::optional(static_cast<std::int64_t>(std::floor(*megabytes))) : std::nullopt;
}

}  // namespace

Asked read_comment(std::string_view comment) {
  std::string line(comment.substr(0, std::min(comment.find('\n'), kLongestComment)));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return std::string_view(" \t\r;").find(c) != std::string_view::npos; },
      ',');
  Asked out;
  bool any = false;
  for (const auto& word : split_list(line)) {
    if (!word.starts_with(kWord)) continue;
    if (std::exchange(any, true)) return {.wish = {}, .refusal = "its comment asks for machines twice"};
    out = read_word(std::string_view(word).substr(kWord.size()));
  }
  return out;
}

bool SlurmJob::lives() const {
  static const std::set<std::string_view> kLiving = {"RUNNING",  "CONFIGURING", "SUSPENDED",
                                                     "RESIZING", "SIGNALING",   "STOPPED"};
  return kLiving.contains(state);
}

Command jobs_command(const std::string& mark) {
  return {"env", "SLURM_TIME_FORMAT=%s",     "squeue", "-h", "-a", "-t", slurm::kStatesWithNodes,
          "-o",  mark + "|%A|%i|%T|%S|%N|%k"};
}

std::vector<SlurmJob> parse_jobs(std::string_view text, const std::string& mark) {
  constexpr std::size_t kColumns = 7;
  std::vector<SlurmJob> out;
  for (const auto& line : split(text, '\n')) {
    if (line.size() > kLongestLine || !line.starts_with(mark + "|")) continue;
    const auto fields = split(line, '|');
    if (fields.size() < kColumns || !is_number(fields[1])) continue;
    SlurmJob job{.id = fields[1], .name = fields[2], .state = fields[3], .started = 0, .nodes = {}, .asked = {}};
    job.started = parse_number<std::int64_t>(fields[4]).value_or(0);
    job.asked = read_comment(join(std::span(fields).subspan(kColumns - 1), "|"));
    if (job.asked.wish) job.nodes = nodes_in(fields[5]);
    out.push_back(std::move(job));
  }
  return out;
}

Command given_command(const std::string& id, const std::string& name) {
  // squeue has no column for what is on each node, and scontrol none for what Slurm counts. A job that has ended in
  // between has no nodes.
  return {"/bin/sh",
          "-c",
          R"(squeue -h -a -j "$1" -O jobid:20,tres-alloc:500 && { scontrol -a -d show job "$2" 2>/dev/null || true; })",
          "sh",
          id,
          name};
}

namespace {

/// How many are in "0-1,4".
std::int64_t count_ids(std::string_view list) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t out = 0;
  for (const auto& item : split_list(std::string(list))) {
    const auto dash = item.find('-');
    const auto first = parse_number<std::int64_t>(item.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_number<std::int64_t>(item.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMost) return 0;
    out += *last - *first + 1;
  }
  return std::min(out, kMost);
}

/// "Nodes=c[1-2] CPU_IDs=0-1,4 Mem=750 GRES="
void read_share(std::string_view line, Given& out) {
  Share share;
  std::vector<std::string> nodes;
  for (const auto& word : split(line, ' ')) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) continue;
    const auto key = std::string_view(word).substr(0, equals), value = std::string_view(word).substr(equals + 1);
    if (key == "Nodes") nodes = nodes_in(value);
    if (key == "CPU_IDs") share.cpus = count_ids(value);
    if (key == "Mem") share.memory_mb = memory_in(value).value_or(0);
  }
  for (const auto& node : nodes) {
    if (out.nodes.size() >= kMostNodes) return;
    out.doubtful = !out.nodes.emplace(node, share).second || out.doubtful;
  }
}

}  // namespace

std::optional<Given> parse_given(std::string_view text, const std::string& id) {
  Given out;
  for (const auto& row : split(text, '\n')) {
    const auto line = trim(row);
    if (line.size() > kLongestLine) continue;
    if (line.starts_with("Nodes=") && line.find(" CPU_IDs=") != std::string_view::npos) read_share(line, out);
    // No user can write a line before squeue's, and what Slurm counts has no blanks.
    const auto blank = line.find(' ');
    if (out.cpus > 0 || blank == std::string_view::npos || line.substr(0, blank) != id) continue;
    for (const auto& item : split_list(std::string(trim(line.substr(blank))))) {
      const auto equals = item.find('=');
      const auto name = item.substr(0, equals);
      if (equals == std::string::npos) continue;
      if (name == "cpu") out.cpus = parse_number<std::int64_t>(item.substr(equals + 1)).value_or(0);
      if (name == "mem") out.memory_mb = memory_in(item.substr(equals + 1));
    }
  }
  return out.cpus > 0 ? std::optional(out) : std::nullopt;
}

std::vector<Command> refuse_commands(const std::string& name, const std::string& reason) {
  return {{"scontrol", "update", "JobId=" + name, "AdminComment=underway: " + reason}, {"scancel", name}};
}

}  // namespace underway::machines

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

Command given_command(const std::string& job) { return {"squeue", "-h", "-a", "-j", job, "-O", "tres-alloc:500"}; }

std::optional<Given> parse_given(std::string_view text) {
  Given out;
  for (const auto& item : split_list(std::string(trim(text)))) {
    const auto equals = item.find('=');
    const auto name = item.substr(0, equals);
    if (equals == std::string::npos) continue;
    if (name == "cpu") out.cpus = parse_number<std::int64_t>(item.substr(equals + 1)).value_or(0);
    if (name == "mem") out.memory_mb = memory_in(item.substr(equals + 1));
  }
  return out.cpus > 0 ? std::optional(out) : std::nullopt;
}

std::vector<Command> refuse_commands(const std::string& name, const std::string& reason) {
  return {{"scontrol", "update", "JobId=" + name, "AdminComment=underway: " + reason}, {"scancel", name}};
}

}  // namespace underway::machines

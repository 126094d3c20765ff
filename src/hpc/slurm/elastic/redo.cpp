#include "slurm/elastic/redo.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

/// More than any job is kept off; what a user has written may name more.
constexpr std::size_t kMostKeptOff = 100'000;
constexpr std::size_t kLongestLine = 64UL * 1024;

/// Of 20.11 `all` are not all: a job that a signal is on its way to has to be asked for. squeue cuts what -O prints to
/// its width, and has no letter for these columns of it.
constexpr const char* kFactsScript =
    R"(for states in SIGNALING all; do squeue -h -a -t $states -j "$1" -o 'job|%i|%A|%T|%B|%x' && )"
    R"(squeue -h -a -t $states -j "$1" -O 'jobarrayid:40|,requeue:8|,batchflag:8|' || exit 1; done)";

/// Fields of /proc/PID/status: the 15th bit of the signals that are caught is SIGTERM (proc(5)). slurmstepd begins the
/// script itself, and has its job in its title.
constexpr const char* kListenersScript =
    "cat /proc/[0-9]*/status 2>/dev/null | awk '/^PPid:/ { parent = $2 } "
    "/^SigCgt:/ && substr($2, length($2) - 3, 1) ~ /[4-7c-f]/ { print parent }' | sort -u | "
    "while read -r p; do tr '\\0' ' ' <\"/proc/$p/cmdline\"; echo; done 2>/dev/null | "
    "sed -n 's/^slurmstepd: \\[\\([0-9]*\\)\\.batch\\].*/\\1/p' | sort -u; echo looked";

bool is_number(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

std::set<std::string> nodes_in(const std::string& list) {
  try {
    const auto nodes = unfold_hosts(list);
    if (nodes.size() <= kMostKeptOff) return {nodes.begin(), nodes.end()};
  } catch (const Error&) {
    // no host list: it will be kept off more nodes than are told
  }
  return {};
}

std::string folded(const std::set<std::string>& nodes) {
  return fold_hosts(std::vector<std::string>(nodes.begin(), nodes.end()));
}

}  // namespace

Command redo_facts_command(const std::vector<std::string>& ids) {
  auto asked = ids;
  // Of one that it does not know alone squeue says that the id is wrong; among others it is left out.
  if (asked.size() == 1) asked.push_back(asked.front());
  return {"/bin/sh", "-c", kFactsScript, "sh", join(asked, ",")};
}

std::vector<RedoFacts> parse_redo_facts(std::string_view text) {
  std::map<std::string, RedoFacts, std::less<>> found;
  for (const auto& row : split(text, '\n')) {
    if (row.size() > kLongestLine) continue;
    const auto fields = split(trim(row), '|');
    if (fields.size() == 6 && fields[0] == "job" && is_number(fields[2]) && !fields[3].empty()) {
      const std::string id(fields[1]);
      const auto before = found.find(id);
      RedoFacts facts = before == found.end() ? RedoFacts{.id = id} : before->second;
      facts.number = fields[2];
      facts.state = fields[3];
      facts.batch_host = fields[4] == "n/a" ? std::string() : std::string(fields[4]);
      facts.kept_off = nodes_in(std::string(fields[5]));
      found[id] = std::move(facts);
    } else if (fields.size() == 4) {
      const auto at = found.find(trim(fields[0]));
      if (at == found.end()) continue;
      at->second.requeues = trim(fields[1]) == "1";
      at->second.batch = trim(fields[2]) == "1";
    }
  }
  std::vector<RedoFacts> out;
  for (auto& [id, facts] : found) out.push_back(std::move(facts));
  return out;
}

std::string why_not_redone(const std::string& id, const RedoFacts* facts) {
  if (id.find('+') != std::string::npos) return "is a part of a heterogeneous one";
  if (facts == nullptr) return "is none that Slurm tells of";
  if (!facts->batch) return "is interactive";
  if (!facts->requeues) return "may not be requeued";
  return {};
}

Command listeners_command() { return {"/bin/sh", "-c", kListenersScript}; }

std::optional<std::set<std::string>> parse_listeners(std::string_view text) {
  std::set<std::string> out;
  bool whole = false;
  for (const auto& row : split(text, '\n')) {
    const auto line = trim(row);
    if (line == "looked")
      whole = true;
    else if (is_number(line))
      out.insert(std::string(line));
  }
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

Command notice_command(const std::vector<std::string>& ids) {
  Command out{"scancel", "--signal=TERM", "--full"};
  out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

Command redo_command(const std::string& id, const std::set<std::string>& kept_off) {
  if (kept_off.empty()) return {"scontrol", "requeue", id};
  return {"/bin/sh", "-c", R"(scontrol requeue "$1" && scontrol update jobid="$1" excnodelist="$2")",
          "sh",      id,   folded(kept_off)};
}

Command keep_off_command(const std::string& id, const std::set<std::string>& nodes) {
  return {"scontrol", "update", "jobid=" + id, "excnodelist=" + folded(nodes)};
}

}  // namespace underway::slurm

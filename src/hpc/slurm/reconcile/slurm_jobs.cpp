#include "slurm/reconcile/slurm_jobs.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_one_of(std::string_view state, std::initializer_list<std::string_view> states) {
  return std::ranges::find(states, state) != states.end();
}

/// "17_[3-9%2]" as scancel takes it, "17_[3-9]"; one of them alone as "17_3".
std::string waiting_tasks(std::string_view name) {
  const auto open = name.find("_[");
  if (open == std::string_view::npos) return "";
  const auto tasks = name.substr(open + 2, name.find_first_of("%]", open) - open - 2);
  const auto array = std::string(name.substr(0, open));
  return is_number(tasks) ? array + "_" + std::string(tasks) : array + "_[" + std::string(tasks) + "]";
}

}  // namespace

bool holds_nodes(std::string_view state) {
  return is_one_of(state, {"RUNNING", "SUSPENDED", "SIGNALING", "STOPPED", "RESIZING"});
}
bool will_start(std::string_view state) {
  return is_one_of(state, {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"});
}
bool is_ending(std::string_view state) { return is_one_of(state, {"COMPLETING", "CONFIGURING", "STAGE_OUT"}); }

bool is_array_task(std::string_view name) {
  const auto bar = name.find('_');
  return bar != std::string_view::npos && is_number(name.substr(0, bar)) && is_number(name.substr(bar + 1));
}

/// To 20.11 `all` are not all: a job that a signal is on its way to has to be asked for.
std::vector<std::string> slurm_jobs_command() {
  constexpr const char* kScript = R"(squeue -h -t SIGNALING -o "$1" && squeue -h -t all -o "$1")";
  return {"env", "SLURM_TIME_FORMAT=%s", "/bin/sh", "-c", kScript, "sh", "%A|%T|%u|%N|%r|%i|%S|%V"};
}

std::vector<std::string> steps_command() { return {"squeue", "-s", "-h", "-o", "%i"}; }

std::vector<SlurmJob> parse_slurm_jobs(std::string_view text) {
  std::vector<SlurmJob> out;
  std::map<std::string, std::size_t> known;  // what is printed again is newer
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() < 6 || fields.size() > 8 || !is_number(fields[0])) continue;
    SlurmJob slurm_job{std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), {}};
    if (is_array_task(fields[5])) slurm_job.name = fields[5];
    slurm_job.is_array = std::string_view(fields[5]).starts_with(slurm_job.id + "_");
    slurm_job.waiting = waiting_tasks(fields[5]);
    slurm_job.held = fields[4].starts_with("JobHeld");
    if (fields.size() > 6 && is_number(fields[6])) slurm_job.start = leading_number_or<std::int64_t>(fields[6], 0);
    if (fields.size() > 7 && is_number(fields[7])) slurm_job.submitted = leading_number_or<std::int64_t>(fields[7], 0);
    try {
      if (!fields[3].empty()) slurm_job.nodes = unfold_hosts(std::string(fields[3]));
    } catch (const Error&) {
      continue;  // no host list: whatever this is, it is not a line of squeue
    }
    const auto [at, is_new] = known.try_emplace(slurm_job.id, out.size());
    if (is_new)
      out.push_back(std::move(slurm_job));
    else
      out[at->second] = std::move(slurm_job);
  }
  return out;
}

std::set<std::string> parse_steps(std::string_view text) {
  std::set<std::string> out;
  for (const auto& line : split(text, '\n')) {
    const auto step = trim(line);
    const auto dot = step.find('.');
    if (dot == std::string_view::npos) continue;
    const auto job = step.substr(0, dot);
    if (step.substr(dot) == ".extern") continue;  // every job has it: PrologFlags=Contain
    if (is_number(job) || is_array_task(job)) out.emplace(job);
  }
  return out;
}

std::optional<std::set<std::string>> parse_host_steps(std::string_view text) {
  const auto trimmed = trim(text);
  if (!trimmed.ends_with("looked")) return std::nullopt;
  return parse_steps(trimmed);
}

std::map<std::string, std::string> parse_accepted(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() == 2 && is_number(fields[0])) out.emplace(fields[0], fields[1]);
  }
  return out;
}

}  // namespace underway::slurm

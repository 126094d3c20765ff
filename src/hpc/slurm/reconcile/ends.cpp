#include "slurm/reconcile/ends.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <ctime>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "slurm/reconcile/hold.hpp"

namespace underway::slurm {
namespace {

/// The number that `text` begins with.
std::optional<std::int64_t> number_at(std::string_view text, int base = 10) {
  const auto number = parse_leading_number<std::int64_t>(text, base);
  return number ? std::optional(number->value) : std::nullopt;
}

/// The number behind `key`.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view key, int base = 10) {
  const auto at = text.find(key);
  return at == std::string_view::npos ? std::nullopt : number_at(text.substr(at + key.size()), base);
}

/// SIG_OOM of slurm's slurm_protocol_defs.h: what slurmstepd tells of a job that had no memory left (sacct: "0:125").
constexpr int kOutOfMemory = 253;
/// Of a status as wait(2) has it: a core was dumped. The accounting does not have it.
constexpr int kCoreDumped = 0x80;

std::string state_of(int status) {
  if ((status & 0xff) == kOutOfMemory) return "OUT_OF_MEMORY";
  return status == 0 ? "COMPLETED" : "FAILED";
}

/// What a log says of one job. Lines come in the order in which they were written.
class Story {
 public:
  void read(std::string_view line, std::int64_t at, bool is_batch) {
    // An older job may have had its number, or the same one was queued again.
    if (line.starts_with("Launching batch job")) {
      *this = {};
      start_ = at;
    } else if (line.starts_with("launch task")) {
      if (start_ == 0 || (batch_ended_ != 0)) *this = {};
      if (start_ == 0) start_ = at;
      steps_ended_ = 0;
    } else if (is_batch) {
      read_batch(line, at);
    } else {
      read_step(line, at);
    }
  }

  End end() const {
    End out;
    out.start = start_;
    out.of_batch = batch_ended_ != 0;
    out.end = out.of_batch ? batch_ended_ : steps_ended_;
    out.sent_back = sent_back_;
    const auto& status = out.of_batch ? status_ : step_status_;
    out.status = static_cast<int>(status.value_or(0));
    if ((out.status & 0xff) != kOutOfMemory) out.status &= ~kCoreDumped;
    if (out.end == 0) return out;
    if (!stopped_.empty()) {
      out.state = stopped_;
    } else if (status) {
      out.state = state_of(out.status);
    }
    return out;
  }

 private:
  void read_batch(std::string_view line, std::int64_t at) {
    note_stop(line);
    if (line.find(" completed with slurm_rc") != line.npos) status_ = number_after(line, "job_rc = ");
    if (line.find("REQUEST_COMPLETE_BATCH_SCRIPT") != line.npos) {
      const auto status = number_after(line, "status:");
      status_ = status ? status : number_after(line, "job_rc:");
    }
    if (const auto signal = number_after(line, "died by signal: "); signal && !status_) status_ = signal;
    if (line.find("done with ") != line.npos && !status_) {
      status_ = number_after(line, "done with step (rc[0x", 16);
      if (!status_ && line == "done with step") status_ = 0;  // 24.11, which says it when it is not
    }
    const bool over = status_ || line.find("done with ") != line.npos;
    if (over && batch_ended_ == 0) batch_ended_ = at;
  }

  void read_step(std::string_view line, std::int64_t at) {
    if (line.find("*** JOB ") != line.npos) note_stop(line);
    if (!line.starts_with("task ") && line.find("done with ") == line.npos) return;
    steps_ended_ = at;
    if (const auto code = number_after(line, "exited with exit code ")) worse(*code << 8);
    if (const auto signal = number_after(line, "exited. Killed by signal ")) worse(*signal);
  }

  void worse(std::int64_t status) { step_status_ = std::max(step_status_.value_or(0), status); }

  void note_stop(std::string_view line) {
    if (line.find("CANCELLED AT") == line.npos) return;
    if (line.find("DUE TO TIME LIMIT") != line.npos) {
      stopped_ = "TIMEOUT";
    } else if (line.find("DUE TO JOB REQUEUE") != line.npos || line.find("DUE TO PREEMPTION") != line.npos) {
      sent_back_ = true;  // preempted: perhaps ended, and rather once more than not at all
    } else if (line.find("DUE TO NODE FAILURE") != line.npos) {
      stopped_ = "NODE_FAIL";
    } else {
      stopped_ = "CANCELLED";
    }
  }

  std::int64_t start_ = 0, batch_ended_ = 0, steps_ended_ = 0;
  std::optional<std::int64_t> status_, step_status_;
  std::string stopped_;
  bool sent_back_ = false;
};

/// "[17.batch] job 17 completed" and "Launching batch job 17 for UID 0": whose it is; the former is taken away.
std::optional<std::pair<std::string, bool>> owner(std::string_view& line) {
  bool is_batch = false;
  std::optional<std::int64_t> job;
  if (line.starts_with('[')) {
    const auto close = line.find("] ");
    if (close == line.npos) return std::nullopt;
    job = number_at(line.substr(1));
    is_batch = line.substr(0, close).ends_with(".batch");
    line = trim(line.substr(close + 2));
  } else {
    job = number_after(line, "Launching batch job ");
    if (!job) job = number_after(line, "StepId=");
  }
  if (!job || *job <= 0) return std::nullopt;
  return std::pair(std::to_string(*job), is_batch);
}

}  // namespace

std::optional<Ends> parse_ends(std::string_view text) {
  const auto trimmed = trim(text);
  if (!trimmed.ends_with("looked")) return std::nullopt;
  std::vector<std::int64_t> times;
  std::vector<std::string_view> lines;
  bool with_lines = false;
  const auto all = split(trimmed, '\n');
  for (const std::string_view line : all) {
    if (line == "--") {
      with_lines = true;
    } else if (!with_lines) {
      times.push_back(number_at(line).value_or(0));
    } else if (line.starts_with('[')) {
      lines.push_back(line);
    }
  }
  if (times.size() != lines.size()) return std::nullopt;  // a time that `date` does not know
  std::map<std::string, Story> stories;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto close = lines[i].find("] ");
    if (close == std::string_view::npos) continue;
    auto line = trim(lines[i].substr(close + 2));
    if (const auto whose = owner(line)) stories[whose->first].read(line, times[i], whose->second);
  }
  Ends out;
  for (const auto& [job, story] : stories) {
    if (auto end = story.end(); end.end != 0) out.emplace(job, std::move(end));
  }
  return out;
}

void merge_ends(Ends& into, const Ends& more) {
  for (const auto& [job, end] : more) {
    const auto [at, is_new] = into.emplace(job, end);
    auto& had = at->second;
    if (is_new || had.of_batch) continue;
    if (end.of_batch) {
      had = end;
      continue;
    }
    had.start = std::min(had.start, end.start);
    had.end = std::max(had.end, end.end);
    if (had.state.empty() || (end.status > had.status && !end.state.empty())) {
      had.state = end.state;
      had.status = end.status;
    }
  }
}

std::vector<std::string> accounts_command(const std::vector<std::string>& jobs) {
  return {"env", "SLURM_TIME_FORMAT=%s", "sacct", "-n", "-P", "-X", "-o", "JobIDRaw,Start,End,State,ExitCode,JobID",
          "-j",  join(jobs, ",")};
}

Ends parse_accounts(std::string_view text) {
  Ends out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() < 5 || fields[0].empty()) continue;
    End end;
    end.state = std::string(split(fields[3], ' ')[0]);  // "CANCELLED by 1000"
    static const std::vector<std::string> kOver = {"COMPLETED", "CANCELLED", "FAILED",   "TIMEOUT",      "NODE_FAIL",
                                                   "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"};
    const auto code = number_at(fields[4]), signal = number_after(fields[4], ":");
    const auto start = number_at(fields[1]), at = number_at(fields[2]);
    if (std::find(kOver.begin(), kOver.end(), end.state) == kOver.end() || !start || !at || !code || !signal) continue;
    end.status = static_cast<int>((*code & 0xff) << 8 | (*signal & 0xff));
    end.start = *start;
    end.end = *at;
    end.of_accounts = true;
    out[std::string(fields[0])] = std::move(end);
  }
  return out;
}

std::map<std::string, std::string> parse_names(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() == 6 && !fields[0].empty() && !fields[5].empty()) out.emplace(fields[0], fields[5]);
  }
  return out;
}

std::string slurmd_log(std::string_view config, const std::string& host, const std::string& name) {
  std::string out;
  const auto path = setting(config, "SlurmdLogFile");
  if (!path.starts_with('/')) return out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char next = i + 1 < path.size() ? path[i + 1] : ' ';
    if (path[i] == '%' && (next == 'h' || next == 'n')) {
      out += next == 'h' ? host : name;
      ++i;
    } else {
      out += path[i];
    }
  }
  return out;
}

std::vector<std::string> enter_command(Enter how, const std::string& job, const End& end) {
  std::vector<std::string> out = {kEnterEnd};
  if (how == Enter::reported) out.emplace_back("-reported");
  if (how == Enter::row) out.emplace_back("-row");
  const auto start = std::max<std::int64_t>(0, end.start);
  out.insert(out.end(), {job, end.state, std::to_string(end.status), std::to_string(start), std::to_string(end.end)});
  return out;
}

Settled parse_settled(std::string_view text) {
  constexpr std::string_view kNoRow = "no row ";
  constexpr std::string_view kFailed = "failed ";
  Settled out{.all = true, .unrecorded = {}, .problem = {}};
  for (const auto& line : split(trim(text), '\n')) {
    if (const auto job = number_after(line, kNoRow); job && std::string_view(line).starts_with(kNoRow))
      out.unrecorded.insert(std::to_string(*job));
    else if (std::string_view(line).starts_with(kFailed))
      out.problem = std::string_view(line).substr(kFailed.size());
    else if (!line.empty())
      out.all = std::string_view(line) == "0 left";
  }
  return out;
}

std::string describe_end(const End& end) {
  std::string out = end.state;
  if (end.state == "FAILED" && WIFSIGNALED(end.status)) out += fmt::format(", signal {}", WTERMSIG(end.status));
  if (end.state == "FAILED" && WIFEXITED(end.status)) out += fmt::format(", exit code {}", WEXITSTATUS(end.status));
  return out + fmt::format(", at {:%FT%TZ}", fmt::gmtime(static_cast<std::time_t>(end.end)));
}

}  // namespace underway::slurm

#include "slurm/sleep/job_sleep.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::slurm {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

/// No span of Slurm has more: its own "infinite" is 2^32 - 1 minutes.
constexpr std::int64_t kMostDays = 36'500;

/// squeue tells whole seconds, and a job runs on between the look at it and its sleep: that time it had.
constexpr Duration kRanOn = seconds(2);

std::optional<std::int64_t> count(std::string_view text, std::int64_t most) {
  const auto number = parse_number<std::int64_t>(text);
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

bool is_over(const std::string& state) {
  return state != "RUNNING" && state != "SUSPENDED" && state != "PENDING" && state != "CONFIGURING" &&
         state != "SIGNALING" && state != "STOPPED" && state != "RESIZING";
}

}  // namespace

std::optional<Duration> JobTime::left() const {
  if (!limit) return std::nullopt;
  return *limit - used;
}

Command times_command(const std::vector<std::string>& jobs) {
  return {"env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-t", "all", "-j", join(jobs, ","), "-o", "%A|%T|%l|%M|%e"};
}

std::optional<Duration> parse_slurm_span(std::string_view text) {
  text = trim(text);
  std::int64_t days = 0;
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto read = count(text.substr(0, dash), kMostDays);
    if (!read) return std::nullopt;
    days = *read;
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || (days > 0 && parts.size() != 3)) return std::nullopt;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto read = count(parts[i], i == 0 ? 999'999 : 59);
    if (!read) return std::nullopt;
    total = total * 60 + *read;
  }
  return hours(24 * days) + seconds(total);
}

std::vector<JobTime> parse_times(std::string_view text) {
  std::vector<JobTime> out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 5 || fields[0].empty() || fields[1].empty()) continue;
    JobTime time{std::string(fields[0]), std::string(fields[1]), parse_slurm_span(fields[2]), {}, {}};
    const auto used = parse_slurm_span(fields[3]);
    if (!used && time.state != "PENDING") continue;
    time.used = used.value_or(Duration{});
    if (const auto end = parse_number<std::int64_t>(fields[4]); end && *end > 0 && *end < 9'000'000'000)
      time.ends = TimePoint{seconds(*end)};
    out.push_back(std::move(time));
  }
  return out;
}

Command suspend_command(const std::string& job) { return {"scontrol", "suspend", job}; }
Command wake_command(const std::string& job) { return {"scontrol", "resume", job}; }

Command extend_command(const std::string& job, Duration by) {
  const auto whole = std::chrono::ceil<minutes>(by).count();
  return {"scontrol", "update", "jobid=" + job, fmt::format("timelimit=+{}", whole)};
}

Duration owed(const JobTime& asleep_since, const JobTime& awake) {
  const auto had = asleep_since.left(), has = awake.left();
  if (!had || !has) return {};
  const auto missing = *had - *has;
  return missing > kRanOn ? missing : Duration{};
}

SleepVerdict decide_sleep(const std::string& job, const JobTime* time) {
  if (time == nullptr || is_over(time->state)) return {SleepStep::over, {}, fmt::format("the job {} has ended", job)};
  if (time->state == "SUSPENDED") return {SleepStep::done, {}, {}};
  if (time->state == "RUNNING") return {SleepStep::command, suspend_command(job), {}};
  if (time->state == "PENDING")
    return {SleepStep::refused, {}, fmt::format("the job {} waits and has no place to give", job)};
  return {SleepStep::wait, {}, fmt::format("the job {} is {}", job, lower(time->state))};
}

SleepVerdict decide_wake(const std::string& job, const JobTime* time, const JobTime& asleep) {
  if (time == nullptr || is_over(time->state)) return {SleepStep::over, {}, fmt::format("the job {} has ended", job)};
  if (time->state == "PENDING")
    return {SleepStep::over, {}, fmt::format("the job {} was queued again and begins anew", job)};
  // More time first: a job that is awake with none left would be ended before it is given any.
  if (const auto missing = owed(asleep, *time); missing > Duration{})
    return {SleepStep::command, extend_command(job, missing), fmt::format("it is owed {}", human_duration(missing))};
  if (time->state == "SUSPENDED") return {SleepStep::command, wake_command(job), {}};
  if (time->state == "RUNNING") return {SleepStep::done, {}, {}};
  return {SleepStep::wait, {}, fmt::format("the job {} is {}", job, lower(time->state))};
}

}  // namespace underway::slurm

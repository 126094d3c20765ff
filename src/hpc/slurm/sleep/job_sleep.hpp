#pragma once
/// @file
/// Slurm jobs that sleep while urgent work has their place: what Slurm is told, how it is seen that it was done, and
/// what they are owed afterwards. Users see RUNNING or SUSPENDED only.
///
/// The words are the same in 20.11, 22.05 and 24.11, for root and SlurmUser. Slurm does not count the time in which it
/// knows a job to be suspended. It does count the time in which only the machine below the job slept, and ends a job by
/// a limit that it had no chance to use: that time is given back.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "slurm/elastic/members.hpp"

namespace underway::slurm {

/// A job's time as squeue has it.
struct JobTime {
  std::string id;
  std::string state;              ///< "RUNNING", "SUSPENDED", "COMPLETING"
  std::optional<Duration> limit;  ///< nothing: it has none
  Duration used{};                ///< without what Slurm knows it to have been suspended for
  std::optional<TimePoint> ends;  ///< when Slurm will end it; nothing: never, or it does not say
  bool operator==(const JobTime&) const = default;
  /// What the limit leaves; nothing: all the time in the world.
  std::optional<Duration> left() const;
};
/// Asks squeue for the time of jobs.
Command times_command(const std::vector<std::string>& jobs);
/// Untrusted: a line that makes no sense is left out.
std::vector<JobTime> parse_times(std::string_view text);
/// "1-02:03:04", "02:03:04", "03:04", also "UNLIMITED" and "INVALID", which are nothing. Source: squeue(1), -o %l and
/// %M.
std::optional<Duration> parse_slurm_span(std::string_view text);

Command suspend_command(const std::string& job);
Command wake_command(const std::string& job);
/// Gives a job more time: whole minutes, as Slurm counts limits in them, rounded up.
Command extend_command(const std::string& job, Duration by);

/// What a job is owed after it slept: as much as is missing of the time that it had left when it fell asleep. Nothing:
/// it has no limit, or has all of it.
Duration owed(const JobTime& asleep_since, const JobTime& awake);

enum class SleepStep : std::uint8_t {
  done,     ///< it is as wanted
  command,  ///< `command`, and look again
  wait,     ///< Slurm is about it
  over,     ///< the job has ended: there is nothing to be kept
  refused,  ///< it cannot be done, `why`
};
struct SleepVerdict {
  SleepStep step = SleepStep::wait;
  Command command;
  std::string why;
};
/// What is to be done so that a job sleeps. `time`: what squeue says of it now; null: squeue does not know it.
SleepVerdict decide_sleep(const std::string& job, const JobTime* time);
/// And so that it goes on and has its time. `asleep`: what was written down when it fell asleep.
SleepVerdict decide_wake(const std::string& job, const JobTime* time, const JobTime& asleep);

}  // namespace underway::slurm

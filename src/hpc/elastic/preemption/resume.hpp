#pragma once
/// @file
/// Where those who sleep go on: where they slept, or on a host that becomes free sooner.

#include "elastic/policy.hpp"

#include <string>
#include <vector>

namespace underway::elastic {

struct Sleeper {
  std::string job, account;
  std::string host;  ///< where its image lies
  std::int64_t cpus = 1, memory_mb = 0;
  std::vector<std::string> features;  ///< that the host must have
  std::int64_t image_bytes = 0;       ///< to be moved when it goes on elsewhere
  TimePoint since{};                  ///< it sleeps
  Duration asleep{};                  ///< in all, until `now`
};

/// A host as far as sleepers may use it: what is waited for by somebody more urgent is not in it.
struct ResumeHost {
  std::string name;
  std::int64_t cpus_free = 0, memory_free_mb = 0;  ///< at free_at
  TimePoint free_at{};                             ///< that is free then; the past: now
  std::vector<std::string> features;
};

struct ResumeTimes {
  std::int64_t bytes_per_second = 125'000'000;  ///< between hosts: 1 Gb/s
  Duration resume{1'000'000'000};               ///< from the image on the host until the job works
};

struct Resume {
  std::string job, from, to;
  bool migrates() const { return from != to; }
  TimePoint works_at{};  ///< on `to`
  TimePoint instead{};   ///< it would at home; the epoch: its host will not have the room as far as anybody knows
};

/// What to do now: each sleeper that would work again soonest on a host that has the room now. One that would be sooner
/// at home, counting the transfer, goes on sleeping; so does one for which a host is free later but still sooner.
/// Fair: whoever's promise ends first goes first, then who has slept longest in all, then by name. Room that an earlier
/// one waits for is not given to a later one unless that is gone before (as in backfill, the first is not delayed).
std::vector<Resume> plan_resumes(const std::vector<Sleeper>& sleepers, const std::vector<ResumeHost>& hosts,
                                 const ResumeTimes& times, const Promises& promises, TimePoint now);

/// Sleepers whose promise ends within `margin`, the first of them first: they go on by then, wherever that is. Who
/// drives them counts them as pending jobs of the highest priority, so that nodes are made for them in time.
std::vector<std::string> due(const std::vector<Sleeper>& sleepers, const Promises& promises, Duration margin);

}  // namespace underway::elastic

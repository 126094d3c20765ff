#pragma once
/// @file
/// Who slept for whom, and for how long: what users are owed, and what accounts have given and taken.

#include "base/clock.hpp"
#include "base/json/describe.hpp"

#include <map>
#include <string>
#include <vector>

namespace underway::elastic {

/// One sleep of one job. Times are nanoseconds since the epoch.
struct Sleep {
  std::string job, account;
  std::string for_job, for_account;  ///< who needed the room
  std::int64_t cpus = 0;             ///< in all
  std::int64_t since = 0;
  std::int64_t until = 0;  ///< 0: it sleeps
};

/// Processor-seconds that an account's jobs slept for those of others, and that others slept for its own. What an
/// account's jobs sleep for each other is in neither.
struct SleepAccount {
  std::int64_t given = 0, taken = 0;
};

/// Of one job.
struct SleepTotal {
  std::int64_t suspensions = 0;
  std::int64_t asleep = 0;  ///< nanoseconds, until now
  bool sleeps = false;
};

class SleepLedger {
 public:
  SleepLedger() = default;
  explicit SleepLedger(std::vector<Sleep> sleeps) : sleeps_(std::move(sleeps)) {}

  /// Throws conflict if the job sleeps already.
  void fall_asleep(Sleep sleep, TimePoint now);
  /// How long it slept, by which its time limit is extended. A clock that was set back counts as no time. Throws
  /// not_found if it does not sleep.
  Duration wake(const std::string& job, TimePoint now);
  /// Forgets sleeps that ended before; accounts keep what they gave and took.
  void forget(const std::string& job);

  /// The clock was set by so much: sleeps that go on are as long as before.
  void follow_clock(Duration step);

  SleepTotal total(const std::string& job, TimePoint now) const;
  /// By account, of sleeps that have ended and of those that go on.
  std::map<std::string, SleepAccount> accounts(TimePoint now) const;
  const std::vector<Sleep>& sleeps() const { return sleeps_; }

 private:
  std::vector<Sleep> sleeps_;
  std::map<std::string, SleepAccount> settled_;  ///< of jobs that were forgotten
};

/// What the job may still run for: its limit, and all that it slept. 0 (no limit) stays 0.
Duration extended_limit(Duration limit, Duration asleep);

const describe::Structure& description(describe::Tag<Sleep>);
const describe::Structure& description(describe::Tag<SleepAccount>);

}  // namespace underway::elastic

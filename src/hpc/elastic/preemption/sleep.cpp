#include "elastic/preemption/sleep.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace underway::elastic {
namespace {

std::int64_t slept(const Sleep& sleep, TimePoint now) {
  const std::int64_t until = sleep.until == 0 ? unix_nanos(now) : sleep.until;
  return std::max<std::int64_t>(until - sleep.since, 0);
}

void add(std::map<std::string, SleepAccount>& accounts, const Sleep& sleep, TimePoint now) {
  if (sleep.account == sleep.for_account) return;
  const std::int64_t seconds = slept(sleep, now) / 1'000'000'000 * sleep.cpus;
  accounts[sleep.account].given += seconds;
  accounts[sleep.for_account].taken += seconds;
}

}  // namespace

void SleepLedger::fall_asleep(Sleep sleep, TimePoint now) {
  for (const auto& known : sleeps_) {
    if (known.job == sleep.job && known.until == 0)
      throw Error(Code::conflict, fmt::format("Slurm job {} sleeps already", sleep.job))
          .because(fmt::format("since {}, for job {}", format_time(from_unix_nanos(known.since)), known.for_job));
  }
  sleep.since = unix_nanos(now);
  sleep.until = 0;
  sleeps_.push_back(std::move(sleep));
}

Duration SleepLedger::wake(const std::string& job, TimePoint now) {
  for (auto& sleep : sleeps_) {
    if (sleep.job != job || sleep.until != 0) continue;
    sleep.until = std::max(unix_nanos(now), sleep.since + 1);
    return Duration{sleep.until - sleep.since};
  }
  throw Error(Code::not_found, fmt::format("Slurm job {} does not sleep", job));
}

void SleepLedger::forget(const std::string& job) {
  for (const auto& sleep : sleeps_) {
    if (sleep.job == job && sleep.until != 0) add(settled_, sleep, {});
  }
  std::erase_if(sleeps_, [&](const Sleep& sleep) { return sleep.job == job && sleep.until != 0; });
}

void SleepLedger::follow_clock(Duration step) {
  for (auto& sleep : sleeps_) {
    if (sleep.until == 0) sleep.since += step.count();
  }
}

SleepTotal SleepLedger::total(const std::string& job, TimePoint now) const {
  SleepTotal out;
  for (const auto& sleep : sleeps_) {
    if (sleep.job != job) continue;
    ++out.suspensions;
    out.asleep += slept(sleep, now);
    out.sleeps = out.sleeps || sleep.until == 0;
  }
  return out;
}

std::map<std::string, SleepAccount> SleepLedger::accounts(TimePoint now) const {
  auto out = settled_;
  for (const auto& sleep : sleeps_) add(out, sleep, now);
  return out;
}

Duration extended_limit(Duration limit, Duration asleep) { return limit == Duration{0} ? limit : limit + asleep; }

const describe::Structure& description(describe::Tag<Sleep>) {
  static const describe::Structure s = describe::Builder<Sleep>("sleep", "One sleep of one Slurm job.")
                                           .wire<&Sleep::job>("Job", "The Slurm job.")
                                           .wire<&Sleep::account>("Account", "Its account.")
                                           .wire<&Sleep::for_job>("ForJob", "Who needed the room.")
                                           .wire<&Sleep::for_account>("ForAccount", "The account of that one.")
                                           .wire<&Sleep::cpus>("CPUs", "Processors in all.")
                                           .wire<&Sleep::since>("Since", "Since when.")
                                           .time()
                                           .wire<&Sleep::until>("Until", "Until when; never: it sleeps.")
                                           .time()
                                           .done();
  return s;
}

const describe::Structure& description(describe::Tag<SleepAccount>) {
  static const describe::Structure s =
      describe::Builder<SleepAccount>("sleep account", "What an account gave and took, in processor-seconds.")
          .wire<&SleepAccount::given>("Given", "Its jobs slept for those of others.")
          .wire<&SleepAccount::taken>("Taken", "Others slept for its own.")
          .done();
  return s;
}

}  // namespace underway::elastic

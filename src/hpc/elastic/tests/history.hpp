#pragma once
/// @file
/// A provider, a Slurm and a daemon that do what real ones do on a bad day, around the decisions of this library. One
/// seed is one exact history. Time goes on truly; the clock that decisions see is set back and forth.

#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "elastic/detail/chance.hpp"
#include "elastic/preemption/resume.hpp"
#include "elastic/preemption/sleep.hpp"
#include "elastic/preemption/victims.hpp"
#include "elastic/tick.hpp"

namespace underway::elastic::testing {

using namespace std::chrono_literals;

class History {
 public:
  explicit History(std::uint64_t seed);
  /// Until every job has ended and every node that may go is gone; fails the test if that never comes.
  void run();

  /// What has happened to it: a history in which nothing happens proves nothing.
  struct Seen {
    std::int64_t suspensions = 0, taken_back = 0, given_up = 0, lost = 0, gangs = 0, strict = 0, stayed = 0, late = 0;
    void add(const Seen& other);
  };
  const Seen& seen() const { return seen_; }

 private:
  enum class Phase { coming, queued, running, asleep, ended };
  struct Job {
    PendingJob asks;
    Phase phase = Phase::coming;
    Duration arrives{}, left{}, since{}, limit{};  ///< in true time
    bool urgent = false;
    bool interactive = false;  ///< it cannot be done again
    bool noticed = false;      ///< its node goes, and it is done again if it runs on until then
    std::vector<std::string> nodes;
    std::string home;
    std::int64_t taken_back = 0, suspensions = 0;
    Duration asleep{};
  };
  struct Vm {
    std::string class_name, gang, job;
    bool up = false, draining = false;
    bool hangs = false;  ///< it will never come up
    Duration born{}, ready{}, since{};
    Duration goes{};       ///< taken back then; 0: not
    bool open = false;     ///< it is taken back, and Slurm does not know yet
    std::string held_for;  ///< an urgent job for which it was emptied
  };

  void make_policy();
  void make_jobs();
  void step();
  void pass_time();
  void set_clock();
  void break_things();
  void start_jobs();
  void resume_sleepers();
  void preempt();
  void decide_and_do();
  Tick look();
  void carry_out(const Decision& decision);
  void check(const Decision& decision);
  void kill(const std::string& vm);
  void requeue(Job& job);
  void begin(Job& job, std::vector<std::string> nodes);
  void end(Job& job);
  bool may_use(const Job& job, const std::string& name, const Vm& vm) const;
  bool calm() const { return now_ >= calm_at_; }
  TimePoint wall() const { return TimePoint{std::chrono::seconds{1'700'000'000}} + now_ + clock_off_; }

  detail::Chance chance_;
  Policy policy_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, Vm> vms_;
  std::set<std::string> names_;  ///< of all VMs that ever were
  State state_;
  SleepLedger ledger_;
  std::vector<BootOutcome> outcomes_;
  std::vector<Recall> recalls_;
  std::map<std::string, Duration> gangs_since_;
  std::set<std::string> making_room_;  ///< urgent jobs
  Duration now_{}, last_{}, dt_{}, clock_off_{};
  Duration calm_at_{};  ///< nothing breaks any more
  std::int64_t made_ = 0;
  Seen seen_;
  bool room_was_lost_ = false;  ///< while somebody slept: a promise may then be impossible to keep
};

}  // namespace underway::elastic::testing

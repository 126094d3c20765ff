#pragma once
/// @file
/// A whole cluster in one thread and in virtual time: the real writer, decisions, scheduler and orders over a memory
/// store; nodes that are a few lines each; and a seed that decides who crashes, which messages are lost or come twice,
/// and what the administrator does meanwhile. What must always hold is looked at after every step.

#include <random>

#include "server/job/start_decisions.hpp"
#include "server/node/drain_decisions.hpp"
#include "server/node/orders.hpp"
#include "server/node/orphan_decisions.hpp"
#include "server/testing/desk.hpp"
#include "server/writer.hpp"
#include "tables/orphans.hpp"

namespace underway::sim {

inline constexpr int kJobs = 6;
inline std::string job_id(int number) { return fmt::format("job{}", number); }

using model::ClientStatus;
using server::testing::make_job;
using server::testing::make_node;
using server::testing::uuid;
using Seed = std::uint64_t;

/// One server process: dies as a whole, and starts again from the store.
struct Process {
  Process(async::Executor executor, store::Store& store, Clock& clock, IdSource& ids)
      : epoch(ids.uuid()), writer((tables.follow(&fleet), executor), store, tables, fleet, clock, ids, true) {}
  const std::string epoch;
  tables::Tables tables;
  server::Dependents dependents;
  scheduler::Fleet fleet;
  server::Writer writer;
};

/// What a node has of one allocation.
struct Local {
  protocol::AllocationOrder order;
  protocol::Origin origin;
  ClientStatus status = ClientStatus::pending;
  bool healthy = false;
  bool over() const { return status == ClientStatus::complete || status == ClientStatus::failed; }
};

struct Machine {
  model::Node node;
  bool up = true;
  bool linked = false;
  bool linking = false;
  bool reporting = false;
  int silent = 0;                                     ///< steps without a link
  std::unique_ptr<server::Orders> orders;             ///< the server's memory of what it was told
  std::map<std::string, model::Revision> epochs;      ///< and of what it said of its own
  std::deque<protocol::AllocationsMessage> messages;  ///< on their way to it
  std::map<std::string, Local> locals;
  std::set<std::string> unreported;
};

/// What may go wrong in a step.
struct Mischief {
  bool administrator = false;  ///< changes his mind
  bool crashes = false;        ///< of tasks and machines
  bool links = false;          ///< break, and messages come late or twice
  bool server = false;         ///< dies, or its disk is full
};

class ControlPlane {
 public:
  explicit ControlPlane(Seed seed, int machines = 4);
  ~ControlPlane();

  /// One step of everything, with faults and an administrator who changes his mind.
  void disturb() { disturb({true, true, true, true}); }
  void disturb(const Mischief& mischief) { step(mischief); }
  /// No more faults: steps until nothing moves. False when that takes too long.
  bool calm_down();
  void register_job(const model::Job& job);
  /// What a job that starts others has started, in the order of ids. One that was started twice is a violation.
  std::vector<std::string> children(const std::string& parent);
  TimePoint now() const { return clock_.now(); }
  /// The clock of the server jumps, back or forth.
  void jump(Duration by);
  /// Begins to drain the machine, or ends that.
  void drain(int machine, std::optional<Duration> deadline);
  bool draining(int machine) const;
  /// Ids of allocations that run on the machines, whoever knows of it.
  std::set<std::string> running() const;
  /// Allocations of the job that do their work on the machines and are not told to stop.
  std::int64_t working(const std::string& job) const;
  /// Kills the server, perhaps with a commit on its way, and starts it from the store.
  void restart_server();

  /// Sets a copy of the store aside, as it is now; before that an empty one lies there.
  void copy_store();
  /// The server dies, and another one starts from what was set aside; the store so far takes its place.
  void swap_stores();
  /// How many allocations run that the server knows to be none of its own.
  std::int64_t orphans() const;
  /// The administrator has the server take them over.
  void keep_orphans();

  /// What was found wrong so far, in words.
  const std::vector<std::string>& violations() const { return violations_; }
  /// Everything that the server knows, a row a line; but for scores, whose last digit JSON may lose.
  std::vector<std::string> state() const;
  /// Whether every job is as its specification wants it, now that nothing moves; else what is not.
  std::vector<std::string> unfulfilled() const;

 private:
  /// `done` is told the result, or null when it was refused or not written. A caller whose server dies hears nothing.
  template <server::Request R, class Done>
  void submit(R request, Done done) {
    auto run = [](server::Writer& writer, R what, Done then) -> async::awaitable<void> {
      try {
        const auto result = co_await writer.apply(std::move(what));
        then(&result);
      } catch (const Error&) {
        then(nullptr);
      }
    };
    callers_->spawn("request", run(process_->writer, std::move(request), std::move(done)));
  }
  void poll();
  void settle();
  void start_over(const std::function<void()>& meanwhile);
  void step(const Mischief& mischief);
  void reconcile();
  void administrate();
  void run_job();
  void change_rules();
  void make_eligible(const Machine& machine);
  void live(Machine& machine, const Mischief& mischief);
  void link(Machine& machine);
  void cut(Machine& machine);
  void obey(Machine& machine, const protocol::AllocationsMessage& message);
  void work(Machine& machine, const Mischief& mischief);
  void report(Machine& machine);
  void give_up_silent();
  void check();
  void check_eviction(const model::Allocation& evicted);
  bool quiet() const;
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  int number(int from, int to) { return std::uniform_int_distribution<>(from, to)(random_); }
  void wrong(std::string what);

  std::mt19937_64 random_;
  async::Loop loop_;
  std::unique_ptr<store::MemoryStore> store_ = std::make_unique<store::MemoryStore>(store::MemoryStore::Mode::stepped);
  std::unique_ptr<store::MemoryStore> aside_;
  VirtualClock clock_;
  Duration jumped_{0};  ///< beside what has passed
  SeededIds ids_;
  std::unique_ptr<async::TaskGroup> callers_;
  std::unique_ptr<Process> process_;
  std::vector<Machine> machines_;
  std::map<std::string, model::Revision> acknowledged_;  ///< by job: the newest index that somebody was told
  std::set<std::string> evictions_;                      ///< that were looked at
  std::vector<std::string> violations_;
  int steps_ = 0;
};

}  // namespace underway::sim

#pragma once
/// @file
/// One job that is changed again and again, in good versions and bad ones, perhaps in need of another, while nodes are
/// drained and machines and the server die: the real decisions, scheduler and orders over a memory store, in virtual
/// time. What a rollout promises is looked at after every commit. Kept apart from ControlPlane so that ten thousand
/// histories take a minute.

#include <random>

#include "server/job/deployment_decisions.hpp"
#include "server/node/orders.hpp"
#include "server/testing/desk.hpp"

namespace underway::sim {

using Seed = std::uint64_t;

/// What becomes of the processes of a version.
enum class Kind {
  good,
  crashes,  ///< at its start
  hangs,    ///< and is given up by its node after a while
  dies,     ///< some time after it was found well
};

class RolloutHistory {
 public:
  /// What a history is made of.
  enum class World {
    any,      ///< whatever chance brings
    cluster,  ///< a cluster's job that rolls out safely, where no machine dies
  };
  explicit RolloutHistory(Seed seed, World world = World::any);

  /// One step of everything, with faults and an administrator who changes his mind.
  void disturb();
  /// No more faults, and what waits for a person is let go on: until no rollout is under way. False when that takes too
  /// long.
  bool settle();
  /// Registers a good version and waits until it is everywhere; else what is missing, in words.
  std::string mend();
  /// Lets a good version stand everywhere and registers one of that kind. After `steps` more the server is away, while
  /// the machines go on. A good version has to be everywhere in the end; a bad one has to have gone back, and to have
  /// had no more than its turn. Else what is wrong, in words.
  std::string outcome(Kind kind, int steps);

  const std::vector<std::string>& violations() const { return violations_; }
  /// What this history is about, for people.
  std::string description() const;
  int rollouts() const { return rollouts_; }  ///< begun in all

 private:
  using Allocation = model::Allocation;
  struct Local {
    Allocation allocation;
    Kind kind = Kind::good;
    bool start = false;
    model::ClientStatus status = model::ClientStatus::pending;
    std::optional<bool> healthy;
    std::int64_t started = 0;
    bool told = true;  ///< the server knows
    bool ready() const { return status == model::ClientStatus::running && healthy == true; }
    bool over() const { return status == model::ClientStatus::complete || status == model::ClientStatus::failed; }
  };
  struct Machine {
    model::Node node;
    bool up = true;
    bool linked = true;
    std::unique_ptr<server::Orders> orders;
    std::map<std::string, Local> locals;
  };

  /// Runs a decision and looks at what it made of the world; a refusal is no fault. May die before it is durable.
  template <class What>
  void act(What what);
  void crash_server();
  void boot_server();
  void administrate();
  void register_version(Kind kind);
  void resolve();
  void live(Machine& machine, bool faults);
  void obey(Machine& machine);
  void work(Machine& machine, bool faults);
  model::AllocationUpdate report_of(const std::string& id, const Local& local) const;
  void tell(Machine& machine);
  void kill(Machine& machine);
  void join(Machine& machine);
  void drain(const Machine& machine, std::optional<Duration> deadline);
  const Machine& any_machine() {
    return machines_[static_cast<std::size_t>(number(0, static_cast<int>(machines_.size()) - 1))];
  }
  void step(Duration time, bool faults);

  /// What was true before a commit.
  struct View {
    std::vector<tables::Row<Allocation>> well;
  };
  View view() const;
  void check(const View& before);
  void check_names();
  void check_figures();
  void check_order(const Machine& machine, const protocol::AllocationOrder& order);
  bool quiet() const;
  bool everywhere() const;
  std::string missing() const;
  /// Until the newest version is everywhere; else what is missing.
  std::string wait_until_everywhere();
  std::int64_t desired() const;
  std::int64_t healthy(bool without_canaries = false) const;
  tables::Row<model::Job> job() const { return desk_.tables.find_job("default", "job"); }
  tables::Row<model::Deployment> newest() const;
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  int number(int from, int to) { return std::uniform_int_distribution<>(from, to)(random_); }
  void wrong(std::string what);

  std::mt19937_64 random_;
  server::testing::Desk desk_;
  server::Dependents dependents_;
  std::vector<Machine> machines_;
  bool system_;
  bool calm_;  ///< no machine and no good process ever dies, and none of the bad ones was found well before
  std::int64_t count_;
  model::UpdateStrategy update_;
  bool lost_with_node_;
  std::optional<model::DependencyScope> needs_;  ///< a second job, on each node or anywhere
  std::string cluster_;                          ///< that the job is of
  int versions_ = 0, rollouts_ = 0, steps_ = 0;
  int boots_ = 0;         ///< of the server
  int away_ = 0;          ///< for so many steps more there is none
  bool reached_ = false;  ///< all was well once: from then on it never falls below what the rollout may take
  bool crashes_ = true;
  std::string last_deployment_;
  std::vector<std::string> violations_;
};

}  // namespace underway::sim

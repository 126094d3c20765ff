#pragma once
/// @file
/// One capsule, three machines and everything that may go wrong: the real decisions, scheduler, gate and orders over a
/// memory store, in virtual time; machines that lose power, agents and links that break, a server that dies, fences
/// that are slow or fail, and an administrator who moves, upgrades, stops, drains and cancels at random. What must
/// always hold is looked at after every event. The same world without chance, in which one party dies at one event,
/// enumerates the deaths in a move.

#include <random>

#include "base/error.hpp"
#include "ownership/upgrade.hpp"
#include "server/node/orders.hpp"
#include "server/testing/desk.hpp"

namespace underway::sim {

using Seed = std::uint64_t;

/// What a job asks for.
std::string image_name(int number);
int number_of(const std::string& image);

enum class Victim : std::uint8_t {
  server,
  source_agent,
  target_agent,
  source_host,
  target_host,
  source_link,
  target_link,
  source_and_server,
  target_and_server,
  everything
};
inline constexpr int kVictims = 10;

class CapsuleHistory {
 public:
  explicit CapsuleHistory(Seed seed);
  /// Without chance: the capsule runs on the first machine, and has a copy on none.
  static CapsuleHistory calm();

  /// One step of everything, with faults and an administrator who changes his mind.
  void disturb();
  /// No more faults. Until no move is under way and the capsule is at work; false when that takes too long. With
  /// `owner_stays_off` the machine that owns it loses its power for good, if another one could take over.
  bool settle(bool owner_stays_off);

  // The enumeration.
  void begin_move(int machine);
  /// To an image that works; or one that passes its rehearsal and fails then: at its start, or at its check.
  enum class NewImage : std::uint8_t { works, does_not_start, fails_its_check };
  void begin_upgrade(NewImage image);
  void take_back();
  /// Copies are made on the machine from now on.
  void keep_copies_on(int machine);
  /// Kills at the given event from now; what dies comes back after a while, or never (hosts only).
  void arm(int event, Victim victim, bool comes_back);
  int events() const { return events_; }
  bool moving() const;
  bool upgrading() const;
  void step_calmly() { step(false); }

  const std::vector<std::string>& violations() const { return violations_; }
  std::string description() const;
  std::int64_t moves() const { return moves_; }  ///< that ended, in all
  std::int64_t failovers() const { return failovers_; }
  int working_on() const;  ///< which machine; -1: none
  bool another_has_a_copy() const;
  int image() const;                                   ///< that runs, by its number; 0: none
  std::int64_t upgrades() const { return upgrades_; }  ///< that took place
  std::int64_t rolled_back() const { return rolled_back_; }

 private:
  using Capsule = model::Capsule;
  struct Local {
    protocol::AllocationOrder order;
    model::ClientStatus status = model::ClientStatus::pending;
    bool told = true;   ///< the server knows
    bool held = false;  ///< found after a boot
    bool over() const { return status == model::ClientStatus::complete || status == model::ClientStatus::failed; }
  };
  struct Machine {
    model::Node node;
    bool power = true, agent = true, link = true;
    bool stays_off = false;
    bool can_be_fenced = true, keeps_disk = true;
    bool registered = false;
    int silent = 0;         ///< steps
    std::int64_t data = 0;  ///< the newest write that its overlay, or copy, has
    int format = 0;         ///< the newest image that has written to it: an older one cannot read it
    std::map<std::string, std::pair<std::int64_t, int>> snapshots;  ///< data and format
    std::string ran;                                                ///< the image of its last run
    int turn = 0;                                                   ///< of what is done to its overlay
    std::optional<std::pair<int, ownership::Todo>> late;  ///< given up by the server, and done by the node all the same
    std::unique_ptr<server::Orders> orders;
    std::map<std::string, Local> locals;
    bool reachable() const { return power && agent && link && registered; }
  };
  /// What the controller has asked for and not heard of yet.
  struct Operation {
    ownership::Todo todo;
    std::string move_id;
    model::MovePhase phase = model::MovePhase::done;
    std::string upgrade_id;
    model::UpgradePhase upgrade_phase = model::UpgradePhase::done;
    int format = 0;
    std::int64_t begun_at = 0, silence = 0, epoch = 0;
    std::int64_t seen = 0;  ///< what the source had written when the copy began
    int steps = 0;
  };

  template <class What>
  void act(What what);
  void event();
  void strike();
  void crash_server();
  void start_server();
  void cut_power(Machine& machine);
  void restore_power(Machine& machine);
  void step(bool faults);
  void administrate();
  void live(Machine& machine, bool faults);
  void join(Machine& machine);
  void obey(Machine& machine);
  void work(Machine& machine, bool faults);
  void note_owner();
  void begin(Machine& machine, Local& local);
  void tell(Machine& machine);
  void give_up_silent();
  void control(bool faults);
  void perform(const Operation& operation, bool faults);
  bool do_operation(const Operation& operation, ownership::Outcome& outcome, bool faults);
  void do_fence(const Operation& operation, bool faults);
  void perform_upgrade(const Operation& operation, bool faults);
  void do_upgrade(const Operation& operation, ownership::UpgradeOutcome& outcome, bool faults);
  void work_on_overlay(Machine& machine, const ownership::Todo& todo, const std::string& upgrade_id);
  void do_late(Machine& machine, bool faults);
  void check_start(const Machine& machine, const Local& local);
  void ask_for_upgrade(NewImage image, bool rehearse_only);
  void note_upgrades();
  void vouch();
  void check();
  void wrong(std::string what);

  std::optional<Capsule> capsule() const;
  Machine* machine_of(const std::string& node_id);
  bool running(const Machine& machine) const;
  bool chance(double probability) { return random_ && std::uniform_real_distribution<>(0, 1)(*random_) < probability; }
  /// What goes on now, unless there is chance and it takes its time.
  bool now(double probability) { return !random_ || chance(probability); }
  int number(int from, int to) { return random_ ? std::uniform_int_distribution<>(from, to)(*random_) : from; }
  Machine& any_machine() {
    return machines_[static_cast<std::size_t>(number(0, static_cast<int>(machines_.size()) - 1))];
  }

  std::optional<std::mt19937_64> random_;
  ownership::CapsuleGuard guard_;
  server::testing::Desk desk_;
  server::Dependents dependents_{&guard_};
  ownership::Limits limits_;
  std::vector<Machine> machines_;
  std::optional<Operation> operation_;
  bool server_ = true;
  int server_back_in_ = 0;
  int versions_ = 0, nodes_ = 0, steps_ = 0, events_ = 0;
  std::int64_t writes_ = 0;  ///< by the capsule, anywhere
  std::int64_t latest_ = 0;  ///< the newest that is not lost
  std::int64_t moves_ = 0, failovers_ = 0, upgrades_ = 0, rolled_back_ = 0;
  std::map<int, NewImage> bad_;  ///< by number
  std::string last_move_, last_upgrade_, restarted_, owner_;
  struct Arm {
    int event = 0;
    Victim victim = Victim::server;
    bool comes_back = true;
  };
  std::optional<Arm> arm_;
  std::vector<std::string> violations_, story_;
};

template <class What>
void CapsuleHistory::act(What what) {
  if (!server_) return;
  event();
  if (!server_) return;  // nothing of it was durable
  try {
    const auto request = server::testing::asked(std::move(what));
    auto decision = decide(std::as_const(desk_.tables), request, desk_.context());
    desk_.commit(std::move(decision.changes));
  } catch (const Error&) {
    return;
  }
  event();
  if (!server_) return;  // durable, and nobody was told
  desk_.schedule();
  check();
}

}  // namespace underway::sim

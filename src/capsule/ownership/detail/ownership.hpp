#pragma once
/// @file
/// One capsule under decision: its record and what the tables say of its allocations, changed together and put at the
/// end.

#include <map>
#include <span>

#include "model/node/node.hpp"
#include "ownership/detail/phase_work.hpp"

namespace underway::ownership::detail {

class Ownership {
 public:
  /// `record`: as it is; absent: there is none yet. `job` may be null: it is gone.
  Ownership(const tables::Tables& tables, const Limits& limits, const server::Context& context,
            std::optional<model::Capsule> record, tables::Row<model::Job> job, std::string group);

  /// ReconcileCapsules, for this one.
  void reconcile();
  Todo todo() const;
  /// What was changed.
  std::vector<server::Change> take();

  static std::span<const MovePhaseWork> move_phases();
  static std::span<const UpgradePhaseWork> upgrade_phases();

  // What outcomes and requests do.
  model::Capsule& record() { return record_; }
  void begin_move(model::MoveKind kind, const std::string& target, bool without_overlay);
  /// The action of the phase that the move is in was done.
  void note(const Outcome& outcome);
  /// Ends the move where it is; with an error it came to nothing.
  void finish(const std::string& error, bool rolled_back);
  /// As the row of its phase says: it is given up, or goes back to the source.
  void go_back(const std::string& error);
  void keep_replica(const std::string& node, std::int64_t at, std::int64_t epoch);
  /// Copies are made there from now on.
  void stand_by(const std::string& node, const std::string& name);
  /// Whether copies go there, one after the other.
  bool copies() const;
  /// The new owner; what the old one had is over.
  void switch_to(const std::string& node);
  /// The owner's host runs nothing.
  void fence(const std::string& by);

  // The same for upgrades.
  void begin_upgrade(model::CapsuleUpgrade upgrade);
  void note(const UpgradeOutcome& outcome);
  /// As the row of its phase says: it is refused, or goes back to the image before.
  void give_up(const std::string& error);
  void forget_replica(const std::string& node);

 private:
  using AllocationRow = tables::Row<model::Allocation>;

  bool wanted() const;
  std::int64_t now() const { return unix_nanos(context_.now); }
  bool past(std::int64_t since, Duration span) const { return now() - since >= span.count(); }
  tables::Row<model::Node> node(const std::string& id) const { return tables_.find_node(id); }
  bool heard_of(const std::string& id) const;
  /// Not heard of for the lease, or not known at all.
  bool gone(const std::string& id) const;
  /// The owner.
  bool owner_gone() const;
  std::string name_of(const std::string& id) const;

  /// The allocation that the record lets run; null: none, or its row is gone.
  AllocationRow may_run() const;
  bool runs() const;
  /// Nothing that the record let run can run any more.
  bool ended() const;
  using Fits = std::function<bool(const model::Allocation&)>;
  AllocationRow live_at(const std::string& node_id, const Fits& fits = {}) const;
  std::string image_of(const model::Job& job) const;

  std::vector<AllocationRow> rows() const;
  void own(const std::string& node_id);
  void lose(const model::Allocation& row, const std::string& why);
  void grant_first();
  void take_note();
  void follow_protection();
  void follow_standby();
  bool can_stand_by(const model::Node& row) const;
  void adopt(const Fits& fits = {});
  bool fits_what_was_taken_back(const model::Allocation& row) const;
  void held();
  void look_for_another();
  void follow_drain();
  void release_unused();

  // A move: what its table names.
  const MovePhaseWork& move_work() const { return move_phases()[static_cast<std::size_t>(record_.move->phase)]; }
  Duration move_limit() const { return limits_.*move_work().row.within; }
  bool move_is_late() const { return past(record_.move->phase_at, move_limit()); }
  void enter(model::MovePhase phase);
  /// The phase is over, and the next one begins.
  void advance_move();
  void look_at_move();
  void before_the_stop();
  void stopping();
  void transferring();
  bool source_left() const;
  void fencing();
  void starting();
  void checking();
  void going_back();
  void restoring();
  void fail_forward(const std::string& error);
  bool staged(const Outcome& outcome);
  bool copied(const Outcome& outcome);
  bool told_what_comes(const Outcome& outcome);
  bool transferred(const Outcome& outcome);
  bool checked(const Outcome& outcome);

  // An upgrade: the same.
  const UpgradePhaseWork& upgrade_work() const {
    return upgrade_phases()[static_cast<std::size_t>(record_.upgrade->phase)];
  }
  Duration upgrade_limit() const { return limits_.*upgrade_work().row.within; }
  void enter(model::UpgradePhase phase);
  void advance_upgrade();
  /// An image without a version, or one that was pushed anew, means something else tomorrow: what ran last is what is
  /// gone back to.
  void note_running(const std::string& digest);
  void finish_upgrade(const std::string& error, bool rolled_back);
  void forget_replicas(std::int64_t since);
  void look_at_upgrade();
  void before_the_upgrade();
  void about_to_stop();
  /// It is to stop, and to start with the other image; false: its node is being emptied, which has ended the upgrade.
  bool begin_stop();
  void upgrade_stops();
  void overlay_at_work();
  void leave_it();
  void stop_it();
  void upgrade_starts();
  void upgrade_is_checked();
  void upgrade_rolls_back();
  void overlay_goes_back();
  void starts_again();
  void is_checked_again();
  bool looked(const UpgradeOutcome& outcome);
  bool rehearsed(const UpgradeOutcome& outcome);
  bool told_of_the_upgrade(const UpgradeOutcome& outcome);
  bool saved(const UpgradeOutcome& outcome);
  bool installed(const UpgradeOutcome& outcome);
  bool upgraded(const UpgradeOutcome& outcome);
  bool overlay_is_back(const UpgradeOutcome& outcome);
  bool works_again(const UpgradeOutcome& outcome);
  /// What happened meanwhile that an upgrade does not survive; empty: nothing.
  std::string spoiled(const std::string& wanted_image) const;
  /// The job asks for that image from its next version on.
  void ask_for(const std::string& image);
  /// How long what the rehearsal did may take.
  Duration patience(Duration usual) const;
  Todo upgrade_todo() const;

  void expel_strays();
  void unmark();
  void settle_state();
  void put(model::Allocation row);
  void evaluate() { evaluate_ = true; }

  const tables::Tables& tables_;
  const Limits& limits_;
  const server::Context& context_;
  bool known_;  ///< the record exists
  model::Capsule before_, record_;
  tables::Row<model::Job> job_;
  bool register_ = false;                          ///< job_ is to become the job's next version
  std::map<std::string, model::Allocation> rows_;  ///< allocations to put
  bool evaluate_ = false;
};

}  // namespace underway::ownership::detail

namespace underway::ownership {

/// What is left is small, or has stopped becoming smaller: one round more, which holds the writers up, is the last.
bool enough(const model::CapsuleMove& move, const Limits& limits);

}  // namespace underway::ownership

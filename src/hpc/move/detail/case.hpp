#pragma once
/// @file
/// One capsule under decision: its record and what the tables say of its allocations, changed together and put at the
/// end.

#include <map>

#include "model/node.hpp"
#include "move/tend.hpp"

namespace underway::move::detail {

class Case {
 public:
  /// `record`: as it is; absent: there is none yet. `job` may be null: it is gone.
  Case(const tables::Tables& tables, const Limits& limits, const server::Context& context,
       std::optional<model::Capsule> record, tables::Row<model::Job> job, std::string group);

  /// decide_tend for this capsule.
  void tend();
  Todo todo() const;
  /// What was changed.
  std::vector<server::Change> take();

  // What outcomes and requests do.
  model::Capsule& record() { return c_; }
  void begin_move(model::MoveKind kind, const std::string& target, bool without_overlay);
  void enter(model::MovePhase phase);
  /// Ends the move where it is; with an error it came to nothing.
  void finish(const std::string& error, bool rolled_back);
  /// Before the stop: nothing has happened. Later: back to the source.
  void go_back(const std::string& error);
  void keep_replica(const std::string& node, std::int64_t at, std::int64_t epoch);
  /// The new owner; what the old one had is over.
  void switch_to(const std::string& node);
  /// The owner's host runs nothing.
  void fence(const std::string& by);

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
  AllocationRow live_at(const std::string& node_id) const;

  std::vector<AllocationRow> rows() const;
  void own(const std::string& node_id);
  void lose(const model::Allocation& row, const std::string& why);
  void grant_first();
  void take_note();
  void adopt();
  void held();
  void look_for_another();
  void follow_drain();
  void release_unused();
  const model::CapsuleReplica* successor() const;

  void step();
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

  void expel_strays();
  void unmark();
  void settle_state();
  void put(model::Allocation row);
  void evaluate() { evaluate_ = true; }

  const tables::Tables& tables_;
  const Limits& limits_;
  const server::Context& context_;
  bool known_;  ///< the record exists
  model::Capsule before_, c_;
  tables::Row<model::Job> job_;
  std::map<std::string, model::Allocation> rows_;  ///< allocations to put
  bool evaluate_ = false;
};

}  // namespace underway::move::detail

namespace underway::move {

/// What is left is small, or has stopped becoming smaller: one round more, which holds the writers up, is the last.
bool enough(const model::CapsuleMove& move, const Limits& limits);

}  // namespace underway::move

#pragma once
/// @file
/// Makes one plan: reconciles, places, writes down, and leaves the fleet as it was.

#include "scheduler/placement/placer.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/reconcile/rollout.hpp"

namespace underway::scheduler {

class Planner {
 public:
  Planner(const Situation& situation, Fleet& fleet, const model::Evaluation& evaluation, const Context& context);
  ~Planner() { fleet_.rollback(start_); }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  Plan run();

 private:
  bool system() const;
  /// A job that starts others never runs itself.
  bool wanted() const { return situation_.job && !situation_.job->stop && !situation_.job->starts_others(); }

  // Every kind of job.
  void stop_all();
  void stop(const Stop& stop, const std::string& next = {});
  /// Stops an allocation that still holds something, and frees it in the fleet.
  void stop_and_free(const Stop& stop);
  /// The same for what is not wanted any more, wherever it is.
  void stop_unwanted(const AllocationRow& allocation);
  bool lost(const model::Allocation& allocation) const {
    return standing_of(allocation, fleet_, now_) == Standing::lost;
  }
  void update_in_place(const AllocationRow& allocation);
  /// Writes down what was placed, for this version of the job or an older one.
  tables::Row<model::Job> version_of(const model::Allocation& allocation) const;
  model::Allocation& create(const tables::Row<model::Job>& job, const model::TaskGroup& group, std::int64_t index,
                            const Choice& choice, model::AllocMetric metric, const model::Allocation* previous);
  /// Where an allocation goes: with others pushed aside when it has to be and may.
  Slot place_of_disk(const model::TaskGroup& group, const model::Allocation* previous) const;
  std::optional<Choice> find_place(Placer& placer, const Placer::Hint& hint);
  std::optional<Choice> find_place_on(Placer& placer, Slot slot);
  /// What was created last takes the place of `previous`: one more try when that failed, else what it was.
  void follow(const AllocationRow& previous, const model::ReschedulePolicy& policy);
  /// Writes down who makes way for `row`.
  void evict(const Victims& victims, model::Allocation& row);
  /// Their jobs shall see where else they go.
  void evaluate_evicted();
  void fail(const model::TaskGroup& group, Placer& placer, std::int64_t count);
  /// Notes in the evaluation and the group's metric that the quota leaves no room, when that is so.
  void note_quota(const Placer& placer, model::AllocMetric& metric);
  void describe_collision(const model::TaskGroup& group, const Placer& placer);
  /// Its node is not heard of from now on.
  void note_unknown(const AllocationRow& allocation);
  /// It came back, and goes on.
  void note_return(const AllocationRow& allocation);

  Ask ask_of(const tables::Row<model::Job>& job, const model::TaskGroup& group) const {
    Ask ask(job, group, situation_.home ? situation_.home(*job, group) : std::nullopt);
    ask.algorithm = situation_.rules.algorithm;
    if (!system()) ask.claims = situation_.claims;
    return ask;
  }

  QuotaBook* quota() { return quota_ ? &*quota_ : nullptr; }

  // Service and batch: planner_groups.cpp.
  struct GroupWork;
  void plan_groups();
  GroupWork begin_group(const model::TaskGroup& group, std::vector<AllocationRow> allocations);
  /// Writes down what a look at the group's allocations has shown, and stops what is to stop.
  void take_note(const model::TaskGroup& group, const GroupPlan& plan);
  void plan_group(GroupWork& work);
  void replace(const model::TaskGroup& group, Placer& placer, const AllocationRow& old);
  void move(const tables::Row<model::Job>& job, const model::TaskGroup& group, Placer& placer,
            const AllocationRow& old);
  bool takes_machines(const model::Job& job, const model::Allocation& old) const;
  void send_machines(const model::Allocation& old, model::Allocation& moved) const;
  std::optional<Choice> find_place_elsewhere(Placer& placer, const model::TaskGroup& group,
                                             const model::Allocation& old);
  bool fill(const tables::Row<model::Job>& job, const model::TaskGroup& group, Placer& placer, const Missing& missing);
  void fill_all(const model::TaskGroup& group, Placer& placer, const std::vector<Missing>& missing);
  void refuse_partial();

  // Their rollouts: planner_rollout.cpp.
  void take_canaries(GroupWork& work, std::vector<AllocationRow>& allocations);
  void open_rollout(const GroupWork& work);
  std::size_t may_replace(GroupWork& work);
  void place_canaries(GroupWork& work, Placer& placer);
  void move_all(GroupWork& work, Placer& placer);
  void fill_as_before(const GroupWork& work);
  tables::Row<model::Job> earlier_version(const GroupWork& work, const Missing& missing);
  void settle_rollout(const GroupWork& work);

  // System and sysbatch: planner_system.cpp.
  struct OnNode;
  struct SystemWork;
  void plan_system();
  bool may_look_at_one_node() const;
  void plan_system_group(const model::TaskGroup& group, const std::vector<AllocationRow>& allocations);
  bool stays(const AllocationRow& allocation, GroupChanges& changes);
  void collect(SystemWork& work, const std::vector<AllocationRow>& allocations);
  void visit(SystemWork& work, Slot slot, const OnNode& here);
  void visit_live(SystemWork& work, Slot slot, const AllocationRow& live);
  void try_again(SystemWork& work, Slot slot, const AllocationRow& previous);
  bool place_on(SystemWork& work, Slot slot, const AllocationRow& previous);
  bool replace_on(SystemWork& work, Slot slot, const AllocationRow& old);
  void explain_system(SystemWork& work);

  // Its rollouts: planner_system_rollout.cpp.
  void open_system_rollout(SystemWork& work);
  void replace_outdated(SystemWork& work);
  void replace_left_behind(SystemWork& work);
  std::int64_t replace_failed_before(SystemWork& work, bool watched, bool canarying, std::int64_t most);
  void restore_on_nodes(SystemWork& work);
  void settle_system_rollout(SystemWork& work);

  // The evaluation and its followers.
  void conclude();
  void conclude_blocked();
  /// Sees to it that somebody looks again when the first of those that wait is due.
  void look_again();
  void cancel_waiting(model::Evaluation evaluation);
  void cancel(const model::Evaluation& blocked, std::string why);

  const Situation& situation_;
  FleetIndex& fleet_;
  const model::Evaluation& evaluation_;
  const Context& context_;
  std::size_t start_;
  std::int64_t now_;
  std::uint64_t seed_;
  Peers peers_;
  Rollout rollout_;
  Preemption preemption_;
  std::optional<QuotaBook> quota_;
  Plan plan_;
  model::Evaluation eligibility_;       ///< collects classes of groups that could not be placed
  bool one_node_ = false;               ///< only the node that the evaluation is about is looked at
  std::int64_t next_attempt_ = 0;       ///< when the first failed one is replaced, ns; 0: none waits
  std::int64_t next_loss_ = 0;          ///< when the first unknown one is given up, ns; 0: none is
  std::vector<AllocationRow> waiting_;  ///< failed, to be replaced later
  std::int64_t live_ = 0;               ///< allocations that run, or will
  /// What all allocations of a group have in common.
  const model::TaskGroup* template_of_ = nullptr;
  model::Allocation template_;
};

}  // namespace underway::scheduler

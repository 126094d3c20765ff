// What the writer does apart from groups of requests: evaluations so large that they are planned on another thread, and
// plans of others (Writer::Turn), which have the tables for themselves meanwhile.
#include "async/watchdog.hpp"
#include "base/allowance.hpp"
#include "server/writer.hpp"

namespace underway::server {
namespace {

constexpr std::size_t kMostTurns = 64;
/// What was planned is applied in portions, so that the loop is held for some milliseconds at most.
constexpr std::size_t kPortion = 500;

/// The allocations that an evaluation places, by id: that is how the tables keep those of one revision, so each portion
/// of them is appended to the one before.
void sort_new(std::vector<Change>& changes, const std::string& evaluation) {
  const auto is_new = [&](const Change& change) {
    const auto* put = std::get_if<tables::PutAllocation>(&change);
    return put != nullptr && put->allocation.create_index == 0 && put->allocation.eval_id == evaluation;
  };
  const auto first = std::find_if(changes.begin(), changes.end(), is_new);
  const auto last = std::find_if_not(first, changes.end(), is_new);
  std::sort(first, last, [](const Change& a, const Change& b) {
    return std::get<tables::PutAllocation>(a).allocation.id < std::get<tables::PutAllocation>(b).allocation.id;
  });
}

}  // namespace

Writer::Turn::Turn(Writer& writer) : writer_(writer) {
  if (writer_.turns_.size() >= kMostTurns) {
    throw Error(Code::unavailable, "too much waits to be computed")
        .because(fmt::format("{} plans wait for their turn", writer_.turns_.size()))
        .advise("try again in a moment");
  }
  writer_.turns_.push_back(this);
  writer_.wake();
}

Writer::Turn::~Turn() {
  std::erase(writer_.turns_, this);
  if (!granted_) return;
  writer_.committing_ = false;
  writer_.answer();
}

async::awaitable<void> Writer::Turn::begin() {
  while (!granted_ && !writer_.stopping_) co_await changed_.wait();
  if (writer_.stopping_) throw Error(Code::unavailable, "the server is stopping");
}

struct Writer::LargePlan {
  tables::Row<model::Evaluation> evaluation;
  TimePoint now;
  model::Revision revision;
  SeededIds ids;  ///< of its own: the writer's are the loop's
  std::vector<Change> changes;
  Duration took{0};
  std::size_t applied = 0;
  std::vector<store::Operation> operations;
};

/// Whoever waits to be apart, if anybody does, has the tables from here on.
bool Writer::work_apart(const Context& context) {
  const auto evaluation = tables_.find_evaluation(std::exchange(large_, {}));
  const bool due = evaluation && evaluation->status == model::EvalStatus::pending &&
                   from_unix_nanos(evaluation->wait_until) <= context.now;
  if (due && !paused()) {
    plan_apart(evaluation, context);
    return true;
  }
  if (turns_.empty()) return false;
  Turn* const turn = turns_.front();
  turns_.pop_front();
  committing_ = turn->granted_ = true;
  turn->changed_.notify_all();
  return true;
}

void Writer::plan_apart(tables::Row<model::Evaluation> evaluation, const Context& context) {
  committing_ = true;
  ++measures_.planning[static_cast<std::size_t>(evaluation->type)];
  auto plan = std::make_shared<LargePlan>(std::move(evaluation), context.now, context.revision,
                                          SeededIds(std::hash<std::string>()(ids_.uuid())));
  // The loop has work until it is back.
  auto busy = asio::make_work_guard(executor_);
  asio::post(beside_.executor(), [this, alive = alive_, plan = std::move(plan), busy = std::move(busy)]() mutable {
    {
      const Allowance allowance("planning", Duration::max(), Allowance::kAnyNumber, &ended_);
      const auto begun = std::chrono::steady_clock::now();
      plan->changes = schedule(*plan->evaluation, Context{plan->now, plan->ids, plan->revision, root_by_raw_exec_});
      sort_new(plan->changes, plan->evaluation->id);
      plan->took = std::chrono::steady_clock::now() - begun;
    }
    const auto home = busy.get_executor();
    asio::post(home, [this, alive = std::move(alive), plan = std::move(plan), busy = std::move(busy)]() mutable {
      if (!*alive) return;
      note_plan(*plan->evaluation, plan->took);
      write_down(std::move(plan));
    });
  });
}

void Writer::write_down(std::shared_ptr<LargePlan> plan) {
  async::doing("writing a large plan down");
  const auto first = plan->changes.begin() + static_cast<std::ptrdiff_t>(plan->applied);
  const auto count = std::min(kPortion, plan->changes.size() - plan->applied);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  apply(plan->operations, {std::make_move_iterator(first), std::make_move_iterator(last)}, plan->revision);
  plan->applied += count;
  if (plan->applied < plan->changes.size()) {
    asio::post(executor_, [this, alive = alive_, plan = std::move(plan)]() mutable {
      if (*alive) write_down(std::move(plan));
    });
    return;
  }
  const Context context{plan->now, ids_, plan->revision, root_by_raw_exec_};
  // Nothing else that is decided may come for long.
  wake_blocked(plan->operations, context);
  update_job_statuses(plan->operations, context);
  if (!plan->operations.empty()) return commit(std::move(plan->operations));
  measures_.plans = 0;
  measures_.planning = {};
  committing_ = false;
  answer();
}

}  // namespace underway::server

#include "server/writer.hpp"

#include "async/watchdog.hpp"
#include "base/log.hpp"
#include "server/access/quota_decisions.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/host_volume_decisions.hpp"
#include "server/node/node_decisions.hpp"

namespace underway::server {
namespace {

// A group is what one fsync pays for: large enough to amortise it, small enough that the first of the group does not
// wait long for the last.
constexpr std::size_t kMostRequests = 1024;
constexpr std::size_t kMostEvaluations = 256;
// To plan an allocation takes some 10 µs: of so many together the loop is held for some ten milliseconds, so a larger
// evaluation is planned apart (writer_apart.cpp).
constexpr std::size_t kMostAllocations = 2'000;
/// An evaluation of one node alone passes over the allocations of the others.
constexpr std::size_t kLooksOfOnePlacement = 100;
constexpr std::size_t kMostOperations = 32'768;
constexpr Duration kTryAgain = std::chrono::seconds(5);

/// Whether the disk refused, and not what was to be written.
bool of_the_disk(const Error& error) { return error.code() != Code::too_large && error.code() != Code::invalid; }

}  // namespace

Writer::Writer(async::Executor executor, store::Store& store, Tables& tables, scheduler::Fleet& fleet, Clock& clock,
               IdSource& ids, bool root_by_raw_exec, scheduler::Options scheduling)
    : executor_(executor),
      store_(store),
      tables_(tables),
      fleet_(fleet),
      clock_(clock),
      ids_(ids),
      root_by_raw_exec_(root_by_raw_exec),
      scheduling_(std::move(scheduling)),
      timer_(executor) {
  tables_.load(store_);
  wake();
}

Writer::~Writer() { *alive_ = false; }

async::awaitable<void> Writer::finish(std::shared_ptr<Queued> request) {
  if (stopping_) throw Error(Code::unavailable, "the server is stopping");
  queue_.push_back(request);
  wake();
  while (!request->done) co_await request->finished.wait();
  if (request->failure) std::rethrow_exception(request->failure);
}

async::awaitable<const Tables*> Writer::settled() {
  while (committing_) co_await settled_.wait();
  co_return &tables_;
}

/// An empty store is at 0, though its scopes say 1: its first change, which is 1, is newer than what was seen there.
bool Writer::has_changed(const std::vector<tables::Scope>& scopes, model::Revision index) const {
  return tables_.revision() > 0 && std::any_of(scopes.begin(), scopes.end(),
                                               [&](const auto& scope) { return tables_.revision_of(scope) > index; });
}

async::awaitable<const Tables*> Writer::changed_since(std::vector<tables::Scope> scopes, model::Revision index,
                                                      async::SteadyTime deadline) {
  while (true) {
    co_await settled();
    if (index < 0 || has_changed(scopes, index) || async::LoopClock::now() >= deadline) co_return &tables_;
    async::Event changed;
    const auto waiter = tables_.wait(scopes, [&changed] { changed.notify_all(); });
    co_await changed.wait_until(deadline);
  }
}

void Writer::wake() {
  if (awake_ || committing_ || (stopping_ && queue_.empty())) return;
  awake_ = true;
  asio::post(executor_, [this, alive = alive_] {
    if (!*alive) return;
    awake_ = false;
    if (!committing_) run_group();
  });
}

void Writer::run_group() {
  async::doing("deciding and scheduling");
  const TimePoint now = clock_.now();
  const Context context{now, ids_, store_.revision() + 1, root_by_raw_exec_};
  if (std::exchange(apart_next_, false) && work_apart(context)) return;
  apart_next_ = true;
  std::vector<store::Operation> operations;
  if (clock_set_by_ != Duration{0}) follow_clock(operations, context);
  decide_requests(operations, context);
  schedule_pending(operations, context);
  update_job_statuses(operations, context);
  if (operations.empty() && trouble_ && now >= try_again_at_) try_the_disk(operations, context);
  if (operations.empty()) {
    measures_.plans = 0;
    measures_.planning = {};
    answer();
    return;
  }
  commit(std::move(operations));
}

void Writer::look_at_clock(std::chrono::steady_clock::time_point steady) {
  const Duration by = clock_watch_.look(clock_.now(), steady);
  if (by == Duration{0}) return;
  log::warn("server: the clock was set {} by {}; what waits for its time is moved along",
            by < Duration{0} ? "back" : "forward", human_duration(std::chrono::abs(by)));
  clock_set_by_ += by;
  wake();
}

/// Before anything is decided by the new time.
void Writer::follow_clock(std::vector<store::Operation>& operations, const Context& context) {
  following_ = std::exchange(clock_set_by_, Duration{0});
  if (trouble_) try_again_at_ = context.now;
  auto changes = decide(tables_, FollowClock{following_}, context).changes;
  if (changes.empty()) following_ = Duration{0};
  apply(operations, std::move(changes), context.revision);
}

void Writer::decide_requests(std::vector<store::Operation>& operations, const Context& context) {
  while (!queue_.empty() && group_.size() < kMostRequests && operations.size() < kMostOperations) {
    group_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    auto& request = *group_.back();
    try {
      apply(operations, request.run(tables_, context), context.revision);
    } catch (...) {
      request.failure = std::current_exception();
    }
  }
}

void Writer::schedule_pending(std::vector<store::Operation>& operations, const Context& context) {
  TimePoint next_due = trouble_ && try_again_at_ > context.now ? try_again_at_ : TimePoint::max();
  std::size_t taken = 0, size = 0;
  large_.clear();
  // The highest priority first; and what waits for room hears of it before anybody lower is asked.
  for (bool again = !paused(); again;) {
    again = false;
    wake_blocked(operations, context);
    for (const auto& evaluation : tables_.pending_evaluations()) {
      const TimePoint due = from_unix_nanos(evaluation->wait_until);
      if (due > context.now) {
        next_due = std::min(next_due, due);
        continue;
      }
      const std::size_t own = size_of(*evaluation);
      if (own > kMostAllocations) large_ = evaluation->id;  // it has the next turn: who is behind it waits
      if (!large_.empty()) break;
      size += own;
      if (++taken > kMostEvaluations || size > kMostAllocations || operations.size() >= kMostOperations) break;
      const auto begun = std::chrono::steady_clock::now();
      auto planned = schedule(*evaluation, context);
      ++measures_.planning[static_cast<std::size_t>(evaluation->type)];
      note_plan(*evaluation, std::chrono::steady_clock::now() - begun);
      apply(operations, std::move(planned), context.revision);
      again = wake_blocked(operations, context);
      if (again) break;
    }
  }
  if (next_due != TimePoint::max()) set_timer(next_due, context.now);
}

void Writer::note_plan(const model::Evaluation& evaluation, Duration took) {
  measures_.scheduling[static_cast<std::size_t>(evaluation.type)].add(took);
  ++measures_.plans;
}

bool Writer::wake_blocked(std::vector<store::Operation>& operations, const Context& context) {
  bool woken = false;
  for (const auto& quota : std::exchange(freed_quotas_, {})) {
    std::vector<Change> changes;
    unblock_quota(changes, tables_, quota, context);
    woken = woken || !changes.empty();
    apply(operations, std::move(changes), context.revision);
  }
  std::set<std::string> classes;
  for (const auto& id : std::exchange(freed_nodes_, {})) {
    const auto node = tables_.find_node(id);
    if (!node || !node->ready() || !classes.insert(node->computed_class).second) continue;
    std::vector<Change> changes;
    unblock(changes, tables_, *node, context);
    woken = woken || !changes.empty();
    apply(operations, std::move(changes), context.revision);
  }
  return woken;
}

/// How many allocations it looks at or makes, about.
std::size_t Writer::size_of(const model::Evaluation& evaluation) const {
  const auto job = tables_.find_job(evaluation.ns, evaluation.job_id);
  const bool one_per_node = job && (job->type == model::JobType::system || job->type == model::JobType::sysbatch);
  const std::size_t present = tables_.allocations_of_job(evaluation.ns, evaluation.job_id).size();
  if (one_per_node && !evaluation.node_id.empty()) return present / kLooksOfOnePlacement;
  std::size_t size = present;
  if (!job || job->stop) return size;
  for (const auto& group : job->groups)
    size += one_per_node ? fleet_.node_count() : static_cast<std::size_t>(std::max<std::int64_t>(1, group.count));
  return size;
}

/// A fault of ours met in one job's evaluation must neither stop the others nor come back with every group.
std::vector<Change> Writer::schedule(const model::Evaluation& evaluation, const Context& context) {
  try {
    auto plan =
        scheduler::schedule(tables_, fleet_, evaluation, scheduler::Context{context.now, context.ids, scheduling_});
    return std::move(plan).take_changes();
  } catch (const std::exception& failure) {
    if (ended_) return {};  // it is pending still, for whoever starts next
    log::error("server: evaluation {} of job '{}' failed: {}", evaluation.id, evaluation.job_id, failure.what());
    model::Evaluation failed = evaluation;
    failed.status = model::EvalStatus::failed;
    failed.status_description = failure.what();
    failed.modify_time = unix_nanos(context.now);
    std::vector<Change> changes;
    changes.push_back(tables::PutEvaluation{std::move(failed)});
    return changes;
  }
}

void Writer::set_timer(TimePoint due, TimePoint now) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(due - now));
  timer_.async_wait([this, alive = alive_](boost::system::error_code cancelled) {
    if (!cancelled && *alive) wake();
  });
}

void Writer::apply(std::vector<store::Operation>& operations, std::vector<Change> changes, model::Revision revision) {
  std::vector<Change> more;
  for (const auto& change : changes) {
    if (const auto* gone = std::get_if<tables::DeleteJob>(&change)) delete_claims_of(more, tables_, gone->ns, gone->id);
    if (const auto* job = std::get_if<tables::PutJob>(&change)) touched_jobs_.emplace(job->job.ns, job->job.id);
    if (const auto* evaluation = std::get_if<tables::PutEvaluation>(&change))
      touched_jobs_.emplace(evaluation->evaluation.ns, evaluation->evaluation.job_id);
    if (const auto* allocation = std::get_if<tables::PutAllocation>(&change)) {
      const model::Allocation& row = allocation->allocation;
      touched_jobs_.emplace(row.ns, row.job_id);
      if (!row.terminal() || !row.next_allocation.empty()) continue;
      const auto before = tables_.find_allocation(row.id);
      if (!before || before->terminal()) continue;
      freed_nodes_.insert(row.node_id);
      if (auto quota = tables::quota_of(tables_, row.ns); !quota.empty()) freed_quotas_.insert(std::move(quota));
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(changes));
  auto made = tables_.apply(std::move(changes), revision);
  operations.insert(operations.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

/// A quiet server would not learn that there is room again.
void Writer::try_the_disk(std::vector<store::Operation>& operations, const Context& context) {
  std::vector<Change> changes;
  changes.push_back(tables::PutSetting{"writer/tried", boost::json::value(format_time(context.now))});
  apply(operations, std::move(changes), context.revision);
}

void Writer::update_job_statuses(std::vector<store::Operation>& operations, const Context& context) {
  for (const auto& [ns, id] : std::exchange(touched_jobs_, {})) {
    const auto job = tables_.find_job(ns, id);
    if (!job) continue;
    const auto status = job_status(tables_, *job);
    if (status == job->status) continue;
    model::Job changed = *job;
    changed.status = status;
    std::vector<Change> changes;
    changes.push_back(tables::PutJob{std::move(changed), std::nullopt});
    apply(operations, std::move(changes), context.revision);
  }
  touched_jobs_.clear();
}

void Writer::commit(std::vector<store::Operation> operations) {
  committing_ = true;
  commit_begun_ = std::chrono::steady_clock::now();
  store::Transaction transaction;
  transaction.then = std::move(operations);
  store_.commit(std::move(transaction),
                [this, alive = alive_, executor = executor_](store::Store::CommitResult result) {
                  asio::post(executor, [this, alive, result = std::move(result)]() mutable {
                    if (*alive) committed(std::move(result));
                  });
                });
}

void Writer::committed(store::Store::CommitResult result) {
  committing_ = false;
  const bool planned = std::exchange(measures_.plans, 0) > 0;
  measures_.planning = {};
  if (const auto* error = std::get_if<Error>(&result)) return failed(*error);
  const Duration took = std::chrono::steady_clock::now() - commit_begun_;
  measures_.commits.add(took);
  if (planned) measures_.plan_commits.add(took);
  if (trouble_)
    log::info("server: the state can be written again, after {}", human_duration(clock_.now() - trouble_->since));
  trouble_.reset();
  following_ = Duration{0};
  tables_.publish();
  for (const auto& callback : durable_callbacks_) callback();
  answer();
}

void Writer::failed(const Error& error) {
  const TimePoint now = clock_.now();
  clock_set_by_ += std::exchange(following_, Duration{0});
  if (!trouble_ || !group_.empty()) {
    log::error("server: nothing of {} requests was written, reading the state again: {}", group_.size(),
               error.one_line());
  }
  if (of_the_disk(error)) {
    trouble_ = Trouble{trouble_ ? trouble_->since : now, error};
    try_again_at_ = now + kTryAgain;
  }
  for (const auto& request : group_) {
    if (!request->failure) request->failure = std::make_exception_ptr(error);
  }
  tables_.load(store_);
  answer_group();
  // What is pending is tried again with the next request or after a pause, not in a hot loop against a full disk.
  set_timer(now + kTryAgain, now);
  // Who wants to be apart writes nothing, so that the disk is no reason to wait. It goes before a large evaluation,
  // which would fail as this did.
  if (!turns_.empty()) {
    large_.clear();
    apart_next_ = true;
  }
  if (!queue_.empty() || !turns_.empty()) wake();
}

void Writer::answer_group() {
  for (const auto& request : std::exchange(group_, {})) {
    request->done = true;
    request->finished.notify_all();
  }
  settled_.notify_all();
}

void Writer::answer() {
  answer_group();
  // Posted after the readers that were just woken: they look first, then the next group is decided.
  const auto pending = tables_.pending_evaluations();
  const bool due = !paused() && std::any_of(pending.begin(), pending.end(), [&](const auto& e) {
    return from_unix_nanos(e->wait_until) <= clock_.now();
  });
  if (!queue_.empty() || due || !turns_.empty()) wake();
}

async::awaitable<void> Writer::replace(async::Pool& pool, std::function<void(store::Store&)> work) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  while (committing_) co_await settled_.wait();
  if (stopping_) throw Error(Code::unavailable, "the server is stopping");
  committing_ = true;
  std::exception_ptr failure;
  auto job = [&] { work(store_); };
  try {
    co_await async::on_pool(pool, job);
  } catch (...) {
    failure = std::current_exception();
  }
  committing_ = false;
  if (!failure) {
    freed_nodes_.clear();
    freed_quotas_.clear();
    tables_.load(store_);
    tables_.publish();
    for (const auto& callback : durable_callbacks_) callback();
  }
  answer();
  if (failure) std::rethrow_exception(failure);
}

async::awaitable<void> Writer::stop() {
  stopping_ = true;
  ended_ = true;
  timer_.cancel();
  for (auto* turn : turns_) turn->changed_.notify_all();
  while (!queue_.empty() || committing_) co_await settled_.wait();
}

}  // namespace underway::server

#pragma once
/// @file
/// The one writer (design §4). Decisions queue here; a group of them is decided and applied to the tables in order,
/// committed to the store as one transaction, and only then answered. While a commit is in flight nothing is decided
/// and readers wait in `settled()`, so nobody sees what is not durable. A commit that fails (full disk) is answered
/// with its error to all of its group, and the tables are loaded again. From then on a small commit of the writer's own
/// finds out every few seconds whether the disk takes something again.
///
/// What takes long to decide is decided *apart*: on a thread beside the loop, while nothing else is decided and nobody
/// reads. An evaluation of a large job is, and then written down in portions; so the loop goes on meanwhile.

#include <atomic>
#include <deque>

#include "async/event.hpp"
#include "async/group.hpp"
#include "async/loop_clock.hpp"
#include "base/allowance.hpp"
#include "scheduler/schedule.hpp"
#include "server/job/clock_decisions.hpp"
#include "server/measures.hpp"
#include "server/request.hpp"
#include "server/trouble.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::server {

class Writer {
 public:
  /// What somebody asked for may compute so long apart: writes wait for it. A plan of a hundred thousand allocations.
  static constexpr Duration kLongestApart = std::chrono::seconds(1);

  /// All must outlive the writer. Loads the tables. Throws what the store throws.
  Writer(async::Executor executor, store::Store& store, Tables& tables, scheduler::Fleet& fleet, Clock& clock,
         IdSource& ids, bool root_by_raw_exec = false, scheduler::Options scheduling = {});
  ~Writer();

  /// Decides about `request` at its turn, with what is kept beside it, and resumes with the result once that is
  /// durable. Throws what the decision throws; or exhausted and others from the store, when nothing was written.
  /// Cancelling the caller does not take the request back.
  template <Request R>
  async::awaitable<ResultOf<R>> apply(R request, CommitHook hook = {}) {
    struct Typed final : Queued {
      Typed(R r, CommitHook b) : request(std::move(r)), hook(std::move(b)) {}
      std::vector<Change> run(const Tables& tables, const Context& context) override {
        auto decision = decided(tables, request, hook, context);
        result = std::move(decision.result);
        return std::move(decision.changes);
      }
      R request;
      CommitHook hook;
      ResultOf<R> result{};
    };
    auto queued = std::make_shared<Typed>(std::move(request), std::move(hook));
    co_await finish(queued);
    co_return std::move(queued->result);
  }

  /// `work()` apart, at its turn; resumes with its result, or throws what it throws. It reads tables and fleet, which
  /// are nobody else's meanwhile, and its caller's until the next co_await. `what` begins the refusal of what takes too
  /// long: "planning the job". Throws too_large then; unavailable when too many wait, or the server is stopping.
  template <class Work>
  async::awaitable<std::invoke_result_t<Work&>> apart(std::string what, Work work) {
    Turn turn(*this);
    co_await turn.begin();
    auto bounded = [this, &what, &work] {
      const Allowance allowance(what, kLongestApart, Allowance::kAnyNumber, &ended_);
      return work();
    };
    co_return co_await async::on_pool(beside_, bounded);
  }

  /// Resumes when the tables hold durable state only; they may be read until the next co_await.
  async::awaitable<const Tables*> settled();

  /// Waits until something in `scopes` is newer than `index`, or `deadline`; then as settled(). `scopes` is any of
  /// them.
  async::awaitable<const Tables*> changed_since(std::vector<tables::Scope> scopes, model::Revision index,
                                                async::SteadyTime deadline);

  /// Whether something in `scopes` is newer than `index`. After settled().
  bool has_changed(const std::vector<tables::Scope>& scopes, model::Revision index) const;
  /// As Tables::wait: `wake` is called once, when a change in `scopes` has become durable.
  [[nodiscard]] std::unique_ptr<Tables::Waiter> wait(std::vector<tables::Scope> scopes, std::function<void()> wake) {
    return tables_.wait(std::move(scopes), std::move(wake));
  }

  /// Runs `work`, which replaces everything in the store, on the pool: nothing is decided and nobody reads meanwhile.
  /// Then the tables are as the store is, and everybody who waits is woken. Throws what `work` throws, which has then
  /// changed nothing. It cannot be cancelled.
  async::awaitable<void> replace(async::Pool& pool, std::function<void(store::Store&)> work);
  store::Store& store() { return store_; }

  /// Called after each group became durable: sessions send differences from here.
  void on_durable(std::function<void()> callback) { durable_callbacks_.push_back(std::move(callback)); }

  /// Looked at by whoever goes on regularly: a clock that was set moves what is measured by it (clock_decisions.hpp).
  void look_at_clock(std::chrono::steady_clock::time_point steady);

  const Tables& tables() const { return tables_; }
  const WriterMeasures& measures() const { return measures_; }
  /// Why nothing can be written; absent when the newest commit was.
  const std::optional<Trouble>& trouble() const { return trouble_; }
  /// No new decisions from now on; waits until those queued are durable.
  async::awaitable<void> stop();

 private:
  /// One that waits for its turn, or for its commit.
  struct Queued {
    virtual ~Queued() = default;
    virtual std::vector<Change> run(const Tables&, const Context&) = 0;
    std::exception_ptr failure;
    bool done = false;
    async::Event finished;
  };
  /// Of one who waits to be apart, and then is.
  class Turn {
   public:
    explicit Turn(Writer& writer);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    async::awaitable<void> begin();

   private:
    friend class Writer;
    Writer& writer_;
    bool granted_ = false;
    async::Event changed_;
  };
  struct LargePlan;
  async::awaitable<void> finish(std::shared_ptr<Queued> request);
  void note_plan(const model::Evaluation& evaluation, Duration took);
  void wake();
  bool work_apart(const Context& context);
  std::size_t size_of(const model::Evaluation& evaluation) const;
  void plan_apart(tables::Row<model::Evaluation> evaluation, const Context& context);
  void write_down(std::shared_ptr<LargePlan> plan);
  void run_group();
  void decide_requests(std::vector<store::Operation>& operations, const Context& context);
  void schedule_pending(std::vector<store::Operation>& operations, const Context& context);
  /// Evaluations that wait for room of which some was freed are pending again. Whether there is any.
  bool wake_blocked(std::vector<store::Operation>& operations, const Context& context);
  std::vector<Change> schedule(const model::Evaluation& evaluation, const Context& context);
  void update_job_statuses(std::vector<store::Operation>& operations, const Context& context);
  void apply(std::vector<store::Operation>& operations, std::vector<Change> changes, model::Revision revision);
  void try_the_disk(std::vector<store::Operation>& operations, const Context& context);
  void follow_clock(std::vector<store::Operation>& operations, const Context& context);
  void commit(std::vector<store::Operation> operations);
  void committed(store::Store::CommitResult result);
  void failed(const Error& error);
  void answer();
  void answer_group();
  bool paused() { return configuration_.read(tables_).pause_eval_broker; }
  void set_timer(TimePoint due, TimePoint now);

  async::Executor executor_;
  store::Store& store_;
  Tables& tables_;
  scheduler::Fleet& fleet_;
  Clock& clock_;
  IdSource& ids_;
  bool root_by_raw_exec_;  ///< of every Context
  scheduler::Options scheduling_;
  tables::SchedulerConfigurationReader configuration_;
  std::deque<std::shared_ptr<Queued>> queue_;
  std::vector<std::shared_ptr<Queued>> group_;
  std::set<std::pair<std::string, std::string>> touched_jobs_;  ///< (namespace, id) changed in this group
  std::set<std::string> freed_quotas_;                          ///< of which something was given back
  std::set<std::string> freed_nodes_;  ///< on which something will not be replaced that held room until now
  std::vector<std::function<void()>> durable_callbacks_;
  async::Event settled_;
  async::Timer timer_;                                          ///< the next evaluation that has to wait for its time
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< callbacks of the store outlive us otherwise
  std::optional<Trouble> trouble_;
  TimePoint try_again_at_{};  ///< with trouble_
  ClockWatch clock_watch_;
  Duration clock_set_by_{0}, following_{0};  ///< not yet followed; in the commit on its way
  WriterMeasures measures_;
  std::chrono::steady_clock::time_point commit_begun_{};
  bool committing_ = false;  ///< or apart: the tables are not to be read
  bool awake_ = false;
  bool stopping_ = false;
  std::string large_;        ///< id of the evaluation whose turn it is, and which is to be planned apart
  std::deque<Turn*> turns_;  ///< of those who wait to be apart
  bool apart_next_ = false;  ///< a group was decided since somebody was apart: the turns alternate
  std::atomic<bool> ended_ = false;
  async::Pool beside_{1};  ///< the last member: what runs there ends before the others do
};

}  // namespace underway::server

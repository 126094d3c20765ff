#pragma once
/// @file
/// The one writer of a store: a queue, group commit, watches and the order of callbacks. Implementations of Store
/// differ only in their Backend.

#include "store/detail/backend.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace underway::store::detail {

/// A group is what waits in the queue when the writer comes to it, up to these bounds: nothing waits for company.
struct GroupLimits {
  std::size_t operations = 1024;
  std::size_t bytes = 4 << 20;          ///< of keys and values; one transaction may be larger
  std::size_t value_bytes = 256 << 20;  ///< of one value; more is refused
};

class Sequencer {
 public:
  enum class Mode { own_thread, stepped };

  /// `revision` is what the backend holds. `stepped`: no thread; groups are committed by step() and everything happens
  /// on the one thread that uses it.
  Sequencer(Backend& backend, Revision revision, Mode mode, GroupLimits limits = {});
  ~Sequencer();
  Sequencer(const Sequencer&) = delete;
  Sequencer& operator=(const Sequencer&) = delete;

  void commit(Transaction transaction, Store::CommitCallback done);
  RangeResult range(const KeyRange& range, std::size_t limit);
  Revision revision() const { return revision_.load(std::memory_order_acquire); }
  std::unique_ptr<Store::Watch> watch(KeyRange range, Store::WatchCallback notify);

  /// See Whole::replace.
  Revision replace(Revision above, const std::function<std::optional<KeyValue>()>& next);

  /// Runs `job` on the writer's thread between two groups, and waits; throws the Error that it
  /// throws. On that thread itself: at once.
  void call(const std::function<void()>& job);
  bool on_own_thread() const;

  /// Commits wait in the queue until release(); reads go on.
  void hold();
  void release();
  std::size_t waiting() const;
  /// Commits one group; false when there is none (or it is held).
  bool step();
  std::uint64_t groups() const { return groups_.load(std::memory_order_relaxed); }

 private:
  struct Request {
    Transaction transaction;
    Store::CommitCallback done;
  };
  /// What a transaction did; its events only when somebody watches.
  struct Effect {
    std::optional<Error> refused;
    Outcome outcome;
    std::vector<Event> events;
  };
  struct Registration;
  class Handle;

  void run();
  void run_jobs(std::unique_lock<std::mutex>& lock);
  std::vector<Request> take_group();
  void commit_group(std::vector<Request> group);
  Effect execute(Transaction& transaction, Revision& revision);
  bool apply(const std::vector<Operation>& operations, Revision revision, std::vector<Event>& events);
  std::optional<Error> refusal(const Transaction& transaction) const;
  void replace_now(Revision revision, const std::function<std::optional<KeyValue>()>& next);
  bool holds(const Compare& compare);
  bool watched(const KeyRange& range) const;
  void notify(const Effect& effect);

  Backend& backend_;
  const Mode mode_;
  const GroupLimits limits_;
  std::atomic<Revision> revision_;
  std::atomic<std::uint64_t> groups_{0};

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Request> queue_;
  std::vector<std::function<void()>> jobs_;
  bool held_ = false;
  bool stop_ = false;

  std::vector<std::shared_ptr<Registration>> watches_;  ///< writer's thread only
  std::thread thread_;
};

}  // namespace underway::store::detail

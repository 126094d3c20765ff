#pragma once
/// @file
/// A store that keeps nothing: tests, the simulator, `agent -dev`. Same semantics as the durable ones, and faults on
/// request.

#include "store/whole.hpp"

namespace underway::store {

class MemoryStore final : public Store, public Whole {
 public:
  enum class Mode {
    own_thread,  ///< like the durable stores
    stepped,     ///< single-threaded: nothing is committed but by step(), callbacks come from within it
  };
  explicit MemoryStore(Mode mode = Mode::own_thread);
  ~MemoryStore() override;

  void commit(Transaction transaction, CommitCallback done) override;
  RangeResult range(const KeyRange& range, std::size_t limit = 0) override;
  Revision revision() const override;
  [[nodiscard]] std::unique_ptr<Watch> watch(KeyRange range, WatchCallback notify) override;

  Revision copy(const std::string& scratch, const std::function<void(KeyValue&&)>& visit) override;
  Revision replace(Revision above, const std::function<std::optional<KeyValue>()>& next) override;

  /// The next group that would write fails with `error`, and none of it is written.
  void fail_next_commit(Error error);
  /// Commits wait until release(); reads go on.
  void hold();
  void release();
  /// How many transactions wait.
  std::size_t waiting() const;
  /// Mode::stepped: commits what waits, as one group (at most 1,024 operations); false when nothing waits.
  bool step();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace underway::store

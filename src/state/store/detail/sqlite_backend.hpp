#pragma once
/// @file
/// The state of all keys in one SQLite table. See sqlite_store.hpp for what it promises.

#include "store/detail/backend.hpp"
#include "store/detail/lock_file.hpp"
#include "store/detail/sqlite_connection.hpp"
#include "store/sqlite_store.hpp"

#include <atomic>

struct sqlite3_backup;

namespace underway::store::detail {

class SqliteBackend final : public Backend {
 public:
  SqliteBackend(const std::string& path, const SqliteStore::Options& options);
  ~SqliteBackend() override;

  Revision revision() const { return revision_; }

  void begin() override;
  std::optional<KeyValue> find(const std::string& key, bool with_value) override;
  void put(const Put& put, Revision revision, KeyValue* after) override;
  void restore(const KeyValue& key_value) override;
  std::size_t erase(const KeyRange& range, std::vector<std::string>* keys) override;
  void commit(Revision revision) override;
  void rollback() noexcept override;
  std::vector<KeyValue> range(const KeyRange& range, std::size_t limit) override;
  bool maintain() noexcept override;

  /// Begins a copy, which maintain() carries on; `done` hears how it ended. One at a time: conflict.
  void start_backup(const std::string& path, std::function<void(std::optional<Error>)> done);

  std::uint64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }
  std::int64_t wal_pages() const { return wal_pages_.load(std::memory_order_relaxed); }

 private:
  struct Statements;
  struct Backup;

  void configure();
  void check_origin();
  void check_integrity();
  void checkpoint() noexcept;
  void step_backup() noexcept;

  const SqliteStore::Options options_;
  LockFile lock_;
  Connection connection_;
  Revision revision_ = 0;
  std::unique_ptr<Statements> statements_;
  std::unique_ptr<Backup> backup_;
  std::atomic<std::uint64_t> checkpoints_{0};
  std::atomic<std::int64_t> wal_pages_{0};
  std::int64_t checkpoint_at_ = 0;
};

}  // namespace underway::store::detail

#pragma once
/// @file
/// The durable store of one server: a SQLite database in WAL mode, synchronous=FULL, one connection that only the
/// store's own thread uses. What is acknowledged survives SIGKILL and power loss (as far as the disk honours flushes).
/// Beside `path` lie `path`-wal while it is open, and `path`.lock, which names the process that has it.
///
///     kv       id, key (a blob, unique), value (a blob), create_revision, mod_revision, version     a row for each key
///     state    one (always 1), revision, clean                                                      one row
///
///   revision         of the newest commit
///   clean            1: it was closed in order, and need not be checked
///   application_id   0x55574159, "UWAY"; user_version: how many migrations it has had (sqlite_backend.cpp)
///
/// Source of the one-connection rule: SQLite's "WAL-reset" fault (3.7.0 to 3.51.2) needs two connections.

#include "store/whole.hpp"

namespace underway::store {

class SqliteStore final : public Store, public Whole {
 public:
  struct Options {
    std::int64_t cache_kib = 2048;              ///< page cache; the state itself is cached by tables
    std::int64_t checkpoint_pages = 4096;       ///< of 4 KiB: a longer write-ahead log is carried into the database
    std::int64_t max_pages = 0;                 ///< of 4 KiB: bound of the database's size; 0: the disk's
    std::size_t max_value_bytes = 256u << 20u;  ///< of one value
  };

  /// Opens or makes the store at `path`; its directory must exist.
  /// Errors: not_found, denied (the directory, the file) · conflict (another process has it) · unsupported (made by a
  /// newer version) · invalid (another program's database) · exhausted (disk full) · internal (damaged).
  explicit SqliteStore(const std::string& path) : SqliteStore(path, Options{}) {}
  SqliteStore(const std::string& path, Options options);
  ~SqliteStore() override;

  void commit(Transaction transaction, CommitCallback done) override;
  RangeResult range(const KeyRange& range, std::size_t limit = 0) override;
  Revision revision() const override;
  [[nodiscard]] std::unique_ptr<Watch> watch(KeyRange range, WatchCallback notify) override;

  /// Writes a copy, a store of its own, to `path` (replaced when it exists). Commits go on meanwhile; the copy holds
  /// everything that was durable at the call, and maybe later revisions, never half of one. Blocks: disk.
  /// Thread: any but the store's own.
  void backup(const std::string& path);

  /// As a copy that backup() makes: `scratch` needs room for the whole database.
  Revision copy(const std::string& scratch, const std::function<void(KeyValue&&)>& visit) override;
  Revision replace(Revision above, const std::function<std::optional<KeyValue>()>& next) override;

  struct Statistics {
    std::uint64_t groups = 0;       ///< commits to the disk, of one or more transactions each
    std::uint64_t checkpoints = 0;  ///< of the write-ahead log into the database
    std::int64_t wal_pages = 0;     ///< in the write-ahead log now
  };
  Statistics statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace underway::store

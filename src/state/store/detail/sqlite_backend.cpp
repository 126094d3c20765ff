#include "store/detail/sqlite_backend.hpp"

#include "base/log.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace underway::store::detail {

namespace {

constexpr std::int64_t kApplicationId = 0x55574159;  // "UWAY": file(1) and we tell our databases by it
constexpr int kBackupPagesPerStep = 512;             // 2 MiB between two groups

/// Migration i brings user_version i to i + 1.
/// The table has rowids on purpose: WITHOUT ROWID stores values of 1 kB three times as large and half as fast.
constexpr const char* kMigrations[] = {R"sql(
  CREATE TABLE kv (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL,
                   create_revision INTEGER NOT NULL, mod_revision INTEGER NOT NULL, version INTEGER NOT NULL);
  CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL, clean INTEGER NOT NULL);
  INSERT INTO state VALUES (1, 0, 1);
)sql"};
constexpr std::int64_t kSchema = std::size(kMigrations);

/// SQL of a range's condition and how its bounds are bound.
enum class Bounds : std::uint8_t { one, half_open, to_the_last };
Bounds bounds_of(const KeyRange& range) {
  if (range.end.empty()) return Bounds::one;
  return range.end == std::string_view("\0", 1) ? Bounds::to_the_last : Bounds::half_open;
}

/// One statement per kind of bounds, so that each uses the index.
struct RangeStatements {
  Statement one, half_open, to_the_last;
  RangeStatements(Connection& c, const std::string& head, const std::string& tail)
      : one(c, (head + " WHERE key = ?1" + tail).c_str()),
        half_open(c, (head + " WHERE key >= ?1 AND key < ?2" + tail).c_str()),
        to_the_last(c, (head + " WHERE key >= ?1" + tail).c_str()) {}

  Statement& bind(const KeyRange& range) {
    switch (bounds_of(range)) {
      case Bounds::one:
        return one.bind_blob(1, range.begin);
      case Bounds::half_open:
        return half_open.bind_blob(1, range.begin).bind_blob(2, range.end);
      case Bounds::to_the_last:
        break;
    }
    return to_the_last.bind_blob(1, range.begin);
  }
};

constexpr char kPut[] =
    "INSERT INTO kv (key, value, create_revision, mod_revision, version) VALUES (?1, ?2, ?3, ?3, 1) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value, mod_revision = excluded.mod_revision, "
    "version = version + 1";

}  // namespace

struct SqliteBackend::Statements {
  explicit Statements(Connection& c)
      : begin(c, "BEGIN IMMEDIATE"),
        commit(c, "COMMIT"),
        rollback(c, "ROLLBACK"),
        find(c, "SELECT create_revision, mod_revision, version FROM kv WHERE key = ?1"),
        find_value(c, "SELECT create_revision, mod_revision, version, value FROM kv WHERE key = ?1"),
        put(c, kPut),
        restore(c, "INSERT INTO kv (key, value, create_revision, mod_revision, version) VALUES (?1, ?2, ?3, ?4, ?5)"),
        set_revision(c, "UPDATE state SET revision = ?1"),
        erase(c, "DELETE FROM kv", ""),
        keys(c, "SELECT key FROM kv", " ORDER BY key"),
        range(c, "SELECT key, value, create_revision, mod_revision, version FROM kv", " ORDER BY key LIMIT ?3") {}
  Statement begin, commit, rollback, find, find_value, put, restore, set_revision;
  RangeStatements erase, keys, range;
};

struct SqliteBackend::Backup {
  Backup(Connection& source, const std::string& target, std::function<void(std::optional<Error>)> on_done)
      : path(target), partial(target + ".partial"), done(std::move(on_done)) {
    std::remove(partial.c_str());
    copy = std::make_unique<Connection>(partial);
    copy->execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = FULL");
    raw = sqlite3_backup_init(copy->raw(), "main", source.raw(), "main");
    if (raw == nullptr) throw copy->failure(sqlite3_extended_errcode(copy->raw()), "write");
  }
  ~Backup() {
    sqlite3_backup_finish(raw);
    copy.reset();
    if (!finished) std::remove(partial.c_str());
  }

  /// The copy is whole: make it durable under its name.
  void finish() {
    sqlite3_backup_finish(std::exchange(raw, nullptr));
    copy.reset();
    if (std::rename(partial.c_str(), path.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot rename '{}' to '{}'", partial, path));
    finished = true;
    const std::string directory = std::filesystem::absolute(path).parent_path().string();
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = fd >= 0 && ::fsync(fd) == 0;
    const int number = errno;
    if (fd >= 0) ::close(fd);
    if (!synced) throw errno_error(number, fmt::format("cannot flush the directory '{}'", directory));
  }

  std::string path, partial;
  std::function<void(std::optional<Error>)> done;
  std::unique_ptr<Connection> copy;
  sqlite3_backup* raw = nullptr;
  bool finished = false;
};

SqliteBackend::SqliteBackend(const std::string& path, const SqliteStore::Options& options)
    : options_(options), lock_(path + ".lock"), connection_(path), checkpoint_at_(options.checkpoint_pages) {
  configure();
  check_integrity();
  connection_.execute("UPDATE state SET clean = 0");
  revision_ = connection_.integer("SELECT revision FROM state");
  statements_ = std::make_unique<Statements>(connection_);
}

void SqliteBackend::configure() {
  // Exclusive before the first access: no shared-memory file, and no second process can open the database.
  connection_.execute("PRAGMA locking_mode = EXCLUSIVE");
  check_origin();
  if (const auto mode = connection_.text("PRAGMA journal_mode = WAL"); mode != "wal")
    throw Error(Code::unsupported, fmt::format("cannot open the store '{}'", connection_.path()))
        .because(fmt::format("its file system does not allow a write-ahead log (journal mode stays '{}')", mode));
  connection_.execute(
      fmt::format("PRAGMA synchronous = FULL; PRAGMA cache_size = -{}; PRAGMA mmap_size = 0;"
                  "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {};"
                  "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY",
                  options_.cache_kib, options_.checkpoint_pages * 4096 * 2)
          .c_str());
  if (options_.max_pages > 0)
    connection_.execute(fmt::format("PRAGMA max_page_count = {}", options_.max_pages).c_str());
  sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  const auto on_commit = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<SqliteBackend*>(self)->wal_pages_.store(pages, std::memory_order_relaxed);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(connection_.raw(), on_commit, this);

  std::int64_t schema = connection_.integer("PRAGMA user_version");
  for (; schema < kSchema; ++schema) {
    connection_.execute(fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                                    kMigrations[schema], kApplicationId, schema + 1)
                            .c_str());
  }
}

/// Refuses, before anything is written, what we did not make or cannot read.
void SqliteBackend::check_origin() {
  const std::int64_t schema = connection_.integer("PRAGMA user_version");
  const std::int64_t application = connection_.integer("PRAGMA application_id");
  const std::int64_t tables = connection_.integer("SELECT count(*) FROM sqlite_schema");
  if (application != kApplicationId && (tables > 0 || application != 0))
    throw Error(Code::invalid, fmt::format("cannot open the store '{}'", connection_.path()))
        .because("it is a database of another program")
        .advise("choose another file or data_dir");
  if (schema > kSchema)
    throw Error(Code::unsupported, fmt::format("cannot open the store '{}'", connection_.path()))
        .because(fmt::format("it has schema {}, this version knows up to {}", schema, kSchema))
        .advise("use the version of underway that wrote it, or a newer one");
}

/// Reads the whole database, so only when its last owner did not close it.
void SqliteBackend::check_integrity() {
  if (connection_.integer("SELECT clean FROM state") != 0) return;
  const std::string finding = connection_.text("PRAGMA quick_check(1)");
  if (finding == "ok") return;
  throw Error(Code::internal, fmt::format("the store '{}' is damaged", connection_.path()))
      .because(finding)
      .advise("keep the damaged file for examination and put a backup in its place");
}

SqliteBackend::~SqliteBackend() {
  backup_.reset();
  try {
    connection_.execute("UPDATE state SET clean = 1");
  } catch (const Error& error) {
    log::debug("store: not marked as closed: {}", error.one_line());
  }
  statements_.reset();
}

void SqliteBackend::begin() { statements_->begin.run(); }

void SqliteBackend::commit(Revision revision) {
  statements_->set_revision.bind(1, revision).run();
  statements_->commit.run();
  revision_ = revision;
}

void SqliteBackend::rollback() noexcept {
  if (!connection_.in_transaction()) return;  // SQLite has done it itself: a full disk
  try {
    statements_->rollback.run();
  } catch (const Error& error) {
    log::debug("store: {}", error.one_line());
  }
}

std::optional<KeyValue> SqliteBackend::find(const std::string& key, bool with_value) {
  Statement& find = with_value ? statements_->find_value : statements_->find;
  find.bind_blob(1, key);
  std::optional<KeyValue> found;
  if (find.step()) {
    found = KeyValue{key, with_value ? find.blob(3) : std::string(), find.integer(0), find.integer(1), find.integer(2)};
  }
  find.reset();
  return found;
}

void SqliteBackend::put(const Put& put, Revision revision, KeyValue* after) {
  statements_->put.bind_blob(1, put.key).bind_blob(2, put.value).bind(3, revision).run();
  if (after == nullptr) return;
  *after = find(put.key, false).value_or(KeyValue{});
  after->value = put.value;
}

void SqliteBackend::restore(const KeyValue& kv) {
  statements_->restore.bind_blob(1, kv.key).bind_blob(2, kv.value);
  statements_->restore.bind(3, kv.create_revision).bind(4, kv.mod_revision).bind(5, kv.version).run();
}

std::size_t SqliteBackend::erase(const KeyRange& range, std::vector<std::string>* keys) {
  if (keys != nullptr) {
    Statement& select = statements_->keys.bind(range);
    while (select.step()) keys->push_back(select.blob(0));
    select.reset();
  }
  return static_cast<std::size_t>(statements_->erase.bind(range).run());
}

std::vector<KeyValue> SqliteBackend::range(const KeyRange& range, std::size_t limit) {
  Statement& select = statements_->range.bind(range).bind(3, limit == 0 ? -1 : static_cast<std::int64_t>(limit));
  std::vector<KeyValue> found;
  while (select.step())
    found.push_back({select.blob(0), select.blob(1), select.integer(2), select.integer(3), select.integer(4)});
  select.reset();
  return found;
}

bool SqliteBackend::maintain() noexcept {
  if (wal_pages() >= checkpoint_at_) checkpoint();
  if (backup_) step_backup();
  return backup_ != nullptr;
}

/// After the acknowledgement, so that no commit waits for the checkpoint that it caused. With one connection nothing
/// holds it back: the next write begins the log anew.
void SqliteBackend::checkpoint() noexcept {
  int logged = 0, carried = 0;
  const int result =
      sqlite3_wal_checkpoint_v2(connection_.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &logged, &carried);
  checkpoint_at_ = options_.checkpoint_pages;
  if (result == SQLITE_OK && carried == logged) {
    wal_pages_ = 0;
    ++checkpoints_;
    return;
  }
  // A full disk, mostly; the log grows on as far as it can, and we try again later.
  checkpoint_at_ = wal_pages() + options_.checkpoint_pages / 4;
  log::debug("store: no checkpoint: {}", connection_.failure(result, "write").one_line());
}

void SqliteBackend::start_backup(const std::string& path, std::function<void(std::optional<Error>)> done) {
  if (backup_) {
    throw Error(Code::conflict, fmt::format("cannot back up to '{}'", path))
        .because(fmt::format("a backup to '{}' is being written", backup_->path));
  }
  backup_ = std::make_unique<Backup>(connection_, path, std::move(done));
}

void SqliteBackend::step_backup() noexcept {
  const int result = sqlite3_backup_step(backup_->raw, kBackupPagesPerStep);
  if (result == SQLITE_OK) return;
  std::optional<Error> error;
  try {
    if (result != SQLITE_DONE) throw backup_->copy->failure(result, "write");
    backup_->finish();
  } catch (Error& e) {
    error = std::move(e.while_doing(fmt::format("backing up to '{}'", backup_->path)));
  }
  const auto done = std::move(backup_->done);
  backup_.reset();
  done(std::move(error));
}

}  // namespace underway::store::detail

#include "store/detail/sqlite_connection.hpp"

#include <sqlite3.h>

#include <cerrno>

namespace underway::store::detail {

namespace {

Code code_of(int result, int system_error) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return Code::exhausted;
    case SQLITE_IOERR:
      return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG ? Code::exhausted
                                                                                       : Code::internal;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::conflict;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Code::denied;
    case SQLITE_CANTOPEN:
      return system_error == ENOENT ? Code::not_found : Code::denied;
    case SQLITE_NOMEM:
      return Code::exhausted;
    default:
      return Code::internal;
  }
}

std::string advice_for(int result, Code code, int system_error) {
  if (code == Code::exhausted) return "free space on its disk; nothing needs to be restarted";
  if (system_error == EROFS) return "find out with `dmesg` why its file system is read-only, and mount it anew";
  if (system_error == EIO) return "find out with `dmesg` what its disk has";
  if (code == Code::conflict) return "stop the program that has it open";
  const int primary = result & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
    return "keep the damaged file for examination and put a backup in its place";
  if (code == Code::denied) return "check owner and mode of the file and of its directory";
  return {};
}

}  // namespace

Statement::Statement(Connection& connection, const char* sql) : connection_(connection) {
  const int result = sqlite3_prepare_v3(connection.raw(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw_, nullptr);
  if (result != SQLITE_OK) throw connection.failure(result, "read");
}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), raw_(std::exchange(other.raw_, nullptr)) {}

Statement::~Statement() { sqlite3_finalize(raw_); }

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(raw_, index, value);
  return *this;
}

Statement& Statement::bind_blob(int index, std::string_view value) {
  // A null pointer would bind NULL, also for an empty view.
  sqlite3_bind_blob64(raw_, index, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_text(int index, std::string_view value) {
  sqlite3_bind_text64(raw_, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(raw_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  // COMMIT counts as read-only, though it is what writes.
  Error error = connection_.failure(result, sqlite3_column_count(raw_) > 0 ? "read" : "write");
  reset();
  throw error;
}

void Statement::reset() noexcept {
  sqlite3_reset(raw_);
  sqlite3_clear_bindings(raw_);
}

std::int64_t Statement::run() {
  while (step()) {
  }
  reset();
  return sqlite3_changes64(connection_.raw());
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(raw_, column); }

std::string Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(raw_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(raw_, column))};
}

std::string Statement::text(int column) const {
  const unsigned char* data = sqlite3_column_text(raw_, column);
  return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(raw_, column))};
}

Connection::Connection(std::string path) : path_(std::move(path)) {
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path_.c_str(), &raw_, kFlags, nullptr);
  if (result == SQLITE_OK) return;
  Error error = failure(result, "open");
  sqlite3_close_v2(raw_);
  throw error;
}

Connection::~Connection() { sqlite3_close_v2(raw_); }

void Connection::execute(const char* sql) {
  const int result = sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw failure(result, "write");
}

std::int64_t Connection::integer(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Connection::text(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : std::string();
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(raw_) == 0; }

Error Connection::failure(int result, std::string_view activity) const {
  const int system_error = raw_ != nullptr ? sqlite3_system_errno(raw_) : 0;
  const Code code = code_of(result, system_error);
  Error error(code, fmt::format("cannot {} the store '{}'", activity, path_));
  std::string why = raw_ != nullptr ? sqlite3_errmsg(raw_) : sqlite3_errstr(result);
  const int primary = result & 0xff;
  if (system_error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL))
    why += fmt::format(" ({})", errno_name(system_error));
  error.because(fmt::format("SQLite says: {}", why));
  if (const auto advice = advice_for(result, code, system_error); !advice.empty()) error.advise(advice);
  return error;
}

}  // namespace underway::store::detail

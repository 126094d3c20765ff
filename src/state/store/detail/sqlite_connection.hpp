#pragma once
/// @file
/// SQLite's handles as owned values, and its failures as Error. Thread: one at a time.

#include "base/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace underway::store::detail {

class Connection;

/// A prepared statement. Text and blobs are bound by reference: they must live until reset().
class Statement {
 public:
  Statement(Connection& connection, const char* sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  Statement& bind(int index, std::int64_t value);
  Statement& bind_blob(int index, std::string_view value);
  Statement& bind_text(int index, std::string_view value);
  /// True: a row is there; false: done. Throws Error.
  bool step();
  void reset() noexcept;
  /// step() to the end, then reset; how many rows it changed.
  std::int64_t run();

  std::int64_t integer(int column) const;
  std::string blob(int column) const;
  std::string text(int column) const;

 private:
  Connection& connection_;
  sqlite3_stmt* raw_ = nullptr;
};

class Connection {
 public:
  /// Opens or makes the database file.
  explicit Connection(std::string path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const char* sql);
  std::int64_t integer(const char* sql);
  std::string text(const char* sql);
  sqlite3* raw() const { return raw_; }
  const std::string& path() const { return path_; }
  bool in_transaction() const;
  /// The error of `result`, an extended result code of this connection.
  Error failure(int result, std::string_view activity) const;

 private:
  std::string path_;
  sqlite3* raw_ = nullptr;
};

}  // namespace underway::store::detail

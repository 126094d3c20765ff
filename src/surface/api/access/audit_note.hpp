#pragma once
/// @file
/// What the audit log will say of a request that is under way: its subject as it was before, and what the handler adds.

#include <boost/json/value.hpp>

#include <memory>
#include <unordered_map>

#include "async/event.hpp"
#include "http/message.hpp"
#include "server/access/audit.hpp"
#include "tables/tables.hpp"

namespace underway::api {

/// Whose turn it is. Requests that change one row go one after another: what the log says was before and after each is
/// then what each did. Those that wait for a node (about allocations and hosts) do not: a node that hangs would make
/// others wait. Thread: loop only; outlives the locks.
class RowLocks {
 public:
  /// Resumes when nobody has the turn; it is had as long as the result is.
  async::awaitable<std::shared_ptr<void>> take(std::string subject);

 private:
  std::unordered_map<std::string, std::shared_ptr<async::Event>> taken_;
};

class AuditNote {
 public:
  AuditNote(const tables::Tables& tables, RowLocks& row_locks) : tables_(tables), row_locks_(row_locks) {}

  /// The row that will be changed: looked at when it is this request's turn, and again at the end.
  async::awaitable<void> about(tables::Scope subject);
  /// A row that was just made.
  void made(tables::Scope subject) { subject_ = std::move(subject); }
  void add(std::string text) { record.changes.push_back(std::move(text)); }
  /// Looks at the subject again.
  void finish();

  server::AuditRecord record;

 private:
  const tables::Tables& tables_;
  RowLocks& row_locks_;
  std::shared_ptr<void> turn_;
  std::optional<tables::Scope> subject_;
  std::optional<boost::json::value> before_;
};

/// The row that a path names: "/v1/job/*id/…" a job. Nothing when it names none.
std::optional<tables::Scope> subject_of(std::string_view pattern, const http::Request& request);

/// The row as JSON; nothing when it is not there.
std::optional<boost::json::value> row_of(const tables::Tables& tables, const tables::Scope& scope);

/// "Priority: 50 -> 60", one for each value that differs, by its path; "Rules: + node { … }" for each line of rules.
/// Values that may be secrets (environments, templates, configuration, hashes, what variables hold), and long ones, are
/// said to differ and not shown. Indexes and times that change with every write are left out. Of what was made or
/// deleted, how it differs from `blank`; nothing more where there is none.
std::vector<std::string> differences(const std::optional<boost::json::value>& before,
                                     const std::optional<boost::json::value>& after,
                                     const std::optional<boost::json::value>& blank = std::nullopt);

}  // namespace underway::api

#pragma once
/// @file
/// What the audit log will say of a request that is under way: its subject as it was before, and what the handler adds.

#include <boost/json/value.hpp>

#include "http/message.hpp"
#include "server/audit.hpp"
#include "tables/tables.hpp"

namespace underway::api {

class AuditNote {
 public:
  explicit AuditNote(const tables::Tables& tables) : tables_(tables) {}

  /// The row that will be changed: looked at now, and again at the end.
  void about(tables::Scope subject);
  /// A row that was just made.
  void made(tables::Scope subject) { subject_ = std::move(subject); }
  void add(std::string text) { record.changes.push_back(std::move(text)); }
  /// Looks at the subject again.
  void finish();

  server::AuditRecord record;

 private:
  const tables::Tables& tables_;
  std::optional<tables::Scope> subject_;
  std::optional<boost::json::value> before_;
};

/// The row that a path names: "/v1/job/*id/…" a job. Nothing when it names none.
std::optional<tables::Scope> subject_of(std::string_view pattern, const http::Request& request);

/// The row as JSON; nothing when it is not there.
std::optional<boost::json::value> row_of(const tables::Tables& tables, const tables::Scope& scope);

/// "Priority: 50 -> 60", one for each value that differs, by its path. Values that may be secrets (environments,
/// templates, configuration, hashes, what variables hold), and long ones, are said to differ and not shown. Indexes and
/// times that change with every write are left out.
std::vector<std::string> differences(const std::optional<boost::json::value>& before,
                                     const std::optional<boost::json::value>& after);

}  // namespace underway::api

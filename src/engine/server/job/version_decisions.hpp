#pragma once
/// @file
/// Decisions about versions of jobs: names that keep them from being forgotten.

#include "server/decision.hpp"

namespace underway::server {

struct TagVersion {
  std::string ns, id;
  std::optional<std::int64_t> version;  ///< absent: the current one
  std::string name, description;
};
/// Throws not_found; invalid for a name that is empty or too long, or that another version has.
Decision<Nothing> decide(const Tables&, const TagVersion&, const Context&);
/// The version is forgotten once there are enough newer ones. Throws not_found.
struct UntagVersion {
  std::string ns, id, name;
};
Decision<Nothing> decide(const Tables&, const UntagVersion&, const Context&);
/// The version of that name; null when there is none.
tables::Row<tables::JobVersion> find_tagged(const Tables& tables, const std::string& ns, const std::string& id,
                                            const std::string& name);

}  // namespace underway::server

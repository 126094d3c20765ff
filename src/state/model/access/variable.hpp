#pragma once
/// @file
/// Variables: small secrets and settings by path ("nomad/jobs/munge"), sealed. A row holds what may be seen by who can
/// list it, and bytes that only the server's keyring opens; the items themselves are never in a row, a log or an error.

#include "model/job/job.hpp"

namespace underway::model {

/// Who holds a variable: only the one that knows `id` may write it. Source: Nomad's API, "Variables", "Locks".
struct VariableLock {
  std::string id;
  Duration ttl = 15s;         ///< without a renewal for so long it is lost
  Duration lock_delay = 15s;  ///< after it was lost (not: released), nobody gets it for so long
};

struct Variable {
  std::string ns = "default";
  std::string path;
  std::string key_id;  ///< of the root key under which `sealed` is
  std::string sealed;  ///< base64
  std::optional<VariableLock> lock;
  std::int64_t create_time = 0;  ///< ns since the epoch
  std::int64_t modify_time = 0;
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// Until when a lock is good. Apart from the variable: a renewal must neither wake who watches the variable nor change
/// the index by which its holder writes.
struct VariableLease {
  std::string ns = "default";
  std::string path;
  std::string lock_id;          ///< empty: lost, and nobody may take it before `until`
  std::int64_t until = 0;       ///< ns since the epoch
  std::int64_t lock_delay = 0;  ///< ns; begins at `until`
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// A variable in the clear, on its way between the server and who may read it.
struct OpenVariable {
  Variable row;
  StringMap items;
};

/// Source: Nomad's structs/variables.go: paths, sizes, times.
constexpr std::size_t kVariableBytes = 64U << 10;
constexpr std::size_t kVariablePath = 128;
constexpr Duration kShortestLock = 10s;
constexpr Duration kLongestLock = 24h;

/// What is wrong with the path, in words; empty when it is good.
std::string path_problem(std::string_view path);
/// All problems of what is to be written. Names keys, never values.
std::vector<std::string> problems(const std::string& path, const StringMap& items);
/// "ns/path": the key of both tables.
std::string variable_key(std::string_view ns, std::string_view path);

/// Where a task finds what is its own without being asked: "nomad/jobs", "nomad/jobs/<job>", …/<group>, …/<task>.
std::vector<std::string> implicit_paths(std::string_view job, std::string_view group, std::string_view task);
/// Whether a task may read the path by what it is: one of implicit_paths.
bool may_read_implicitly(std::string_view path, std::string_view job, std::string_view group, std::string_view task);

const describe::Structure& description(describe::Tag<VariableLock>);
const describe::Structure& description(describe::Tag<Variable>);
const describe::Structure& description(describe::Tag<VariableLease>);

}  // namespace underway::model

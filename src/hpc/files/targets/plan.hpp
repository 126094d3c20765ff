#pragma once
/// @file
/// From a manifest, what was applied before and what is there, to what has to be done. Pure: `look` is the only eye.

#include <functional>
#include <map>

#include "files/messages.hpp"

namespace underway::files {

enum class Presence { absent, file, directory, symlink, other };

/// What stands at an entry's path.
struct Observed {
  Presence presence = Presence::absent;
  std::int64_t mode = 0;
  std::int64_t uid = 0, gid = 0;
  std::int64_t size = 0;
  std::string digest;       ///< of a file whose size is the entry's: SHA-256, hexadecimal
  std::string link;         ///< of a symbolic link
  model::StringMap xattrs;  ///< those that the entry names
  std::string error;        ///< why it cannot be looked at, or be changed
};

/// The numbers of the entry's owner and group at the target; absent: they are unknown there.
struct Ids {
  std::optional<std::int64_t> uid, gid;
};

struct Look {
  Observed observed;
  Ids ids;
};

enum class Action {
  create,
  replace,  ///< by new bytes, another link, or another kind of thing
  adjust,   ///< owner, mode and attributes only
  remove,
};

struct Change {
  ManifestEntry entry;
  Action action = Action::create;
  std::string why;     ///< "content", "mode 0600 instead of 0644"
  bool drift = false;  ///< it was as wanted, and somebody changed it
};

/// Whether it takes bytes that the disk does not have.
inline bool needs_bytes(const Change& change) {
  const bool anew = change.action == Action::create || change.action == Action::replace;
  return anew && change.entry.type == model::FileType::file;
}

struct Plan {
  std::vector<Change> changes;  ///< in the order in which they are made
  std::vector<model::FileProblem> problems;
};

/// `applied`: the entries as they were last made true, by path. Names of users come first, directories before what lies
/// in them, removals last.
Plan make_plan(const Manifest& manifest, const std::map<std::string, ManifestEntry>& applied,
               const std::function<Look(const ManifestEntry&)>& look);

/// How what is there differs from the entry, in words; empty: it does not.
std::vector<std::string> differences(const ManifestEntry& entry, const Look& look);

const describe::Enumeration& description(describe::Tag<Action>);
const describe::Structure& description(describe::Tag<Change>);

}  // namespace underway::files

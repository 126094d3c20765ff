#pragma once
/// @file
/// What the commands about snapshots and backups of a capsule share. They ask the server, which asks the node; with
/// -local they do the same on this node, as root, without a server: what is to be restored may be the server's own
/// database.

#include "cli/command.hpp"
#include "saving/saver.hpp"
#include "wire/capsule/saving.hpp"

namespace underway::cli {

/// `flags` and -local with what belongs to it.
std::vector<Flag> with_capsule_flags(std::vector<Flag> flags);
/// `flags`, those, and those that say where its backups are.
std::vector<Flag> with_backup_flags(std::vector<Flag> flags);

/// The capsule that is the first argument, in -namespace.
saving::CapsuleName capsule_of(const Arguments& arguments);
/// Where its backups are, as the flags say; empty: as its job says. Paths are the node's.
model::BackupPlace where_of(const Arguments& arguments);
/// `flags` and -keep-last and the like, which retention_of() reads; nothing: none is given.
std::vector<Flag> with_keep_flags(std::vector<Flag> flags);
std::optional<model::Retention> retention_of(const Arguments& arguments);
/// -at. Throws invalid.
TimePoint time_of(const std::string& text);
/// Files as scripts of a rehearsal, by their names without directories. Throws.
std::vector<model::RehearsalScript> scripts_of(const std::vector<std::string>& files);

/// What -local works with. A capsule that it has stopped for a snapshot goes on whatever happens to this process: a
/// child sees to that.
class LocalSaver {
 public:
  explicit LocalSaver(const Arguments& arguments);
  LocalSaver(const LocalSaver&) = delete;
  ~LocalSaver();
  const saving::Saver& operator*() const { return *saver_; }
  const saving::Saver* operator->() const { return &*saver_; }

 private:
  SystemClock clock_;
  std::optional<saving::Saver> saver_;
  os::Fd guard_;
  int child_ = -1;
};

}  // namespace underway::cli

#pragma once
/// @file
/// The bodies of `/v1/underway/capsule/…` for what is saved of capsules. Times are nanoseconds since the epoch.

#include "model/capsule/saved.hpp"

namespace underway::wire {

struct TakeSnapshot {
  std::string reason;
  std::optional<model::Retention> keep;
};

struct MakeBackup {
  model::BackupPlace where;
  std::optional<model::Retention> keep;
  std::int64_t check_percent = 0;
};

struct MakeDrill {
  bool backup = false;
  model::BackupPlace where;
  std::string snapshot;
  std::int64_t at = 0;
  bool only_compare = false;
  std::vector<model::RehearsalScript> scripts;
};

/// Either a snapshot's id, or a time.
struct RestoreCapsule {
  std::string snapshot;
  std::int64_t at = 0;
  bool backup = false;
  model::BackupPlace where;
};

struct RestoredCapsule {
  std::string upgrade_id;  ///< of the capsule's record: a restore is an upgrade to the same image with other data
  model::Snapshot snapshot;
};

const describe::Structure& description(describe::Tag<RestoreCapsule>);
const describe::Structure& description(describe::Tag<RestoredCapsule>);
const describe::Structure& description(describe::Tag<TakeSnapshot>);
const describe::Structure& description(describe::Tag<MakeBackup>);
const describe::Structure& description(describe::Tag<MakeDrill>);

}  // namespace underway::wire

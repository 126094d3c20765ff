#pragma once
/// @file
/// The bodies of `/v1/underway/capsule/…` for what is saved of capsules. Times are nanoseconds since the epoch.

#include "saving/messages.hpp"

namespace underway::api {

struct TakeSnapshot {
  std::string reason;
  std::optional<overlay::Retention> keep;
};

struct MakeBackup {
  saving::Where where;
  std::optional<overlay::Retention> keep;
  std::int64_t check_percent = 0;
};

struct MakeDrill {
  bool backup = false;
  saving::Where where;
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
  saving::Where where;
};

struct RestoredCapsule {
  std::string upgrade_id;  ///< of the capsule's record: a restore is an upgrade to the same image with other data
  overlay::Snapshot snapshot;
};

const describe::Structure& description(describe::Tag<RestoreCapsule>);
const describe::Structure& description(describe::Tag<RestoredCapsule>);
const describe::Structure& description(describe::Tag<TakeSnapshot>);
const describe::Structure& description(describe::Tag<MakeBackup>);
const describe::Structure& description(describe::Tag<MakeDrill>);

}  // namespace underway::api

#pragma once
/// @file
/// What `underway-mirror` is asked for, and what it says. It reads one request from standard input, and writes lines of
/// JSON: how far it is now and then, and in the end what it has or why not. A process of its own, as it holds
/// upstream's indexes in memory, and takes apart what strangers wrote; who starts it has neither.

#include "mirror/view.hpp"
#include "releasefile/releases.hpp"

namespace underway::mirror {

struct SyncRequest {
  releasefile::Mirror mirror;
  std::vector<std::string> keys;  ///< their texts
  std::string pool;               ///< directory
  std::string homes;              ///< directory for gpg's
  View before;
  std::int64_t now = 0;  ///< nanoseconds since the epoch, by the clock of who asks
};

struct SyncProgress {
  std::string what;  ///< "bookworm: InRelease", "packages"
  std::int64_t bytes = 0, of_bytes = 0, files = 0, of_files = 0;
};
struct SyncDone {
  View view;
  bool changed = false;
  std::int64_t files = 0, bytes = 0;  ///< that were fetched
  std::vector<std::string> left;      ///< packages that are not taken
};
struct SyncFailure {
  std::string code, message, advice;
  std::vector<std::string> reasons;
};

/// A line: one of them is there.
struct SyncLine {
  std::optional<SyncProgress> progress;
  std::optional<SyncDone> done;
  std::optional<SyncFailure> failed;
};

const describe::Structure& description(describe::Tag<SyncRequest>);
const describe::Structure& description(describe::Tag<SyncProgress>);
const describe::Structure& description(describe::Tag<SyncDone>);
const describe::Structure& description(describe::Tag<SyncFailure>);
const describe::Structure& description(describe::Tag<SyncLine>);

}  // namespace underway::mirror

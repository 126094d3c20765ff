#pragma once
/// @file
/// A rehearsal: a clone of a capsule is started apart from everything (a snapshot's data, an image, networks that lead
/// nowhere) and asked whether it works. Restore drills and upgrades do it before anybody depends on the answer.

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"

namespace underway::model {

/// A program of the site's that is run in the clone: what depends on the capsule, e.g. a script around sacct.
struct RehearsalScript {
  std::string name;
  std::string content;  ///< with its "#!" line; at most 1 MiB
};

/// One thing that was tried: "start", "check", or a script's name.
struct RehearsalFinding {
  std::string name;
  bool passed = false;
  std::int64_t result = 0;  ///< exit code; 128 and a signal; 124 when it took too long
  std::string output;       ///< the end of what it said, at most 4 KiB
  Duration took{0};
};

struct Rehearsal {
  std::string image;     ///< "name:version"
  std::string digest;    ///< the image's
  std::string snapshot;  ///< whose data it had; of a backup its id
  std::int64_t at = 0;   ///< ns since the epoch, when it ended
  std::vector<RehearsalFinding> findings;

  /// Everything was tried and passed.
  bool passed() const;
  /// The first that did not, as a sentence; empty: all did.
  std::string problem() const;
};

const describe::Structure& description(describe::Tag<RehearsalScript>);
const describe::Structure& description(describe::Tag<RehearsalFinding>);
const describe::Structure& description(describe::Tag<Rehearsal>);

}  // namespace underway::model

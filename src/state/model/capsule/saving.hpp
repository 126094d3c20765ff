#pragma once
/// @file
/// What is saved of a capsule on its own: as its node tells it, and as the server keeps it.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"
#include "model/job/job.hpp"

namespace underway::model {

/// Something that is done again and again, and how it went.
struct SavedWork {
  Duration every{0};          ///< 0: nobody asks for it
  std::int64_t begun_at = 0;  ///< the last time it was tried, ns since the epoch; 0: never; as the next
  std::int64_t done_at = 0;   ///< when it was last begun and went well
  std::string result;         ///< of that time: an id, or words for people
  std::string error;          ///< of the last time; empty: it went well
  std::int64_t failures = 0;  ///< in a row
};

struct CapsuleSaving {
  std::string ns = "default";
  std::string name;
  std::string node, node_name;  ///< that told it
  std::int64_t since = 0;       ///< since when it is asked for, ns since the epoch
  SavedWork snapshot, backup, drill;
  std::int64_t overlay_size = 0;  ///< bytes of the file system that the overlay lies in; 0: nobody has told
  std::int64_t overlay_used = 0;  ///< percent of it
  Revision create_index = 0;
  Revision modify_index = 0;

  /// No service of the capsule can write soon, or now.
  bool almost_full() const { return overlay_size > 0 && overlay_used >= 90; }
  /// That it is, a sentence; empty: it is not.
  std::string space_problem() const;
  /// What somebody should be told, each a sentence: what fails, and what is long overdue.
  std::vector<std::string> problems(TimePoint now) const;
};

/// When it is time for it. Nothing: never. `since`: what was never done waits for a part of `spread` of its interval
/// from then on, so that a thousand capsules that were started together do not ask for one disk together. What failed
/// is tried again soon. `spread` is from 0 to 1. Pure.
std::optional<TimePoint> due_at(const SavedWork& work, std::int64_t since, double spread);

const describe::Structure& description(describe::Tag<SavedWork>);
const describe::Structure& description(describe::Tag<CapsuleSaving>);

}  // namespace underway::model

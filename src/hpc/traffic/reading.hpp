#pragma once
/// @file
/// From files to traffic: capture files, journals, or both, read as one survey.

#include "traffic/flow/surveyor.hpp"
#include "traffic/journal.hpp"
#include "traffic/traffic.hpp"

#include <string>
#include <vector>

namespace underway::traffic {

struct ReadOptions {
  /// The surveyed machine: MACs and addresses ("10.1.0.1", "10.1.0.1/16", "02:…"). What is not given is found.
  std::vector<std::string> surveyed;
  Surveyor::Limits limits;
};

/// Capture files are merged by time, "-" is standard input. A file that is damaged counts as far as it could be read,
/// and is told in `problems`. Errors: not_found, invalid when a file is neither a capture nor a journal.
/// Blocks: yes (disk).
Traffic read_traffic(const std::vector<std::string>& paths, const ReadOptions& options);

/// A tally with what is known of where it comes from.
Traffic make_traffic(const Tally& tally, const JournalNotes& notes);

}  // namespace underway::traffic

#pragma once
/// @file
/// What is being done to a running machine, written down before its processors are stopped for it. Who takes the
/// machine over from a dead agent knows by it why the guest stands still, and whether it is to go on here.

#include <optional>
#include <string>

#include "base/json/describe.hpp"

namespace underway::vm {

enum class Verb : std::uint8_t {
  none,
  suspend,     ///< it goes on here, unless all that it saved is described: then it sleeps
  checkpoint,  ///< it goes on here
  migrate,     ///< it goes on here, unless all was sent: then it is where it was sent to
  paused,      ///< its operator wants it so
};

struct Journal {
  Verb verb = Verb::none;
  std::string id;       ///< of what is being saved; where it is sent to
  bool running = true;  ///< before
  bool copied = false;  ///< its disks go along: once it has moved, those here are of yesterday
  bool asks = false;    ///< once all is sent it stands still here, until somebody who knows says where it goes on
};

/// A machine whose disks went along with it.
struct MovedAway {
  std::string to;         ///< where it was sent to
  std::int64_t when = 0;  ///< nanoseconds since the epoch
};
const describe::Enumeration& description(describe::Tag<Verb>);
const describe::Structure& description(describe::Tag<Journal>);

const describe::Structure& description(describe::Tag<MovedAway>);

/// Nothing for a machine that is here.
std::optional<MovedAway> find_moved(const std::string& directory);
void write_moved(const std::string& directory, const MovedAway& moved);
void clear_moved(const std::string& directory);

/// `none` when nothing is.
Journal read_journal(const std::string& directory);
void write_journal(const std::string& directory, const Journal& journal);
void clear_journal(const std::string& directory);

}  // namespace underway::vm

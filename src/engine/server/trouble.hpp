#pragma once
/// @file
/// What keeps the server from writing to its disk, and since when.

#include "base/clock.hpp"
#include "base/error.hpp"

namespace underway::server {

struct Trouble {
  TimePoint since;  ///< of the first failure after all was well
  Error error;      ///< of the newest
};

}  // namespace underway::server

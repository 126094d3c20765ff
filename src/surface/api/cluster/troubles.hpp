#pragma once
/// @file
/// What keeps the server from writing to its disk, and from what it does without being asked: for people and for those
/// who watch it.

#include "api/api.hpp"
#include "api/cluster/status.hpp"

namespace underway::api {

struct Troubles {
  bool writable = true;  ///< false: changes are refused
  std::vector<wire::Attention> attention;
};

/// As of now: what has failed is tried again where that is cheap.
Troubles troubles_of(Api& api);

/// Whether somebody should look at the loop: it has failed for more than a minute, or does not come back from a look.
bool needs_somebody(const async::LoopHealth& loop);
/// Of the loops that do, in the order of their start.
std::vector<wire::Attention> attention_for(const async::LoopRegistry& loops);

}  // namespace underway::api

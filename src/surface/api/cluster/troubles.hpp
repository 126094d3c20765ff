#pragma once
/// @file
/// What keeps the server from writing to its disk, and from what it does without being asked: for people and for those
/// who watch it.

#include "api/api.hpp"
#include "api/cluster/status.hpp"
#include "growth/status.hpp"

namespace underway::api {

struct Troubles {
  bool writable = true;  ///< false: changes are refused
  std::vector<wire::Attention> attention;
};

/// As of now: what has failed is tried again where that is cheap.
Troubles troubles_of(Api& api);

/// Of the server's control loops that need somebody, in the order of their start.
std::vector<wire::Attention> attention_for(const async::LoopRegistry& loops);
/// By the name of its node. A loop that is in trouble on many nodes for one reason is one entry.
std::vector<wire::Attention> attention_for(const std::map<std::string, std::vector<protocol::LoopTrouble>>& nodes);
/// Of clusters whose queue cannot be read, and of pools that should grow and do not.
/// What lasts for less than a minute needs nobody: slurmctld is started again.
std::vector<wire::Attention> attention_for(const std::vector<growth::Status>& growing, TimePoint now);

}  // namespace underway::api

#pragma once
/// @file
/// What keeps the server from writing to its disk, for people and for those who watch it.

#include "api/api.hpp"
#include "api/cluster/status.hpp"

namespace underway::api {

struct Troubles {
  bool writable = true;  ///< false: changes are refused
  std::vector<wire::Attention> attention;
};

/// As of now: what has failed is tried again where that is cheap.
Troubles troubles_of(Api& api);

}  // namespace underway::api

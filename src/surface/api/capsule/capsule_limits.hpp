#pragma once
/// @file
/// Under which limits requests about capsules are decided: those of whoever carries them out.

#include "api/api.hpp"
#include "move/controller.hpp"

namespace underway::api {

inline move::Limits capsule_limits(const Api& api) {
  return api.capsules == nullptr ? move::Limits{} : api.capsules->limits();
}

}  // namespace underway::api

#pragma once
/// @file
/// Under which limits requests about capsules are decided: those of whoever carries them out.

#include "api/api.hpp"
#include "ownership/controller.hpp"

namespace underway::api {

inline ownership::Limits capsule_limits(const Api& api) {
  return api.capsules == nullptr ? ownership::Limits{} : api.capsules->limits();
}

}  // namespace underway::api

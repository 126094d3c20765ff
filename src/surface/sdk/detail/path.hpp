#pragma once
/// @file
/// Paths of the API that more than one file of the client asks.

#include <string>

#include "http/message.hpp"

namespace underway::sdk {

/// Job ids may contain slashes, which stay slashes in the path. `rest`: what is below it, as "/plan".
inline std::string job_path(const std::string& id, const char* rest = "") {
  return "/v1/job/" + http::percent_encode(id) + rest;
}

}  // namespace underway::sdk

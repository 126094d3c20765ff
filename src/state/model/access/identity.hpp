#pragma once
/// @file
/// `identity`: a signed token (JWT) that says which task this is, made by the server and renewed while the task runs.

#include "base/json/describe.hpp"

#include <map>
#include <string>
#include <vector>

namespace underway::model {

/// What happens when a token was renewed.
enum class IdentityChange { noop, restart, signal };

struct Identity {
  std::string name;                                 ///< empty: "default", the one that the API itself takes
  std::vector<std::string> aud{"nomadproject.io"};  ///< for whom it is
  bool env = false;                                 ///< in NOMAD_TOKEN, or NOMAD_TOKEN_<name>
  bool file = false;                                ///< in file_path()
  std::string filepath;                             ///< in the task directory; empty: secrets/nomad_token and the like
  Duration ttl{0};                                  ///< 0: an hour
  IdentityChange change_mode = IdentityChange::noop;
  std::string change_signal;
  std::map<std::string, std::string> extra_claims;  ///< beside the standard ones; values are interpolated

  bool is_default() const { return name.empty() || name == "default"; }
  std::string file_path() const;
  std::string variable() const;
  Duration lifetime() const { return ttl > Duration{0} ? ttl : Duration(std::chrono::hours(1)); }
};

const describe::Enumeration& description(describe::Tag<IdentityChange>);
const describe::Structure& description(describe::Tag<Identity>);

}  // namespace underway::model

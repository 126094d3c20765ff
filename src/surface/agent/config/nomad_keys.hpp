#pragma once
/// @file
/// Keys of Nomad's agent configuration that have nothing to set here: a site keeps its file, and is told of each.
/// Those are taken with a warning; what would change what a site is protected from, or that belongs to several regions
/// or external keys, is refused.

#include <string>
#include <vector>

#include "jobspec/decode.hpp"

namespace underway::agent {

/// For decoding an agent::Config.
const jobspec::Dialect& nomad_keys();

/// A key of Nomad's without a place here, for the reference.
struct NomadKey {
  std::string path;  ///< "server.raft_protocol"
  bool refused = false;
  std::string words;
};
const std::vector<NomadKey>& nomad_key_list();

/// A server as a client of Nomad's names it, "HOST" or "HOST:4647" (the port of another protocol), as the URL of its
/// API; a URL stays.
std::string server_url(const std::string& address);
/// "provider=…": whoever finds that out asks a cloud.
bool asks_a_cloud(const std::string& address);

}  // namespace underway::agent

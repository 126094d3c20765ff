#pragma once
/// @file
/// Programs that make volumes: one executable file each in the plugin directory, called with an operation as its
/// argument and all it needs in DHV_ variables, which answers with JSON on standard output. Blocks: yes.
/// Source: Nomad's documentation, "Create a host volume plugin".

#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace underway::node {

inline constexpr Duration kFingerprintLimit = std::chrono::seconds(5);
inline constexpr Duration kOperationLimit = std::chrono::seconds(60);

struct PluginCall {
  std::string directory;  ///< of the plugins
  std::string plugin;
  std::string operation;                         ///< fingerprint, create, delete
  std::map<std::string, std::string> variables;  ///< with their names: "DHV_VOLUME_ID"
  Duration limit = kOperationLimit;              ///< after which it is killed, with what it has started
};

struct PluginAnswer {
  std::string version;  ///< of fingerprint
  std::string path;     ///< of create
  std::int64_t bytes = 0;
};

/// Errors: not_found (no such plugin), denied (others could change it, or its directory), timeout, internal (it failed,
/// with what it said; its answer is none).
PluginAnswer call_plugin(const PluginCall& call);

/// Of the directory; those that may not be run are named in `problems`.
std::vector<std::string> find_plugins(const std::string& directory, std::vector<std::string>& problems);

}  // namespace underway::node

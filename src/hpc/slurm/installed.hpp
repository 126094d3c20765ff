#pragma once
/// @file
/// Which slurmd a machine has, and which one runs there: after an upgrade of the package the old one goes on until
/// somebody starts it anew.

#include <map>
#include <optional>
#include <string>

#include "model/node/node.hpp"
#include "slurm/version.hpp"

namespace underway::slurm {

class InstalledSlurmd {
 public:
  /// Where the machine's files are looked for: "" on a machine, a directory with imitations in tests.
  explicit InstalledSlurmd(std::string root = {}) : root_(std::move(root)) {}

  /// `slurm.version`, of the one that is installed; `slurm.version.running` if another one runs; `slurm.versions`, if
  /// there are several, one release beside the other: each with where it is. Without slurmd, or one that does not say
  /// its version, nothing. Asks each file once. Blocks: yes (runs `slurmd -V`).
  model::StringMap attributes();

 private:
  struct Found {
    std::string identity;  ///< of the file; empty: there is none
    std::string version;
  };
  /// `as`: one file may be of several releases, and tell them apart by the name that it is called by.
  Found look_at(const std::string& path, const std::string& as = {});
  Found installed();
  std::string all();
  Found running();

  std::string root_;
  std::map<std::string, std::string> versions_;  ///< by identity
};

/// Of the slurmd at that path, as attributes() told it; nothing where the node has none there.
std::optional<Version> version_at(const model::Node& node, const std::string& path);
/// As attributes() told them, of a node that was registered.
NodeVersions versions_of(const model::Node& node);

}  // namespace underway::slurm

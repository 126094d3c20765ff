#pragma once
/// @file
/// Which declarations a target gets. Pure.

#include "model/file.hpp"

namespace underway::files {

/// A node, or a capsule on it, as `targets` sees it.
struct Target {
  std::string node_id;
  std::string node;
  std::string cluster;
  std::string pool;
  std::string node_class;
  std::string capsule;  ///< empty: the node itself
};

/// How closely the declaration names the target: 0 not at all, 1 as one of all, 2 by pool, 3 by class, 4 by name.
int closeness(const model::FileDeclaration& file, const Target& target);

struct Selection {
  std::vector<const model::FileDeclaration*> files;  ///< by path, each path once
  std::vector<std::string> problems;                 ///< paths for which two declarations name the target as closely
};

/// Of several declarations of one path, the one that names the target most closely. A tie is a problem: then the first
/// by name is taken, so that nothing changes by chance.
Selection select(const std::vector<model::FileDeclaration>& declared, const Target& target);

}  // namespace underway::files

#pragma once
/// @file
/// What the commands of `file` share: which cluster is meant, flags of a declaration, how one is shown.

#include "cli/command.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// -cluster, or the only cluster there is; empty when there is none. Throws conflict listing them.
std::string file_cluster(sdk::Client& client, const Arguments& arguments);
/// The declaration of this name, or the only one of this path. Throws not_found, conflict.
model::FileDeclaration find_file(sdk::Client& client, const Arguments& arguments, const std::string& name_or_path);

/// Flags that say how a file shall be, and what they make of it.
std::vector<Flag> declaration_flags();
void apply_flags(model::FileDeclaration& file, const Arguments& arguments);

/// "every node", "pool compute, node login1", "capsule slurm-services".
std::string targets_text(const model::FileTargets& targets);
std::string declaration_text(const model::FileDeclaration& file);
/// Says what was put.
void say_put(const model::FilesPut& put);

}  // namespace underway::cli

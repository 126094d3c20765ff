#pragma once
/// @file
/// What answers Consul's and Vault's functions in templates: the built-in catalogue, variables, or the site's servers,
/// as the node's configuration says.

#include "node/server/cluster_data.hpp"

namespace underway::node {

/// Adds to `used` what was asked for it. Errors: unsupported where the configuration offers nothing; denied; invalid.
///
/// Keys and secrets of variables: those below Settings::key_variables (or secret_variables) that the task may read, as
/// one tree. The item "x" of the variable "<prefix>/app" is the key "app/x", and so is the item "app/x" of the variable
/// "<prefix>"; the deepest variable goes first. A secret is what lies right in its path.
gotemplate::ForeignReply compat_reply(const sources::Settings& settings, const TemplateAsker& asker,
                                      ClusterData& cluster, const gotemplate::ForeignQuery& query,
                                      gotemplate::Dependencies& used);

}  // namespace underway::node

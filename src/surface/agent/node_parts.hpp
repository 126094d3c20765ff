#pragma once
/// @file
/// What makes the node of an agent: its options, drivers, and extensions for capsules and files.

#include <functional>

#include "agent/config/config.hpp"
#include "crypto/secret.hpp"
#include "driver/driver.hpp"
#include "imageshare/node_images.hpp"
#include "node/node.hpp"
#include "os/ledger.hpp"

namespace underway::agent {

/// Path of the program that runs.
std::string own_program();

/// Makes a join token when one is needed.
using TokenSource = std::function<async::awaitable<crypto::Secret>()>;

/// `own_tokens`: of the server in this process; nothing: there is none. A node that is told of no other server joins
/// that one.
node::Options node_options(const Config& config, TokenSource own_tokens);

/// The drivers, and in `options` what collects the images of containers that no task needs. `ledger` and `clock`
/// outlive the node.
std::vector<std::unique_ptr<driver::Driver>> make_drivers(node::Options& options, const Config& config,
                                                          os::Ledger& ledger, const Clock& clock,
                                                          std::shared_ptr<imageshare::NodeImages> images);

/// Images, and what is done with capsules here: told of, moved, rehearsed, saved. All outlive the node.
void add_capsule_extensions(node::Options& options, const Config& config, os::Ledger& ledger, async::Pool& pool,
                            const Clock& clock, std::shared_ptr<imageshare::NodeImages> images);

/// Files of the node, and of the capsules that run on it.
std::shared_ptr<node::Extension> file_extension(const Config& config);

}  // namespace underway::agent

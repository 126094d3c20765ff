#pragma once
/// @file
/// Following what a capsule is going through: a move, an upgrade, a restore. All of it is the server's work, which goes
/// on while the server itself is started anew.

#include <functional>
#include <string>

#include "base/error.hpp"
#include "model/capsule/capsule.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// Shows the capsule to `goes_on` now and whenever it changes, until that is false, and returns what it was shown last.
/// Errors: those of the server; unavailable when it has not answered for two minutes. Blocks: yes.
model::Capsule follow_capsule(sdk::Client& client, const std::string& name,
                              const std::function<bool(const model::Capsule&)>& goes_on);

/// The error of one whose `what` ("move") is neither under way nor the last one.
Error overtaken(const std::string& what, const std::string& name);

}  // namespace underway::cli

#pragma once
/// @file
/// The terminal's side of a session with a remote command: raw mode, window changes, and putting it all back.

#include <functional>

#include "sdk/client.hpp"

namespace underway::cli {

/// A session on our own descriptors. `tty`: a terminal on the other side too; by default when ours is one.
/// Runs `start` and restores the terminal whatever happens. Returns the command's exit code.
int run_in_terminal(sdk::ExecSession session, bool interactive,
                    const std::function<int(const sdk::ExecSession&)>& start);

}  // namespace underway::cli

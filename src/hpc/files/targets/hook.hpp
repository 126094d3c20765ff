#pragma once
/// @file
/// Commands that run once per change, also when the agent is killed at any moment. The command runs in a process that
/// outlives us and holds a lock on its result file; whoever comes later waits for the lock and reads the result. Only a
/// command whose process ended without a result (it was killed, or the machine went down) is run again. Blocks: yes.

#include <atomic>

#include "files/targets/target.hpp"
#include "model/file.hpp"

namespace underway::files {

struct HookResult {
  bool success = false;
  std::string detail;  ///< "exit code 1: …the end of what it said"; empty after success
};

/// Runs the hook inside the target, or waits for the one that runs already; a result that is there already is
/// returned as it is. `file`: absolute; its result is kept there, and what it said in `file`.out. Once `stopping` is
/// true the wait ends with Error(unavailable), and the command goes on.
HookResult run_hook(const FileTarget& target, const model::FileHook& hook, const std::string& file,
                    const std::atomic<bool>* stopping = nullptr);

}  // namespace underway::files

#pragma once
/// @file
/// The agent that `underway up` starts on this machine, in the server role and making local hosts, and how to find and
/// stop it. On machines with systemd a packaged unit runs it instead; then `up` finds it running.

#include <optional>
#include <string>

namespace underway::cli {

struct LocalAgent {
  std::string state_directory;

  std::string socket() const;
  std::string log_file() const { return state_directory + "/agent.log"; }
  /// Its pid, when it lives; the state's ledger lock tells.
  std::optional<int> pid() const;
  /// Whether it answers.
  bool answers() const;
  /// Starts one if none runs and waits until it answers. Throws with the end of its log when it dies or stays silent.
  /// `new_cluster`: where the server's state is gone it begins anew; throws conflict when one runs.
  void ensure_running(bool new_cluster = false) const;
  /// SIGTERM, and SIGKILL after a while. Nothing happens when none runs.
  void stop() const;
};

}  // namespace underway::cli

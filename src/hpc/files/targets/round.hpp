#pragma once
/// @file
/// A round: all that a target needs to become what a manifest says, carried out so that it may be killed anywhere and
/// is then gone on with: hooks run once, files are whole. The round and the bytes it needs are on disk before anything
/// is touched; what is already so is not done again. Blocks: yes (disk, commands).
///
/// In the directory of a target: `state.json`; large files that are on their way in `incoming/`; and during a round
/// `round/` with `journal.json`, the bytes by digest, and the results of hooks.

#include "files/targets/bytes.hpp"
#include "files/targets/disk.hpp"
#include "files/targets/hook.hpp"

namespace underway::files {

struct RoundHook {
  model::FileHook hook;
  std::vector<std::string> paths;  ///< of the changes for which it runs
};
struct RoundReload {
  model::FileReload reload;
  std::vector<std::string> paths;
};

struct Round {
  std::string id;
  Manifest manifest;  ///< what the target follows afterwards
  std::vector<Change> changes;
  std::vector<RoundHook> before, after;  ///< each command once
  std::vector<RoundReload> reloads;
  std::vector<model::FileProblem> problems;  ///< of the plan

  bool empty() const { return changes.empty() && after.empty() && reloads.empty(); }
};

/// What a target's directory remembers.
struct Remembered {
  Manifest manifest;                             ///< that was believed last
  std::string key;                               ///< base64: of who signed it; empty: an older agent did not note it
  std::map<std::string, ManifestEntry> applied;  ///< by path, as they were last made true
  std::map<std::string, Stamp> stamps;           ///< by path
  std::vector<RoundHook> owed;                   ///< commands that failed, and are tried again in the next round
  std::vector<RoundReload> owed_reloads;
  std::vector<model::FileProblem> problems;
  std::vector<model::FileEvent> events;
  std::int64_t applied_at = 0;
};

/// `owed` of the state is part of every new round.
Round make_round(std::string id, const Manifest& manifest, Plan plan, const Remembered& state);

/// What was done of a round.
struct Outcome {
  std::map<std::string, std::string> failed;  ///< path → why
  std::vector<std::string> made;              ///< paths
  std::vector<RoundHook> owed;
  std::vector<RoundReload> owed_reloads;
  std::vector<model::FileEvent> events;
};

/// One target's directory.
class Rounds {
 public:
  /// Makes the directory (0700). Throws what keeps it from being used. `stopping`: see run_hook.
  explicit Rounds(std::string directory, const std::atomic<bool>* stopping = nullptr);

  const Remembered& state() const { return state_; }
  Incoming& incoming() { return incoming_; }
  /// Which key signed the manifest that is followed from now on.
  void note_key(std::string key) { state_.key = std::move(key); }
  /// Of an agent that was killed; nothing when there is none.
  std::optional<Round> unfinished();
  /// Looks at the target, and says what has to be done.
  Plan plan(const FileTarget& target, const Manifest& manifest) const;
  /// Nothing to do: the manifest is followed, with these problems.
  void settle(const TargetTree& tree, const Manifest& manifest, std::vector<model::FileProblem> problems,
              TimePoint now);

  /// Writes the round down, with the bytes it needs by digest; those that are not in `contents` have come in. From here
  /// on it is unfinished.
  void begin(const Round& round, const std::map<std::string, std::string>& contents);
  /// Hooks and changes. May be called again after a crash.
  Outcome carry_out(const Round& round, const FileTarget& target, TimePoint now) const;
  bool reloaded(std::size_t index) const;
  void note_reload(std::size_t index) const;
  /// Writes the new state; then the round is over.
  void finish(const Round& round, const FileTarget& target, const Outcome& outcome, TimePoint now);

 private:
  std::string round_file(std::string_view name) const;
  void run_before(const Round& round, const FileTarget& target, Outcome& outcome, TimePoint now) const;
  void run_after(const Round& round, const FileTarget& target, Outcome& outcome, TimePoint now) const;
  void remember(const TargetTree& tree, const Manifest& manifest, const std::map<std::string, std::string>& failed);
  void keep_problems(std::vector<model::FileProblem> problems, TimePoint now);
  void save();

  std::string directory_;
  Incoming incoming_;
  const std::atomic<bool>* stopping_;
  Remembered state_;
};

const describe::Structure& description(describe::Tag<RoundHook>);
const describe::Structure& description(describe::Tag<RoundReload>);
const describe::Structure& description(describe::Tag<Round>);
const describe::Structure& description(describe::Tag<Remembered>);

}  // namespace underway::files

#include "files/targets/round.hpp"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"

namespace underway::files {

using model::FileProblem;
using model::FileState;

namespace {

constexpr std::size_t kMostState = 64U << 20;

/// Adds the path to the entry of the same command, or a new one.
template <class List, class What>
void collect(List& list, const What& what, const std::string& path) {
  for (auto& entry : list) {
    bool same = false;
    if constexpr (requires { entry.hook; })
      same = describe::equal(entry.hook, what);
    else
      same = describe::equal(entry.reload, what);
    if (!same) continue;
    if (std::ranges::find(entry.paths, path) == entry.paths.end()) entry.paths.push_back(path);
    return;
  }
  list.push_back({what, {path}});
}

bool touches(const std::vector<std::string>& made, const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, [&](const auto& path) { return std::ranges::find(made, path) != made.end(); });
}

std::string_view past(Action action) {
  switch (action) {
    case Action::create:
      return "created";
    case Action::replace:
      return "replaced";
    case Action::adjust:
      return "adjusted";
    case Action::remove:
      break;
  }
  return "removed";
}

std::string words(const model::FileHook& hook) { return join(hook.command, " "); }

}  // namespace

Round make_round(std::string id, const Manifest& manifest, Plan plan, const Remembered& state) {
  Round round;
  round.id = std::move(id);
  round.manifest = manifest;
  round.after = state.owed;
  round.reloads = state.owed_reloads;
  for (const auto& change : plan.changes) {
    const auto& entry = change.entry;
    if (entry.before) collect(round.before, *entry.before, entry.path);
    if (entry.after) collect(round.after, *entry.after, entry.path);
    for (const auto& reload : entry.reloads) collect(round.reloads, reload, entry.path);
  }
  round.changes = std::move(plan.changes);
  round.problems = std::move(plan.problems);
  return round;
}

Rounds::Rounds(std::string directory, const std::atomic<bool>* stopping)
    : directory_(std::move(directory)), incoming_(directory_ + "/incoming"), stopping_(stopping) {
  os::make_directories(directory_, 0700);
  if (const auto text = os::find_file(directory_ + "/state.json", kMostState))
    state_ = json::decode_text<Remembered>(*text, "state of files");
}

std::string Rounds::round_file(std::string_view name) const { return fmt::format("{}/round/{}", directory_, name); }

std::optional<Round> Rounds::unfinished() {
  const auto text = os::find_file(round_file("journal.json"), kMostState);
  if (text) return json::decode_text<Round>(*text, "journal of files");
  // Bytes without a journal: killed before the round was written down, or after it was over.
  os::remove_tree(directory_ + "/round");
  return std::nullopt;
}

Plan Rounds::plan(const FileTarget& target, const Manifest& manifest) const {
  const TargetTree tree(target);
  return make_plan(manifest, state_.applied, [&](const ManifestEntry& entry) {
    const auto stamp = state_.stamps.find(entry.path);
    return tree.look(entry, stamp == state_.stamps.end() ? nullptr : &stamp->second);
  });
}

void Rounds::begin(const Round& round, const std::map<std::string, std::string>& contents) {
  os::remove_tree(directory_ + "/round");
  os::make_directories(directory_ + "/round", 0700);
  for (const auto& [digest, bytes] : contents) os::write_file(round_file("bytes-" + digest), bytes, 0600);
  for (const auto& change : round.changes) {
    const auto& digest = change.entry.digest;
    if (needs_bytes(change) && !contents.contains(digest) && incoming_.is_whole(digest))
      incoming_.move_to(digest, round_file("bytes-" + digest));
  }
  os::write_file(round_file("journal.json"), json::encode(round, json::Encoding::compact), 0600);
}

void Rounds::run_before(const Round& round, const FileTarget& target, Outcome& outcome, TimePoint now) const {
  for (std::size_t i = 0; i < round.before.size(); ++i) {
    const auto& [hook, paths] = round.before[i];
    const auto result = run_hook(target, hook, round_file(fmt::format("before-{}", i)), stopping_);
    outcome.events.push_back({unix_nanos(now), paths.front(), "before",
                              fmt::format("`{}`{}{}", words(hook), result.success ? "" : ": ", result.detail)});
    if (result.success) continue;
    for (const auto& path : paths)
      outcome.failed[path] = fmt::format("it stays as it is: `{}` before it failed: {}", words(hook), result.detail);
  }
}

void Rounds::run_after(const Round& round, const FileTarget& target, Outcome& outcome, TimePoint now) const {
  for (std::size_t i = 0; i < round.after.size(); ++i) {
    const auto& [hook, paths] = round.after[i];
    const bool owed = std::ranges::any_of(state_.owed, [&](const auto& o) { return describe::equal(o.hook, hook); });
    if (!owed && !touches(outcome.made, paths)) continue;
    const auto result = run_hook(target, hook, round_file(fmt::format("after-{}", i)), stopping_);
    outcome.events.push_back({unix_nanos(now), paths.front(), "after",
                              fmt::format("`{}`{}{}", words(hook), result.success ? "" : ": ", result.detail)});
    if (result.success) continue;
    outcome.owed.push_back(round.after[i]);
    for (const auto& path : paths)
      outcome.failed[path] =
          fmt::format("it was written, but `{}` after it failed, and is tried again: {}", words(hook), result.detail);
  }
}

Outcome Rounds::carry_out(const Round& round, const FileTarget& target, TimePoint now) const {
  Outcome outcome;
  run_before(round, target, outcome, now);
  TargetTree tree(target);
  for (const auto& change : round.changes) {
    const auto& entry = change.entry;
    if (outcome.failed.contains(entry.path)) continue;
    try {
      // After a crash: what is so already was made by the agent that was killed.
      const bool removed = change.action == Action::remove;
      const auto look = tree.look(entry);
      const bool done = removed ? look.observed.error.empty() && look.observed.presence == Presence::absent
                                : differences(entry, look).empty();
      os::Fd bytes;
      if (!done && needs_bytes(change))
        bytes = os::open_file(round_file("bytes-" + entry.digest), O_RDONLY | O_NOFOLLOW);
      if (!done) tree.make(change, bytes);
      outcome.made.push_back(entry.path);
      outcome.events.push_back(
          {unix_nanos(now), entry.path, std::string(change.drift ? "corrected" : past(change.action)), change.why});
    } catch (const Error& error) {
      outcome.failed[entry.path] = error.one_line() + (error.advice().empty() ? std::string() : "; " + error.advice());
    }
  }
  run_after(round, target, outcome, now);
  return outcome;
}

bool Rounds::reloaded(std::size_t index) const { return os::exists(round_file(fmt::format("reload-{}", index))); }

void Rounds::note_reload(std::size_t index) const {
  os::write_file(round_file(fmt::format("reload-{}", index)), "", 0600);
}

/// What is true now, by path, and by which it is known again.
void Rounds::remember(const TargetTree& tree, const Manifest& manifest,
                      const std::map<std::string, std::string>& failed) {
  std::map<std::string, ManifestEntry> applied;
  std::map<std::string, Stamp> stamps;
  std::set<std::string> held;
  for (const auto& entry : manifest.entries) {
    const auto before = state_.applied.find(entry.path);
    const auto known = state_.stamps.find(entry.path);
    const bool unmade = failed.contains(entry.path) || !entry.problem.empty();
    if (!entry.problem.empty()) held.insert(entry.file);
    // Taken before the file is read: an edit in between does not fit it, and is found by the next look.
    const auto stamp = tree.stamp(entry);
    if (!unmade &&
        differences(entry, tree.look(entry, known == state_.stamps.end() ? nullptr : &known->second)).empty()) {
      applied[entry.path] = entry;
      // Of no other: what was edited would be known as what is declared.
      if (stamp) stamps[entry.path] = *stamp;
    } else if (before != state_.applied.end()) {
      applied[entry.path] = before->second;
    }
  }
  // What should have gone and could not is still ours.
  for (const auto& [path, entry] : state_.applied) {
    if (failed.contains(path) || held.contains(entry.file)) applied.try_emplace(path, entry);
  }
  state_.applied = std::move(applied);
  state_.stamps = std::move(stamps);
}

void Rounds::keep_problems(std::vector<FileProblem> problems, TimePoint now) {
  for (auto& problem : problems) {
    const auto before = std::ranges::find_if(state_.problems, [&](const FileProblem& old) {
      return old.path == problem.path && old.state == problem.state;
    });
    problem.since = before == state_.problems.end() ? unix_nanos(now) : before->since;
    if (before == state_.problems.end())
      state_.events.push_back(
          {problem.since, problem.path, std::string(describe::spell(problem.state)), problem.reason});
  }
  std::ranges::sort(problems, {}, &FileProblem::path);
  state_.problems = std::move(problems);
  if (state_.events.size() > model::kFileEvents)
    state_.events.erase(state_.events.begin(), state_.events.end() - static_cast<std::ptrdiff_t>(model::kFileEvents));
}

void Rounds::settle(const TargetTree& tree, const Manifest& manifest, std::vector<FileProblem> problems,
                    TimePoint now) {
  const std::string before = json::encode(state_, json::Encoding::compact);
  std::map<std::string, std::string> failed;
  for (const auto& problem : problems) failed[problem.path] = problem.reason;
  remember(tree, manifest, failed);
  keep_problems(std::move(problems), now);
  state_.manifest = manifest;
  if (json::encode(state_, json::Encoding::compact) != before) save();
}

void Rounds::finish(const Round& round, const FileTarget& target, const Outcome& outcome, TimePoint now) {
  const TargetTree tree(target);
  auto problems = round.problems;
  std::map<std::string, std::string> unmade;
  for (const auto& problem : problems) unmade[problem.path] = problem.reason;
  for (const auto& [path, why] : outcome.failed) {
    problems.push_back({path, FileState::failed, why, 0});
    if (std::ranges::find(outcome.made, path) == outcome.made.end()) unmade[path] = why;
  }
  for (const auto& event : outcome.events) state_.events.push_back(event);
  remember(tree, round.manifest, unmade);
  keep_problems(std::move(problems), now);
  state_.owed = outcome.owed;
  state_.owed_reloads = outcome.owed_reloads;
  state_.manifest = round.manifest;
  if (!outcome.made.empty()) state_.applied_at = unix_nanos(now);
  save();
  // First the journal: without it the rest is rubbish, with it the round would begin anew.
  ::unlink(round_file("journal.json").c_str());
  os::remove_tree(directory_ + "/round");
}

void Rounds::save() { os::write_file(directory_ + "/state.json", json::encode(state_, json::Encoding::compact), 0600); }

const describe::Structure& description(describe::Tag<RoundHook>) {
  static const describe::Structure s =
      describe::Builder<RoundHook>("round hook", "A command of a round.")
          .wire<&RoundHook::hook>("Hook", "The command; it runs once, for however many files.")
          .wire<&RoundHook::paths>("Paths", "Paths of the files for whose change it runs.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<RoundReload>) {
  static const describe::Structure s =
      describe::Builder<RoundReload>("round reload", "A task to tell.")
          .wire<&RoundReload::reload>("Reload", "Which job's tasks get which signal.")
          .wire<&RoundReload::paths>("Paths", "Paths of the files for whose change they are told.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<Round>) {
  static const describe::Structure s =
      describe::Builder<Round>("round", "What is being done to a target.")
          .wire<&Round::id>("ID", "UUID; requests of the round are known by it when they are repeated.")
          .wire<&Round::manifest>("Manifest", "What the target follows when the round is over.")
          .wire<&Round::changes>("Changes", "What is done to files, in this order.")
          .wire<&Round::before>(
              "Before", "Commands that run before anything is changed; what one that fails is for stays as it is.")
          .wire<&Round::after>("After", "Commands that run after the changes, with those that an earlier round owes.")
          .wire<&Round::reloads>("Reloads", "Tasks that are told last, with those that an earlier round owes.")
          .wire<&Round::problems>("Problems", "Files that the round leaves as they are, each with its reason.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<Remembered>) {
  static const describe::Structure s =
      describe::Builder<Remembered>("remembered files", "What a target has.")
          .wire<&Remembered::manifest>("Manifest", "The last one that was followed.")
          .wire<&Remembered::key>(
              "Key", "Public half of the key that signed it, base64; empty: an older agent did not note it.")
          .wire<&Remembered::applied>("Applied", "Files as they were last made true, by path.")
          .wire<&Remembered::stamps>("Stamps",
                                     "By which files are known not to have been touched since they were read, by path.")
          .wire<&Remembered::owed>("Owed", "Commands that failed after a change, and run again in the next round.")
          .wire<&Remembered::owed_reloads>("OwedReloads",
                                           "Tasks that could not be told, and are told in the next round.")
          .wire<&Remembered::problems>("Problems", "Files that are not as their master, each with its reason.")
          .wire<&Remembered::events>("Events", "What was done and found, the newest last; at most 40 are kept.")
          .wire<&Remembered::applied_at>("AppliedAt",
                                         "When something was last changed, Unix time in nanoseconds; 0: never.")
          .done();
  return s;
}

}  // namespace underway::files

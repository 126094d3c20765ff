#include "files/targets/plan.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace underway::files {

using model::FileType;

namespace {

std::string_view kind_of(Presence presence) {
  switch (presence) {
    case Presence::absent:
      return "nothing";
    case Presence::file:
      return "a file";
    case Presence::directory:
      return "a directory";
    case Presence::symlink:
      return "a symbolic link";
    case Presence::other:
      break;
  }
  return "neither file, directory nor link";
}

Presence wanted_presence(FileType type) {
  switch (type) {
    case FileType::file:
      return Presence::file;
    case FileType::symlink:
      return Presence::symlink;
    case FileType::directory:
      return Presence::directory;
    case FileType::absent:
    case FileType::part:
      break;
  }
  return Presence::absent;
}

bool only_metadata(const ManifestEntry& entry, const Observed& there) {
  if (there.presence != wanted_presence(entry.type)) return false;
  if (entry.type == FileType::file) return there.digest == entry.digest;
  return entry.type != FileType::symlink || there.link == entry.link;
}

/// passwd and group give the others their owners.
int rank(const Change& change) {
  if (change.action == Action::remove) return 2;
  return change.entry.path == "/etc/passwd" || change.entry.path == "/etc/group" ? 0 : 1;
}

bool goes_before(const Change& a, const Change& b) {
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return a.action == Action::remove ? a.entry.path > b.entry.path : a.entry.path < b.entry.path;
}

class Planner {
 public:
  Planner(const std::map<std::string, ManifestEntry>& applied, const std::function<Look(const ManifestEntry&)>& look)
      : applied_(applied), look_(look) {}

  void consider(const ManifestEntry& entry) {
    if (!entry.problem.empty()) {
      held_.insert(entry.file);
      plan_.problems.push_back({entry.path, model::FileState::pending, entry.problem, 0});
      return;
    }
    const Look look = look_(entry);
    const auto found = differences(entry, look);
    if (found.empty()) return;
    const std::string why = join(found, ", ");
    const Presence there = look.observed.presence;
    if (!look.observed.error.empty()) return fail(entry, look.observed.error);
    if (there == Presence::directory && entry.type != FileType::directory && entry.type != FileType::absent)
      return fail(entry, "a directory stands in its place");
    const auto before = applied_.find(entry.path);
    const bool same = before != applied_.end() && describe::equal(before->second, entry);
    const bool edited = before != applied_.end() && !differences(before->second, look).empty();
    if (entry.drift == model::DriftPolicy::report && edited) {
      plan_.problems.push_back({entry.path, model::FileState::drifted,
                                same ? why : why + "; its master has changed too, and is not put over the edit", 0});
      return;
    }
    Change change{entry, Action::replace, why, same};
    if (entry.type == FileType::absent)
      change.action = Action::remove;
    else if (there == Presence::absent)
      change.action = Action::create;
    else if (only_metadata(entry, look.observed))
      change.action = Action::adjust;
    plan_.changes.push_back(std::move(change));
  }

  /// It is not wanted here any more.
  void let_go(const ManifestEntry& entry) {
    if (held_.contains(entry.file)) return;
    if (entry.when_removed == model::RemovedPolicy::keep || entry.type == FileType::absent) return;
    const Look look = look_(entry);
    if (!look.observed.error.empty()) return fail(entry, look.observed.error);
    if (look.observed.presence == Presence::absent) return;
    plan_.changes.push_back({entry, Action::remove, "it is not declared for this target any more", false});
  }

  Plan done() {
    std::ranges::sort(plan_.changes, goes_before);
    return std::move(plan_);
  }

 private:
  void fail(const ManifestEntry& entry, const std::string& why) {
    plan_.problems.push_back({entry.path, model::FileState::failed, why, 0});
  }

  const std::map<std::string, ManifestEntry>& applied_;
  const std::function<Look(const ManifestEntry&)>& look_;
  std::set<std::string> held_;  ///< declarations of which nobody knows what they make
  Plan plan_;
};

}  // namespace

std::vector<std::string> differences(const ManifestEntry& entry, const Look& look) {
  const Observed& there = look.observed;
  if (!there.error.empty()) return {there.error};
  const Presence wanted = wanted_presence(entry.type);
  if (there.presence != wanted) {
    if (there.presence == Presence::absent) return {"it is not there"};
    return {wanted == Presence::absent ? std::string("it is there")
                                       : fmt::format("{} instead of {}", kind_of(there.presence), kind_of(wanted))};
  }
  std::vector<std::string> out;
  if (wanted == Presence::absent) return out;
  if (entry.type == FileType::file && (there.size != entry.size || there.digest != entry.digest))
    out.emplace_back("content");
  if (entry.type == FileType::symlink && there.link != entry.link)
    out.push_back(fmt::format("link to '{}' instead of '{}'", there.link, entry.link));
  if (entry.type != FileType::symlink && there.mode != entry.mode)
    out.push_back(fmt::format("mode {:04o} instead of {:04o}", there.mode, entry.mode));
  if (!look.ids.uid || *look.ids.uid != there.uid)
    out.push_back(fmt::format("owner {} instead of {}", there.uid, entry.owner));
  if (!look.ids.gid || *look.ids.gid != there.gid)
    out.push_back(fmt::format("group {} instead of {}", there.gid, entry.group));
  if (entry.type != FileType::symlink) {
    for (const auto& [name, value] : entry.xattrs) {
      const auto it = there.xattrs.find(name);
      if (it == there.xattrs.end() || it->second != value) out.push_back(fmt::format("attribute {}", name));
    }
  }
  return out;
}

Plan make_plan(const Manifest& manifest, const std::map<std::string, ManifestEntry>& applied,
               const std::function<Look(const ManifestEntry&)>& look) {
  Planner planner(applied, look);
  std::map<std::string_view, const ManifestEntry*> wanted;
  for (const auto& entry : manifest.entries) {
    wanted.emplace(entry.path, &entry);
    planner.consider(entry);
  }
  for (const auto& [path, entry] : applied) {
    if (!wanted.contains(path)) planner.let_go(entry);
  }
  return planner.done();
}

const describe::Enumeration& description(describe::Tag<Action>) {
  static const describe::Enumeration e = describe::enumeration<Action>("action");
  return e;
}

const describe::Structure& description(describe::Tag<Change>) {
  static const describe::Structure s =
      describe::Builder<Change>("change", "What is done to a file.")
          .wire<&Change::entry>("Entry", "The file as the target shall have it; of a removal: as it had it.")
          .wire<&Change::action>(
              "Action",
              "create, replace (other bytes, link or kind), adjust (owner, mode and attributes only) or remove.")
          .wire<&Change::why>("Why", "How what is there differs, in words: \"mode 0600 instead of 0644\".")
          .wire<&Change::drift>("Drift", "Whether it was as wanted before, and somebody changed it at the target.")
          .done();
  return s;
}

}  // namespace underway::files

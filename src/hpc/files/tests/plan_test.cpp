#include "files/targets/plan.hpp"

#include "base/text.hpp"

namespace underway::files {
namespace {

using model::FileType;

ManifestEntry planned_file(const std::string& path, const std::string& digest = "new") {
  ManifestEntry entry;
  entry.path = entry.file = path;
  entry.digest = digest;
  entry.size = 3;
  return entry;
}

ManifestEntry of_type(const std::string& path, FileType type, const std::string& link = {}) {
  ManifestEntry entry;
  entry.path = entry.file = path;
  entry.type = type;
  entry.link = link;
  return entry;
}

Look there(const std::string& digest, std::int64_t mode = 0644, std::int64_t uid = 0) {
  Look look;
  look.observed = {.presence = Presence::file, .mode = mode, .uid = uid, .gid = 0, .size = 3, .digest = digest};
  look.ids = {0, 0};
  return look;
}

/// A disk of a few files.
class PlanTest : public ::testing::Test {
 protected:
  Plan make() {
    Manifest manifest;
    manifest.entries = wanted;
    return make_plan(manifest, applied, [&](const ManifestEntry& entry) {
      const auto it = disk.find(entry.path);
      Look look = it == disk.end() ? Look{} : it->second;
      look.ids = {0, 0};
      return look;
    });
  }
  std::string said() {
    std::string out;
    const auto plan = make();
    for (const auto& change : plan.changes)
      out += fmt::format("{} {} ({}){}\n", describe::spell(change.action), change.entry.path, change.why,
                         change.drift ? " drift" : "");
    for (const auto& problem : plan.problems)
      out += fmt::format("{} {}: {}\n", describe::spell(problem.state), problem.path, problem.reason);
    return out;
  }
  void apply(const ManifestEntry& entry) { applied[entry.path] = entry; }

  std::vector<ManifestEntry> wanted;
  std::map<std::string, ManifestEntry> applied;
  std::map<std::string, Look> disk;
};

TEST_F(PlanTest, WhatIsThereAndTheSameIsLeftAlone) {
  wanted = {planned_file("/a")};
  disk["/a"] = there("new");
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, WhatIsMissingIsCreatedAndWhatDiffersReplaced) {
  wanted = {planned_file("/a"), planned_file("/b")};
  disk["/b"] = there("old");
  EXPECT_EQ(said(), "create /a (it is not there)\nreplace /b (content)\n");
}

TEST_F(PlanTest, BytesThatAreRightAreNotWrittenAgain) {
  wanted = {planned_file("/a")};
  disk["/a"] = there("new", 0600, 7);
  EXPECT_EQ(said(), "adjust /a (mode 0600 instead of 0644, owner 7 instead of root)\n");
}

TEST_F(PlanTest, AnEditIsDriftOnlyOnceTheFileWasAsWanted) {
  wanted = {planned_file("/a")};
  disk["/a"] = there("edited");
  EXPECT_EQ(said(), "replace /a (content)\n");
  apply(wanted[0]);
  EXPECT_EQ(said(), "replace /a (content) drift\n");
}

TEST_F(PlanTest, AnEditStaysWhereItIsOnlyReported) {
  wanted = {planned_file("/a")};
  wanted[0].drift = model::DriftPolicy::report;
  disk["/a"] = there("edited");
  EXPECT_EQ(said(), "replace /a (content)\n") << "the first time it is put";
  apply(wanted[0]);
  EXPECT_EQ(said(), "drifted /a: content\n");
  wanted[0].digest = "newer";
  EXPECT_EQ(said(), "drifted /a: content; its master has changed too, and is not put over the edit\n");
  disk["/a"] = there("new");
  EXPECT_EQ(said(), "replace /a (content)\n") << "it is as the last master";
}

TEST_F(PlanTest, WhatIsDeclaredAbsentIsRemoved) {
  wanted = {of_type("/a", FileType::absent), of_type("/b", FileType::absent)};
  disk["/a"] = there("old");
  EXPECT_EQ(said(), "remove /a (it is there)\n");
}

TEST_F(PlanTest, WhatIsNotDeclaredAnyMoreStaysUnlessItSaidOtherwise) {
  apply(planned_file("/keep"));
  auto gone = planned_file("/gone");
  gone.when_removed = model::RemovedPolicy::remove;
  apply(gone);
  disk["/keep"] = disk["/gone"] = there("new");
  EXPECT_EQ(said(), "remove /gone (it is not declared for this target any more)\n");
  disk.erase("/gone");
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, WhatNobodyKnowsNowStaysWithAllThatItsTemplateMade) {
  apply(planned_file("/etc/if/a"));
  apply(planned_file("/etc/if/b"));
  for (auto& [path, entry] : applied) {
    entry.file = "interfaces";
    entry.when_removed = model::RemovedPolicy::remove;
    disk[path] = there("new");
  }
  wanted = {planned_file("/etc/if/default")};
  wanted[0].file = "interfaces";
  EXPECT_THAT(said(), ::testing::HasSubstr("remove /etc/if/a"));
  wanted[0].problem = "it cannot be rendered: no such field";
  EXPECT_EQ(said(), "pending /etc/if/default: it cannot be rendered: no such field\n");
}

TEST_F(PlanTest, UsersComeFirstDirectoriesBeforeTheirFilesRemovalsLast) {
  wanted = {of_type("/etc/a", FileType::absent),
            of_type("/etc/a/b", FileType::absent),
            planned_file("/etc/abc"),
            of_type("/etc/d", FileType::directory),
            planned_file("/etc/d/x"),
            planned_file("/etc/passwd")};
  disk["/etc/a"] = disk["/etc/a/b"] = there("old");
  std::string order;
  for (const auto& change : make().changes) order += change.entry.path + " ";
  EXPECT_EQ(order, "/etc/passwd /etc/abc /etc/d /etc/d/x /etc/a/b /etc/a ");
}

TEST_F(PlanTest, ADirectoryIsNeverReplacedByAFile) {
  wanted = {planned_file("/a")};
  disk["/a"].observed.presence = Presence::directory;
  EXPECT_EQ(said(), "failed /a: a directory stands in its place\n");
}

TEST_F(PlanTest, ALinkIsReplacedAndNotWrittenThrough) {
  wanted = {planned_file("/a"), of_type("/b", FileType::symlink, "x")};
  disk["/a"].observed.presence = Presence::symlink;
  disk["/b"].observed = {.presence = Presence::symlink, .link = "y"};
  EXPECT_EQ(said(), "replace /a (a symbolic link instead of a file)\nreplace /b (link to 'y' instead of 'x')\n");
}

TEST_F(PlanTest, WhatCannotBeLookedAtHasFailed) {
  wanted = {planned_file("/a"), planned_file("/b")};
  disk["/a"].observed.error = "no way there";
  EXPECT_EQ(said(), "create /b (it is not there)\nfailed /a: no way there\n");
}

}  // namespace
}  // namespace underway::files

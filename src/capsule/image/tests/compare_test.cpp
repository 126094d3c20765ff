#include "image/compare.hpp"

#include <gmock/gmock.h>

namespace underway::image {
namespace {

using testing::ElementsAre;

TEST(Comparison, TellsPackagesAndFilesThatDiffer) {
  Manifest a{.name = "web", .version = "1"};
  a.packages = {{"nginx", "1.0", "amd64"}, {"old", "1", "amd64"}, {"same", "1", "all"}};
  Manifest b{.name = "web", .version = "2"};
  b.packages = {{"same", "1", "all"}, {"nginx", "1.1", "amd64"}, {"new", "1", "amd64"}};
  const std::vector<FileEntry> before = {{.path = "/a", .mode = 0644, .size = 1, .digest = "1"},
                                         {.path = "/b", .size = 5, .digest = "2"},
                                         {.path = "/link", .kind = FileKind::symlink, .target = "a"},
                                         {.path = "/same", .digest = "3"}};
  const std::vector<FileEntry> after = {{.path = "/a", .mode = 0600, .uid = 7, .size = 2, .digest = "9"},
                                        {.path = "/c", .size = 6},
                                        {.path = "/link", .kind = FileKind::symlink, .target = "b"},
                                        {.path = "/same", .digest = "3"}};
  const auto found = compare(a, before, b, after);
  EXPECT_EQ(found.from + " " + found.to, "web:1 web:2");
  std::vector<std::string> lines;
  for (const auto& p : found.packages)
    lines.push_back(fmt::format("{} {} {}-{}", describe::spell(p.difference), p.name, p.from, p.to));
  EXPECT_THAT(lines, ElementsAre("added new -1", "changed nginx 1.0-1.1", "removed old 1-"));
  lines.clear();
  for (const auto& f : found.files)
    lines.push_back(fmt::format("{} {} {}", describe::spell(f.difference), f.path, fmt::join(f.details, ", ")));
  EXPECT_THAT(lines, ElementsAre("changed /a content, mode 0644 → 0600, owner 0:0 → 7:0", "removed /b ", "added /c ",
                                 "changed /link target a → b"));
}

}  // namespace
}  // namespace underway::image

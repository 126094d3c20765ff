#include "overlay/changes.hpp"

#include <sys/stat.h>

#include "places.hpp"

namespace underway::overlay {
namespace {

std::string listed(const std::vector<Change>& list) {
  std::string text;
  for (const auto& change : list)
    text += fmt::format("{} {} {}{}\n", describe::spell(change.kind), change.path, change.type,
                        change.from.empty() ? "" : " from " + change.from);
  return text;
}

TEST(Changes, AreToldFromTheImageWhereItIsGiven) {
  const Places places;
  for (const auto* name : {"image/etc/kept", "image/var", "upper/etc/kept", "upper/var", "upper/new"})
    os::make_directories(places / name);
  os::write_file(places / "image/etc/passwd", "a");
  os::write_file(places / "upper/etc/passwd", "ab");
  os::write_file(places / "upper/new/file", "abc");
  ASSERT_EQ(::chmod((places / "upper/var").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (places / "upper/etc/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((places / "upper/etc/pipe").c_str(), 0600), 0);
  const auto list = changes(places / "upper", below_directory(places / "image"));
  EXPECT_EQ(listed(list),
            "added /etc/link link\nmodified /etc/passwd file\nadded /etc/pipe fifo\nadded /new directory\n"
            "added /new/file file\nmodified /var directory\n");
  EXPECT_EQ(list[1].size_bytes, 2U);
  EXPECT_EQ(list[5].mode, 0700U);
}

TEST(Changes, DoNotFollowLinksOutOfTheImageOrTheUpperLayer) {
  const Places places;
  for (const auto* name : {"image", "upper/etc", "outside"}) os::make_directories(places / name);
  os::write_file(places / "outside/passwd", "secret");
  ASSERT_EQ(::symlink((places / "outside").c_str(), (places / "image/etc").c_str()), 0);
  os::write_file(places / "upper/etc/passwd", "");
  ASSERT_EQ(::symlink((places / "outside").c_str(), (places / "upper/out").c_str()), 0);
  EXPECT_EQ(listed(changes(places / "upper", below_directory(places / "image"))),
            "modified /etc directory\nadded /etc/passwd file\nadded /out link\n");
}

TEST(Changes, GoAsDeepAsAPathMay) {
  const Places places;
  std::string path = places / "upper";
  for (int i = 0; i < 200; ++i) path += "/d";
  os::make_directories(path);
  EXPECT_EQ(changes(places / "upper", [](const std::string&) { return std::nullopt; }).size(), 200U);
}

}  // namespace
}  // namespace underway::overlay

// The map of README.md has each library on its floor, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "documents/pages.hpp"
#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

using Map = std::map<std::string, std::set<std::string>>;

/// What stands between two blanks or more. A description has single ones within.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string::npos; at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = end;
  }
  return columns;
}

Map drawn() {
  Map map;
  const auto page = parse_page("README.md", harness::read_text(source_dir() + "/README.md"));
  for (const auto& block : page.blocks) {
    std::string floor;
    for (const auto& line : block.lines) {
      for (const auto& column : columns_of(line)) {
        if (column.starts_with("src/")) floor = column;
        if (column == floor || floor.empty() || column.find(' ') != std::string::npos) continue;
        map[floor].insert(column);
      }
    }
  }
  return map;
}

Map built() {
  Map map;
  const std::filesystem::path root = source_dir();
  for (const auto& floor : std::filesystem::directory_iterator(root / "src")) {
    if (!floor.is_directory()) continue;
    for (const auto& library : std::filesystem::directory_iterator(floor)) {
      if (std::filesystem::exists(library.path() / "CMakeLists.txt"))
        map[floor.path().lexically_relative(root).string()].insert(library.path().filename().string());
    }
  }
  return map;
}

TEST(Map, OfTheReadmeHasEveryLibraryOnItsFloor) { EXPECT_EQ(drawn(), built()); }

}  // namespace
}  // namespace underway::documents

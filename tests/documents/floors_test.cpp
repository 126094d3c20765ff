// A library knows those below it and no other: what CONTRIBUTING.md says of floors, compared with every DEPENDS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "documents/pages.hpp"
#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

using testing::IsEmpty;

/// What add_subdirectory names, in its order.
std::vector<std::string> subdirectories(const std::string& cmake_lists) {
  static const std::regex kLine("add_subdirectory\\(([a-z_/]+)\\)");
  const std::string text = harness::read_text(cmake_lists);
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kLine), end; it != end; ++it) out.push_back((*it)[1]);
  return out;
}

/// The words of underway_library(NAME …) behind DEPENDS, without "underway::".
std::vector<std::string> depends_of(const std::string& cmake_lists) {
  const std::string text = harness::read_text(cmake_lists);
  const auto begin = text.find("underway_library(");
  if (begin == std::string::npos) return {};
  std::istringstream words(text.substr(begin, text.find(')', begin) - begin));
  std::vector<std::string> out;
  bool ours = false;
  for (std::string word; words >> word;) {
    if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); }))
      ours = word == "DEPENDS";
    if (ours && word.starts_with("underway::")) out.push_back(word.substr(10));
  }
  return out;
}

struct Library {
  std::string floor;
  std::size_t height = 0;  ///< those with less stand below it
  std::vector<std::string> depends;
};

std::vector<std::string> floors() {
  std::vector<std::string> out;
  for (const auto& directory : subdirectories(source_dir() + "/CMakeLists.txt")) {
    if (directory.starts_with("src/")) out.push_back(directory);
  }
  return out;
}

std::map<std::string, Library> libraries() {
  std::map<std::string, Library> out;
  for (const auto& floor : floors()) {
    for (const auto& name : subdirectories(source_dir() + "/" + floor + "/CMakeLists.txt"))
      out[name] = {floor, out.size(), depends_of(source_dir() + "/" + floor + "/" + name + "/CMakeLists.txt")};
  }
  return out;
}

/// "impact knows files", of those that stand on one floor.
std::set<std::string> known_beside(const std::string& floor) {
  std::set<std::string> out;
  const auto all = libraries();
  for (const auto& [name, library] : all) {
    for (const auto& other : library.depends) {
      const auto found = all.find(other);
      if (found != all.end() && library.floor == floor && found->second.floor == floor)
        out.insert(name + " knows " + other);
    }
  }
  return out;
}

TEST(Floors, AreThoseOfTheMapInItsOrder) {
  std::vector<std::string> drawn;
  static const std::regex kFloor("^(src/[a-z]+) .*");
  const auto page = parse_page("README.md", harness::read_text(source_dir() + "/README.md"));
  std::smatch match;
  for (const auto& block : page.blocks) {
    for (const auto& line : block.lines) {
      if (std::regex_match(line, match, kFloor)) drawn.insert(drawn.begin(), match[1]);
    }
  }
  EXPECT_EQ(floors(), drawn) << "the map draws the ground last";
}

TEST(Floors, CarryOnlyWhatStandsAboveThem) {
  const auto all = libraries();
  ASSERT_GT(all.size(), 30u);
  std::vector<std::string> wrong;
  for (const auto& [name, library] : all) {
    for (const auto& other : library.depends) {
      const auto found = all.find(other);
      if (found == all.end())
        wrong.push_back(name + " DEPENDS on underway::" + other + ", which no floor has");
      else if (found->second.height >= library.height)
        wrong.push_back(name + " (" + library.floor + ") DEPENDS on underway::" + other +
                        ", which stands above it, in " + found->second.floor + "/CMakeLists.txt");
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Floors, HaveCapabilitiesThatKnowEachOtherOnlyWhereThatIsWritten) {
  std::set<std::string> written;
  static const std::regex kRow("^\\| ([a-z]+) \\| ([a-z, ]+) \\|.*");
  const auto page = parse_page("src/hpc/README.md", harness::read_text(source_dir() + "/src/hpc/README.md"));
  std::smatch row;
  for (const auto& line : page.prose) {
    if (!std::regex_match(line, row, kRow) || row[1] == "library") continue;
    std::istringstream others(row.str(2));
    for (std::string other; others >> other;) {
      if (other.back() == ',') other.pop_back();
      written.insert(row.str(1) + " knows " + other);
    }
  }
  EXPECT_EQ(known_beside("src/hpc"), written)
      << "the table of src/hpc/README.md, which has the reasons; let them meet through the tables if that can be";
}

}  // namespace
}  // namespace underway::documents

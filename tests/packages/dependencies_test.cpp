// docs/dependencies.md is true: of what is installed to build and test, and of what the programs are linked with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "harness/command.hpp"
#include "harness/places.hpp"
#include "packages/dependencies.hpp"

namespace underway::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

// The others are static, and linked with nothing but the C library (cmake/Targets.cmake).
const std::vector<std::string> kPrograms = {"underway", "underway-fetch", "underway-pull"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "libcurl.so.4" and others: what its header says that it needs.
std::set<std::string> libraries_of(const std::string& program) {
  const auto said = run({.argv = {"readelf", "--dynamic", "--wide", binary_dir() + "/bin/" + program}});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  std::set<std::string> libraries;
  for (const auto& line : lines_of(said.out)) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    const std::size_t begin = line.find('[') + 1;
    libraries.insert(line.substr(begin, line.find(']') - begin));
  }
  return libraries;
}

using Owners = std::map<std::string, std::string>;

/// Where Debian has libraries, as packages name it: some of them still without /usr.
std::vector<std::string> library_directories() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib")) {
    const std::string path = entry.path().string();
    if (path.ends_with("-linux-gnu")) found.insert(found.end(), {path, path.substr(std::string("/usr").size())});
  }
  return found;
}

/// Which package each library was installed by; "" when none has it. One question: dpkg reads all of its lists for it.
/// Of whole paths: patterns are held against each of some hundred thousand, which takes ten times as long.
Owners packages_of(const std::set<std::string>& libraries) {
  Owners owners;
  std::vector<std::string> argv = {"dpkg-query", "--search"};
  const auto directories = library_directories();
  for (const auto& library : libraries) {
    owners[library] = "";
    for (const auto& directory : directories) argv.push_back(directory + "/" + library);
  }
  for (const auto& line : lines_of(run({.argv = argv}).out))
    owners[line.substr(line.rfind('/') + 1)] = line.substr(0, line.find(':'));
  return owners;
}

/// The source packages of packages that are installed: `libcurl4` and `libcurl4-openssl-dev` have the same.
std::map<std::string, std::string> sources_of(const std::set<std::string>& packages) {
  std::vector<std::string> argv = {"dpkg-query", "--show", "--showformat=${Package} ${source:Package}\n"};
  argv.insert(argv.end(), packages.begin(), packages.end());
  std::map<std::string, std::string> sources;
  for (const auto& line : lines_of(run({.argv = argv}).out))
    sources[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  return sources;
}

/// Libraries that are in no row with a licence.
std::vector<std::string> unnamed_libraries(const Owners& owners, const std::vector<Dependency>& rows) {
  std::set<std::string> named, asked;
  for (const auto& row : rows) {
    if (!row.licence.empty()) named.insert(row.packages.begin(), row.packages.end());
  }
  asked = named;
  for (const auto& [library, package] : owners) asked.insert(package);
  auto sources = sources_of(asked);
  std::set<std::string> named_sources;
  for (const auto& package : named) named_sources.insert(sources[package]);
  std::vector<std::string> unnamed;
  for (const auto& [library, package] : owners) {
    if (package.empty() || !named_sources.contains(sources[package])) unnamed.push_back(library);
  }
  return unnamed;
}

TEST(Dependencies, AreOnThePageOnceAndAreThoseThatAreInstalled) {
  std::vector<std::string> named;
  for (const auto& row : dependencies()) named.insert(named.end(), row.packages.begin(), row.packages.end());
  EXPECT_THAT(named, UnorderedElementsAreArray(packages_of_setup()));
  std::sort(named.begin(), named.end());
  EXPECT_EQ(std::adjacent_find(named.begin(), named.end()), named.end()) << "is named twice";
}

TEST(Dependencies, ThatAreLinkedHaveALicenceThatGoesWithOurs) {
  for (const auto& row : dependencies())
    EXPECT_TRUE(row.licence.empty() || goes_with_ours(row.licence)) << row.packages[0] << ": " << row.licence;
}

TEST(Dependencies, AreAllThatTheProgramsAreLinkedWith) {
  if (shell("command -v dpkg-query && command -v readelf").exit_code != 0)
    GTEST_SKIP() << "needs dpkg-query and readelf";
  std::set<std::string> libraries;
  for (const auto& program : kPrograms) libraries.merge(libraries_of(program));
  const auto owners = packages_of(libraries);
  const auto rows = dependencies();
  EXPECT_THAT(unnamed_libraries(owners, rows), IsEmpty());
  // A row that is missing is missed.
  auto fewer = rows;
  std::erase_if(fewer, [](const Dependency& row) { return row.packages[0] == "libcurl4-openssl-dev"; });
  EXPECT_THAT(unnamed_libraries(owners, fewer), ElementsAre("libcurl.so.4"));
}

TEST(Dependencies, OutsideOfATableAreNotOverlooked) {
  const std::string table = "| package | licence | why |\n| --- | --- | --- |\n| `a`, `b` | MIT | x |\n";
  const auto rows = parse_dependencies(table);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].packages, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(rows[0].licence, "MIT");
  EXPECT_THROW(parse_dependencies(table + "\n| `c` | MIT | x |\n"), std::runtime_error);
  EXPECT_THROW(parse_dependencies(table + "| `c` | x |\n"), std::runtime_error);
}

TEST(Licences, GoWithOursByOneSideOfAnOrAndBothOfAnAnd) {
  EXPECT_TRUE(goes_with_ours("BSD-3-Clause OR GPL-2.0-only"));
  EXPECT_TRUE(goes_with_ours("MIT AND Unicode-DFS-2015"));
  EXPECT_FALSE(goes_with_ours("MIT AND GPL-2.0-only"));
  EXPECT_FALSE(goes_with_ours("GPL-2.0-only"));
  EXPECT_FALSE(goes_with_ours("GPL-3.0-or-later"));
}

TEST(Licences, OursIsTheWholeText) {
  const std::string genuine = read_text("/usr/share/common-licenses/Apache-2.0");
  if (genuine.empty()) GTEST_SKIP() << "this machine has no text to compare with";
  EXPECT_EQ(read_text(source_dir() + "/LICENSE"), genuine);
}

}  // namespace
}  // namespace underway::harness

// packaging/files is what is installed of the repository's files.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/command.hpp"
#include "harness/places.hpp"
#include "packages/repository.hpp"

namespace underway::harness {
namespace {

TEST(Packaging, ListsTheFilesOfTheRepository) {
  const auto files = find_repository_files();
  if (!files) GTEST_SKIP() << "this is no git checkout";
  std::string expected;
  for (const auto& file : *files) expected += file + "\n";
  const std::string path = source_dir() + "/packaging/files";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) write_text(path, expected);
  EXPECT_EQ(read_text(path), expected) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

}  // namespace
}  // namespace underway::harness

#include "jobspec/reference.hpp"
#include "harness/places.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace underway::jobspec {
namespace {

/// Holds a committed file against what is generated; UNDERWAY_ACCEPT=1 rewrites it.
void expect_file(const std::string& name, const std::string& generated) {
  const auto path = std::filesystem::path(source_dir()) / "docs/reference" / name;
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << generated;
  }
  std::ifstream in(path);
  const std::string committed{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(committed, generated) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

TEST(Reference, IsWhatTheDescriptionsSay) {
  expect_file("job-file.md", job_file_reference());
  expect_file("cluster-file.md", cluster_file_reference());
}

TEST(Reference, NamesDefaultsAndRefusals) {
  const std::string text = job_file_reference();
  EXPECT_NE(text.find("| `priority` | integer | `50` |"), std::string::npos);
  EXPECT_NE(text.find("Refused:\n\n- `multiregion`: it is for several regions at once"), std::string::npos);
  EXPECT_NE(text.find("## job → group → network → port"), std::string::npos);
}

}  // namespace
}  // namespace underway::jobspec

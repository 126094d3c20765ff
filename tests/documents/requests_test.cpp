// One dialect for a change (docs/adr/0025): whoever changes something applies a request. The writer takes nothing else,
// so what is left to be held is how decisions are called, and that clients' changes go one way. And one clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

/// Files below `folder`, from the repository's root, in which `pattern` is found; `literal` is a part of what it finds.
std::vector<std::string> files_with(const std::string& folder, const std::string& literal, const std::string& pattern) {
  const std::filesystem::path root = source_dir();
  const std::regex wanted(pattern);
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const auto path = entry.path();
    if (path.extension() != ".hpp" && path.extension() != ".cpp") continue;
    const auto name = path.lexically_relative(root).string();
    if (name.find("/tests/") != std::string::npos || name.find("/testing/") != std::string::npos) continue;
    const std::string text = harness::read_text(path.string());
    if (text.find(literal) != std::string::npos && std::regex_search(text, wanted)) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// A decision with a name of its own could be called by whoever works out by himself what `preview` says.
TEST(Requests, EveryDecisionIsTheOneOfARequest) {
  EXPECT_THAT(files_with("src", " decide_", R"(Decision<[^;{}()]*>\s+decide_\w+\()"), ::testing::IsEmpty());
}

TEST(Requests, WhatClientsChangeGoesWithItsEntryInTheListOfChanges) {
  // The gate waits for what was handed in; a join token is also made for a host, by nobody's request.
  EXPECT_THAT(
      files_with("src/surface/api", "server.apply(", R"(server\.apply\()"),
      ::testing::ElementsAre("src/surface/api/access/authorizer.cpp", "src/surface/api/access/routes_trust.cpp",
                             "src/surface/api/cluster/change_note.cpp", "src/surface/api/cluster/change_note.hpp"));
}

/// What asks the machine for the time itself can neither be simulated nor held by a test (docs/adr/0024).
TEST(Requests, OnlyAProgramAtItsStartBuildsAClock) {
  EXPECT_THAT(files_with("src", "SystemClock", R"(SystemClock[ (])"),
              ::testing::ElementsAre("src/foundation/base/clock.hpp", "src/surface/agent/agent.cpp",
                                     "src/surface/cli/capsule/local_saver.hpp", "src/surface/cli/current_time.hpp",
                                     "src/surface/cli/survey/capture.cpp"));
}

}  // namespace
}  // namespace underway::documents

#pragma once
/// @file
/// Golden files: what the API answered when somebody last looked. UNDERWAY_ACCEPT=1 rewrites them.

#include "base/json/json.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace underway::api::testing {

inline void expect_golden(const std::string& path, const std::string& text) {
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing: run the test with UNDERWAY_ACCEPT=1 and look at what it wrote";
  std::stringstream known;
  known << file.rdbuf();
  EXPECT_EQ(text, known.str()) << path << ": if the change is meant, run the test with UNDERWAY_ACCEPT=1";
}

inline void expect_golden_json(const std::string& path, std::string_view text) {
  expect_golden(path, json::pretty(json::parse(text)) + "\n");
}

}  // namespace underway::api::testing

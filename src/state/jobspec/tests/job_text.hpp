#pragma once
/// @file
/// Job files of a few lines, and what is read of them.

#include <gtest/gtest.h>

#include "jobspec/jobspec.hpp"

namespace underway::jobspec {

/// A group with one task, around `in_group` and `in_task`.
inline std::string job(std::string_view in_job, std::string_view in_group = "", std::string_view in_task = "") {
  return fmt::format("job \"j\" {{\n{}\ngroup \"g\" {{\n{}\ntask \"t\" {{\ndriver = \"exec\"\n{}\n}}\n}}\n}}\n", in_job,
                     in_group, in_task);
}

inline model::Job accept(const std::string& text, const Inputs& inputs = {}) {
  auto result = parse_job(text, "j.hcl", inputs);
  EXPECT_EQ(result.diagnostics.render(), "") << text;
  return result.job.value_or(model::Job{});
}

inline std::string errors_of(const std::string& text, const Inputs& inputs = {}) {
  const auto result = parse_job(text, "j.hcl", inputs);
  EXPECT_FALSE(result.job);
  return result.diagnostics.render();
}

}  // namespace underway::jobspec

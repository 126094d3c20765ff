#pragma once
/// @file
/// From text to bodies and expressions. A parser never throws for what the text holds: it reports every error to the
/// diagnostics, goes on, and returns what it could read.

#include "hcl/body.hpp"
#include "hcl/diagnostic.hpp"
#include "hcl/expression.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace underway::hcl {

/// Larger texts are refused.
inline constexpr std::size_t kMaxSourceBytes = 8 * 1024 * 1024;
/// Deepest nesting of brackets, blocks, operators and templates.
inline constexpr unsigned kMaxNesting = 200;

/// Whether a block on one line may hold more than one attribute: job files may not, as in HCL 2; what was HCL 1 at
/// Nomad (configuration of agents, policies) may.
enum class Lines : std::uint8_t { free, strict };

/// HCL, or HCL-JSON when the first character that is no white space is `{` (or `[`, a list of bodies).
Body parse(std::string text, std::string name, Diagnostics& diagnostics, Lines lines = Lines::free);
Body parse_native(std::string text, std::string name, Diagnostics& diagnostics, Lines lines = Lines::free);
Body parse_json(std::string text, std::string name, Diagnostics& diagnostics);
/// Reads the file; one that cannot be read is a diagnostic without a range. Blocks: yes (disk).
Body parse_file(const std::filesystem::path& path, Diagnostics& diagnostics);

/// One expression and nothing else, e.g. the value of `-var x=…`.
Expression parse_expression(std::string text, std::string name, Diagnostics& diagnostics);
/// A template without quotes: what stands between `"` and `"`, or in a file.
Expression parse_template(std::string text, std::string name, Diagnostics& diagnostics);

}  // namespace underway::hcl

#pragma once
/// @file
/// The canonical layout of native HCL: indentation by brackets, one space where spaces belong, `=` and trailing
/// comments of neighbouring lines below each other. Only white space changes; comments, blank lines, heredocs and
/// quoted texts stay as they are. Rules: those of HCL's own `hclwrite`, as `terraform fmt` and `nomad fmt` show them.

#include <string>
#include <string_view>

namespace underway::hcl {

/// Idempotent: formatted text is given back as it is. Expects text that parses (parser.hpp); of other text the white
/// space may come out oddly, and nothing else changes. An empty text stays empty; any other ends with one line end.
std::string format(std::string_view text);

}  // namespace underway::hcl

#pragma once
/// @file
/// Go's literals.

#include "gotemplate/language/lexer.hpp"
#include "gotemplate/language/program.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace underway::gotemplate {

/// strconv.Unquote of a token with its quotes; nothing when it is malformed.
std::optional<std::string> unquote(std::string_view quoted);

/// A number or character constant. Throws Error(invalid) with Go's message when it is none.
std::unique_ptr<ConstantNode> parse_number(const Item& item);

/// strconv.ParseInt and ParseUint with `base` 0 (prefixes and '_' allowed) or 2 to 36.
std::optional<std::int64_t> parse_integer(std::string_view text, unsigned base);
std::optional<std::uint64_t> parse_natural(std::string_view text, unsigned base);
/// strconv.ParseFloat.
std::optional<double> parse_real(std::string_view text);

}  // namespace underway::gotemplate

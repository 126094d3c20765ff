#pragma once
/// @file
/// What every list takes: an expression, a page, and the form that it is printed in.

#include "cli/context.hpp"

namespace underway::cli {

/// Beside a -json: the same, as a Go template makes it of the JSON.
inline constexpr Flag kTemplate{"t", "TEMPLATE", "As a Go template makes it of the JSON: '{{range .}}{{.ID}} {{end}}'.",
                                false};

/// `own` and -filter, -per-page, -page-token, -json, -t.
std::vector<Flag> with_list_flags(std::vector<Flag> own = {});
/// `own` and -json, -t: of commands that show one thing.
std::vector<Flag> with_format_flags(std::vector<Flag> own = {});

/// Throws invalid for a -per-page that is no number.
sdk::ListQuery list_query(const Arguments& arguments);

/// With -json or -t: prints `value` so and returns true. -t is a Go template over the JSON. Throws invalid when the
/// template cannot be read, or fails.
bool print_formatted(const Arguments& arguments, const boost::json::value& value);

/// Says how to get the next page, if there is one.
void tell_next_page(const std::string& next_token);

}  // namespace underway::cli

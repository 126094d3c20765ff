#pragma once
/// @file
/// An error as the text of a response, and back: on one line what failed with its reasons, as Nomad's clients expect
/// it, and on the next the step that helps, where there is one.

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace underway::http {

/// "the task has no such port\ndo: name it in the group's network block"
std::string plain_text(const Error& error);

/// Of a refusal: its message is the first line, whoever wrote it.
Error parse_plain_error(int status, std::string_view text);

}  // namespace underway::http

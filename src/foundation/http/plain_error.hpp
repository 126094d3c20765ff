#pragma once
/// @file
/// An error as a response, and back: a text, on one line what failed with its reasons, as Nomad's clients expect it,
/// and on the next the step that helps, where there is one; and problem details (RFC 9457) for who asks for
/// `application/problem+json`:
///
///     {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "there is no capsule 'db' in …",
///      "code": "not_found", "reasons": ["…"], "activities": [], "advice": "`underway capsule list` names …"}

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "http/message.hpp"

namespace underway::http {

/// "the task has no such port\ndo: name it in the group's network block"
std::string plain_text(const Error& error);

enum class ErrorForm : std::uint8_t { text, problem };
/// By the headers of the request.
ErrorForm error_form(const Headers& asked);
Response error_response(const Error& error, ErrorForm form);

/// Of a refusal: its message is the first line, whoever wrote it.
Error parse_plain_error(int status, std::string_view text);

}  // namespace underway::http

#pragma once
/// @file
/// Small text helpers that the standard library lacks.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace underway {

std::vector<std::string> split(std::string_view text, char separator);
/// What stands between commas, without the blanks around it; nothing where nothing stands.
std::vector<std::string> split_list(std::string_view text);
/// "a, b and 3 more": the first `most`.
std::string join_some(std::span<const std::string> parts, std::size_t most);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// Of ASCII, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text);
std::string lower(std::string_view text);
std::string upper(std::string_view text);
/// `*` stands for any run of characters; everything else for itself.
bool glob_match(std::string_view pattern, std::string_view text);
/// The candidate nearest to `word` by edit distance, if near enough to be a likely typo; else empty.
/// Near enough: at most one edit per three characters, at least one.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// Valid UTF-8 with no overlong forms or surrogates (RFC 3629).
bool is_utf8(std::string_view text);
/// How many bytes the first character of `text` has; 0: they are none.
std::size_t utf8_size(std::string_view text);
/// For the text of a page and for values of attributes in quotes, as Go's html.EscapeString writes it; NUL is U+FFFD.
std::string escape_html(std::string_view text);
/// Lower-case hexadecimal.
std::string hex(std::string_view bytes);
/// Of pairs of hexadecimal digits, or nothing.
std::optional<std::string> unhex(std::string_view text);
std::string base64_encode(std::string_view bytes);
/// RFC 4648 with padding; throws Error(invalid) otherwise.
std::string base64_decode(std::string_view text);
/// "1.5 GiB", "300 MiB", "12 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace underway

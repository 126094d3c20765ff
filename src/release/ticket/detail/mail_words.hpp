#pragma once
/// @file
/// How mail writes what is not ASCII: words in headers (RFC 2047), bodies (RFC 2045). UTF-8 is understood, and nothing
/// else: who guesses a character set makes text of which nobody knows what it said.

#include <string>
#include <string_view>

namespace underway::ticket::detail {

/// "=?utf-8?q?Stra=C3=9Fe?=" as "Straße"; what is not such a word as it stands. Errors: unsupported for another
/// character set; invalid for a word that cannot be read.
std::string decode_words(std::string_view text);
/// Throws unsupported for all but plain text in UTF-8.
void check_content_type(std::string_view header);
/// Of the encoding's name. Errors: unsupported, invalid.
std::string decode_body(std::string_view encoding, std::string_view body);

}  // namespace underway::ticket::detail

#pragma once
/// @file
/// Digests and the comparisons and encodings that go with them.

#include <string>
#include <string_view>

namespace underway::crypto {

/// 32 bytes.
std::string sha256(std::string_view bytes);
/// HMAC-SHA-256 (RFC 2104): 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// Whether they are equal, in a time that does not depend on where they differ. Their lengths are no secret.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// RFC 4648, section 5, without padding: as in JWT, fit for URLs and file names.
std::string base64url_encode(std::string_view bytes);
/// Throws Error(invalid) for anything that base64url_encode would not have written.
std::string base64url_decode(std::string_view text);

}  // namespace underway::crypto

#pragma once
/// @file
/// What a file of a pool is called: the SHA-256 of its bytes.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underway::pool {

using Digest = std::array<std::uint8_t, 32>;

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);
/// Nothing when the text is not what to_hex writes.
std::optional<Digest> parse_hex(std::string_view text);
/// Of the 32 bytes that crypto::sha256 and crypto::Hasher give.
Digest digest_of_sha256(std::string_view raw);

}  // namespace underway::pool

#pragma once
/// @file
/// The packets of signatures (RFC 4880, sections 4, 5.2 and 6), read by us before gpg sees them: what is no signature
/// does not reach it (compressed data that grow, messages, keys), nor does what is refused anyhow.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::openpgp::detail {

/// One signature, as it says itself: nothing of this is verified.
struct SignaturePacket {
  std::string bytes;  ///< the whole packet
  int version = 0;
  int type = 0;                         ///< 0x00: of bytes; 0x01: of a text
  int digest = 0;                       ///< RFC 4880, section 9.4
  std::optional<std::int64_t> created;  ///< seconds since the epoch
  std::string issuer;                   ///< fingerprint or key id, upper-case hexadecimal; empty when it does not say
};

/// Nothing of what it takes is longer.
inline constexpr std::size_t kLargestSignatures = std::size_t{1} << 20;
/// Debian signs with three keys.
inline constexpr std::size_t kMostSignatures = 32;

/// Of binary packets, or of exactly one armored block "PGP SIGNATURE". Errors: invalid, too_large.
std::vector<SignaturePacket> parse_signatures(std::string_view text);

/// "SHA-1"; its number when there is no name.
std::string digest_name(int digest);
/// Whether two texts with the same digest cannot be made: SHA-2 of 256 bits and more.
bool is_strong_digest(int digest);

}  // namespace underway::openpgp::detail

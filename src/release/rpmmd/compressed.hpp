#pragma once
/// @file
/// The files of repositories are compressed: gzip, xz, zstd or not at all. What they are is told by their first bytes,
/// never by their names.

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::rpmmd {

/// More than any index has; what unpacks to more is refused, whatever its own size.
inline constexpr std::uint64_t kIndexLimit = std::uint64_t{2} << 30;

/// `packed` as it was before it was compressed. `what` is for errors.
/// Errors: invalid when it is damaged, too_large beyond `limit` bytes, of which no more than that are ever held.
std::string unpack(std::string_view packed, std::string_view what, std::uint64_t limit = kIndexLimit);

enum class Compression : std::uint8_t { zstd, gzip };
/// How names of such files end: ".zst", ".gz".
std::string_view suffix(Compression compression);
/// The same bytes for the same input, with one version of the library.
std::string pack(std::string_view bytes, Compression compression);

}  // namespace underway::rpmmd

#pragma once
/// @file
/// Names, places and checksums as rpm-md writes them, and what is refused of them.

#include <cstddef>
#include <string>
#include <string_view>

namespace underway::rpmmd {

/// As written: `type` is "sha256", "sha512", "sha" (SHA-1), "md5", …
struct Checksum {
  std::string type, hex;
  bool operator==(const Checksum&) const = default;
};

/// A part of an element: from one of its bytes to before another.
struct Cut {
  std::size_t begin = 0, end = 0;
};

/// Name, epoch ("0" where none is written), version, release and architecture: what tells one build of a package from
/// all others.
struct Nevra {
  std::string name, epoch, version, release, arch;
  auto operator<=>(const Nevra&) const = default;
};
/// "bash-0:5.1.8-9.el9.x86_64", as modules list their artifacts.
std::string to_string(const Nevra& nevra);

/// A name of a package, a version, a release or an architecture: 1 to 256 bytes without blanks, control characters and
/// '/'. Throws Error(invalid) that begins with `what`.
void check_word(std::string_view word, std::string_view what);
/// A relative path without "..", also none that is escaped ("%2e%2e"), control characters or a scheme.
/// Throws Error(invalid).
void check_location(std::string_view location);
/// Hexadecimal digits, as many as the type has. Throws Error(invalid), and Error(unsupported) for an unknown type.
void check_checksum(const Checksum& checksum, std::string_view what);

}  // namespace underway::rpmmd

#pragma once
/// @file
/// One package as an index describes it. What is often asked is parsed, the rest stays in `description` as it was
/// written. Everything here came from somebody else's repository, so names, versions and paths are checked before they
/// are believed: check() says what is allowed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace underway::control {
struct Stanza;
}

namespace underway::package {

enum class Format : std::uint8_t { deb, rpm };
/// "deb", "rpm".
std::string_view to_string(Format format);

using Digest = std::array<std::uint8_t, 32>;  ///< SHA-256
/// 64 hexadecimal digits, in lower case.
std::string hex_digest(const Digest& digest);
/// Errors: invalid for anything but 64 hexadecimal digits.
Digest parse_digest(std::string_view hex);

inline constexpr std::size_t kMaxName = 256;  ///< bytes of a name, a version, a section
inline constexpr std::size_t kMaxArchitecture = 64;
inline constexpr std::size_t kMaxFile = 4096;  ///< bytes of a path (PATH_MAX)

struct Package {
  Format format = Format::deb;
  std::string name;
  /// As the format writes it: deb "1:2.0-3"; rpm "0:1.4-3.el9", always with its epoch.
  std::string version;
  std::string architecture;
  std::string source;   ///< the source package's name: deb Source without version, or the name; rpm: of its sourcerpm
  std::string section;  ///< deb Section; rpm Group; may be empty
  std::string file;     ///< where it lies in its repository, relative, as the index has it
  std::uint64_t size = 0;  ///< bytes of the file
  Digest digest{};         ///< of the file
  /// The stanza (deb) or its element of primary, from <package to </package> (rpm). It lives as long as a list that has
  /// the package, however the package itself is copied.
  std::string_view description;

  /// "name_version_architecture", as queries name one package.
  std::string reference() const;
};

/// The package of one stanza of an index (deb), whose text must outlive it. Errors: invalid for a stanza without
/// Package, Version, Architecture, Filename, Size or SHA256, and as check(); they name the line.
Package of_stanza(const control::Stanza& stanza);

/// Source: names as dpkg takes them (lib/dpkg/parsehelp.c, which knows more than policy 5.6.7), versions as
/// policy 5.6.12 and rpm have them. Errors: invalid for another character, a path that is absolute or has "..", and
/// whatever could break out of a line or a directory; too_large beyond the limits above.
void check(const Package& package);

/// Whether it has no architecture of its own and is installed on each: deb "all", rpm "noarch".
bool is_for_all(const Package& package);

/// What queries call $PackageType: "deb", "udeb", "rpm", or "source".
std::string_view type_of(const Package& package);

}  // namespace underway::package

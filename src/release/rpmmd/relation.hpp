#pragma once
/// @file
/// What the element of a package says, read when it is asked for: thirty thousand packages have a million relations.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::rpmmd {

enum class Relation : std::uint8_t {
  provides,
  requirements,
  conflicts,
  obsoletes,
  recommends,
  suggests,
  supplements,
  enhances
};
inline constexpr std::size_t kRelations = 8;
/// As its element is named behind "rpm:": "provides", "requires", …
std::string_view name_of(Relation relation);

/// One `rpm:entry`. Rich dependencies are a name that begins with '('.
struct Entry {
  std::string name;
  std::string flags;  ///< "EQ", "LT", "LE", "GT", "GE"; empty: any version
  std::string epoch, version, release;
  bool pre = false;  ///< needed while it is being installed
  bool operator==(const Entry&) const = default;
};

struct Relations {
  std::array<std::vector<Entry>, kRelations> entries;
  const std::vector<Entry>& of(Relation relation) const { return entries[static_cast<std::size_t>(relation)]; }
};

/// Of an element of `primary`. Throws Error(invalid).
Relations parse_relations(std::string_view element);

/// The text of an element of it, by the name that is written: "summary", "rpm:license". Of several the first. Throws
/// Error(invalid).
std::optional<std::string> find_text(std::string_view element, std::string_view name);

struct FileName {
  std::string path;
  enum class Kind : std::uint8_t { file, directory, ghost } kind = Kind::file;
  bool operator==(const FileName&) const = default;
};
/// Of an element of `filelists`; or of one of `primary`, which has only the files that dependencies often name.
/// Throws Error(invalid).
std::vector<FileName> parse_file_names(std::string_view element);

}  // namespace underway::rpmmd

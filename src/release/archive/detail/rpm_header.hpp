#pragma once
/// @file
/// A header structure of rpm: tags with values. An `.rpm` file has two, the signatures and the header itself.
/// Source: rpm's docs/manual/format_header.md and format_v4.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace underway::archive::detail {

/// In front of each: how many entries and how many bytes of values follow.
inline constexpr std::size_t kHeaderIntro = 16;

class RpmHeader {
 public:
  enum class Kind : std::uint8_t { signatures, package };

  /// Bytes of the header that begins with `intro`, all of it. Errors: invalid, and too_large beyond 256 MiB.
  static std::size_t size_of(std::string_view intro);
  /// `bytes` is one header and outlives this. Errors: invalid for entries whose values are not inside, that come twice,
  /// or of that of a package lie outside of the region that digests and signatures are of; unsupported for one without
  /// it.
  RpmHeader(std::string_view bytes, Kind kind);

  bool has(std::uint32_t tag) const { return entries_.contains(tag); }
  /// Of any type of text: the first, which is the one of no language. Empty when there is none.
  std::string_view text(std::uint32_t tag) const;
  std::vector<std::string_view> texts(std::uint32_t tag) const;
  /// Of any type of number. Empty when there is none.
  std::vector<std::uint64_t> numbers(std::uint32_t tag) const;
  std::uint64_t number_or(std::uint32_t tag, std::uint64_t otherwise) const;
  /// Of type "binary".
  std::string_view binary(std::uint32_t tag) const;

 private:
  enum class Type : std::uint32_t { none, character, int8, int16, int32, int64, text, binary, texts, translated };
  struct Entry {
    Type type = Type::none;
    std::uint32_t count = 0;
    std::string_view value;  ///< from where it begins to the end of the header
  };
  static std::size_t width_of(Type type);
  void check(const Entry& entry, std::uint32_t tag) const;
  void check_region(std::string_view first, std::size_t entries) const;
  const Entry* find(std::uint32_t tag) const;

  std::string_view values_;
  std::unordered_map<std::uint32_t, Entry> entries_;
};

/// What is wrong with one.
Error bad_header(std::string why);

/// Big-endian, as everything in there. `bytes` has at least `width`.
std::uint64_t number_at(std::string_view bytes, std::size_t width);

}  // namespace underway::archive::detail

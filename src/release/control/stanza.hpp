#pragma once
/// @file
/// Stanzas of fields, as Debian's indexes and control files have them. Everything is a view into the text that was
/// read, which must outlive it: nothing is copied, and what is published again has the bytes that upstream signed.
/// Source: deb822(5), deb-control(5), Debian policy 5.1. Where those leave a choice it is apt's: a line of blanks alone
/// goes on with the field above it, and a carriage return at the end of a line is no part of it.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::control {

inline constexpr std::size_t kMaxText = std::size_t{2} << 30;  ///< bytes of all stanzas together: an index
inline constexpr std::size_t kMaxStanza = std::size_t{16} << 20;
inline constexpr std::size_t kMaxFieldName = 256;
inline constexpr std::size_t kMaxFields = 1024;  ///< of one stanza; those of Debian have some twenty

/// One field of a stanza: views into the text that was read.
struct Field {
  std::string_view name;
  /// As written: continuation lines with their first blank, without blanks at the two ends, without the last newline.
  std::string_view value;
};

/// Goes through the fields of one stanza that each_stanza() gave, in their order.
class FieldCursor {
 public:
  explicit FieldCursor(std::string_view stanza) : rest_(stanza) {}
  /// False, and `field` as it was, at the end.
  bool next(Field& field);

 private:
  std::string_view rest_;
};

struct Stanza {
  std::string_view text;  ///< the bytes of it, without the empty line that ends it, with its last newline if it has one
  std::size_t line = 1;   ///< number of its first line in the text that was read

  /// The value of a field; names compare without case. Looks through the fields one by one.
  std::optional<std::string_view> find(std::string_view name) const;
  std::vector<Field> fields() const;
};

/// Calls `each` for each stanza, in their order; none of a text that is empty. Nothing is allocated for a field.
/// Errors, with the number of the line: invalid for what is no field, for a name that stands twice in a stanza (one
/// reader would take the first and another the last) and for a NUL byte; too_large beyond the limits above. Stanzas
/// before the one that is wrong have been given by then.
void each_stanza(std::string_view text, const std::function<void(const Stanza&)>& each);

/// The one stanza that a text is to have, as `control` and `Release` do. Errors: as each_stanza(), and invalid when
/// there is none, or a second.
Stanza single_stanza(std::string_view text);

/// What a value of several lines says: continuation lines without their first blank, and those of a '.' alone empty.
std::string unfold(std::string_view value);

/// A value on one line: continuation lines joined by one blank, as fields that may be folded anywhere mean it.
std::string join_lines(std::string_view value);

/// Whether two names of fields are the same.
bool same_name(std::string_view a, std::string_view b);

}  // namespace underway::control

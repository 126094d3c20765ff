#pragma once
/// @file
/// New stanzas: a `Release`, or what a list of ours says of a package.

#include <cstdint>
#include <string>
#include <string_view>

#include "control/stanza.hpp"

namespace underway::control {

/// Writes stanzas one after the other. Errors: invalid for what cannot be written so that it is read again as it was.
class Writer {
 public:
  /// A field of the current stanza. `text` may have several lines: an empty one is written as " .", and where the first
  /// is empty the others begin below the name, as lists of files have it. Blanks at the ends of lines are dropped, and
  /// those at the start of the first. Errors: invalid for a name that is none or is there already, for a NUL or a
  /// carriage return, and for a line of a '.' alone, which would be read as an empty one.
  Writer& add(std::string_view name, std::string_view text);
  Writer& add(std::string_view name, std::uint64_t number);
  /// A field as it was read, byte for byte.
  Writer& copy(const Field& field);
  /// Ends the stanza, if it has a field; the next field begins another one.
  Writer& end();

  /// All of it. The last stanza has no empty line behind it until end() was called.
  const std::string& text() const { return text_; }

 private:
  void begin_field(std::string_view name);

  std::string text_;
  std::size_t begin_ = 0;  ///< where the current stanza begins
};

/// `text` as the value of a field, which unfold() turns back. Errors: as Writer::add().
std::string fold(std::string_view text);

}  // namespace underway::control

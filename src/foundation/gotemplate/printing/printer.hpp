#pragma once
/// @file
/// One verb of fmt.Printf applied to one value, with its flags.

#include "gotemplate/run.hpp"
#include "gotemplate/value.hpp"

#include <string>
#include <string_view>

namespace underway::gotemplate {

struct Flags {
  bool plus = false;
  bool minus = false;
  bool sharp = false;
  bool sharp_v = false;  ///< "%#v": Go's syntax
  bool space = false;
  bool zero = false;
  int width = -1;      ///< -1: none
  int precision = -1;  ///< -1: none
};

class Printer {
 public:
  Printer(std::string& out, Run& run, Flags flags = {}) : out_(out), run_(run), flags_(flags) {}

  /// `depth` counts the lists and maps around `value`.
  void value(const Value& value, char32_t verb, unsigned depth);

 private:
  void boolean(bool value, char32_t verb);
  void integer(const Value& value, char32_t verb);
  void number(std::uint64_t magnitude, bool negative, unsigned base, bool upper, char32_t verb);
  void real(double value, char32_t verb);
  void text(std::string_view text, char32_t verb);
  void hex(std::string_view bytes, bool upper);
  void quoted_rune(std::uint64_t rune);
  void unicode(std::uint64_t rune);
  void list(const Value& value, char32_t verb, unsigned depth);
  void map(const Value& value, char32_t verb, unsigned depth);
  void wrong(const Value& value, char32_t verb, unsigned depth);
  /// Pads with blanks, or zeros when asked for, to the width in characters.
  void pad(std::string_view text);
  void pad_blank(std::string_view text);

  std::string& out_;
  Run& run_;
  Flags flags_;
};

/// strconv.Quote; `ascii` escapes everything above it.
std::string quoted(std::string_view text, bool ascii);
/// Text between back quotes can hold it unchanged.
bool can_backquote(std::string_view text);

}  // namespace underway::gotemplate

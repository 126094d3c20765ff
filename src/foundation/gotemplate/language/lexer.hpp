#pragma once
/// @file
/// The tokens of a template. Outside of actions there is text; inside, blanks are tokens too, because they separate
/// arguments.

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::gotemplate {

enum class Token : std::uint8_t {
  error,
  boolean,
  character,  ///< a printing ASCII character that means nothing else: ','
  character_constant,
  assign,   ///< "="
  declare,  ///< ":="
  end_of_text,
  field,  ///< ".name"
  identifier,
  left_delimiter,
  left_parenthesis,
  number,
  complex_number,
  pipe,
  raw_string,
  right_delimiter,
  right_parenthesis,
  space,
  string,
  text,
  variable,  ///< "$" and "$name"
  // Keywords from here on.
  dot,
  key_block,
  key_break,
  key_continue,
  key_define,
  key_else,
  key_end,
  key_if,
  key_nil,
  key_range,
  key_template,
  key_with,
};

struct Item {
  Token token = Token::end_of_text;
  std::size_t position = 0;
  std::string_view text;  ///< of the source; for an error what is wrong
  unsigned line = 0;      ///< where it begins
};

/// As error messages show it: `"}"`, `<end>`, `EOF`, `"a long tex"...`.
std::string describe(const Item& item);

class Lexer {
 public:
  /// All three must outlive the lexer and its items.
  Lexer(std::string_view text, std::string_view left, std::string_view right)
      : text_(text), left_(left), right_(right) {}
  Item next();

 private:
  Item emit(Token token);
  Item fail(std::string message);
  /// Forgets what was passed and not emitted.
  void ignore();
  std::string_view rest() const { return text_.substr(position_); }
  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  bool at_end() const { return position_ >= text_.size(); }
  bool accept(std::string_view set);
  void accept_run(std::string_view set);
  bool at_right_delimiter() const;
  bool at_trimming_right_delimiter() const;
  bool at_terminator() const;
  /// Passes letters, digits and '_'.
  void skip_word();

  Item outside();
  /// A comment is passed over; nothing unless it is broken.
  Item left_delimiter();
  bool skip_comment(Item& failure);
  Item right_delimiter();
  Item inside();
  Item space();
  Item field_or_variable(Token token);
  Item identifier();
  Item quoted(char quote, Token token, std::string_view name);
  Item raw_string();
  Item number();
  bool scan_number();

  std::string_view text_;
  std::string_view left_;
  std::string_view right_;
  std::string message_;  ///< of the error; nothing is read after one
  std::size_t start_ = 0;
  std::size_t position_ = 0;
  unsigned line_ = 1;  ///< of start_
  unsigned parentheses_ = 0;
  bool in_action_ = false;
  bool failed_ = false;
};

}  // namespace underway::gotemplate

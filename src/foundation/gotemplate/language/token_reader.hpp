#pragma once
/// @file
/// The tokens of a template, one after the other, and what is said about one that is wrong. The three tokens of
/// look-ahead, and the line that errors tell, are those of Go's parser.

#include <array>

#include "gotemplate/language/lexer.hpp"
#include "gotemplate/language/program.hpp"

namespace underway::gotemplate {

class TokenReader {
 protected:
  /// Both must outlive it.
  TokenReader(Lexer& lexer, const Program& program) : lexer_(lexer), program_(program) {}

  Item next();
  void backup() { ++held_; }
  void backup(const Item& item);
  void backup(const Item& second, const Item& first);
  const Item& peek();
  Item next_non_space();
  const Item& peek_non_space();
  Item expect(Token token, std::string_view context);

  [[noreturn]] void fail(const std::string& message, const Item* at = nullptr, std::string advice = {}) const;
  [[noreturn]] void unexpected(const Item& item, std::string_view context) const;

  unsigned action_line_ = 0;  ///< where the action began that is being read; 0: none

 private:
  Lexer& lexer_;
  const Program& program_;
  std::array<Item, 3> tokens_{};
  std::size_t held_ = 0;  ///< how many of them are still to be read
};

}  // namespace underway::gotemplate

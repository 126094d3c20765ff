#include "gotemplate/language/token_reader.hpp"

#include "base/error.hpp"
#include "gotemplate/format.hpp"

namespace underway::gotemplate {

Item TokenReader::next() {
  if (held_ > 0)
    --held_;
  else
    tokens_[0] = lexer_.next();
  return tokens_[held_];
}

void TokenReader::backup(const Item& item) {
  tokens_[1] = item;
  held_ = 2;
}

void TokenReader::backup(const Item& second, const Item& first) {
  tokens_[1] = first;
  tokens_[2] = second;
  held_ = 3;
}

const Item& TokenReader::peek() {
  if (held_ == 0) {
    tokens_[0] = lexer_.next();
    held_ = 1;
  }
  return tokens_[held_ - 1];
}

Item TokenReader::next_non_space() {
  Item item = next();
  while (item.token == Token::space) item = next();
  return item;
}

const Item& TokenReader::peek_non_space() {
  next_non_space();
  backup();
  return tokens_[held_ - 1];
}

Item TokenReader::expect(Token token, std::string_view context) {
  Item item = next_non_space();
  if (item.token != token) unexpected(item, context);
  return item;
}

void TokenReader::fail(const std::string& message, const Item* at, std::string advice) const {
  const Item& place = at != nullptr ? *at : tokens_[0];
  program_.failed_at = place.position;
  Error error(Code::invalid, fmt::format("template: {}:{}: {}", program_.name, tokens_[0].line, message));
  error.because(excerpt(program_.text, place.position, place.token == Token::error ? 0 : place.text.size()));
  if (!advice.empty()) error.advise(std::move(advice));
  throw error;
}

void TokenReader::unexpected(const Item& item, std::string_view context) const {
  if (item.token != Token::error) fail(fmt::format("unexpected {} in {}", describe(item), context), &item);
  std::string message(item.text);
  if (action_line_ != 0 && action_line_ != item.line)
    message += fmt::format("{} started at {}:{}", message.ends_with(" action") ? "" : " in action", program_.name,
                           action_line_);
  fail(message, &item);
}

}  // namespace underway::gotemplate

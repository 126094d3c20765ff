#include "gotemplate/language/lexer.hpp"

#include "gotemplate/format.hpp"
#include "gotemplate/printing/printer.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <algorithm>
#include <array>

namespace underway::gotemplate {

namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::size_t kTrimMarker = 2;  // the marker and its blank

constexpr std::array<std::pair<std::string_view, Token>, 13> kKeywords = {{{"block", Token::key_block},
                                                                           {"break", Token::key_break},
                                                                           {"continue", Token::key_continue},
                                                                           {"define", Token::key_define},
                                                                           {"else", Token::key_else},
                                                                           {"end", Token::key_end},
                                                                           {"false", Token::boolean},
                                                                           {"if", Token::key_if},
                                                                           {"nil", Token::key_nil},
                                                                           {"range", Token::key_range},
                                                                           {"template", Token::key_template},
                                                                           {"true", Token::boolean},
                                                                           {"with", Token::key_with}}};

bool is_space(char c) { return kSpaces.find(c) != std::string_view::npos; }
bool is_word(char32_t rune) { return rune == '_' || is_letter(rune) || is_digit(rune); }

bool trims_before(std::string_view after_delimiter) {
  return after_delimiter.size() >= 2 && after_delimiter[0] == '-' && is_space(after_delimiter[1]);
}

/// fmt's %#U: U+0021 '!'.
std::string code_point(char32_t rune) {
  std::string out = fmt::format("U+{:04X}", static_cast<std::uint32_t>(rune));
  if (!is_printable(rune)) return out;
  out += " '";
  append(out, rune);
  return out + '\'';
}

}  // namespace

std::string describe(const Item& item) {
  switch (item.token) {
    case Token::end_of_text:
      return "EOF";
    case Token::error:
      return std::string(item.text);
    default:
      break;
  }
  if (item.token >= Token::dot) return fmt::format("<{}>", item.text);
  const std::size_t shown = prefix_size(item.text, 10);
  if (item.text.size() > 10) return gotemplate::quote(item.text.substr(0, shown)) + "...";
  return gotemplate::quote(item.text);
}

Item Lexer::emit(Token token) {
  const Item item{token, start_, text_.substr(start_, position_ - start_), line_};
  ignore();
  return item;
}

void Lexer::ignore() {
  const auto passed = text_.substr(start_, position_ - start_);
  line_ += static_cast<unsigned>(std::ranges::count(passed, '\n'));
  start_ = position_;
}

Item Lexer::fail(std::string message) {
  failed_ = true;
  message_ = std::move(message);
  return {Token::error, start_, message_, line_};
}

Item Lexer::next() {
  if (failed_) return {Token::end_of_text, text_.size(), {}, line_};
  return in_action_ ? inside() : outside();
}

Item Lexer::outside() {
  while (true) {
    const std::size_t found = text_.find(left_, position_);
    if (found == std::string_view::npos) {
      position_ = text_.size();
      return emit(position_ > start_ ? Token::text : Token::end_of_text);
    }
    position_ = found;
    if (trims_before(text_.substr(found + left_.size()))) {
      const std::size_t last = text_.substr(start_, found - start_).find_last_not_of(kSpaces);
      position_ = last == std::string_view::npos ? start_ : start_ + last + 1;
    }
    const bool has_text = position_ > start_;
    const Item before = has_text ? emit(Token::text) : Item{};
    position_ = found;
    ignore();
    if (has_text) return before;

    position_ += left_.size();
    const std::size_t marker = trims_before(rest()) ? kTrimMarker : 0;
    if (!rest().substr(marker).starts_with("/*")) return left_delimiter();
    position_ += marker;
    ignore();
    Item failure;
    if (!skip_comment(failure)) return failure;
  }
}

Item Lexer::left_delimiter() {
  const Item item = emit(Token::left_delimiter);
  in_action_ = true;
  parentheses_ = 0;
  if (trims_before(rest())) position_ += kTrimMarker;
  ignore();
  return item;
}

bool Lexer::skip_comment(Item& failure) {
  const std::size_t end = text_.find("*/", position_ + 2);
  if (end == std::string_view::npos) {
    failure = fail("unclosed comment");
    return false;
  }
  position_ = end + 2;
  const bool trims = at_trimming_right_delimiter();
  if (!trims && !at_right_delimiter()) {
    failure = fail("comment ends before closing delimiter");
    return false;
  }
  position_ += right_.size() + (trims ? kTrimMarker : 0);
  if (trims) accept_run(kSpaces);
  ignore();
  return true;
}

bool Lexer::at_trimming_right_delimiter() const {
  return is_space(peek()) && peek(1) == '-' && text_.substr(position_ + kTrimMarker).starts_with(right_);
}

bool Lexer::at_right_delimiter() const { return rest().starts_with(right_); }

Item Lexer::right_delimiter() {
  const bool trims = at_trimming_right_delimiter();
  if (trims) {
    position_ += kTrimMarker;
    ignore();
  }
  position_ += right_.size();
  const Item item = emit(Token::right_delimiter);
  if (trims) {
    accept_run(kSpaces);
    ignore();
  }
  in_action_ = false;
  return item;
}

bool Lexer::accept(std::string_view set) {
  if (at_end() || set.find(peek()) == std::string_view::npos) return false;
  ++position_;
  return true;
}

void Lexer::accept_run(std::string_view set) {
  while (accept(set)) {
  }
}

Item Lexer::inside() {
  if (at_trimming_right_delimiter() || at_right_delimiter())
    return parentheses_ == 0 ? right_delimiter() : fail("unclosed left paren");
  if (at_end()) return fail("unclosed action");
  const char c = peek();
  if (is_space(c)) return space();
  if (c == '.' && (peek(1) < '0' || peek(1) > '9') && position_ + 1 < text_.size()) {
    ++position_;
    return field_or_variable(Token::field);
  }
  if (c == '.' || c == '+' || c == '-' || (c >= '0' && c <= '9')) return number();
  const Rune rune = decode(rest());
  if (is_word(rune.value)) return identifier();
  position_ += rune.size;
  switch (c) {
    case '=':
      return emit(Token::assign);
    case ':':
      return accept("=") ? emit(Token::declare) : fail("expected :=");
    case '|':
      return emit(Token::pipe);
    case '"':
      return quoted('"', Token::string, "quoted string");
    case '`':
      return raw_string();
    case '$':
      return field_or_variable(Token::variable);
    case '\'':
      return quoted('\'', Token::character_constant, "character constant");
    case '(':
      ++parentheses_;
      return emit(Token::left_parenthesis);
    case ')':
      if (parentheses_ == 0) return fail("unexpected right paren");
      --parentheses_;
      return emit(Token::right_parenthesis);
    default:
      if (rune.value < 0x7F && rune.value >= 0x20) return emit(Token::character);
      return fail("unrecognized character in action: " + code_point(rune.value));
  }
}

Item Lexer::space() {
  accept_run(kSpaces);
  // The last blank may belong to a closing delimiter that trims: " -}}".
  --position_;
  if (!at_trimming_right_delimiter()) {
    ++position_;
    return emit(Token::space);
  }
  return position_ == start_ ? right_delimiter() : emit(Token::space);
}

void Lexer::skip_word() {
  while (!at_end()) {
    const Rune rune = decode(rest());
    if (!is_word(rune.value)) break;
    position_ += rune.size;
  }
}

bool Lexer::at_terminator() const {
  if (at_end() || is_space(peek())) return true;
  return std::string_view(".,|:)(").find(peek()) != std::string_view::npos || at_right_delimiter();
}

Item Lexer::field_or_variable(Token token) {
  if (at_terminator()) return emit(token == Token::variable ? Token::variable : Token::dot);
  skip_word();
  if (!at_terminator()) return fail("bad character " + code_point(decode(rest()).value));
  return emit(token);
}

Item Lexer::identifier() {
  skip_word();
  if (!at_terminator()) return fail("bad character " + code_point(decode(rest()).value));
  const std::string_view word = text_.substr(start_, position_ - start_);
  const auto* keyword = std::ranges::find(kKeywords, word, &std::pair<std::string_view, Token>::first);
  return emit(keyword != kKeywords.end() ? keyword->second : Token::identifier);
}

Item Lexer::quoted(char quote, Token token, std::string_view name) {
  while (true) {
    if (at_end() || peek() == '\n') return fail(fmt::format("unterminated {}", name));
    const char c = text_[position_++];
    if (c == quote) return emit(token);
    if (c == '\\' && !at_end() && peek() != '\n') ++position_;
  }
}

Item Lexer::raw_string() {
  const std::size_t end = text_.find('`', position_);
  if (end == std::string_view::npos) return fail("unterminated raw quoted string");
  position_ = end + 1;
  return emit(Token::raw_string);
}

Item Lexer::number() {
  const auto bad = [this] {
    return fail("bad number syntax: " + gotemplate::quote(text_.substr(start_, position_ - start_)));
  };
  if (!scan_number()) return bad();
  if (peek() != '+' && peek() != '-') return emit(Token::number);
  if (!scan_number() || text_[position_ - 1] != 'i') return bad();
  return emit(Token::complex_number);
}

bool Lexer::scan_number() {
  constexpr std::string_view kDecimal = "0123456789_";
  constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF_";
  std::string_view digits = kDecimal;
  accept("+-");
  if (accept("0")) {
    if (accept("xX"))
      digits = kHexadecimal;
    else if (accept("oO"))
      digits = "01234567_";
    else if (accept("bB"))
      digits = "01_";
  }
  accept_run(digits);
  if (accept(".")) accept_run(digits);
  if ((digits == kDecimal && accept("eE")) || (digits == kHexadecimal && accept("pP"))) {
    accept("+-");
    accept_run(kDecimal);
  }
  accept("i");
  const Rune after = decode(rest());
  if (after.size == 0 || !is_word(after.value)) return true;
  position_ += after.size;
  return false;
}

}  // namespace underway::gotemplate

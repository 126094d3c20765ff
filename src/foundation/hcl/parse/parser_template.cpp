#include "hcl/detail/parser.hpp"
#include "hcl/detail/unicode.hpp"
#include "unicode/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

bool opens_sequence(std::string_view text, std::size_t at) {
  return (text[at] == '$' || text[at] == '%') && at + 1 < text.size() && text[at + 1] == '{';
}

/// `$${` or `%%{`: the doubled character is dropped.
bool escapes_sequence(std::string_view text, std::size_t at) {
  return (text[at] == '$' || text[at] == '%') && at + 2 < text.size() && text[at + 1] == text[at] &&
         text[at + 2] == '{';
}

}  // namespace

const Node* Parser::whole_template() {
  try {
    const Nesting nesting(*this);
    std::vector<Part> parts = template_parts(Mode::bare, {}, {});
    return assemble(std::move(parts), 0, text_.size());
  } catch (const SyntaxError&) {
    return nullptr;
  }
}

const Node* Parser::quoted(const Token& quote) {
  const Nesting nesting(*this);
  std::vector<Part> parts = template_parts(Mode::quoted, {}, quote);
  return assemble(std::move(parts), quote.begin, position_);
}

const Node* Parser::heredoc(const Token& open) {
  const Nesting nesting(*this);
  const std::size_t length = identifier_length(text_, open.end);
  if (length == 0)
    fail(open.begin, open.end, "a heredoc needs a name", {}, "write <<EOT, the text, and EOT on a line of its own");
  const std::string_view marker = text_.substr(open.end, length);
  const std::size_t after = open.end + length;
  const std::size_t newline = text_.find('\n', after);
  const std::string_view rest = text_.substr(after, newline == std::string_view::npos ? newline : newline - after);
  if (rest.find_first_not_of(" \t\r") != std::string_view::npos) {
    fail(after, after + rest.size(), fmt::format("after '<<{}', the line must end", marker));
  }
  if (newline == std::string_view::npos) {
    fail(open.begin, after, fmt::format("the heredoc '{}' is never closed", marker));
  }
  jump(newline + 1);
  std::vector<Part> parts = template_parts(Mode::heredoc, marker, {open.kind, open.begin, after, marker});
  if (open.kind == TokenKind::flush_heredoc) flush(parts);
  return assemble(std::move(parts), open.begin, position_);
}

/// Whether the line at the current position is the heredoc's end; if so, moves behind the marker.
bool Parser::at_marker(std::string_view marker) {
  const std::size_t newline = std::min(text_.find('\n', position_), text_.size());
  const std::string_view line = text_.substr(position_, newline - position_);
  if (unicode::trim_space(line) != marker) return false;
  jump(position_ + (line.size() - unicode::trim_space_left(line).size()) + marker.size());
  return true;
}

/// The flat sequence of literals, interpolations and directives, up to and including what ends the template.
std::vector<Parser::Part> Parser::template_parts(Mode mode, std::string_view marker, const Token& open) {
  std::vector<Part> parts;
  bool line_start = true;
  bool trim_next = false;
  for (;;) {
    if (mode == Mode::heredoc && line_start && at_marker(marker)) return parts;
    if (position_ >= text_.size()) {
      if (mode == Mode::bare) return parts;
      if (mode == Mode::quoted) fail(open.begin, open.end, "this string is never closed");
      fail(open.begin, open.end, fmt::format("the heredoc '{}' is never closed", marker),
           fmt::format("no line holds only '{}'", marker));
    }
    if (mode == Mode::quoted && text_[position_] == '"') {
      jump(position_ + 1);
      return parts;
    }
    const bool trim_this = std::exchange(trim_next, false);
    line_start = false;
    if (opens_sequence(text_, position_)) {
      const bool trims = position_ + 2 < text_.size() && text_[position_ + 2] == '~';
      if (trims) trim_before(parts);
      parts.push_back(text_[position_] == '$' ? interpolation() : directive());
      trim_next = text_[parts.back().end - 2] == '~';
      continue;
    }
    if (auto part = literal(mode, open)) {
      line_start = part->text.ends_with('\n');
      if (trim_this) part->text = unicode::trim_space_left(part->text);
      parts.push_back(*part);
    }
  }
}

/// A run of text: in heredocs and bare templates no longer than its line, because trimming and flushing go by lines.
std::optional<Parser::Part> Parser::literal(Mode mode, const Token& open) {
  std::size_t at_byte = position_;
  if (escapes_sequence(text_, at_byte)) at_byte += 1;
  const std::size_t begin = at_byte;
  if (begin > position_) at_byte += 2;
  bool escaped = false;
  for (; at_byte < text_.size(); ++at_byte) {
    const char c = text_[at_byte];
    if (mode == Mode::quoted) {
      if (c == '"') break;
      if (c == '\n')
        fail(open.begin, at_byte, "this string is not closed on its line", {},
             "close it with '\"', or use a heredoc (<<EOT) for text of several lines");
      if (c == '\\') {
        escaped = true;
        if (at_byte + 1 < text_.size() && text_[at_byte + 1] != '\n') ++at_byte;
        continue;
      }
    } else if (c == '\n') {
      ++at_byte;
      break;
    }
    if (opens_sequence(text_, at_byte) || escapes_sequence(text_, at_byte)) break;
  }
  jump(at_byte);
  if (at_byte == begin) return std::nullopt;
  const std::string_view raw = text_.substr(begin, at_byte - begin);
  return Part{.text = escaped ? unescape(raw, begin) : raw, .begin = begin, .end = at_byte};
}

std::string_view Parser::unescape(std::string_view raw, std::size_t begin) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    const std::size_t start = i++;
    const char c = i < raw.size() ? raw[i] : '\0';
    if (c == 'n') {
      out += '\n';
    } else if (c == 'r') {
      out += '\r';
    } else if (c == 't') {
      out += '\t';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'u' || c == 'U') {
      const std::size_t count = c == 'u' ? 4 : 8;
      const auto point = parse_hex(raw.substr(i + 1), count);
      if (!point) {
        fail(begin + start, begin + i + 1, fmt::format("'\\{}' needs {} hexadecimal digits", c, count));
      }
      unicode::append(out, *point);
      i += count;
    } else {
      fail(begin + start, begin + std::min(i + 1, raw.size()), "this escape has no meaning",
           R"(known are \n \r \t \" \\ \uNNNN \UNNNNNNNN)", "write '\\\\' for a backslash");
    }
  }
  return document_.arena.copy(out);
}

/// Takes the `}` or `~}` of a sequence.
bool Parser::close_sequence(std::string_view what) {
  if (at(TokenKind::close_brace) || at(TokenKind::strip_close_brace))
    return take().kind == TokenKind::strip_close_brace;
  const Token token = peek();
  if (token.kind == TokenKind::invalid) unexpected(fmt::format("'}}' is required at the end of {}", what));
  fail(token.begin, std::max(token.begin, token.end),
       fmt::format("'}}' is required at the end of {}, found {}", what, found(token)), {},
       "if the text is meant for a shell or another language, write '$${' or '%%{'");
}

Parser::Part Parser::interpolation() {
  const Nesting nesting(*this);
  const std::size_t begin = position_;
  const bool trims = begin + 2 < text_.size() && text_[begin + 2] == '~';
  const Newlines newlines(*this, false);
  jump(begin + (trims ? 3 : 2));
  const Node* value = expression();
  close_sequence("'${'");
  return {.kind = Part::Kind::interpolation, .node = value, .begin = begin, .end = position_};
}

Parser::Part Parser::directive() {
  const Nesting nesting(*this);
  const std::size_t begin = position_;
  const bool trims = begin + 2 < text_.size() && text_[begin + 2] == '~';
  const Newlines newlines(*this, false);
  jump(begin + (trims ? 3 : 2));
  const Token word_token = expect(TokenKind::identifier, "after '%{': if, else, endif, for or endfor");
  const std::string_view word_text = word_token.text;
  Part part;
  if (word_text == "if") {
    part = {.kind = Part::Kind::if_begin, .node = expression()};
  } else if (word_text == "else") {
    part.kind = Part::Kind::else_mark;
  } else if (word_text == "endif") {
    part.kind = Part::Kind::if_end;
  } else if (word_text == "for") {
    part = for_directive();
  } else if (word_text == "endfor") {
    part.kind = Part::Kind::for_end;
  } else {
    fail(word_token.begin, word_token.end, fmt::format("'{}' is no directive", word_text),
         "known are if, else, endif, for, endfor", suggest(word_text, {"if", "else", "endif", "for", "endfor"}));
  }
  close_sequence(fmt::format("'%{{ {}'", word_text));
  part.begin = begin;
  part.end = position_;
  return part;
}

Parser::Part Parser::for_directive() {
  Part part{.kind = Part::Kind::for_begin};
  part.value_name = expect(TokenKind::identifier, "after 'for'").text;
  if (at(TokenKind::comma)) {
    take();
    part.key_name = part.value_name;
    part.value_name = expect(TokenKind::identifier, "after ',': the name for the value").text;
  }
  if (!at_word("in")) unexpected("'in' is required after the names of 'for'");
  take();
  part.node = expression();
  return part;
}

void Parser::trim_before(std::vector<Part>& parts) {
  if (parts.empty() || parts.back().kind != Part::Kind::literal) return;
  std::string_view& text = parts.back().text;
  text = unicode::trim_space_right(text);
}

/// `<<-`: removes from every line the indentation that all lines share. Only literal text counts, so an interpolated
/// value cannot change the result; a line that begins with a sequence has no indentation; blank lines do not count.
void Parser::flush(std::vector<Part>& parts) {
  std::size_t smallest = std::string_view::npos;
  std::vector<Part*> leading;
  bool line_start = true;
  for (auto& part : parts) {
    const bool is_literal = part.kind == Part::Kind::literal;
    if (line_start) {
      line_start = false;
      std::size_t indent = 0;
      if (is_literal) {
        const std::size_t bytes = part.text.size() - unicode::trim_space_left(part.text).size();
        indent = unicode::count_clusters(part.text.substr(0, bytes));
        if (bytes == part.text.size() && part.text.ends_with('\n')) {
          indent = std::string_view::npos;
        } else {
          leading.push_back(&part);
        }
      }
      smallest = std::min(smallest, indent);
    }
    if (is_literal && part.text.ends_with('\n')) line_start = true;
  }
  for (Part* part : leading) {
    // As many characters as all have, however many bytes each is long.
    const auto characters =
        unicode::clusters(part->text.substr(0, part->text.size() - unicode::trim_space_left(part->text).size()));
    for (std::size_t i = 0; i < std::min(smallest, characters.size()); ++i)
      part->text.remove_prefix(characters[i].size());
  }
}

/// Joins neighbouring literals; without copying when they are neighbours in memory too.
void Parser::meld(std::vector<Part>& parts) {
  std::vector<Part> melded;
  melded.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size();) {
    melded.push_back(parts[i]);
    if (parts[i++].kind != Part::Kind::literal) continue;
    Part& first = melded.back();
    std::string joined;
    for (; i < parts.size() && parts[i].kind == Part::Kind::literal; ++i) {
      const std::string_view next = parts[i].text;
      first.end = parts[i].end;
      if (joined.empty() && (first.text.empty() || first.text.data() + first.text.size() == next.data())) {
        first.text = first.text.empty() ? next : std::string_view(first.text.data(), first.text.size() + next.size());
      } else {
        if (joined.empty()) joined = first.text;
        joined += next;
      }
    }
    if (!joined.empty()) first.text = document_.arena.copy(joined);
  }
  parts = std::move(melded);
}

const Node* Parser::assemble(std::vector<Part> parts, std::size_t begin, std::size_t end) {
  meld(parts);
  if (parts.empty() || (parts.size() == 1 && parts[0].kind == Part::Kind::literal)) {
    auto* made = node<StringNode>(NodeKind::text, begin, end);
    made->value = parts.empty() ? std::string_view() : parts[0].text;
    return made;
  }
  if (parts.size() == 1 && parts[0].kind == Part::Kind::interpolation) {
    auto* made = node<WrapNode>(NodeKind::wrap, begin, end, {parts[0].node});
    made->inner = parts[0].node;
    return made;
  }
  std::size_t index = 0;
  bool saw_else = false;
  const auto copied = document_.arena.copy(sequence(parts, index, nullptr, saw_else));
  auto* made = node<TemplateNode>(NodeKind::string, begin, end, {}, copied);
  made->parts = copied;
  return made;
}

/// The parts up to the one that ends `open` (left at `index`), or all of them.
std::vector<const Node*> Parser::sequence(const std::vector<Part>& parts, std::size_t& index, const Part* open,
                                          bool& saw_else) {
  const Nesting nesting(*this);
  std::vector<const Node*> nodes;
  for (; index < parts.size(); ++index) {
    const Part& part = parts[index];
    switch (part.kind) {
      case Part::Kind::literal: {
        if (part.text.empty()) break;
        auto* made = node<StringNode>(NodeKind::text, part.begin, part.end);
        made->value = part.text;
        nodes.push_back(made);
        break;
      }
      case Part::Kind::interpolation:
        nodes.push_back(part.node);
        break;
      case Part::Kind::if_begin:
        nodes.push_back(if_node(parts, index));
        break;
      case Part::Kind::for_begin:
        nodes.push_back(for_node(parts, index));
        break;
      case Part::Kind::else_mark:
        if (open != nullptr && open->kind == Part::Kind::if_begin && !saw_else) {
          saw_else = true;
          return nodes;
        }
        fail(part.begin, part.end, "this 'else' belongs to no 'if'");
      case Part::Kind::if_end:
        if (open != nullptr && open->kind == Part::Kind::if_begin) return nodes;
        fail(part.begin, part.end, "this 'endif' belongs to no 'if'");
      case Part::Kind::for_end:
        if (open != nullptr && open->kind == Part::Kind::for_begin) return nodes;
        fail(part.begin, part.end, "this 'endfor' belongs to no 'for'");
    }
  }
  if (open != nullptr) {
    const bool is_if = open->kind == Part::Kind::if_begin;
    fail(open->begin, open->end, fmt::format("this '{}' is never closed", is_if ? "if" : "for"), {},
         is_if ? "add '%{ endif }'" : "add '%{ endfor }'");
  }
  return nodes;
}

const Node* Parser::if_node(const std::vector<Part>& parts, std::size_t& index) {
  const Part& open = parts[index++];
  bool saw_else = false;
  const auto yes = document_.arena.copy(sequence(parts, index, &open, saw_else));
  std::span<const Node* const> no;
  if (saw_else) {
    ++index;
    no = document_.arena.copy(sequence(parts, index, &open, saw_else));
  }
  std::vector<const Node*> children(yes.begin(), yes.end());
  children.insert(children.end(), no.begin(), no.end());
  auto* made = node<TemplateIfNode>(NodeKind::template_if, open.begin, parts[index].end, {open.node}, children);
  made->condition = open.node;
  made->yes = yes;
  made->no = no;
  return made;
}

const Node* Parser::for_node(const std::vector<Part>& parts, std::size_t& index) {
  const Part& open = parts[index++];
  bool saw_else = true;  // 'for' has none
  const auto body_parts = document_.arena.copy(sequence(parts, index, &open, saw_else));
  auto* made = node<TemplateForNode>(NodeKind::template_for, open.begin, parts[index].end, {open.node}, body_parts);
  made->key_name = open.key_name;
  made->value_name = open.value_name;
  made->collection = open.node;
  made->parts = body_parts;
  return made;
}

}  // namespace underway::hcl::detail

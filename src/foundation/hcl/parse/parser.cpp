#include "hcl/parse/parser.hpp"

#include "hcl/detail/access.hpp"
#include "hcl/detail/parser.hpp"
#include "unicode/unicode.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <unordered_map>

namespace underway::hcl {

namespace detail {

// --- tokens, places, errors

const Token& Parser::peek() {
  if (!peeked_) {
    token_ = next_token(text_, position_);
    while (!newlines_matter_ && token_.kind == TokenKind::newline) token_ = next_token(text_, token_.end);
    peeked_ = true;
  }
  return token_;
}

Token Parser::take() {
  const Token taken = peek();
  jump(taken.end);
  return taken;
}

Token Parser::expect(TokenKind kind, std::string_view purpose) {
  if (!at(kind)) unexpected(fmt::format("{} is required {}", spell(kind), purpose));
  return take();
}

Span Parser::span(std::size_t begin, std::size_t end) const {
  if (fixed_) return *fixed_;
  return {static_cast<std::uint32_t>(base_ + begin), static_cast<std::uint32_t>(base_ + end)};
}

void Parser::report(std::size_t begin, std::size_t end, std::string summary, std::string detail,
                    std::string suggestion) {
  diagnostics_.error(document_.range(span(begin, end)), std::move(summary), std::move(detail), std::move(suggestion));
}

void Parser::fail(std::size_t begin, std::size_t end, std::string summary, std::string detail, std::string suggestion) {
  report(begin, end, std::move(summary), std::move(detail), std::move(suggestion));
  throw SyntaxError{};
}

std::string Parser::found(const Token& token) {
  if (token.kind == TokenKind::identifier || token.kind == TokenKind::number) return fmt::format("'{}'", token.text);
  return std::string(spell(token.kind));
}

void Parser::unexpected(std::string_view wanted) {
  const Token token = peek();
  if (token.kind == TokenKind::invalid) {
    if (token.text == "/") fail(token.begin, token.begin + 2, "this comment is never closed", {}, "close it with '*/'");
    if (token.text == "'") {
      fail(token.begin, token.end, "a single quote has no meaning here", {}, "write strings in double quotes: \"…\"");
    }
    if (token.text == "“" || token.text == "”" || token.text == "„") {
      fail(token.begin, token.end, "a typographic quote has no meaning here", {},
           "write strings in straight quotes: \"…\"");
    }
    if (token.text == "&" || token.text == "|") {
      fail(token.begin, token.end, fmt::format("'{}' is no operator", token.text), {},
           fmt::format("write '{0}{0}'", token.text));
    }
    const auto byte = static_cast<unsigned char>(token.text[0]);
    const bool control = byte < 0x20 || byte == 0x7f;
    fail(token.begin, token.end,
         control ? fmt::format("the control character U+{:04X} has no meaning here", byte)
                 : fmt::format("the character '{}' has no meaning here", token.text));
  }
  fail(token.begin, std::max(token.end, token.begin), fmt::format("{}, found {}", wanted, found(token)));
}

void Parser::check_depth(unsigned depth, std::size_t begin, std::size_t end) {
  if (depth > kMaxNesting) {
    fail(begin, end, "this is nested too deeply", fmt::format("the limit is {} levels", kMaxNesting));
  }
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (parser.nesting_ >= kMaxNesting) {
    const std::size_t here = parser.peek().begin;
    parser.fail(here, here + 1, "this is nested too deeply", fmt::format("the limit is {} levels", kMaxNesting));
  }
  ++parser.nesting_;
}

// --- bodies

const BodyNode* Parser::file(Lines lines) {
  lines_ = lines;
  return body(nullptr, span(0, 0));
}

/// The attributes and blocks up to the closing brace (taken) or, without `open`, up to the end of the text.
const BodyNode* Parser::body(const Token* open, Span header) {
  std::vector<DefinitionNode> attributes;
  std::vector<BlockNode> blocks;
  const std::size_t begin = open != nullptr ? open->end : 0;
  std::size_t end = text_.size();
  for (;;) {
    const Token token = peek();
    if (token.kind == TokenKind::newline) {
      take();
    } else if (token.kind == TokenKind::end) {
      if (open != nullptr) {
        report(open->begin, open->end, "this block is never closed", {}, "add '}' where it ends");
      }
      break;
    } else if (token.kind == TokenKind::close_brace) {
      take();
      end = token.begin;
      if (open != nullptr) break;
      report(token.begin, token.end, "this '}' closes nothing");
    } else {
      try {
        item(attributes, blocks);
      } catch (const SyntaxError&) {
        recover(token.begin);
        if (diagnostics_.error_count() >= Diagnostics::kMax) jump(text_.size());
      }
    }
  }
  auto* node = document_.arena.make<BodyNode>();
  *node = {document_.arena.copy(attributes), document_.arena.copy(blocks), span(begin, end), header};
  return node;
}

/// `name { attribute = value }`: one attribute, and the brace on the same line.
const BodyNode* Parser::line_body(const Token& open, Span header) {
  const Token name = expect(TokenKind::identifier, "in a block on one line: its one attribute");
  if (!at(TokenKind::assign))
    fail(name.begin, name.end, "a block on one line holds one attribute, and no block", {},
         "write what is between '{' and '}' on lines of its own");
  take();
  const Node* value = expression();
  if (!at(TokenKind::close_brace))
    fail(peek().begin, std::max(peek().begin, peek().end),
         fmt::format("a block on one line ends behind its one attribute '{}'", name.text), {},
         "write what is between '{' and '}' on lines of its own");
  const Token close = take();
  auto* node = document_.arena.make<BodyNode>();
  *node = {document_.arena.copy(std::vector<DefinitionNode>{{name.text, span(name.begin, name.end), value}}),
           {},
           span(open.end, close.begin),
           header};
  return node;
}

void Parser::item(std::vector<DefinitionNode>& attributes, std::vector<BlockNode>& blocks) {
  if (!at(TokenKind::identifier)) {
    if (at(TokenKind::quote)) {
      const Token quote = peek();
      fail(quote.begin, skip_quoted(text_, quote.begin), "an attribute or a block begins with a name without quotes");
    }
    unexpected("an attribute or a block is required");
  }
  const Token name = take();
  if (at(TokenKind::assign)) return add_attribute(name, attributes);
  if (at(TokenKind::quote) || at(TokenKind::identifier) || at(TokenKind::open_brace)) return add_block(name, blocks);
  if (at(TokenKind::colon)) {
    fail(peek().begin, peek().end, fmt::format("':' does not set the attribute '{}'", name.text), {},
         fmt::format("write '{} = …'", name.text));
  }
  unexpected(fmt::format("after '{}', '=' for an attribute or '{{' for a block is required", name.text));
}

void Parser::add_attribute(const Token& name, std::vector<DefinitionNode>& attributes) {
  take();
  const Node* value = expression();
  attributes.push_back({name.text, span(name.begin, name.end), value});
  end_of_item(fmt::format("the attribute '{}'", name.text));
}

void Parser::end_of_item(std::string_view what) {
  const Token token = peek();
  if (token.kind == TokenKind::newline || token.kind == TokenKind::end || token.kind == TokenKind::close_brace) return;
  if (token.kind == TokenKind::comma) {
    fail(token.begin, token.end, fmt::format("after {}, ',' has no place", what),
         "attributes and blocks are separated by line ends");
  }
  unexpected(fmt::format("after {}, the line must end", what));
}

LabelNode Parser::label() {
  const Token token = take();
  if (token.kind == TokenKind::identifier) return {token.text, span(token.begin, token.end)};
  const Node* text = quoted(token);
  if (text->kind != NodeKind::text) {
    fail(token.begin, position_, "a label holds no '${…}' and no '%{…}'", "labels are fixed when the file is read",
         "write '$${' if the characters are meant");
  }
  return {as<StringNode>(*text).value, text->span};
}

void Parser::add_block(const Token& type, std::vector<BlockNode>& blocks) {
  const Nesting nesting(*this);
  std::vector<LabelNode> labels;
  std::size_t header_end = type.end;
  while (at(TokenKind::quote) || at(TokenKind::identifier)) {
    labels.push_back(label());
    header_end = position_;
  }
  if (at(TokenKind::assign) && !labels.empty()) {
    fail(type.begin, header_end, "an attribute's name is one word", {}, "leave only the name before '='");
  }
  if (!at(TokenKind::open_brace)) unexpected(fmt::format("for the block '{}', '{{' is required", type.text));
  const Token open = take();
  const Span header = span(type.begin, header_end);
  const bool one_line =
      lines_ == Lines::strict && !at(TokenKind::newline) && !at(TokenKind::close_brace) && !at(TokenKind::end);
  const BodyNode* inner = one_line ? line_body(open, header) : body(&open, header);
  blocks.push_back({type.text, span(type.begin, type.end), header, document_.arena.copy(labels), inner});
  end_of_item(fmt::format("the block '{}'", type.text));
}

/// Moves to the end of the broken item that began at `item_begin`: the first line end that is outside all brackets
/// opened since, or the brace that closes the surrounding block.
void Parser::recover(std::size_t item_begin) {
  const std::size_t failed_at = position_;
  std::vector<TokenKind> open;
  std::size_t at_byte = item_begin;
  for (;;) {
    const Token token = next_token(text_, at_byte);
    at_byte = token.end;
    switch (token.kind) {
      case TokenKind::end:
        return jump(text_.size());
      case TokenKind::quote:
        at_byte = skip_quoted(text_, token.begin);
        break;
      case TokenKind::heredoc:
      case TokenKind::flush_heredoc: {
        const std::size_t length = identifier_length(text_, token.end);
        const std::string_view marker = text_.substr(token.end, length);
        std::size_t line = text_.find('\n', token.end);
        while (length > 0 && line != std::string_view::npos) {
          const std::size_t next = text_.find('\n', line + 1);
          if (unicode::trim_space(text_.substr(line + 1, next == std::string_view::npos ? next : next - line - 1)) ==
              marker)
            break;
          line = next;
        }
        if (length > 0 && line != std::string_view::npos) at_byte = text_.find(marker, line + 1) + marker.size();
        break;
      }
      case TokenKind::open_brace:
      case TokenKind::open_bracket:
      case TokenKind::open_paren:
        open.push_back(token.kind);
        break;
      case TokenKind::close_brace:
      case TokenKind::close_bracket:
      case TokenKind::close_paren:
        if (!open.empty()) {
          open.pop_back();
        } else if (token.kind == TokenKind::close_brace && token.begin >= failed_at) {
          return jump(token.begin);
        }
        break;
      case TokenKind::newline: {
        if (token.begin < failed_at) break;
        if (open.empty()) return jump(token.begin);
        // A bracket that was forgotten must not swallow the attributes below it.
        const Token name = next_token(text_, token.end);
        if (open.back() != TokenKind::open_brace && name.kind == TokenKind::identifier &&
            next_token(text_, name.end).kind == TokenKind::assign) {
          return jump(token.begin);
        }
        break;
      }
      default:
        break;
    }
  }
}

namespace {

/// Refuses what no parser should start on; `text` is then empty.
std::shared_ptr<Document> open_document(std::string text, std::string name, Diagnostics& diagnostics) {
  if (text.size() > kMaxSourceBytes) {
    diagnostics.error({}, fmt::format("'{}' is too large", name),
                      fmt::format("{}, the limit is {}", human_bytes(text.size()), human_bytes(kMaxSourceBytes)));
    text.clear();
  }
  auto document = std::make_shared<Document>(std::make_shared<const Source>(std::move(name), std::move(text)));
  const std::string& held = document->source->text();
  if (is_utf8(held)) return document;
  std::size_t bad = 0;  // the first line that is no UTF-8
  for (std::size_t end = 0; bad < held.size(); bad = end + 1) {
    end = std::min(held.find('\n', bad), held.size());
    if (!is_utf8(std::string_view(held).substr(bad, end - bad))) break;
  }
  diagnostics.error(document->range({static_cast<std::uint32_t>(bad), static_cast<std::uint32_t>(bad + 1)}),
                    "the text is not UTF-8", "this line holds bytes that are no UTF-8 (RFC 3629)",
                    "save the file as UTF-8");
  return std::make_shared<Document>(std::make_shared<const Source>(document->source->name(), ""));
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::size_t start_of(std::string_view text) { return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; }

Parser whole(const std::shared_ptr<Document>& document, Diagnostics& diagnostics) {
  const std::string_view text = document->source->text();
  const std::size_t start = start_of(text);
  return Parser(*document, text.substr(start), start, std::nullopt, diagnostics);
}

/// A name may be set once. Found after parsing, so that a large body is one pass.
void check_duplicates(const Document& document, const BodyNode& body, Diagnostics& diagnostics) {
  std::unordered_map<std::string_view, const DefinitionNode*> seen;
  for (const auto& attribute : body.attributes) {
    const auto [first, fresh] = seen.try_emplace(attribute.name, &attribute);
    if (fresh) continue;
    diagnostics.error(document.range(attribute.name_span),
                      fmt::format("the attribute '{}' is set twice", attribute.name),
                      fmt::format("first set at {}", document.range(first->second->name_span).where()));
  }
  for (const auto& block : body.blocks) check_duplicates(document, *block.body, diagnostics);
}

}  // namespace

}  // namespace detail

Body parse_native(std::string text, std::string name, Diagnostics& diagnostics, Lines lines) {
  const auto document = detail::open_document(std::move(text), std::move(name), diagnostics);
  const detail::BodyNode* root = detail::whole(document, diagnostics).file(lines);
  detail::check_duplicates(*document, *root, diagnostics);
  return detail::Access::native_body(document, root);
}

Body parse_json(std::string text, std::string name, Diagnostics& diagnostics) {
  const auto document = detail::open_document(std::move(text), std::move(name), diagnostics);
  return detail::Access::json_body(document, detail::parse_json_tree(*document, diagnostics), diagnostics);
}

Body parse(std::string text, std::string name, Diagnostics& diagnostics, Lines lines) {
  const std::size_t first = text.find_first_not_of(" \t\r\n", detail::start_of(text));
  const bool json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  return json ? parse_json(std::move(text), std::move(name), diagnostics)
              : parse_native(std::move(text), std::move(name), diagnostics, lines);
}

Body parse_file(const std::filesystem::path& path, Diagnostics& diagnostics) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in && !in.eof()) {
    const int failure = errno;
    diagnostics.error({}, fmt::format("cannot read '{}'", path.string()), std::strerror(failure));
    return {};
  }
  return parse(std::move(text), path.string(), diagnostics);
}

Expression parse_expression(std::string text, std::string name, Diagnostics& diagnostics) {
  const auto document = detail::open_document(std::move(text), std::move(name), diagnostics);
  return detail::Access::expression(document, detail::whole(document, diagnostics).whole_expression());
}

Expression parse_template(std::string text, std::string name, Diagnostics& diagnostics) {
  const auto document = detail::open_document(std::move(text), std::move(name), diagnostics);
  return detail::Access::expression(document, detail::whole(document, diagnostics).whole_template());
}

}  // namespace underway::hcl

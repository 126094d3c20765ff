#include "hcl/detail/parser.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

struct BinaryOperator {
  Operator op;
  int level;
};

/// Levels as in the language's specification; higher binds tighter.
std::optional<BinaryOperator> binary_operator(TokenKind kind) {
  switch (kind) {
    case TokenKind::either:
      return BinaryOperator{Operator::logical_or, 1};
    case TokenKind::both:
      return BinaryOperator{Operator::logical_and, 2};
    case TokenKind::equal:
      return BinaryOperator{Operator::equal, 3};
    case TokenKind::not_equal:
      return BinaryOperator{Operator::not_equal, 3};
    case TokenKind::less:
      return BinaryOperator{Operator::less, 4};
    case TokenKind::less_equal:
      return BinaryOperator{Operator::less_equal, 4};
    case TokenKind::greater:
      return BinaryOperator{Operator::greater, 4};
    case TokenKind::greater_equal:
      return BinaryOperator{Operator::greater_equal, 4};
    case TokenKind::plus:
      return BinaryOperator{Operator::add, 5};
    case TokenKind::minus:
      return BinaryOperator{Operator::subtract, 5};
    case TokenKind::star:
      return BinaryOperator{Operator::multiply, 6};
    case TokenKind::slash:
      return BinaryOperator{Operator::divide, 6};
    case TokenKind::percent:
      return BinaryOperator{Operator::modulo, 6};
    default:
      return std::nullopt;
  }
}

constexpr int kTightest = 6;

}  // namespace

const Node* Parser::whole_expression() {
  try {
    const Newlines newlines(*this, false);
    const Node* value = expression();
    if (!at(TokenKind::end)) unexpected("one expression and nothing else is required");
    return value;
  } catch (const SyntaxError&) {
    return nullptr;
  }
}

const Node* Parser::expression() {
  const Nesting nesting(*this);
  const std::size_t begin = peek().begin;
  const Node* condition = binary(1);
  if (!at(TokenKind::question)) return condition;
  take();
  const Node* yes = expression();
  expect(TokenKind::colon, "between the two results of '?'");
  const Node* no = expression();
  auto* made = node<ConditionalNode>(NodeKind::conditional, begin, position_, {condition, yes, no});
  made->condition = condition;
  made->yes = yes;
  made->no = no;
  return made;
}

const Node* Parser::binary(int level) {
  if (level > kTightest) return unary();
  const std::size_t begin = peek().begin;
  const Node* left = binary(level + 1);
  for (;;) {
    const auto found_operator = binary_operator(peek().kind);
    if (!found_operator || found_operator->level != level) return left;
    const Token sign = take();
    const Node* right = binary(level + 1);
    // A chain of operators is as deep as its deepest operand, however long: whoever walks it goes along its left side.
    const bool chain = left->kind == NodeKind::binary;
    auto* made = node<BinaryNode>(NodeKind::binary, begin, position_, {chain ? right : left, right});
    made->depth = std::max(made->depth, left->depth);
    made->op = found_operator->op;
    made->op_span = span(sign.begin, sign.end);
    made->left = left;
    made->right = right;
    left = made;
  }
}

const Node* Parser::unary() {
  const Token token = peek();
  if (token.kind != TokenKind::minus && token.kind != TokenKind::bang) return postfix(primary(), token.begin);
  const Nesting nesting(*this);
  take();
  const Node* operand = unary();
  auto* made = node<UnaryNode>(NodeKind::unary, token.begin, position_, {operand});
  made->op = token.kind == TokenKind::minus ? Operator::negate : Operator::logical_not;
  made->operand = operand;
  return made;
}

const Node* Parser::postfix(const Node* target, std::size_t begin) {
  for (;;) {
    if (at(TokenKind::dot)) {
      target = attribute_step(target, begin);
    } else if (at(TokenKind::open_bracket)) {
      target = bracket_step(target, begin);
    } else {
      return target;
    }
  }
}

const Node* Parser::attribute_step(const Node* target, std::size_t begin) {
  take();
  if (at(TokenKind::star)) return attribute_splat(target, begin);
  if (at(TokenKind::number)) return legacy_index(target, begin, take());
  const Token name = expect(TokenKind::identifier, "after '.'");
  auto* made = node<AttributeNode>(NodeKind::attribute, begin, name.end, {target});
  made->target = target;
  made->name = name.text;
  made->name_span = span(name.begin, name.end);
  return made;
}

/// `a.0`. What follows would make it a number with a point: `a.0.1` is refused, as it is elsewhere.
const Node* Parser::legacy_index(const Node* target, std::size_t begin, const Token& number_token) {
  if (number_token.text.find_first_not_of("0123456789") != std::string_view::npos) {
    fail(number_token.begin, number_token.end, "an index after '.' is a plain integer", {},
         "write [0][1] for an element of an element");
  }
  auto* key = node<NumberNode>(NodeKind::number, number_token.begin, number_token.end);
  key->digits = number_token.text;
  auto* made = node<IndexNode>(NodeKind::index, begin, number_token.end, {target, key});
  made->target = target;
  made->key = key;
  return made;
}

/// `a.*.b.c`: only attributes and legacy indexes belong to each element; what follows applies to the whole.
const Node* Parser::attribute_splat(const Node* target, std::size_t begin) {
  const Token star = take();
  const Node* placeholder = node<Node>(NodeKind::splat_item, star.begin, star.end);
  const Node* each = placeholder;
  while (at(TokenKind::dot)) {
    if (const Token second = next_token(text_, peek().end); second.kind == TokenKind::star)
      fail(second.begin, second.end, "'.*' has no place behind '.*'", {}, "write [*] for the first");
    each = attribute_step(each, begin);
  }
  auto* made = node<SplatNode>(NodeKind::splat, begin, position_, {target, each});
  made->target = target;
  made->item = placeholder;
  made->each = each;
  return made;
}

const Node* Parser::bracket_step(const Node* target, std::size_t begin) {
  const Token open = take();
  std::optional<Newlines> newlines(std::in_place, *this, false);
  if (at(TokenKind::star)) {
    const Token star = take();
    expect(TokenKind::close_bracket, "after '[*'");
    newlines.reset();
    const Nesting nesting(*this);
    const Node* placeholder = node<Node>(NodeKind::splat_item, star.begin, star.end);
    const Node* each = postfix(placeholder, begin);
    auto* made = node<SplatNode>(NodeKind::splat, begin, position_, {target, each});
    made->target = target;
    made->item = placeholder;
    made->each = each;
    return made;
  }
  const Node* key = expression();
  if (!at(TokenKind::close_bracket)) {
    if (at(TokenKind::end)) fail(open.begin, open.end, "this '[' is never closed");
    unexpected("']' is required after an index");
  }
  const Token close = take();
  auto* made = node<IndexNode>(NodeKind::index, begin, close.end, {target, key});
  made->target = target;
  made->key = key;
  return made;
}

const Node* Parser::primary() {
  switch (peek().kind) {
    case TokenKind::number:
      return number(take());
    case TokenKind::identifier:
      return word(take());
    case TokenKind::quote:
      return quoted(take());
    case TokenKind::heredoc:
    case TokenKind::flush_heredoc:
      return heredoc(take());
    case TokenKind::open_paren:
      return parentheses(take());
    case TokenKind::open_bracket:
      return tuple(take());
    case TokenKind::open_brace:
      return object(take());
    default:
      unexpected("an expression is required");
  }
}

const Node* Parser::number(const Token& token) {
  if (!Number::parse(token.text)) {
    if (std::count(token.text.begin(), token.text.end(), '.') > 1 ||
        token.text.find_first_of("eE") != token.text.find_last_of("eE"))
      fail(token.begin, token.end, "this is no number");
    fail(token.begin, token.end, "this number is out of bounds", fmt::format("the limit is {} bits", Number::kMaxBits));
  }
  auto* made = node<NumberNode>(NodeKind::number, token.begin, token.end);
  made->digits = token.text;
  return made;
}

const Node* Parser::word(const Token& token) {
  if (at(TokenKind::open_paren)) return call(token);
  if (token.text == "null") return node<Node>(NodeKind::null, token.begin, token.end);
  if (token.text == "true" || token.text == "false") {
    auto* made = node<BooleanNode>(NodeKind::boolean, token.begin, token.end);
    made->value = token.text == "true";
    return made;
  }
  auto* made = node<VariableNode>(NodeKind::variable, token.begin, token.end);
  made->name = token.text;
  return made;
}

const Node* Parser::call(const Token& name) {
  const Token open = take();
  std::vector<const Node*> arguments;
  bool expand = false;
  std::size_t end = 0;
  {
    const Newlines newlines(*this, false);
    while (!at(TokenKind::close_paren)) {
      if (at(TokenKind::end)) fail(open.begin, open.end, "this '(' is never closed");
      arguments.push_back(expression());
      if (at(TokenKind::ellipsis)) {
        take();
        expand = true;
        if (!at(TokenKind::close_paren)) unexpected("')' is required: '...' stands only after the last argument");
      } else if (at(TokenKind::comma)) {
        take();
      } else if (!at(TokenKind::close_paren)) {
        unexpected(fmt::format("',' or ')' is required in the arguments of {}()", name.text));
      }
    }
    end = take().end;
  }
  const auto copied = document_.arena.copy(arguments);
  auto* made = node<CallNode>(NodeKind::call, name.begin, end, {}, copied);
  made->name = name.text;
  made->name_span = span(name.begin, name.end);
  made->arguments = copied;
  made->expand_last = expand;
  return made;
}

const Node* Parser::parentheses(const Token& open) {
  const Newlines newlines(*this, false);
  const Node* inner = expression();
  if (!at(TokenKind::close_paren)) {
    if (at(TokenKind::end)) fail(open.begin, open.end, "this '(' is never closed");
    unexpected("')' is required");
  }
  const Token close = take();
  auto* made = node<WrapNode>(NodeKind::parentheses, open.begin, close.end, {inner});
  made->inner = inner;
  return made;
}

const Node* Parser::tuple(const Token& open) {
  const Newlines newlines(*this, false);
  if (at_word("for")) return for_expression(open, false);
  std::vector<const Node*> items;
  while (!at(TokenKind::close_bracket)) {
    if (at(TokenKind::end)) fail(open.begin, open.end, "this '[' is never closed");
    items.push_back(expression());
    if (at(TokenKind::comma)) {
      take();
    } else if (!at(TokenKind::close_bracket)) {
      if (at(TokenKind::end)) fail(open.begin, open.end, "this '[' is never closed");
      unexpected("',' or ']' is required in a list");
    }
  }
  const Token close = take();
  const auto copied = document_.arena.copy(items);
  auto* made = node<TupleNode>(NodeKind::tuple, open.begin, close.end, {}, copied);
  made->items = copied;
  return made;
}

const Node* Parser::object(const Token& open) {
  {
    const Newlines newlines(*this, false);
    if (at_word("for")) return for_expression(open, true);
  }
  const Newlines newlines(*this, true);
  std::vector<ObjectItem> items;
  std::vector<const Node*> children;
  for (;;) {
    while (at(TokenKind::newline)) take();
    if (at(TokenKind::close_brace)) break;
    if (at(TokenKind::end)) fail(open.begin, open.end, "this '{' is never closed");
    items.push_back(object_item());
    children.push_back(items.back().key);
    children.push_back(items.back().value);
    if (at(TokenKind::comma)) {
      take();
    } else if (!at(TokenKind::newline) && !at(TokenKind::close_brace)) {
      if (at(TokenKind::end)) fail(open.begin, open.end, "this '{' is never closed");
      unexpected("',', the end of the line or '}' is required in an object");
    }
  }
  const Token close = take();
  auto* made = node<ObjectNode>(NodeKind::object, open.begin, close.end, {}, children);
  made->items = document_.arena.copy(items);
  return made;
}

ObjectItem Parser::object_item() {
  const std::size_t begin = peek().begin;
  const Node* key = expression();
  if (key->kind == NodeKind::variable) {  // a bare word is the key itself
    auto* literal_key = node<StringNode>(NodeKind::text, begin, position_);
    literal_key->value = as<VariableNode>(*key).name;
    key = literal_key;
  } else if (key->kind == NodeKind::attribute) {
    fail(begin, position_, fmt::format("'{}' is ambiguous as a key", key->source), {},
         fmt::format("write \"{0}\" for this text, or ({0}) for what it refers to", key->source));
  } else if (key->kind == NodeKind::boolean || key->kind == NodeKind::null) {
    auto* literal_key = node<StringNode>(NodeKind::text, begin, position_);
    literal_key->value = key->source;
    key = literal_key;
  }
  if (!at(TokenKind::assign) && !at(TokenKind::colon)) unexpected("'=' or ':' is required after a key");
  take();
  return {key, expression(), {}};
}

const Node* Parser::for_expression(const Token& open, bool makes_object) {
  const Newlines newlines(*this, false);
  take();
  Token key_name;
  Token value_name = expect(TokenKind::identifier, "after 'for'");
  if (at(TokenKind::comma)) {
    take();
    key_name = value_name;
    value_name = expect(TokenKind::identifier, "after ',': the name for the value");
  }
  if (!at_word("in")) unexpected("'in' is required after the names of 'for'");
  take();
  const Node* collection = expression();
  expect(TokenKind::colon, "after the collection of 'for'");
  const Node* key = nullptr;
  const Node* value = expression();
  bool group = false;
  if (makes_object) {
    key = value;
    expect(TokenKind::arrow, "between key and value of an object's 'for'");
    value = expression();
    if (at(TokenKind::ellipsis)) {
      take();
      group = true;
    }
  } else if (at(TokenKind::arrow)) {
    fail(peek().begin, peek().end, "a list's 'for' has no keys", {}, "write it in '{ }' to make an object");
  }
  const Node* condition = nullptr;
  if (at_word("if")) {
    take();
    condition = expression();
  }
  const Token close = expect(makes_object ? TokenKind::close_brace : TokenKind::close_bracket, "at the end of 'for'");
  auto* made = node<ForNode>(NodeKind::for_each, open.begin, close.end, {collection, key, value, condition});
  made->key_name = key_name.text;
  made->value_name = value_name.text;
  made->collection = collection;
  made->key = key;
  made->value = value;
  made->condition = condition;
  made->group = group;
  return made;
}

}  // namespace underway::hcl::detail

#include "gotemplate/parse.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/language/literal.hpp"
#include "gotemplate/language/token_reader.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

constexpr unsigned kDeepest = 250;
constexpr std::size_t kLongestText = 16U << 20;

bool is_blank(const NodeList& list) {
  return std::ranges::all_of(list, [](const NodePtr& node) {
    return node->kind == NodeKind::text &&
           static_cast<const TextNode&>(*node).text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
  });
}

/// What is shared by the parsers of a text: each `define` and `block` has its own.
struct Shared {
  Program& program;
  const FunctionSet& functions;
  Lexer lexer;
  bool accept_refused = false;
  unsigned depth = 0;
};

/// Counts what is open inside each other.
class Nesting {
 public:
  explicit Nesting(unsigned& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  unsigned& depth_;
};

/// How a list of nodes ended.
struct Ending {
  Token token;   ///< key_end or key_else
  bool chained;  ///< "else if" and "else with": the keyword is the next token
};

/// Parses one template.
class Parser : TokenReader {
 public:
  explicit Parser(Shared& shared) : TokenReader(shared.lexer, shared.program), shared_(shared) {}

  void parse_text();

 private:
  [[noreturn]] void unknown_function(const Item& item) const;

  void add(const std::string& name, NodeList list);
  void definition();
  std::pair<NodeList, Ending> list();
  /// Null when an `end` or `else` was met, which `ending` then tells.
  NodePtr text_or_action(Ending& ending);
  NodePtr action(Ending& ending);
  NodePtr branch(NodeKind kind, std::string_view context);
  NodePtr jump(NodeKind kind, const Item& keyword);
  NodePtr block();
  NodePtr call_template();
  std::string template_name(const Item& item, std::string_view context);
  std::unique_ptr<PipelineNode> pipeline(std::string_view context, Token end);
  void declarations(PipelineNode& pipeline, std::string_view context);
  void check(const PipelineNode& pipeline, std::string_view context) const;
  std::unique_ptr<CommandNode> command();
  NodePtr operand();
  NodePtr term();
  NodePtr variable(const Item& item);
  std::string text_of(const Item& item);

  Shared& shared_;
  std::vector<std::string> variables_{"$"};
  unsigned range_depth_ = 0;
};

void Parser::unknown_function(const Item& item) const {
  const std::string name(item.text);
  const Function* refused = shared_.functions.find(name);
  std::string advice = refused != nullptr ? refused->meaning : "";
  if (refused == nullptr) {
    const auto names = shared_.functions.names();
    if (const std::string near = nearest(name, names); !near.empty()) advice = fmt::format("write '{}'", near);
  }
  fail(fmt::format("function {} not defined", quote(name)), &item, std::move(advice));
}

void Parser::add(const std::string& name, NodeList list) {
  const auto found = shared_.program.templates.find(name);
  if (found == shared_.program.templates.end())
    shared_.program.templates.emplace(name, std::move(list));
  else if (is_blank(found->second))
    found->second = std::move(list);
  else if (!is_blank(list))
    fail(fmt::format("template: multiple definition of template {}", quote(name)));
}

void Parser::parse_text() {
  NodeList root;
  while (peek().token != Token::end_of_text) {
    if (peek().token == Token::left_delimiter) {
      const Item delimiter = next();
      if (next_non_space().token == Token::key_define) {
        Parser(shared_).definition();
        continue;
      }
      backup(delimiter);
    }
    Ending ending{};
    NodePtr node = text_or_action(ending);
    if (!node) fail(ending.token == Token::key_end ? "unexpected {{end}}" : "unexpected {{else}}");
    root.push_back(std::move(node));
  }
  add(shared_.program.name, std::move(root));
}

void Parser::definition() {
  constexpr std::string_view kContext = "define clause";
  const Nesting nesting(shared_.depth);
  const std::string name = template_name(next_non_space(), kContext);
  expect(Token::right_delimiter, kContext);
  auto [body, ending] = list();
  if (ending.token != Token::key_end) fail("unexpected {{else}} in define clause");
  add(name, std::move(body));
}

std::pair<NodeList, Ending> Parser::list() {
  if (shared_.depth > kDeepest) fail("max expression depth exceeded");
  NodeList nodes;
  while (peek_non_space().token != Token::end_of_text) {
    Ending ending{};
    NodePtr node = text_or_action(ending);
    if (!node) return {std::move(nodes), ending};
    nodes.push_back(std::move(node));
  }
  fail("unexpected EOF");
}

NodePtr Parser::text_or_action(Ending& ending) {
  const Item item = next_non_space();
  if (item.token == Token::text) return std::make_unique<TextNode>(item.position, item.text);
  if (item.token != Token::left_delimiter) unexpected(item, "input");
  action_line_ = item.line;
  NodePtr node = action(ending);
  action_line_ = 0;
  return node;
}

NodePtr Parser::action(Ending& ending) {
  const Item item = next_non_space();
  switch (item.token) {
    case Token::key_block:
      return block();
    case Token::key_break:
      return jump(NodeKind::break_loop, item);
    case Token::key_continue:
      return jump(NodeKind::continue_loop, item);
    case Token::key_else: {
      const Token after = peek_non_space().token;
      const bool chained = after == Token::key_if || after == Token::key_with;
      if (!chained) expect(Token::right_delimiter, "else");
      ending = {Token::key_else, chained};
      return nullptr;
    }
    case Token::key_end:
      expect(Token::right_delimiter, "end");
      ending = {Token::key_end, false};
      return nullptr;
    case Token::key_if:
      return branch(NodeKind::branch_if, "if");
    case Token::key_range:
      return branch(NodeKind::branch_range, "range");
    case Token::key_template:
      return call_template();
    case Token::key_with:
      return branch(NodeKind::branch_with, "with");
    default:
      break;
  }
  backup();
  auto node = std::make_unique<ActionNode>(peek().position);
  node->pipeline = pipeline("command", Token::right_delimiter);
  return node;
}

NodePtr Parser::jump(NodeKind kind, const Item& keyword) {
  const std::string_view name = kind == NodeKind::break_loop ? "{{break}}" : "{{continue}}";
  if (const Item item = next_non_space(); item.token != Token::right_delimiter) unexpected(item, name);
  if (range_depth_ == 0) fail(fmt::format("{} outside {{{{range}}}}", name), &keyword);
  return std::make_unique<PlainNode>(kind, keyword.position);
}

NodePtr Parser::branch(NodeKind kind, std::string_view context) {
  const Nesting nesting(shared_.depth);
  const std::size_t known = variables_.size();
  auto head = pipeline(context, Token::right_delimiter);
  auto node = std::make_unique<BranchNode>(kind, head->position);
  node->pipeline = std::move(head);
  if (kind == NodeKind::branch_range) ++range_depth_;
  auto [body, ending] = list();
  if (kind == NodeKind::branch_range) --range_depth_;
  node->body = std::move(body);
  if (ending.token == Token::key_else) {
    const Token after = ending.chained ? peek().token : Token::space;
    const bool same = (kind == NodeKind::branch_if && after == Token::key_if) ||
                      (kind == NodeKind::branch_with && after == Token::key_with);
    if (same) {
      next();
      node->otherwise.push_back(branch(kind, context));
    } else {
      auto [otherwise, last] = list();
      if (last.token != Token::key_end) fail("expected end; found {{else}}");
      node->otherwise = std::move(otherwise);
    }
  }
  variables_.resize(known);
  return node;
}

NodePtr Parser::block() {
  constexpr std::string_view kContext = "block clause";
  const Item item = next_non_space();
  const std::string name = template_name(item, kContext);
  auto argument = pipeline(kContext, Token::right_delimiter);
  {
    const Nesting nesting(shared_.depth);
    Parser inner(shared_);
    auto [body, ending] = inner.list();
    if (ending.token != Token::key_end) fail("unexpected {{else}} in block clause");
    inner.add(name, std::move(body));
  }
  auto node = std::make_unique<CallNode>(item.position, name);
  node->pipeline = std::move(argument);
  return node;
}

NodePtr Parser::call_template() {
  constexpr std::string_view kContext = "template clause";
  const Item item = next_non_space();
  auto node = std::make_unique<CallNode>(item.position, template_name(item, kContext));
  if (next_non_space().token != Token::right_delimiter) {
    backup();
    node->pipeline = pipeline(kContext, Token::right_delimiter);
  }
  return node;
}

std::string Parser::template_name(const Item& item, std::string_view context) {
  if (item.token != Token::string && item.token != Token::raw_string) unexpected(item, context);
  return text_of(item);
}

std::string Parser::text_of(const Item& item) {
  auto text = unquote(item.text);
  if (!text) fail("invalid syntax", &item);
  return std::move(*text);
}

void Parser::declarations(PipelineNode& pipeline, std::string_view context) {
  while (peek_non_space().token == Token::variable) {
    const Item name = next();
    // A blank is a token, so that "$x foo" takes three tokens of look-ahead to be told from "$x := foo".
    const Item adjacent = peek();
    const Item after = peek_non_space();
    const bool comma = after.token == Token::character && after.text == ",";
    if (after.token == Token::assign || after.token == Token::declare || comma) {
      next_non_space();
      pipeline.variables.emplace_back(name.text);
      variables_.emplace_back(name.text);
      if (!comma) {
        pipeline.assigns = after.token == Token::assign;
        return;
      }
      if (context != "range" || pipeline.variables.size() >= 2)
        fail(fmt::format("too many declarations in {}", context), &after);
      const Token next_token = peek_non_space().token;
      if (next_token != Token::variable && next_token != Token::right_delimiter &&
          next_token != Token::right_parenthesis)
        fail("range can only initialize variables", &after);
    } else if (adjacent.token == Token::space) {
      backup(name, adjacent);
      return;
    } else {
      backup(name);
      return;
    }
  }
}

std::unique_ptr<PipelineNode> Parser::pipeline(std::string_view context, Token end) {
  auto node = std::make_unique<PipelineNode>(peek_non_space().position);
  declarations(*node, context);
  while (true) {
    const Item item = next_non_space();
    if (item.token == end) {
      check(*node, context);
      return node;
    }
    switch (item.token) {
      case Token::boolean:
      case Token::character_constant:
      case Token::complex_number:
      case Token::dot:
      case Token::field:
      case Token::identifier:
      case Token::number:
      case Token::key_nil:
      case Token::raw_string:
      case Token::string:
      case Token::variable:
      case Token::left_parenthesis:
        backup();
        node->commands.push_back(command());
        break;
      default:
        unexpected(item, context);
    }
  }
}

void Parser::check(const PipelineNode& pipeline, std::string_view context) const {
  if (pipeline.commands.empty()) fail(fmt::format("missing value for {}", context));
  for (std::size_t i = 1; i < pipeline.commands.size(); ++i) {
    const NodeKind first = pipeline.commands[i]->operands.front()->kind;
    if (first >= NodeKind::dot) fail(fmt::format("non executable command in pipeline stage {}", i + 1));
  }
}

std::unique_ptr<CommandNode> Parser::command() {
  auto command = std::make_unique<CommandNode>(peek_non_space().position);
  while (true) {
    peek_non_space();
    if (NodePtr node = operand()) command->operands.push_back(std::move(node));
    const Item item = next();
    if (item.token == Token::space) continue;
    if (item.token == Token::right_delimiter || item.token == Token::right_parenthesis)
      backup();
    else if (item.token != Token::pipe)
      unexpected(item, "operand");
    break;
  }
  if (command->operands.empty()) fail("empty command");
  return command;
}

NodePtr Parser::operand() {
  NodePtr node = term();
  if (!node || peek().token != Token::field) return node;
  const std::size_t position = peek().position;
  std::vector<std::string> names;
  while (peek().token == Token::field) names.emplace_back(next().text.substr(1));
  switch (node->kind) {
    case NodeKind::field:
    case NodeKind::variable: {
      auto& path = static_cast<PathNode&>(*node);
      path.position = static_cast<std::uint32_t>(position);  // as Go: where the chain begins
      path.names.insert(path.names.end(), names.begin(), names.end());
      return node;
    }
    case NodeKind::boolean:
    case NodeKind::string:
    case NodeKind::number:
    case NodeKind::nil:
    case NodeKind::dot:
      fail(fmt::format("unexpected . after term {}", quote(to_source(*node))));
    default: {
      auto chain = std::make_unique<ChainNode>(position, std::move(node));
      chain->names = std::move(names);
      return chain;
    }
  }
}

NodePtr Parser::variable(const Item& item) {
  if (std::ranges::find(variables_, item.text) == variables_.end())
    fail(fmt::format("undefined variable {}", quote(item.text)), &item);
  return std::make_unique<PathNode>(NodeKind::variable, item.position, std::vector{std::string(item.text)});
}

NodePtr Parser::term() {
  const Item item = next_non_space();
  switch (item.token) {
    case Token::identifier: {
      const Function* function = shared_.functions.find(item.text);
      if (function == nullptr || (function->origin == Origin::refused && !shared_.accept_refused))
        unknown_function(item);
      return std::make_unique<IdentifierNode>(item.position, *function);
    }
    case Token::dot:
      return std::make_unique<PlainNode>(NodeKind::dot, item.position);
    case Token::key_nil:
      return std::make_unique<PlainNode>(NodeKind::nil, item.position);
    case Token::variable:
      return variable(item);
    case Token::field:
      return std::make_unique<PathNode>(NodeKind::field, item.position, std::vector{std::string(item.text.substr(1))});
    case Token::boolean:
      return std::make_unique<ConstantNode>(NodeKind::boolean, item.position, item.text, Value(item.text == "true"));
    case Token::character_constant:
    case Token::complex_number:
    case Token::number:
      try {
        return parse_number(item);
      } catch (const Error& error) {
        fail(error.message(), &item);
      }
    case Token::left_parenthesis: {
      const Nesting nesting(shared_.depth);
      if (shared_.depth > kDeepest) fail("max expression depth exceeded", &item);
      return pipeline("parenthesized pipeline", Token::right_parenthesis);
    }
    case Token::string:
    case Token::raw_string:
      return std::make_unique<ConstantNode>(NodeKind::string, item.position, item.text, Value(text_of(item)));
    default:
      backup();
      return nullptr;
  }
}

}  // namespace

const std::string& Template::name() const { return program_->name; }

std::vector<std::string> Template::names() const {
  std::vector<std::string> names;
  for (const auto& [name, nodes] : program_->templates) names.push_back(name);
  return names;
}

Template parse(std::string name, std::string text, const FunctionSet& functions, const ParseOptions& options) {
  if (text.size() > kLongestText)
    throw Error(Code::too_large, fmt::format("template '{}' is larger than {} bytes", name, kLongestText));
  auto program = std::make_shared<Program>(Program{std::move(name), std::move(text), {}, {}});
  const std::string left = options.left_delimiter.empty() ? "{{" : options.left_delimiter;
  const std::string right = options.right_delimiter.empty() ? "}}" : options.right_delimiter;
  Shared shared{*program, functions, Lexer(program->text, left, right), options.accept_refused};
  try {
    Parser(shared).parse_text();
  } catch (const Error&) {
    if (options.failed_at != nullptr) *options.failed_at = program->failed_at;
    throw;
  }
  return Template(std::move(program));
}

}  // namespace underway::gotemplate

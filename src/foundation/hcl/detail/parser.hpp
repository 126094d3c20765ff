#pragma once
/// @file
/// Recursive descent over one text. An error inside an attribute or a block's header unwinds to that item (by
/// SyntaxError); the parser then finds the item's end and goes on, so every broken item of a file is reported once.

#include "base/allowance.hpp"
#include "hcl/detail/lexer.hpp"
#include "hcl/detail/tree.hpp"
#include "hcl/diagnostic.hpp"
#include "hcl/parse/parser.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::hcl::detail {

/// Thrown after the error was reported; never leaves the parser.
struct SyntaxError {};

class Parser {
 public:
  /// `text` lies at byte `base` of the document's source; with `fixed` it does not lie there as it is (a JSON string
  /// with escapes), and every place in it is reported as `fixed`.
  Parser(Document& document, std::string_view text, std::size_t base, std::optional<Span> fixed,
         Diagnostics& diagnostics)
      : document_(document), text_(text), base_(base), fixed_(fixed), diagnostics_(diagnostics) {}

  const BodyNode* file(Lines lines);
  const Node* whole_expression();
  const Node* whole_template();

 private:
  // Bodies (parser.cpp)
  const BodyNode* body(const Token* open, Span header);
  const BodyNode* line_body(const Token& open, Span header);
  void item(std::vector<DefinitionNode>& attributes, std::vector<BlockNode>& blocks);
  void add_attribute(const Token& name, std::vector<DefinitionNode>& attributes);
  void add_block(const Token& type, std::vector<BlockNode>& blocks);
  LabelNode label();
  void end_of_item(std::string_view what);
  void recover(std::size_t item_begin);

  // Expressions (parser_expression.cpp)
  const Node* expression();
  const Node* binary(int level);
  const Node* unary();
  const Node* postfix(const Node* target, std::size_t begin);
  const Node* attribute_step(const Node* target, std::size_t begin);
  const Node* legacy_index(const Node* target, std::size_t begin, const Token& number);
  const Node* attribute_splat(const Node* target, std::size_t begin);
  const Node* bracket_step(const Node* target, std::size_t begin);
  const Node* primary();
  const Node* number(const Token& token);
  const Node* word(const Token& token);
  const Node* call(const Token& name);
  const Node* parentheses(const Token& open);
  const Node* tuple(const Token& open);
  const Node* object(const Token& open);
  const Node* for_expression(const Token& open, bool makes_object);
  ObjectItem object_item();

  // Templates (parser_template.cpp)
  enum class Mode : std::uint8_t { quoted, heredoc, bare };
  struct Part {
    enum class Kind : std::uint8_t { literal, interpolation, if_begin, else_mark, if_end, for_begin, for_end };
    Kind kind = Kind::literal;
    std::string_view text{};
    const Node* node = nullptr;
    std::string_view key_name{};
    std::string_view value_name{};
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  const Node* quoted(const Token& quote);
  const Node* heredoc(const Token& open);
  std::vector<Part> template_parts(Mode mode, std::string_view marker, const Token& open);
  std::optional<Part> literal(Mode mode, const Token& open);
  std::string_view unescape(std::string_view raw, std::size_t begin);
  Part interpolation();
  Part directive();
  Part for_directive();
  bool at_marker(std::string_view marker);
  bool close_sequence(std::string_view what);
  static void trim_before(std::vector<Part>& parts);
  static void flush(std::vector<Part>& parts);
  void meld(std::vector<Part>& parts);
  const Node* assemble(std::vector<Part> parts, std::size_t begin, std::size_t end);
  std::vector<const Node*> sequence(const std::vector<Part>& parts, std::size_t& index, const Part* open,
                                    bool& saw_else);
  const Node* if_node(const std::vector<Part>& parts, std::size_t& index);
  const Node* for_node(const std::vector<Part>& parts, std::size_t& index);

  // Tokens
  const Token& peek();
  Token take();
  Token expect(TokenKind kind, std::string_view purpose);
  bool at(TokenKind kind) { return peek().kind == kind; }
  bool at_word(std::string_view word) { return peek().kind == TokenKind::identifier && peek().text == word; }
  void jump(std::size_t position) {
    position_ = position;
    peeked_ = false;
  }

  // Places, nodes, errors
  Span span(std::size_t begin, std::size_t end) const;
  template <class T>
  T* node(NodeKind kind, std::size_t begin, std::size_t end, std::initializer_list<const Node*> children = {},
          std::span<const Node* const> more = {});
  void check_depth(unsigned depth, std::size_t begin, std::size_t end);
  void report(std::size_t begin, std::size_t end, std::string summary, std::string detail = {},
              std::string suggestion = {});
  [[noreturn]] void fail(std::size_t begin, std::size_t end, std::string summary, std::string detail = {},
                         std::string suggestion = {});
  [[noreturn]] void unexpected(std::string_view wanted);
  static std::string found(const Token& token);

  /// Whether newlines are tokens or space, for a scope.
  class Newlines {
   public:
    Newlines(Parser& parser, bool matter) : parser_(parser), before_(parser.newlines_matter_) { set(matter); }
    ~Newlines() { set(before_); }
    Newlines(const Newlines&) = delete;
    Newlines& operator=(const Newlines&) = delete;

   private:
    void set(bool matter) {
      parser_.newlines_matter_ = matter;
      parser_.peeked_ = false;
    }
    Parser& parser_;
    bool before_;
  };
  /// One level of the parser's own recursion.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  Document& document_;
  std::string_view text_;
  std::size_t base_;
  std::optional<Span> fixed_;
  Diagnostics& diagnostics_;
  std::size_t position_ = 0;  ///< end of what was taken
  Token token_{};
  bool peeked_ = false;
  bool newlines_matter_ = true;
  unsigned nesting_ = 0;
  Lines lines_ = Lines::free;
};

template <class T>
T* Parser::node(NodeKind kind, std::size_t begin, std::size_t end, std::initializer_list<const Node*> children,
                std::span<const Node* const> more) {
  unsigned depth = 0;
  for (const Node* child : children) depth = std::max<unsigned>(depth, child != nullptr ? child->depth : 0);
  for (const Node* child : more) depth = std::max<unsigned>(depth, child->depth);
  check_depth(depth + 1, begin, end);
  Allowance::spend();
  Allowance::make(sizeof(T));
  T* made = document_.arena.make<T>();
  made->kind = kind;
  made->depth = static_cast<std::uint16_t>(depth + 1);
  made->span = span(begin, end);
  made->source = text_.substr(begin, end - begin);
  return made;
}

/// HCL-JSON into the same nodes: the root object, or a tuple of objects. Null after a syntax error.
const Node* parse_json_tree(Document& document, Diagnostics& diagnostics);

}  // namespace underway::hcl::detail

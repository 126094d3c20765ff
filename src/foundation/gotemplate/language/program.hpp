#pragma once
/// @file
/// A template as a tree. Positions are offsets in the program's text; names and texts are views of it or owned by it.

#include "gotemplate/functions.hpp"
#include "gotemplate/value.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace underway::gotemplate {

enum class NodeKind : std::uint8_t {
  text,
  action,
  branch_if,
  branch_with,
  branch_range,
  call_template,
  break_loop,
  continue_loop,
  // What follows stands in pipelines.
  pipeline,
  command,
  identifier,
  field,
  variable,
  chain,
  dot,
  nil,
  boolean,
  number,
  string,
};

struct Node {
  Node(NodeKind k, std::size_t at) : kind(k), position(static_cast<std::uint32_t>(at)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  NodeKind kind;
  std::uint32_t position;
};
using NodePtr = std::unique_ptr<Node>;
using NodeList = std::vector<NodePtr>;

struct TextNode : Node {
  TextNode(std::size_t at, std::string_view t) : Node(NodeKind::text, at), text(t) {}
  std::string_view text;
};

/// dot and nil.
struct PlainNode : Node {
  using Node::Node;
};

/// boolean, number and string.
struct ConstantNode : Node {
  ConstantNode(NodeKind k, std::size_t at, std::string_view s, Value v) : Node(k, at), source(s), value(std::move(v)) {}
  std::string_view source;
  Value value;                        ///< its natural type
  std::optional<std::int64_t> whole;  ///< of a number: where an integer is wanted
  std::optional<double> real;         ///< of a number: where a float is wanted
};

/// A field ".a.b", a variable "$x.a.b" whose first name is "$x".
struct PathNode : Node {
  PathNode(NodeKind k, std::size_t at, std::vector<std::string> n) : Node(k, at), names(std::move(n)) {}
  std::vector<std::string> names;
};

struct ChainNode : Node {
  ChainNode(std::size_t at, NodePtr b) : Node(NodeKind::chain, at), base(std::move(b)) {}
  NodePtr base;
  std::vector<std::string> names;
};

struct IdentifierNode : Node {
  IdentifierNode(std::size_t at, const Function& f) : Node(NodeKind::identifier, at), function(f) {}
  const Function& function;
};

struct CommandNode : Node {
  explicit CommandNode(std::size_t at) : Node(NodeKind::command, at) {}
  std::vector<NodePtr> operands;  ///< at least one
};

struct PipelineNode : Node {
  explicit PipelineNode(std::size_t at) : Node(NodeKind::pipeline, at) {}
  std::vector<std::string> variables;  ///< declared or assigned, "$x"
  bool assigns = false;
  std::vector<std::unique_ptr<CommandNode>> commands;
};

struct ActionNode : Node {
  explicit ActionNode(std::size_t at) : Node(NodeKind::action, at) {}
  std::unique_ptr<PipelineNode> pipeline;
};

struct BranchNode : Node {
  using Node::Node;
  std::unique_ptr<PipelineNode> pipeline;
  NodeList body;
  NodeList otherwise;
};

struct CallNode : Node {
  CallNode(std::size_t at, std::string n) : Node(NodeKind::call_template, at), name(std::move(n)) {}
  std::string name;
  std::unique_ptr<PipelineNode> pipeline;  ///< null: nil
};

/// A text and all templates in it.
struct Program {
  std::string name;
  std::string text;
  std::map<std::string, NodeList, std::less<>> templates;
  mutable std::size_t failed_at = 0;  ///< where the parser gave up
};

/// The node as Go writes it back, for error messages.
std::string to_source(const Node& node);

/// At most some 200 bytes of it, for error messages.
std::string shortened(std::string text);
/// "line 3: port = {{ >>>.Port<<< }}": the line around `position`, with `size` bytes marked.
std::string excerpt(std::string_view text, std::size_t position, std::size_t size);
/// 1 and up.
unsigned line_of(std::string_view text, std::size_t position);
/// Bytes since the line's beginning, as Go counts.
std::size_t column_of(std::string_view text, std::size_t position);

}  // namespace underway::gotemplate

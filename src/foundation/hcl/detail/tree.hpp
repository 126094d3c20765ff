#pragma once
/// @file
/// The syntax tree. Nodes live in their document's arena and are trivially destructible, so a tree is freed at once
/// and a deep one needs no recursion. HCL-JSON is parsed into the same nodes.

#include "hcl/diagnostic.hpp"

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace underway::hcl::detail {

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

class Arena {
 public:
  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (memory_.allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }
  template <class T>
  std::span<const T> copy(const std::vector<T>& items) {
    static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* to = std::pmr::polymorphic_allocator<T>(&memory_).allocate(items.size());
    std::uninitialized_copy(items.begin(), items.end(), to);
    return {to, items.size()};
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    auto* to = static_cast<char*>(memory_.allocate(text.size(), 1));
    text.copy(to, text.size());
    return {to, text.size()};
  }

 private:
  std::pmr::monotonic_buffer_resource memory_{4096};
};

struct Document {
  explicit Document(SourcePtr text) : source(std::move(text)) {}
  Range range(Span span) const { return {source, span.begin, span.end}; }

  SourcePtr source;
  Arena arena;
};
using DocumentPtr = std::shared_ptr<Document>;

enum class NodeKind : std::uint8_t {
  null,
  boolean,
  number,
  string,
  text,
  wrap,
  variable,
  attribute,
  index,
  splat,
  splat_item,
  call,
  unary,
  binary,
  conditional,
  tuple,
  object,
  for_each,
  template_if,
  template_for,
  parentheses
};

struct Node {
  NodeKind kind;
  std::uint16_t depth = 1;  ///< longest path to a leaf; bounded by kMaxNesting
  Span span{};
  std::string_view source{};  ///< its text; not always at `span`, see the strings of HCL-JSON
};

struct BooleanNode : Node {
  bool value = false;
};
struct NumberNode : Node {
  std::string_view digits;
};
struct StringNode : Node {
  std::string_view value;
};
/// A template of several parts, joined as text.
struct TemplateNode : Node {
  std::span<const Node* const> parts;
};
/// "${x}" alone, or (x): the value of x itself.
struct WrapNode : Node {
  const Node* inner = nullptr;
};
struct VariableNode : Node {
  std::string_view name;
};
struct AttributeNode : Node {
  const Node* target = nullptr;
  std::string_view name;
  Span name_span{};
};
struct IndexNode : Node {
  const Node* target = nullptr;
  const Node* key = nullptr;
};
/// source[*].each…: `each` is an expression over `item`, which stands for one element.
struct SplatNode : Node {
  const Node* target = nullptr;
  const Node* item = nullptr;
  const Node* each = nullptr;
};
struct CallNode : Node {
  std::string_view name;
  Span name_span{};
  std::span<const Node* const> arguments;
  bool expand_last = false;
};
enum class Operator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  modulo,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  negate,
  logical_not
};
struct UnaryNode : Node {
  Operator op{};
  const Node* operand = nullptr;
};
struct BinaryNode : Node {
  Operator op{};
  Span op_span{};
  const Node* left = nullptr;
  const Node* right = nullptr;
};
struct ConditionalNode : Node {
  const Node* condition = nullptr;
  const Node* yes = nullptr;
  const Node* no = nullptr;
};
struct TupleNode : Node {
  std::span<const Node* const> items;
};
struct ObjectItem {
  const Node* key = nullptr;
  const Node* value = nullptr;
  std::string_view name;  ///< HCL-JSON: the property's name, whatever templates it may hold
};
struct ObjectNode : Node {
  std::span<const ObjectItem> items;
  bool json = false;
};
struct ForNode : Node {
  std::string_view key_name;  ///< may be empty
  std::string_view value_name;
  const Node* collection = nullptr;
  const Node* key = nullptr;  ///< only when it makes an object
  const Node* value = nullptr;
  const Node* condition = nullptr;
  bool group = false;
};
struct TemplateIfNode : Node {
  const Node* condition = nullptr;
  std::span<const Node* const> yes;
  std::span<const Node* const> no;
};
struct TemplateForNode : Node {
  std::string_view key_name;
  std::string_view value_name;
  const Node* collection = nullptr;
  std::span<const Node* const> parts;
};

struct LabelNode {
  std::string_view text;
  Span span{};
};
struct DefinitionNode {
  std::string_view name;
  Span name_span{};
  const Node* expression = nullptr;
};
struct BlockNode;
struct BodyNode {
  std::span<const DefinitionNode> attributes;
  std::span<const BlockNode> blocks;
  Span span{};
  Span missing{};
};
struct BlockNode {
  std::string_view type;
  Span type_span{};
  Span header{};
  std::span<const LabelNode> labels;
  const BodyNode* body = nullptr;
};

template <class T>
const T& as(const Node& node) {
  return static_cast<const T&>(node);
}

}  // namespace underway::hcl::detail

#include "hcl/expression.hpp"

#include "hcl/detail/access.hpp"
#include "hcl/detail/evaluator.hpp"

#include <algorithm>

namespace underway::hcl {

using namespace detail;

namespace {

/// The constant steps of a traversal, or nothing when `node` is none.
std::optional<Traversal> traversal_of(const Document& document, const Node& node) {
  Traversal found;
  found.range = document.range(node.span);
  const Node* at = &node;
  for (;;) {
    if (at->kind == NodeKind::attribute) {
      found.steps.emplace_back(as<AttributeNode>(*at).name);
      at = as<AttributeNode>(*at).target;
    } else if (at->kind == NodeKind::index) {
      const auto& step = as<IndexNode>(*at);
      if (step.key->kind == NodeKind::text) {
        found.steps.emplace_back(as<StringNode>(*step.key).value);
      } else if (step.key->kind == NodeKind::number) {
        found.steps.emplace_back(Number::parse(as<NumberNode>(*step.key).digits).value_or(0));
      } else {
        return std::nullopt;
      }
      at = step.target;
    } else if (at->kind == NodeKind::variable) {
      found.root = as<VariableNode>(*at).name;
      std::reverse(found.steps.begin(), found.steps.end());
      return found;
    } else {
      return std::nullopt;
    }
  }
}

/// Collects root traversals; `bound` are the names that enclosing loops define.
class Collector {
 public:
  Collector(const Document& document, std::vector<Traversal>& out) : document_(document), out_(out) {}

  void visit(const Node* node) {
    if (node == nullptr) return;
    if (auto found = traversal_of(document_, *node)) {
      if (std::find(bound_.begin(), bound_.end(), found->root) == bound_.end()) out_.push_back(std::move(*found));
      return;
    }
    switch (node->kind) {
      case NodeKind::wrap:
      case NodeKind::parentheses:
        return visit(as<WrapNode>(*node).inner);
      case NodeKind::string:
        return visit_all(as<TemplateNode>(*node).parts);
      case NodeKind::tuple:
        return visit_all(as<TupleNode>(*node).items);
      case NodeKind::call:
        return visit_all(as<CallNode>(*node).arguments);
      case NodeKind::attribute:
        return visit(as<AttributeNode>(*node).target);
      case NodeKind::index:
        visit(as<IndexNode>(*node).target);
        return visit(as<IndexNode>(*node).key);
      case NodeKind::splat:
        visit(as<SplatNode>(*node).target);
        return visit(as<SplatNode>(*node).each);
      case NodeKind::unary:
        return visit(as<UnaryNode>(*node).operand);
      case NodeKind::binary:
        return visit_chain(as<BinaryNode>(*node));
      case NodeKind::conditional:
        return visit_conditional(as<ConditionalNode>(*node));
      case NodeKind::object:
        for (const auto& item : as<ObjectNode>(*node).items) visit(item.key), visit(item.value);
        return;
      case NodeKind::for_each:
        return visit_for(as<ForNode>(*node));
      case NodeKind::template_if:
        visit(as<TemplateIfNode>(*node).condition);
        visit_all(as<TemplateIfNode>(*node).yes);
        return visit_all(as<TemplateIfNode>(*node).no);
      case NodeKind::template_for:
        return visit_template_for(as<TemplateForNode>(*node));
      default:
        return;
    }
  }

 private:
  void visit_all(std::span<const Node* const> nodes) {
    for (const Node* node : nodes) visit(node);
  }
  /// From left to right, without recursion along the chain.
  void visit_chain(const BinaryNode& node) {
    std::vector<const BinaryNode*> chain = {&node};
    while (chain.back()->left->kind == NodeKind::binary) chain.push_back(&as<BinaryNode>(*chain.back()->left));
    visit(chain.back()->left);
    for (auto link = chain.rbegin(); link != chain.rend(); ++link) visit((*link)->right);
  }
  void visit_conditional(const ConditionalNode& node) {
    visit(node.condition);
    visit(node.yes);
    visit(node.no);
  }
  void visit_for(const ForNode& node) {
    visit(node.collection);
    bind(node.key_name, node.value_name);
    visit(node.key);
    visit(node.value);
    visit(node.condition);
    bound_.resize(bound_.size() - 2);
  }
  void visit_template_for(const TemplateForNode& node) {
    visit(node.collection);
    bind(node.key_name, node.value_name);
    visit_all(node.parts);
    bound_.resize(bound_.size() - 2);
  }
  void bind(std::string_view key_name, std::string_view value_name) {
    bound_.push_back(key_name);
    bound_.push_back(value_name);
  }

  const Document& document_;
  std::vector<Traversal>& out_;
  std::vector<std::string_view> bound_;
};

}  // namespace

Expression::Expression(std::shared_ptr<const Document> document, const Node* node, std::shared_ptr<const Scope> scope)
    : document_(std::move(document)), node_(node), scope_(std::move(scope)) {}

std::optional<Value> Expression::evaluate(const Context& context, Diagnostics& diagnostics) const {
  if (node_ == nullptr) return Value();
  const std::size_t before = diagnostics.error_count();
  auto value = Evaluator(document_, scope_, context, diagnostics).run(*node_);
  return diagnostics.error_count() > before ? std::nullopt : value;
}

std::vector<Traversal> Expression::variables() const {
  std::vector<Traversal> found;
  if (node_ != nullptr) Collector(*document_, found).visit(node_);
  return found;
}

Range Expression::range() const { return node_ == nullptr ? Range{} : document_->range(node_->span); }

std::string_view Expression::text() const { return node_ == nullptr ? "null" : node_->source; }

std::optional<std::string> Expression::keyword() const {
  if (node_ == nullptr || node_->kind != NodeKind::variable) return std::nullopt;
  return std::string(as<VariableNode>(*node_).name);
}

std::optional<Traversal> Expression::traversal() const {
  return node_ == nullptr ? std::nullopt : traversal_of(*document_, *node_);
}

std::optional<std::string> Expression::literal_string() const {
  if (node_ == nullptr || node_->kind != NodeKind::text) return std::nullopt;
  return std::string(as<StringNode>(*node_).value);
}

std::optional<std::pair<std::string, std::vector<Expression>>> Expression::call() const {
  if (node_ == nullptr || node_->kind != NodeKind::call || as<CallNode>(*node_).expand_last) return std::nullopt;
  std::pair<std::string, std::vector<Expression>> found;
  found.first = as<CallNode>(*node_).name;
  for (const Node* argument : as<CallNode>(*node_).arguments)
    found.second.push_back(Expression(document_, argument, scope_));
  return found;
}

std::optional<std::vector<Expression>> Expression::elements() const {
  if (node_ == nullptr || node_->kind != NodeKind::tuple) return std::nullopt;
  std::vector<Expression> found;
  for (const Node* item : as<TupleNode>(*node_).items) found.push_back(Expression(document_, item, scope_));
  return found;
}

std::optional<std::vector<std::pair<Expression, Expression>>> Expression::members() const {
  if (node_ == nullptr || node_->kind != NodeKind::object) return std::nullopt;
  std::vector<std::pair<Expression, Expression>> found;
  for (const auto& item : as<ObjectNode>(*node_).items) {
    found.emplace_back(Expression(document_, item.key, scope_), Expression(document_, item.value, scope_));
  }
  return found;
}

}  // namespace underway::hcl

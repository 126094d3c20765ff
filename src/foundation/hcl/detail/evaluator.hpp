#pragma once
/// @file
/// Walks an expression's tree. A failed node has reported itself and yields nothing; its siblings are still evaluated,
/// so that all errors of an expression are found. Passing a limit is an Error and ends the walk.

#include "hcl/context.hpp"
#include "hcl/detail/access.hpp"
#include "hcl/detail/tree.hpp"
#include "hcl/diagnostic.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace underway::hcl::detail {

class Evaluator {
 public:
  Evaluator(std::shared_ptr<const Document> document, ScopePtr scope, const Context& context, Diagnostics& diagnostics)
      : document_(std::move(document)), scope_(std::move(scope)), context_(context), diagnostics_(&diagnostics) {}

  /// Errors of limits become diagnostics here.
  std::optional<Value> run(const Node& node);

 private:
  using Result = std::optional<Value>;

  Result eval(const Node& node);
  Result dispatch(const Node& node);

  // Names and steps (evaluator.cpp)
  Result variable(const VariableNode& node);
  Result attribute(const AttributeNode& node);
  Result index(const IndexNode& node);
  Result element(const IndexNode& node, const Value& target, const Value& key);
  Result member(const Node& target_node, const Value& target, std::string_view name, Span place);
  Result splat(const SplatNode& node);
  const Value* find(std::string_view name) const;
  bool is_kept(const Node& node) const;
  Result kept(const Node& node);

  // Constructors and loops (evaluator_compound.cpp)
  Result tuple(const TupleNode& node);
  Result object(const ObjectNode& node);
  Result for_tuple(const ForNode& node);
  Result for_object(const ForNode& node);
  Result joined(const TemplateNode& node);
  bool append_parts(std::span<const Node* const> parts, std::string& out);
  bool append_if(const TemplateIfNode& node, std::string& out);
  bool append_for(const TemplateForNode& node, std::string& out);
  void append_text(std::string_view text, std::string& out);
  /// Runs `step` for each element with the loop's names set; false when the collection failed or any step did.
  bool each(const Node& collection, std::string_view key_name, std::string_view value_name,
            const std::function<bool()>& step);
  /// 1: keep, 0: skip, -1: failed.
  int passes(const Node* condition);
  std::optional<std::string> key_text(const Node& node);

  // Operators and calls (evaluator_operators.cpp)
  Result unary(const UnaryNode& node);
  Result binary(const BinaryNode& node);
  Result applied(const BinaryNode& node, const Result& left);
  Result logical(const BinaryNode& node, const Result& left);
  Result arithmetic(const BinaryNode& node, const Number& left, const Number& right);
  std::optional<Number> number(const Node& node, const Value& value, std::string_view purpose);
  std::optional<bool> flag(const Node& node, std::string_view purpose);
  std::optional<bool> flag(const Node& node, const Result& value, std::string_view purpose);
  Result conditional(const ConditionalNode& node);
  Result call(const CallNode& node);
  Result special_call(const CallNode& node);
  Result special_call_of_values(const CallNode& node);
  Result invoke(const CallNode& node, const Function& function, const std::vector<Value>& arguments);
  std::optional<std::vector<Value>> arguments_of(const CallNode& node);
  /// Evaluates without reporting.
  Result quietly(const Node& node);

  void error(Span place, std::string summary, std::string detail = {}, std::string suggestion = {}) {
    diagnostics_->error(document_->range(place), std::move(summary), std::move(detail), std::move(suggestion));
  }

  struct Local {
    std::string_view name;
    Value value;
  };

  std::shared_ptr<const Document> document_;
  ScopePtr scope_;
  const Context& context_;
  Diagnostics* diagnostics_;
  std::vector<Local> locals_;                               ///< of `for`, innermost last
  std::vector<std::pair<const Node*, Value>> splat_items_;  ///< the element that a splat's placeholder stands for
  const Node* current_ = nullptr;
};

/// "a list", "the string \"x\"": for messages.
std::string what_it_is(const Value& value);

}  // namespace underway::hcl::detail

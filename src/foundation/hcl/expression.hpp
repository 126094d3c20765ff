#pragma once
/// @file
/// An expression of a parsed file. It holds its file in memory; copies are cheap.

#include "hcl/context.hpp"
#include "hcl/diagnostic.hpp"
#include "hcl/value.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace underway::hcl {

namespace detail {
struct Node;
struct Document;
struct Scope;
struct Access;
}  // namespace detail

/// `var.sizes["a"]`: a root and the constant steps that follow it; a step that is computed ends it.
struct Traversal {
  std::string root;
  std::vector<Value> steps;  ///< a string per attribute or key, a number per index
  Range range;
};

class Expression {
 public:
  Expression() = default;  ///< null literal, nowhere

  /// Nothing when `diagnostics` got an error.
  std::optional<Value> evaluate(const Context& context, Diagnostics& diagnostics) const;
  /// All root traversals in it, in source order, without the names that `for` defines.
  std::vector<Traversal> variables() const;
  Range range() const;
  /// Its source text.
  std::string_view text() const;

  /// A bare identifier (`string`, `each`): its name, else nothing.
  std::optional<std::string> keyword() const;
  /// A whole traversal and nothing else, else nothing.
  std::optional<Traversal> traversal() const;
  /// A string without interpolation: its text, else nothing.
  std::optional<std::string> literal_string() const;
  /// The function's name and arguments, when it is one call and no `...`.
  std::optional<std::pair<std::string, std::vector<Expression>>> call() const;
  /// Elements, when it is a tuple constructor.
  std::optional<std::vector<Expression>> elements() const;
  /// Keys and values, when it is an object constructor. A bare key is a literal string for keyword() and evaluate().
  std::optional<std::vector<std::pair<Expression, Expression>>> members() const;

 private:
  friend struct detail::Access;
  Expression(std::shared_ptr<const detail::Document> document, const detail::Node* node,
             std::shared_ptr<const detail::Scope> scope = nullptr);

  std::shared_ptr<const detail::Document> document_;
  const detail::Node* node_ = nullptr;
  std::shared_ptr<const detail::Scope> scope_;  ///< iterators of the dynamic blocks around it
};

}  // namespace underway::hcl

#pragma once
/// @file
/// How the library's own parts reach into the public handles.

#include "hcl/body.hpp"
#include "hcl/detail/tree.hpp"
#include "hcl/expression.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace underway::hcl::detail {

/// A name that a dynamic block defines for what it contains; the innermost is found first.
struct Scope {
  std::shared_ptr<const Scope> outer;
  std::string name;
  Value value;
};
using ScopePtr = std::shared_ptr<const Scope>;

using Hidden = std::set<std::string, std::less<>>;

/// What a Body can be: native, JSON, with dynamic blocks expanded, or several merged.
class BodyView {
 public:
  virtual ~BodyView() = default;
  /// With `schema`, as Body::content, but required attributes are not checked here and `hidden` names are skipped;
  /// `partial` leaves unknown names alone. Without a schema, everything: JSON then has attributes only.
  virtual Content read(const Schema* schema, bool partial, const Hidden& hidden, Diagnostics& diagnostics,
                       std::string_view owner) const = 0;
  virtual bool is_json() const = 0;
  virtual Range range() const = 0;
  virtual Range missing_range() const = 0;
};
using BodyViewPtr = std::shared_ptr<const BodyView>;

struct Access {
  static Expression expression(std::shared_ptr<const Document> document, const Node* node, ScopePtr scope = nullptr) {
    return node == nullptr ? Expression() : Expression(std::move(document), node, std::move(scope));
  }
  static const Node* node(const Expression& expression) { return expression.node_; }
  static const std::shared_ptr<const Document>& document(const Expression& expression) { return expression.document_; }
  static void set_scope(Expression& expression, ScopePtr scope) { expression.scope_ = std::move(scope); }

  static Body body(BodyViewPtr view) { return Body(std::move(view)); }
  static const BodyViewPtr& view(const Body& body) { return body.view_; }
  static Body native_body(std::shared_ptr<const Document> document, const BodyNode* node);
  /// `root` may be null. Reports a root that is neither an object nor a list of them.
  static Body json_body(std::shared_ptr<const Document> document, const Node* root, Diagnostics& diagnostics);
};

}  // namespace underway::hcl::detail

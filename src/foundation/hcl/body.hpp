#pragma once
/// @file
/// A body: attributes and blocks, in native syntax or JSON, behind one face. JSON cannot tell an attribute from a
/// block, so bodies are read with a schema.

#include "hcl/diagnostic.hpp"
#include "hcl/expression.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace underway::hcl {

namespace detail {
class BodyView;
}

struct Block;

struct Attribute {
  std::string name;
  Expression expression;
  Range name_range;
  Range range;  ///< name to the end of the expression
};

struct BlockSchema {
  std::string type;
  std::vector<std::string> labels{};  ///< what each label is called, for messages: {"name"}
  bool optional_labels = false;       ///< fewer labels are accepted (native syntax), down to none
};

/// What a body may hold. A name may be listed both as attribute and as block (`env { }` and `env = { }`).
struct Schema {
  struct AttributeSchema {
    std::string name;
    bool required = false;
  };
  std::vector<AttributeSchema> attributes{};
  std::vector<BlockSchema> blocks{};
};

/// What a schema found; both in source order.
struct Content {
  std::vector<Attribute> attributes;
  std::vector<Block> blocks;

  const Attribute* find(std::string_view name) const;
  std::vector<const Block*> blocks_of(std::string_view type) const;
};

class Body {
 public:
  Body();  ///< empty, nowhere

  /// Reads by `schema`. Reported: unknown names (with the nearest known), missing required attributes, wrong labels, an
  /// attribute where a block belongs and the other way. What could be read is returned nevertheless.
  /// `owner` names the body in messages: "job", "the file".
  Content content(const Schema& schema, Diagnostics& diagnostics, std::string_view owner = "this block") const;
  /// The same, but unknown names are left to the returned rest, which hides what `schema` names.
  std::pair<Content, Body> partial_content(const Schema& schema, Diagnostics& diagnostics,
                                           std::string_view owner = "this block") const;
  /// All as attributes; blocks are errors.
  std::vector<Attribute> just_attributes(Diagnostics& diagnostics, std::string_view owner = "this block") const;

  /// All root traversals of all its expressions, at any depth: what the body refers to.
  std::vector<Traversal> variables() const;

  bool is_json() const;
  /// The body without its braces; for the file, all of it.
  Range range() const;
  /// Where something missing should be inserted: the end of the block's header.
  Range missing_range() const;

 private:
  friend struct detail::Access;
  explicit Body(std::shared_ptr<const detail::BodyView> view) : view_(std::move(view)) {}
  std::shared_ptr<const detail::BodyView> view_;
};

struct Label {
  std::string text;
  Range range;
};

struct Block {
  std::string type;
  std::vector<Label> labels;
  Body body;
  Range type_range;
  Range range;  ///< type and labels

  /// Label `index`, or empty.
  const std::string& label(std::size_t index) const;
};

/// `body` with each `dynamic "x" { for_each … content { … } }`, at any depth, replaced by the `x` blocks it stands
/// for; `for_each` sees `context`. Errors in them go to the diagnostics of content().
Body expand_dynamic(const Body& body, const Context& context);

/// Several bodies as one, e.g. all files of a directory. An attribute set in two of them is an error.
Body merge(std::vector<Body> bodies);

/// A body of unknown schema as a value (Nomad's `config { … }`): attributes are evaluated, blocks become lists of
/// objects, `b "l" { x = 1 }` is b = [{l = [{x = 1}]}]. Nothing when there were errors.
std::optional<Value> decode_any(const Body& body, const Context& context, Diagnostics& diagnostics);

}  // namespace underway::hcl

#include "hcl/body.hpp"

#include "hcl/detail/access.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

using namespace detail;

namespace {

std::vector<std::string> schema_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const auto& attribute : schema.attributes) names.push_back(attribute.name);
  for (const auto& block : schema.blocks) {
    if (std::find(names.begin(), names.end(), block.type) == names.end()) names.push_back(block.type);
  }
  return names;
}

const Schema::AttributeSchema* find_attribute(const Schema& schema, std::string_view name) {
  for (const auto& attribute : schema.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

const BlockSchema* find_block(const Schema& schema, std::string_view type) {
  for (const auto& block : schema.blocks) {
    if (block.type == type) return &block;
  }
  return nullptr;
}

std::string label_form(const BlockSchema& schema) {
  std::string form = schema.type;
  for (const auto& label : schema.labels) form += fmt::format(" \"<{}>\"", label);
  return form + " { … }";
}

// --- native syntax

class NativeView final : public BodyView {
 public:
  NativeView(std::shared_ptr<const Document> document, const BodyNode* node)
      : document_(std::move(document)), node_(node) {}

  Content read(const Schema* schema, bool partial, const Hidden& hidden, Diagnostics& diagnostics,
               std::string_view owner) const override {
    Content content;
    for (const auto& attribute : node_->attributes) {
      if (hidden.contains(attribute.name)) continue;
      if (schema != nullptr && find_attribute(*schema, attribute.name) == nullptr) {
        if (find_block(*schema, attribute.name) != nullptr) {
          diagnostics.error(document_->range(attribute.name_span),
                            fmt::format("'{}' is a block, not an attribute", attribute.name), {},
                            fmt::format("write '{}' without '='", label_form(*find_block(*schema, attribute.name))));
        } else if (!partial) {
          unknown(attribute.name, attribute.name_span, "attribute", *schema, diagnostics, owner);
        }
        continue;
      }
      content.attributes.push_back(make(attribute));
    }
    for (const auto& block : node_->blocks) {
      if (hidden.contains(block.type)) continue;
      if (schema == nullptr || accept(block, *schema, partial, diagnostics, owner))
        content.blocks.push_back(make(block));
    }
    return content;
  }

  bool is_json() const override { return false; }
  Range range() const override { return document_->range(node_->span); }
  Range missing_range() const override { return document_->range(node_->missing); }

 private:
  Attribute make(const DefinitionNode& node) const {
    const Span whole{node.name_span.begin, node.expression->span.end};
    return {std::string(node.name), Access::expression(document_, node.expression), document_->range(node.name_span),
            document_->range(whole)};
  }

  Block make(const BlockNode& node) const {
    Block block;
    block.type = node.type;
    for (const auto& label : node.labels)
      block.labels.push_back({std::string(label.text), document_->range(label.span)});
    block.body = Access::body(std::make_shared<NativeView>(document_, node.body));
    block.type_range = document_->range(node.type_span);
    block.range = document_->range(node.header);
    return block;
  }

  void unknown(std::string_view name, Span place, std::string_view what, const Schema& schema, Diagnostics& diagnostics,
               std::string_view owner) const {
    const auto names = schema_names(schema);
    diagnostics.error(document_->range(place), fmt::format("unknown {} '{}' in {}", what, name, owner), {},
                      suggest(name, names));
  }

  bool accept(const BlockNode& block, const Schema& schema, bool partial, Diagnostics& diagnostics,
              std::string_view owner) const {
    const BlockSchema* known = find_block(schema, block.type);
    if (known == nullptr) {
      if (find_attribute(schema, block.type) != nullptr) {
        diagnostics.error(document_->range(block.type_span),
                          fmt::format("'{}' is an attribute, not a block", block.type), {},
                          fmt::format("write '{} = …'", block.type));
      } else if (!partial) {
        unknown(block.type, block.type_span, "block", schema, diagnostics, owner);
      }
      return false;
    }
    const std::size_t have = block.labels.size();
    const std::size_t want = known->labels.size();
    if (have == want || (known->optional_labels && have < want)) return true;
    const Span place = have > want ? block.labels[want].span : block.type_span;
    diagnostics.error(
        document_->range(place),
        fmt::format("the block '{}' {}", block.type, have > want ? "has too many labels" : "lacks a label"), {},
        fmt::format("write '{}'", label_form(*known)));
    return false;
  }

  std::shared_ptr<const Document> document_;
  const BodyNode* node_;
};

// --- several bodies

class MergedView final : public BodyView {
 public:
  explicit MergedView(std::vector<Body> bodies) : bodies_(std::move(bodies)) {}

  Content read(const Schema* schema, bool partial, const Hidden& hidden, Diagnostics& diagnostics,
               std::string_view owner) const override {
    Content all;
    for (const auto& body : bodies_) {
      Content content = Access::view(body)->read(schema, partial, hidden, diagnostics, owner);
      for (auto& attribute : content.attributes) {
        if (const Attribute* first = all.find(attribute.name)) {
          diagnostics.error(attribute.name_range, fmt::format("the attribute '{}' is set twice", attribute.name),
                            fmt::format("first set at {}", first->name_range.where()));
          continue;
        }
        all.attributes.push_back(std::move(attribute));
      }
      std::move(content.blocks.begin(), content.blocks.end(), std::back_inserter(all.blocks));
    }
    return all;
  }

  bool is_json() const override {
    return std::all_of(bodies_.begin(), bodies_.end(), [](const Body& body) { return body.is_json(); });
  }
  Range range() const override { return bodies_.empty() ? Range{} : bodies_.front().range(); }
  Range missing_range() const override { return bodies_.empty() ? Range{} : bodies_.front().missing_range(); }

 private:
  std::vector<Body> bodies_;
};

/// What partial_content left over.
class RestView final : public BodyView {
 public:
  RestView(BodyViewPtr whole, Hidden hidden) : whole_(std::move(whole)), hidden_(std::move(hidden)) {}

  Content read(const Schema* schema, bool partial, const Hidden& hidden, Diagnostics& diagnostics,
               std::string_view owner) const override {
    Hidden both = hidden;
    both.insert(hidden_.begin(), hidden_.end());
    return whole_->read(schema, partial, both, diagnostics, owner);
  }
  bool is_json() const override { return whole_->is_json(); }
  Range range() const override { return whole_->range(); }
  Range missing_range() const override { return whole_->missing_range(); }

 private:
  BodyViewPtr whole_;
  Hidden hidden_;
};

void check_required(const Content& content, const Schema& schema, const Range& place, Diagnostics& diagnostics,
                    std::string_view owner) {
  for (const auto& attribute : schema.attributes) {
    if (!attribute.required || content.find(attribute.name) != nullptr) continue;
    const bool as_block = !content.blocks_of(attribute.name).empty();
    if (as_block) continue;
    diagnostics.error(place, fmt::format("the attribute '{}' is required in {}", attribute.name, owner), {},
                      fmt::format("add '{} = …'", attribute.name));
  }
}

}  // namespace

Body detail::Access::native_body(std::shared_ptr<const Document> document, const BodyNode* node) {
  return Body(std::make_shared<NativeView>(std::move(document), node));
}

const Attribute* Content::find(std::string_view name) const {
  for (const auto& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

std::vector<const Block*> Content::blocks_of(std::string_view type) const {
  std::vector<const Block*> found;
  for (const auto& block : blocks) {
    if (block.type == type) found.push_back(&block);
  }
  return found;
}

const std::string& Block::label(std::size_t index) const {
  static const std::string kNone;
  return index < labels.size() ? labels[index].text : kNone;
}

Body::Body() : view_(std::make_shared<MergedView>(std::vector<Body>{})) {}

Content Body::content(const Schema& schema, Diagnostics& diagnostics, std::string_view owner) const {
  Content content = view_->read(&schema, false, {}, diagnostics, owner);
  check_required(content, schema, missing_range(), diagnostics, owner);
  return content;
}

std::pair<Content, Body> Body::partial_content(const Schema& schema, Diagnostics& diagnostics,
                                               std::string_view owner) const {
  Content content = view_->read(&schema, true, {}, diagnostics, owner);
  check_required(content, schema, missing_range(), diagnostics, owner);
  Hidden hidden;
  for (auto& name : schema_names(schema)) hidden.insert(std::move(name));
  return {std::move(content), Body(std::make_shared<RestView>(view_, std::move(hidden)))};
}

std::vector<Attribute> Body::just_attributes(Diagnostics& diagnostics, std::string_view owner) const {
  Content content = view_->read(nullptr, false, {}, diagnostics, owner);
  for (const auto& block : content.blocks) {
    diagnostics.error(block.type_range, fmt::format("{} holds attributes only, '{}' is a block", owner, block.type), {},
                      fmt::format("write '{} = {{ … }}'", block.type));
  }
  return std::move(content.attributes);
}

std::vector<Traversal> Body::variables() const {
  Diagnostics reported_elsewhere;  // by whoever reads the body for what it says
  const Content content = view_->read(nullptr, false, {}, reported_elsewhere, {});
  std::vector<Traversal> found;
  const auto add = [&](std::vector<Traversal> more) { std::move(more.begin(), more.end(), std::back_inserter(found)); };
  for (const auto& attribute : content.attributes) add(attribute.expression.variables());
  for (const auto& block : content.blocks) add(block.body.variables());
  return found;
}

bool Body::is_json() const { return view_->is_json(); }
Range Body::range() const { return view_->range(); }
Range Body::missing_range() const { return view_->missing_range(); }

Body merge(std::vector<Body> bodies) {
  return bodies.size() == 1 ? std::move(bodies.front()) : Access::body(std::make_shared<MergedView>(std::move(bodies)));
}

namespace {

bool is_object_literal(const Attribute& attribute) {
  const Node* node = Access::node(attribute.expression);
  return node != nullptr && node->kind == NodeKind::object && !as<ObjectNode>(*node).json;
}

/// May throw Error(too_large) for what its parts add up to.
std::optional<Value> decode_parts(const Body& body, const Context& context, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  const Content content = Access::view(body)->read(nullptr, false, {}, diagnostics, "this block");
  Value::Object members;
  std::map<std::string, Value::List> lists;
  for (const auto& attribute : content.attributes) {
    auto value = attribute.expression.evaluate(context, diagnostics);
    if (!value) continue;
    // `x = { … }` and `x { … }` mean the same to a driver, whose schema has a block there.
    members.insert_or_assign(attribute.name, is_object_literal(attribute) ? Value::tuple({*value}) : *value);
  }
  for (const auto& block : content.blocks) {
    if (content.find(block.type) != nullptr) {
      diagnostics.error(block.type_range, fmt::format("'{}' is both an attribute and a block here", block.type));
      continue;
    }
    auto value = decode_parts(block.body, context, diagnostics);
    if (!value) continue;
    for (std::size_t i = block.labels.size(); i-- > 0;) {
      value = Value::object({{block.labels[i].text, Value::tuple({*value})}});
    }
    lists[block.type].push_back(std::move(*value));
  }
  if (diagnostics.error_count() > before) return std::nullopt;
  for (auto& [name, items] : lists) members.insert_or_assign(name, Value::tuple(std::move(items)));
  return Value::object(std::move(members));
}

}  // namespace

std::optional<Value> decode_any(const Body& body, const Context& context, Diagnostics& diagnostics) {
  try {
    return decode_parts(body, context, diagnostics);
  } catch (const Error& e) {
    diagnostics.error(body.missing_range(), e.message(), e.reasons().empty() ? "" : e.reasons().front());
    return std::nullopt;
  }
}

}  // namespace underway::hcl

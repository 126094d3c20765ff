#include "hcl/body.hpp"
#include "hcl/detail/access.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

using namespace detail;

namespace {

constexpr std::string_view kComment = "//";  // a property of this name is a comment (HCL's JSON specification)

std::string_view spell(const Node& node) {
  switch (node.kind) {
    case NodeKind::object:
      return "an object";
    case NodeKind::tuple:
      return "an array";
    case NodeKind::number:
      return "a number";
    case NodeKind::boolean:
      return "a bool";
    case NodeKind::null:
      return "null";
    default:
      return "a string";
  }
}

bool is_block_like(const Node& node) {
  if (node.kind == NodeKind::object) return true;
  if (node.kind != NodeKind::tuple || as<TupleNode>(node).items.empty()) return false;
  const auto items = as<TupleNode>(node).items;
  return std::all_of(items.begin(), items.end(), [](const Node* item) { return item->kind == NodeKind::object; });
}

class JsonView final : public BodyView {
 public:
  JsonView(std::shared_ptr<const Document> document, std::vector<const ObjectNode*> objects, Span place)
      : document_(std::move(document)), objects_(std::move(objects)), place_(place) {}

  Content read(const Schema* schema, bool partial, const Hidden& hidden, Diagnostics& diagnostics,
               std::string_view owner) const override {
    Content content;
    for (const ObjectNode* object : objects_) {
      for (const auto& item : object->items) {
        if (item.name == kComment || hidden.contains(item.name)) continue;
        const bool as_attribute = schema == nullptr || is_attribute(*schema, item.name);
        const BlockSchema* block = schema == nullptr ? nullptr : block_schema(*schema, item.name);
        if (block != nullptr && (!as_attribute || is_block_like(*item.value))) {
          std::vector<Label> labels;
          read_blocks(*item.value, *block, item, labels, content, diagnostics);
        } else if (as_attribute) {
          add_attribute(item, content, diagnostics);
        } else if (!partial) {
          unknown(item, *schema, diagnostics, owner);
        }
      }
    }
    return content;
  }

  bool is_json() const override { return true; }
  Range range() const override { return document_->range(place_); }
  Range missing_range() const override {
    return document_->range({place_.begin, std::min(place_.begin + 1, place_.end)});
  }

 private:
  static bool is_attribute(const Schema& schema, std::string_view name) {
    return std::any_of(schema.attributes.begin(), schema.attributes.end(),
                       [&](const auto& a) { return a.name == name; });
  }
  static const BlockSchema* block_schema(const Schema& schema, std::string_view type) {
    const auto found =
        std::find_if(schema.blocks.begin(), schema.blocks.end(), [&](const auto& b) { return b.type == type; });
    return found == schema.blocks.end() ? nullptr : &*found;
  }

  void add_attribute(const ObjectItem& item, Content& content, Diagnostics& diagnostics) const {
    if (const Attribute* first = content.find(item.name)) {
      diagnostics.error(document_->range(item.key->span), fmt::format("the attribute '{}' is set twice", item.name),
                        fmt::format("first set at {}", first->name_range.where()));
      return;
    }
    const Span whole{item.key->span.begin, item.value->span.end};
    content.attributes.push_back({std::string(item.name), Access::expression(document_, item.value),
                                  document_->range(item.key->span), document_->range(whole)});
  }

  void unknown(const ObjectItem& item, const Schema& schema, Diagnostics& diagnostics, std::string_view owner) const {
    std::vector<std::string> names;
    for (const auto& attribute : schema.attributes) names.push_back(attribute.name);
    for (const auto& block : schema.blocks) names.push_back(block.type);
    diagnostics.error(document_->range(item.key->span), fmt::format("unknown property '{}' in {}", item.name, owner),
                      {}, suggest(item.name, names));
  }

  /// One level of labels per object; below the last, a body or an array of bodies. An array may stand at every level.
  void read_blocks(const Node& value, const BlockSchema& schema, const ObjectItem& property, std::vector<Label>& labels,
                   Content& content, Diagnostics& diagnostics) const {
    if (value.kind == NodeKind::null) return;
    const std::size_t wanted = schema.optional_labels ? 0 : schema.labels.size();
    if (value.kind == NodeKind::tuple) {
      for (const Node* item : as<TupleNode>(value).items) {
        if (item->kind == NodeKind::tuple) {
          wrong(*item, schema, labels.size(), diagnostics);
        } else {
          read_blocks(*item, schema, property, labels, content, diagnostics);
        }
      }
      return;
    }
    if (value.kind != NodeKind::object) return wrong(value, schema, labels.size(), diagnostics);
    const auto& object = as<ObjectNode>(value);
    if (labels.size() == wanted) {
      Block block;
      block.type = schema.type;
      block.labels = labels;
      block.body =
          Access::body(std::make_shared<JsonView>(document_, std::vector<const ObjectNode*>{&object}, value.span));
      block.type_range = document_->range(property.key->span);
      block.range = block.type_range;
      content.blocks.push_back(std::move(block));
      return;
    }
    for (const auto& item : object.items) {
      if (item.name == kComment) continue;
      labels.push_back({std::string(item.name), document_->range(item.key->span)});
      read_blocks(*item.value, schema, property, labels, content, diagnostics);
      labels.pop_back();
    }
  }

  void wrong(const Node& value, const BlockSchema& schema, std::size_t level, Diagnostics& diagnostics) const {
    const std::string what =
        level < schema.labels.size() && !schema.optional_labels
            ? fmt::format("an object whose names are the {}s of '{}'", schema.labels[level], schema.type)
            : fmt::format("an object, the body of '{}',", schema.type);
    diagnostics.error(document_->range(value.span), fmt::format("{} is required, this is {}", what, spell(value)));
  }

  std::shared_ptr<const Document> document_;
  std::vector<const ObjectNode*> objects_;
  Span place_;
};

}  // namespace

Body detail::Access::json_body(std::shared_ptr<const Document> document, const Node* root, Diagnostics& diagnostics) {
  if (root == nullptr) return {};
  std::vector<const ObjectNode*> objects;
  const auto add = [&](const Node* node) {
    if (node->kind == NodeKind::object) {
      objects.push_back(&as<ObjectNode>(*node));
    } else {
      diagnostics.error(document->range(node->span), fmt::format("a body is an object, this is {}", spell(*node)));
    }
  };
  if (root->kind == NodeKind::tuple) {
    for (const Node* item : as<TupleNode>(*root).items) add(item);
  } else {
    add(root);
  }
  return Body(std::make_shared<JsonView>(std::move(document), std::move(objects), root->span));
}

}  // namespace underway::hcl

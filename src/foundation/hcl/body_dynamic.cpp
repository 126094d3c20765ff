#include "hcl/body.hpp"
#include "hcl/detail/access.hpp"
#include "hcl/type.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

using namespace detail;

namespace {

constexpr std::string_view kDynamic = "dynamic";
/// Of one block that is made: itself, its scope with key and value, its view.
constexpr std::uint64_t kStepsPerBlock = 16;
constexpr std::uint64_t kBytesPerBlock = 1024;

const Schema& dynamic_schema() {
  static const Schema kSchema{.attributes = {{"for_each", true}, {"iterator"}, {"labels"}},
                              .blocks = {{.type = "content"}}};
  return kSchema;
}

class DynamicView final : public BodyView {
 public:
  DynamicView(BodyViewPtr inner, Context context, ScopePtr scope)
      : inner_(std::move(inner)), context_(std::move(context)), scope_(std::move(scope)) {}

  Content read(const Schema* schema, bool partial, const Hidden& hidden, Diagnostics& diagnostics,
               std::string_view owner) const override {
    std::optional<Schema> widened;
    if (schema != nullptr) {
      widened = *schema;
      widened->blocks.push_back({.type = std::string(kDynamic), .labels = {"block type"}});
    }
    Content inner = inner_->read(widened ? &*widened : nullptr, partial, hidden, diagnostics, owner);
    Content content;
    for (auto& attribute : inner.attributes) {
      Access::set_scope(attribute.expression, scope_);
      content.attributes.push_back(std::move(attribute));
    }
    for (auto& block : inner.blocks) {
      if (block.type == kDynamic && block.labels.size() == 1) {
        if (wanted(block, schema, partial, hidden, diagnostics, owner)) try_expand(block, schema, content, diagnostics);
      } else {
        block.body = wrap(block.body, scope_);
        content.blocks.push_back(std::move(block));
      }
    }
    return content;
  }

  bool is_json() const override { return inner_->is_json(); }
  Range range() const override { return inner_->range(); }
  Range missing_range() const override { return inner_->missing_range(); }

 private:
  Body wrap(const Body& body, ScopePtr scope) const {
    return Access::body(std::make_shared<DynamicView>(Access::view(body), context_, std::move(scope)));
  }

  static bool wanted(const Block& block, const Schema* schema, bool partial, const Hidden& hidden,
                     Diagnostics& diagnostics, std::string_view owner) {
    const std::string& type = block.label(0);
    if (hidden.contains(type)) return false;
    if (schema == nullptr) return true;
    std::vector<std::string> names;
    for (const auto& known : schema->blocks) names.push_back(known.type);
    if (std::find(names.begin(), names.end(), type) != names.end()) return true;
    if (!partial) {
      diagnostics.error(block.labels[0].range, fmt::format("unknown block '{}' in {}", type, owner), {},
                        suggest(type, names));
    }
    return false;
  }

  void try_expand(const Block& block, const Schema* schema, Content& out, Diagnostics& diagnostics) const {
    const std::size_t before = out.blocks.size();
    try {
      expand(block, schema, out, diagnostics);
    } catch (const Error& e) {  // a limit was passed: what was made so far would be looked at all the same
      out.blocks.resize(before);
      diagnostics.error(block.range, e.message(), e.reasons().empty() ? "" : e.reasons().front(), e.advice());
    }
  }

  void expand(const Block& block, const Schema* schema, Content& out, Diagnostics& diagnostics) const {
    const std::string& type = block.label(0);
    const Content content = block.body.content(dynamic_schema(), diagnostics, "this dynamic block");
    const Attribute* for_each = content.find("for_each");
    if (for_each == nullptr) return;
    if (content.blocks.size() != 1) {
      diagnostics.error(block.range, fmt::format("the dynamic block '{}' needs one 'content' block, it has {}", type,
                                                 content.blocks.size()));
      return;
    }
    const auto collection = evaluate(for_each->expression, scope_, diagnostics);
    if (!collection) return;
    if (!collection->is_sequence() && !collection->is_mapping()) {
      diagnostics.error(
          for_each->expression.range(),
          fmt::format("'for_each' needs a list, set, map or object, this is {}", collection->type_name()));
      return;
    }
    std::string iterator = type;
    if (const Attribute* name = content.find("iterator")) {
      const auto word = name->expression.keyword();
      const auto text = name->expression.literal_string();  // HCL-JSON has no bare words
      if (!word && !text) {
        diagnostics.error(name->expression.range(), "'iterator' is a bare name");
        return;
      }
      iterator = word ? *word : *text;
    }
    const auto add = [&](Value key, const Value& value) {
      auto scope = std::make_shared<const Scope>(
          Scope{scope_, iterator, Value::object({{"key", std::move(key)}, {"value", value}})});
      return add_block(block, content, schema, std::move(scope), out, diagnostics);
    };
    if (collection->is_mapping()) {
      for (const auto& [key, value] : collection->members()) {
        if (!add(Value(key), value)) return;
      }
      return;
    }
    std::int64_t position = 0;
    for (const auto& value : collection->items()) {
      if (!add(collection->kind() == Kind::set ? value : Value(position++), value)) return;
    }
  }

  /// False ends the expansion: the next elements would fail alike.
  bool add_block(const Block& dynamic, const Content& content, const Schema* schema, ScopePtr scope, Content& out,
                 Diagnostics& diagnostics) const {
    context_.budget().step(kStepsPerBlock);
    context_.budget().produce(kBytesPerBlock);
    Block made;
    made.type = dynamic.label(0);
    made.type_range = dynamic.labels[0].range;
    made.range = dynamic.range;
    if (const Attribute* labels = content.find("labels")) {
      const auto values = evaluate(labels->expression, scope, diagnostics);
      if (!values) return false;
      if (!values->is_sequence()) {
        diagnostics.error(labels->expression.range(),
                          fmt::format("'labels' needs a list of strings, this is {}", values->type_name()));
        return false;
      }
      for (const auto& value : values->items()) {
        const auto text = to_text(value);
        if (!text) {
          diagnostics.error(labels->expression.range(),
                            fmt::format("a label is a string, this is {}", value.type_name()));
          return false;
        }
        made.labels.push_back({*text, labels->expression.range()});
      }
    }
    if (!labels_fit(made, schema, diagnostics)) return false;
    made.body = wrap(content.blocks.front().body, std::move(scope));
    out.blocks.push_back(std::move(made));
    return true;
  }

  static bool labels_fit(const Block& block, const Schema* schema, Diagnostics& diagnostics) {
    if (schema == nullptr) return true;
    for (const auto& known : schema->blocks) {
      if (known.type != block.type) continue;
      const std::size_t want = known.labels.size();
      if (block.labels.size() == want || (known.optional_labels && block.labels.size() < want)) return true;
      diagnostics.error(block.range, fmt::format("the block '{}' takes {} label{}, 'labels' gives {}", block.type, want,
                                                 want == 1 ? "" : "s", block.labels.size()));
      return false;
    }
    return true;
  }

  std::optional<Value> evaluate(Expression expression, ScopePtr scope, Diagnostics& diagnostics) const {
    Access::set_scope(expression, std::move(scope));
    return expression.evaluate(context_, diagnostics);
  }

  BodyViewPtr inner_;
  Context context_;
  ScopePtr scope_;
};

}  // namespace

Body expand_dynamic(const Body& body, const Context& context) {
  return Access::body(std::make_shared<DynamicView>(Access::view(body), context, nullptr));
}

}  // namespace underway::hcl

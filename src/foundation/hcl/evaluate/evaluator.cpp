#include "hcl/detail/evaluator.hpp"

#include "base/text.hpp"
#include "hcl/type.hpp"

#include <fmt/format.h>

namespace underway::hcl::detail {

namespace {

std::vector<std::string> names_of(const Value::Object& members) {
  std::vector<std::string> names;
  for (const auto& member : members) names.push_back(member.first);
  return names;
}

/// "it has: a, b, c"
std::string listing(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  if (names.empty()) return "it has none";
  std::string out = "it has: ";
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) {
    if (i > 0) out += ", ";
    out += names[i];
  }
  if (names.size() > kShown) out += fmt::format(", and {} more", names.size() - kShown);
  return out;
}

/// The source text of an expression as it fits in a message.
std::string brief(std::string_view text) {
  constexpr std::size_t kMax = 60;
  const std::size_t end = std::min(text.find('\n'), text.size());
  if (end <= kMax && end == text.size()) return std::string(text);
  std::size_t cut = std::min(end, kMax);
  while (cut > 0 && cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return std::string(text.substr(0, cut)) + "…";
}

}  // namespace

std::string what_it_is(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_string()) return fmt::format("the string {}", describe(value, 60));
  if (value.is_number() || value.is_bool())
    return fmt::format("the {} {}", to_string(value.kind()), describe(value, 60));
  return fmt::format("{} {}", value.kind() == Kind::object ? "an" : "a", to_string(value.kind()));
}

std::optional<Value> Evaluator::run(const Node& node) {
  try {
    return eval(node);
  } catch (const Error& e) {
    std::string why;
    for (const auto& reason : e.reasons()) why += (why.empty() ? "" : "; ") + reason;
    error(current_->span, e.message(), why, e.advice());
    return std::nullopt;
  }
}

Evaluator::Result Evaluator::eval(const Node& node) {
  current_ = &node;
  context_.budget().step();
  Result result = dispatch(node);
  if (result && result->is_number()) context_.budget().number(result->as_number().bits());
  return result;
}

Evaluator::Result Evaluator::dispatch(const Node& node) {
  switch (node.kind) {
    case NodeKind::null:
      return Value();
    case NodeKind::boolean:
      return Value(as<BooleanNode>(node).value);
    case NodeKind::number: {
      auto number = Number::parse(as<NumberNode>(node).digits);
      if (!number) {
        error(node.span, "this number is out of bounds");
        return std::nullopt;
      }
      return Value(std::move(*number));
    }
    case NodeKind::text: {
      const std::string_view text = as<StringNode>(node).value;
      context_.budget().produce_string(text.size());
      return Value(text);
    }
    case NodeKind::string:
      return joined(as<TemplateNode>(node));
    case NodeKind::template_if:
    case NodeKind::template_for: {
      std::string out;
      const Node* part = &node;
      if (!append_parts({&part, 1}, out)) return std::nullopt;
      return Value(std::move(out));
    }
    case NodeKind::wrap:
    case NodeKind::parentheses:
      return eval(*as<WrapNode>(node).inner);
    case NodeKind::variable:
      return variable(as<VariableNode>(node));
    case NodeKind::attribute:
      return attribute(as<AttributeNode>(node));
    case NodeKind::index:
      return index(as<IndexNode>(node));
    case NodeKind::splat:
      return splat(as<SplatNode>(node));
    case NodeKind::splat_item:
      for (auto item = splat_items_.rbegin(); item != splat_items_.rend(); ++item) {
        if (item->first == &node) return item->second;
      }
      return std::nullopt;
    case NodeKind::call:
      return call(as<CallNode>(node));
    case NodeKind::unary:
      return unary(as<UnaryNode>(node));
    case NodeKind::binary:
      return binary(as<BinaryNode>(node));
    case NodeKind::conditional:
      return conditional(as<ConditionalNode>(node));
    case NodeKind::tuple:
      return tuple(as<TupleNode>(node));
    case NodeKind::object:
      return object(as<ObjectNode>(node));
    case NodeKind::for_each:
      return as<ForNode>(node).key != nullptr ? for_object(as<ForNode>(node)) : for_tuple(as<ForNode>(node));
  }
  return std::nullopt;
}

const Value* Evaluator::find(std::string_view name) const {
  for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
    if (local->name == name) return &local->value;
  }
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->outer.get()) {
    if (scope->name == name) return &scope->value;
  }
  return context_.find(name);
}

/// Whether `node` is a root that nobody knows and constant steps from it: what the dialect keeps as text.
bool Evaluator::is_kept(const Node& node) const {
  const Node* at = &node;
  for (;;) {
    if (at->kind == NodeKind::attribute) {
      at = as<AttributeNode>(*at).target;
    } else if (at->kind == NodeKind::index) {
      const auto& step = as<IndexNode>(*at);
      const NodeKind kind = step.key->kind;
      const bool constant =
          kind == NodeKind::text || kind == NodeKind::number || kind == NodeKind::boolean || kind == NodeKind::null;
      if (!constant) return false;
      at = step.target;
    } else {
      if (at->kind != NodeKind::variable) return false;
      const auto& name = as<VariableNode>(*at).name;
      return find(name) == nullptr && context_.keeps(name);
    }
  }
}

Evaluator::Result Evaluator::kept(const Node& node) {
  context_.budget().produce_string(node.source.size() + 3);
  return Value(fmt::format("${{{}}}", node.source));
}

Evaluator::Result Evaluator::variable(const VariableNode& node) {
  if (const Value* value = find(node.name)) return *value;
  if (context_.keeps(node.name)) return kept(node);
  context_.budget().step(16 * (1 + context_.roots().size() + locals_.size()));
  std::vector<std::string> known;
  for (const auto& root : context_.roots()) known.push_back(root.first);
  for (const auto& local : locals_) known.emplace_back(local.name);
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->outer.get()) known.push_back(scope->name);
  std::string advice = suggest(node.name, known);
  if (advice.empty()) advice = fmt::format("write \"{}\" in quotes if text is meant", node.name);
  std::string names;
  for (const auto& name : known) names += (names.empty() ? "" : ", ") + name;
  error(node.span, fmt::format("unknown name '{}'", node.name),
        names.empty() ? "no names are known here" : "known here: " + names, advice);
  return std::nullopt;
}

Evaluator::Result Evaluator::attribute(const AttributeNode& node) {
  if (is_kept(node)) return kept(node);
  const auto target = eval(*node.target);
  if (!target) return std::nullopt;
  current_ = &node;
  return member(*node.target, *target, node.name, node.name_span);
}

Evaluator::Result Evaluator::member(const Node& target_node, const Value& target, std::string_view name, Span place) {
  if (const Value* found = target.find(name)) return *found;
  const std::string subject = brief(target_node.source);
  if (target.is_mapping()) {
    context_.budget().step(16 * (1 + target.members().size()));  // the nearest of them is looked for
    const auto names = names_of(target.members());
    error(place, fmt::format("'{}' has no '{}'", subject, brief(name)), listing(names), suggest(name, names));
  } else if (target.is_null()) {
    error(place, fmt::format("'{}' is null and has no '{}'", subject, brief(name)));
  } else if (target.is_sequence()) {
    error(place, fmt::format("'{}' is a {} and has no attributes", subject, to_string(target.kind())), {},
          fmt::format("write '{0}[*].{1}' for the '{1}' of each element, or '{0}[0].{1}' for the first", subject,
                      brief(name)));
  } else {
    error(place, fmt::format("'{}' is {} and has no attributes", subject, what_it_is(target)));
  }
  return std::nullopt;
}

Evaluator::Result Evaluator::index(const IndexNode& node) {
  if (is_kept(node)) return kept(node);
  const auto target = eval(*node.target);
  const auto key = eval(*node.key);
  if (!target || !key) return std::nullopt;
  current_ = &node;
  return element(node, *target, *key);
}

Evaluator::Result Evaluator::element(const IndexNode& node, const Value& target, const Value& key) {
  const std::string subject = brief(node.target->source);
  if (target.is_mapping()) {
    const auto name = to_text(key);
    if (name) return member(*node.target, target, *name, node.key->span);
    error(node.key->span, fmt::format("a key of '{}' is a string, this is {}", subject, what_it_is(key)));
    return std::nullopt;
  }
  if (target.kind() != Kind::tuple && target.kind() != Kind::list) {
    error(node.span, fmt::format("'{}' is {} and has no elements to index", subject, what_it_is(target)), {},
          target.kind() == Kind::set ? "use 'for', or sort() it into a list first" : "");
    return std::nullopt;
  }
  const auto number = to_number(key);
  const auto position = number ? number->to_int64() : std::nullopt;
  if (!position) {
    error(node.key->span, fmt::format("an index into '{}' is an integer, this is {}", subject, what_it_is(key)));
    return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(target.items().size());
  if (*position < 0 || *position >= size) {
    const std::string have = size == 0 ? "it is empty" : fmt::format("it has {} elements: 0 to {}", size, size - 1);
    error(node.key->span, fmt::format("'{}' has no element {}", subject, *position), have);
    return std::nullopt;
  }
  return target.items()[static_cast<std::size_t>(*position)];
}

Evaluator::Result Evaluator::splat(const SplatNode& node) {
  const auto target = eval(*node.target);
  if (!target) return std::nullopt;
  current_ = &node;
  if (target->is_null()) return Value::tuple({});  // a scalar that may be absent becomes zero or one elements
  const std::vector<Value> items = target->is_sequence() ? target->items() : std::vector<Value>{*target};
  std::vector<Value> out;
  bool failed = false;
  context_.budget().produce(items.size() * sizeof(Value));
  for (const auto& item : items) {
    splat_items_.emplace_back(node.item, item);
    const auto value = eval(*node.each);
    splat_items_.pop_back();
    if (value) out.push_back(*value);
    failed = failed || !value;
    if (diagnostics_->error_count() >= Diagnostics::kMax) break;
  }
  if (failed) return std::nullopt;
  const bool from_list = target->kind() == Kind::list || target->kind() == Kind::set;
  return from_list ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

}  // namespace underway::hcl::detail

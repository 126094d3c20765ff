#include "hcl/detail/evaluator.hpp"

#include "hcl/type.hpp"

#include <fmt/format.h>

namespace underway::hcl::detail {

Evaluator::Result Evaluator::tuple(const TupleNode& node) {
  Value::List items;
  items.reserve(node.items.size());
  for (const Node* item : node.items) {
    if (auto value = eval(*item)) items.push_back(std::move(*value));
  }
  if (items.size() != node.items.size()) return std::nullopt;
  context_.budget().produce(items.size() * sizeof(Value));
  return Value::tuple(std::move(items));
}

std::optional<std::string> Evaluator::key_text(const Node& node) {
  const auto key = eval(node);
  if (!key) return std::nullopt;
  auto text = to_text(*key);
  if (!text) error(node.span, fmt::format("a key is a string, this is {}", what_it_is(*key)));
  return text;
}

Evaluator::Result Evaluator::object(const ObjectNode& node) {
  Value::Object members;
  bool failed = false;
  for (const auto& item : node.items) {
    auto key = key_text(*item.key);
    auto value = eval(*item.value);
    if (!key || !value) {
      failed = true;
      continue;
    }
    context_.budget().produce(sizeof(Value) + key->size());
    const auto [at, fresh] = members.insert_or_assign(std::move(*key), std::move(*value));
    if (!fresh && node.json) {  // native objects: the last one wins, as in other implementations
      error(item.key->span, fmt::format("the key '{}' is set twice", at->first));
      failed = true;
    }
  }
  if (failed) return std::nullopt;
  return Value::object(std::move(members));
}

bool Evaluator::each(const Node& collection_node, std::string_view key_name, std::string_view value_name,
                     const std::function<bool()>& step) {
  const auto collection = eval(collection_node);
  if (!collection) return false;
  if (!collection->is_sequence() && !collection->is_mapping()) {
    error(collection_node.span,
          fmt::format("'for' needs a list, set, map or object, this is {}", what_it_is(*collection)));
    return false;
  }
  bool good = true;
  const auto visit = [&](Value key, const Value& value) {
    context_.budget().step();
    const std::size_t depth = locals_.size();
    if (!key_name.empty()) locals_.push_back({key_name, std::move(key)});
    locals_.push_back({value_name, value});
    good = step() && good;
    locals_.resize(depth);
    return diagnostics_->error_count() < Diagnostics::kMax;
  };
  if (collection->is_mapping()) {
    for (const auto& [name, value] : collection->members()) {
      if (!visit(key_name.empty() ? Value() : Value(name), value)) break;
    }
    return good;
  }
  std::int64_t position = 0;
  for (const auto& value : collection->items()) {
    if (!visit(collection->kind() == Kind::set ? value : Value(position), value)) break;
    ++position;
  }
  return good;
}

int Evaluator::passes(const Node* condition) {
  if (condition == nullptr) return 1;
  const auto answer = flag(*condition, "the condition of 'for'");
  return answer ? (*answer ? 1 : 0) : -1;
}

Evaluator::Result Evaluator::for_tuple(const ForNode& node) {
  Value::List items;
  const bool good = each(*node.collection, node.key_name, node.value_name, [&] {
    const int pass = passes(node.condition);
    if (pass <= 0) return pass == 0;
    auto value = eval(*node.value);
    if (!value) return false;
    context_.budget().produce(sizeof(Value));
    items.push_back(std::move(*value));
    return true;
  });
  current_ = &node;
  return good ? Result(Value::tuple(std::move(items))) : std::nullopt;
}

Evaluator::Result Evaluator::for_object(const ForNode& node) {
  Value::Object members;
  std::map<std::string, Value::List> groups;
  const bool good = each(*node.collection, node.key_name, node.value_name, [&] {
    const int pass = passes(node.condition);
    if (pass <= 0) return pass == 0;
    auto key = key_text(*node.key);
    auto value = eval(*node.value);
    if (!key || !value) return false;
    context_.budget().produce(sizeof(Value) + key->size());
    if (node.group) {
      groups[std::move(*key)].push_back(std::move(*value));
      return true;
    }
    const auto [at, fresh] = members.try_emplace(std::move(*key), std::move(*value));
    if (fresh) return true;
    error(node.key->span, fmt::format("'for' makes the key '{}' twice", at->first), {},
          "add '...' after the value to collect equal keys in lists");
    return false;
  });
  current_ = &node;
  if (!good) return std::nullopt;
  for (auto& [key, items] : groups) members.emplace(key, Value::tuple(std::move(items)));
  return Value::object(std::move(members));
}

Evaluator::Result Evaluator::joined(const TemplateNode& node) {
  std::string out;
  if (!append_parts(node.parts, out)) return std::nullopt;
  return Value(std::move(out));
}

void Evaluator::append_text(std::string_view text, std::string& out) {
  if (out.size() + text.size() > context_.budget().limits().string_bytes) {
    context_.budget().produce_string(out.size() + text.size());
  }
  context_.budget().produce(text.size());
  out += text;
}

bool Evaluator::append_parts(std::span<const Node* const> parts, std::string& out) {
  bool good = true;
  for (const Node* part : parts) {
    if (part->kind == NodeKind::text) {
      context_.budget().step();
      append_text(as<StringNode>(*part).value, out);
    } else if (part->kind == NodeKind::template_if) {
      good = append_if(as<TemplateIfNode>(*part), out) && good;
    } else if (part->kind == NodeKind::template_for) {
      good = append_for(as<TemplateForNode>(*part), out) && good;
    } else if (const auto value = eval(*part)) {
      current_ = part;
      if (const auto text = to_text(*value)) {
        append_text(*text, out);
        continue;
      }
      const bool null = value->is_null();
      error(part->span, fmt::format("{} cannot stand in a string", null ? "null" : what_it_is(*value)), {},
            null ? "use coalesce() or '?:' to give a text for null" : "use join(\", \", …) or jsonencode(…)");
      good = false;
    } else {
      good = false;
    }
  }
  return good;
}

bool Evaluator::append_if(const TemplateIfNode& node, std::string& out) {
  context_.budget().step();
  const auto answer = flag(*node.condition, "the condition of 'if'");
  return answer && append_parts(*answer ? node.yes : node.no, out);
}

bool Evaluator::append_for(const TemplateForNode& node, std::string& out) {
  context_.budget().step();
  return each(*node.collection, node.key_name, node.value_name, [&] { return append_parts(node.parts, out); });
}

}  // namespace underway::hcl::detail

#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unicode.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace underway::hcl::detail {

namespace {

/// YAML 1.2's core schema for plain scalars (yaml.org/spec/1.2.2, 10.3.2).
Value plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (auto number = Number::parse(text)) return std::move(*number);
  if (text.starts_with("0x")) {
    if (auto number = Number::parse_integer(std::string_view(text).substr(2), 16)) return std::move(*number);
  }
  if (text.starts_with("0o")) {
    if (auto number = Number::parse_integer(std::string_view(text).substr(2), 8)) return std::move(*number);
  }
  return text;
}

Value scalar(const YAML::Node& node) {
  // "?" is a plain scalar without tag, "!" a quoted one.
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str" || node.Tag() == "!!str") return node.Scalar();
  return plain_scalar(node.Scalar());
}

constexpr std::uint64_t kNodeSteps = 100;  // yaml-cpp's nodes are slow to visit

/// An alias is walked as often as it occurs, so the budget bounds what aliases can multiply.
Value from_yaml(const YAML::Node& node, unsigned depth, Budget& budget) {
  budget.step(kNodeSteps);
  if (depth > Value::kMaxDepth) throw Error(Code::too_large, "the YAML is nested too deeply");
  if (!node.IsDefined() || node.IsNull()) return {};
  if (node.IsScalar()) {
    budget.produce(node.Scalar().size() + sizeof(Value));
    return scalar(node);
  }
  if (node.IsSequence()) {
    Value::List items;
    for (const auto& item : node) items.push_back(from_yaml(item, depth + 1, budget));
    return Value::tuple(std::move(items));
  }
  Value::Object members;
  for (const auto& member : node) {
    if (!member.first.IsScalar()) throw ArgumentError(0, "a key of the YAML is no scalar");
    budget.produce(member.first.Scalar().size());
    members.insert_or_assign(member.first.Scalar(), from_yaml(member.second, depth + 1, budget));
  }
  return Value::object(std::move(members));
}

constexpr std::size_t kMaxYamlNesting = 400;  // the reader recurses once or twice for each

/// Each bracket or leading indicator opens at most one level; refused before the recursive reader sees it.
void check_yaml_nesting(std::string_view text) {
  std::size_t flow = 0;
  std::size_t line_levels = 0;
  bool leading = true;
  for (const char c : text) {
    if (c == '\n') {
      leading = true;
      line_levels = 0;
    } else if (c == '[' || c == '{') {
      ++flow;
    } else if ((c == ']' || c == '}') && flow > 0) {
      --flow;
    } else if (leading && (c == '-' || c == '?' || c == ':')) {
      ++line_levels;
    } else if (c != ' ') {
      leading = false;
    }
    if (flow + line_levels > kMaxYamlNesting) throw ArgumentError(0, "the YAML is nested too deeply");
  }
}

Value decode(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  check_yaml_nesting(text);
  try {
    return from_yaml(YAML::Load(text), 0, arguments.budget());
  } catch (const YAML::Exception& e) {
    throw ArgumentError(0, fmt::format("this is no YAML: {}", e.what()));
  }
}

/// Block style with every string in quotes: no reader can take one for a number or a bool.
void append_yaml(const Value& value, unsigned indent, std::string& out, Budget& budget) {
  budget.step();
  if (out.size() > budget.limits().string_bytes) budget.produce_string(out.size());
  const std::string margin(indent, ' ');
  const auto nested = [&](const Value& inner, bool in_list) {
    const bool block =
        (inner.is_mapping() && !inner.members().empty()) || (inner.is_sequence() && !inner.items().empty());
    if (block && !in_list) out += '\n';
    if (block) {
      append_yaml(inner, in_list ? indent + 2 : indent + (inner.is_mapping() ? 2 : 0), out, budget);
    } else {
      append_yaml(inner, 0, out, budget);
      out += '\n';
    }
  };
  if (value.is_mapping() && !value.members().empty()) {
    bool first = out.ends_with("- ");
    for (const auto& [name, member] : value.members()) {
      if (!std::exchange(first, false)) out += margin;
      out += json_quote(name) + (member.depth() == 0 ? ": " : ":");
      if (member.depth() > 0 && (member.is_mapping() ? member.members().empty() : member.items().empty())) out += ' ';
      nested(member, false);
    }
  } else if (value.is_sequence() && !value.items().empty()) {
    bool first = out.ends_with("- ");
    for (const auto& item : value.items()) {
      if (!std::exchange(first, false)) out += margin;
      out += "- ";
      nested(item, true);
    }
  } else if (value.is_mapping()) {
    out += "{}";
  } else if (value.is_sequence()) {
    out += "[]";
  } else {
    out += value.is_string() ? json_quote(value.as_string()) : to_text(value).value_or("null");
  }
}

Value encode(const Arguments& arguments) {
  std::string out;
  append_yaml(arguments[0], 0, out, arguments.budget());
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

}  // namespace

void add_yaml_functions(Entries& entries) {
  entries["yamldecode"] = {"text", 1, 1, [](const Call& call) { return decode(Arguments(call)); }};
  entries["yamlencode"] = {"value", 1, 1, [](const Call& call) { return encode(Arguments(call)); }, true};
}

}  // namespace underway::hcl::detail

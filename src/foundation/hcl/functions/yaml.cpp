// yamldecode and yamlencode: what go-cty-yaml makes of the nodes of YAML 1.1.
#include "yaml/yaml.hpp"
#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"

#include <fmt/format.h>

#include <set>

namespace underway::hcl::detail {

namespace {

/// Digits of `base` with underscores between them, behind a sign.
bool holds_only(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.empty()) return true;  // "+" and "-" are said to be integers, and are then refused
  if (text.starts_with("0o") && text.size() > 2) return holds_only(text.substr(2), "01234567_");
  if (text.starts_with("0x") && text.size() > 2) return holds_only(text.substr(2), "0123456789abcdefABCDEF_");
  return holds_only(text, "0123456789_");
}

bool is_real(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || !(is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1])))) return false;
  return Number::parse(text).has_value() && text.find_first_of("pP") == std::string_view::npos;
}

/// 0x1F, 0o17 and 017 in 64 bits, as Go's strconv with base 0.
std::optional<Number> prefixed(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() < 2 || text[0] != '0') return std::nullopt;
  const char letter = text[1];
  const int base = letter == 'x' || letter == 'X' ? 16 : letter == 'o' || letter == 'O' ? 8 : 0;
  const auto number =
      base == 0 ? Number::parse_integer(text.substr(1), 8) : Number::parse_integer(text.substr(2), base);
  if (!number || number->sign() < 0 || number->digits(2).size() > (negative ? 63U : 64U)) return std::nullopt;
  return negative ? -*number : *number;
}

Value number_of(const yaml::Node& node) {
  const std::string& text = node.text;
  const bool tagged = !node.tag.empty();
  if (!tagged && text.starts_with('.')) {
    auto number = Number::parse(text);
    return number ? Value(std::move(*number)) : Value(text);
  }
  if (!tagged && !is_integer(text) && !is_real(text)) return text;
  std::string plain = text;
  std::erase(plain, '_');
  if (auto number = Number::parse(plain)) return std::move(*number);
  if (auto number = prefixed(plain)) return std::move(*number);
  throw ArgumentError(0, fmt::format("line {}: '{}' is no number", node.line, text.substr(0, 40)));
}

constexpr std::uint64_t kNodeSteps = 20;

/// Follows the nodes in their order, so that an alias stands for what its anchor named last.
class Reader {
 public:
  explicit Reader(Budget& budget) : budget_(budget) {}

  Value read(const yaml::Node& node) {
    budget_.step(kNodeSteps);
    if (node.kind == yaml::Node::Kind::alias) return alias(node);
    if (!node.anchor.empty()) open_.insert(node.anchor);
    Value value = node.kind == yaml::Node::Kind::scalar     ? scalar(node)
                  : node.kind == yaml::Node::Kind::sequence ? sequence(node)
                                                            : mapping(node);
    if (!node.anchor.empty()) {
      open_.erase(open_.find(node.anchor));
      named_.insert_or_assign(node.anchor, value);
    }
    return value;
  }

 private:
  /// Walked as often as it occurs, so the budget bounds what aliases can multiply.
  Value alias(const yaml::Node& node) {
    const auto found = named_.find(node.anchor);
    if (open_.contains(node.anchor) || found == named_.end())
      throw ArgumentError(0,
                          fmt::format("line {}: the alias '*{}' refers to nothing before it", node.line, node.anchor));
    budget_.step(found->second.weight() / 16);
    budget_.produce(found->second.weight());
    return found->second;
  }

  Value scalar(const yaml::Node& node) {
    budget_.produce(node.text.size() + sizeof(Value));
    using Kind = yaml::Scalar::Kind;
    yaml::Scalar scalar = yaml::scalar_of(node);
    switch (scalar.kind) {
      case Kind::null:
        return {};
      case Kind::boolean:
        return scalar.truth;
      case Kind::number:
        return number_of(node);
      case Kind::infinity:
      case Kind::not_a_number:
        throw ArgumentError(0, fmt::format("line {}: '{}' is no finite number", node.line, node.text));
      case Kind::text:
        if (node.tag == "tag:yaml.org,2002:binary") base64_decode(scalar.text);  // it is to be base64, and stays so
        return std::move(scalar.text);
      case Kind::timestamp:
      case Kind::merge:
        break;
    }
    return std::move(scalar.text);
  }

  Value sequence(const yaml::Node& node) {
    if (!node.tag.empty() && node.tag != "tag:yaml.org,2002:seq") unknown_tag(node);
    Value::List items;
    items.reserve(node.children.size());
    for (const auto& child : node.children) items.push_back(read(child));
    return Value::tuple(std::move(items));
  }

  Value mapping(const yaml::Node& node) {
    if (!node.tag.empty() && node.tag != "tag:yaml.org,2002:map") unknown_tag(node);
    Value::Object members;
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const yaml::Node& key = node.children[i];
      if (key.kind != yaml::Node::Kind::scalar)
        throw ArgumentError(0, fmt::format("line {}: a key is no scalar", key.line));
      if (yaml::scalar_of(key).kind == yaml::Scalar::Kind::merge) {
        merge(node.children[i + 1], members);
        continue;
      }
      const auto name = to_text(scalar(key));
      if (!name) throw ArgumentError(0, fmt::format("line {}: a key is null", key.line));
      Value value = read(node.children[i + 1]);
      members.insert_or_assign(*name, std::move(value));
    }
    return Value::object(std::move(members));
  }

  void merge(const yaml::Node& from, Value::Object& members) {
    const Value value = read(from);
    if (!value.is_mapping()) throw ArgumentError(0, fmt::format("line {}: '<<' needs a mapping", from.line));
    for (const auto& [name, member] : value.members()) members.insert_or_assign(name, member);
  }

  [[noreturn]] static void unknown_tag(const yaml::Node& node) {
    throw ArgumentError(0, fmt::format("line {}: the tag '{}' does not fit here", node.line, node.tag.substr(0, 40)));
  }

  Budget& budget_;
  std::multiset<std::string> open_;
  std::map<std::string, Value> named_;
};

Value decode(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  arguments.budget().step(text.size());
  arguments.budget().produce(text.size());
  try {
    const auto documents = yaml::parse(text);
    if (documents.empty()) throw ArgumentError(0, "this YAML is empty");
    if (documents.size() > 1) throw ArgumentError(0, "this YAML has several documents, one is read");
    return Reader(arguments.budget()).read(documents.front());
  } catch (const ArgumentError& e) {
    throw ArgumentError(0, fmt::format("this is no YAML: {}", e.message()));
  } catch (const Error& e) {
    if (e.code() != Code::invalid) throw;
    throw ArgumentError(0, fmt::format("this is no YAML: {}", e.message()));
  }
}

/// Every string in quotes, or literal when it has several lines: no reader takes one for a number or a bool.
void write(const Value& value, yaml::Emitter& emitter, Budget& budget) {
  budget.step(kNodeSteps);
  if (emitter.size() > budget.limits().string_bytes) budget.produce_string(emitter.size());
  const auto text = [&](const std::string& string) {
    const bool lines = string.find('\n') != std::string::npos;
    emitter.scalar(string, lines ? yaml::Style::literal : yaml::Style::double_quoted);
  };
  if (value.is_mapping()) {
    emitter.begin_mapping();
    for (const auto& [name, member] : value.members()) {
      text(name);
      write(member, emitter, budget);
    }
    emitter.end_mapping();
  } else if (value.is_sequence()) {
    emitter.begin_sequence();
    for (const auto& item : value.items()) write(item, emitter, budget);
    emitter.end_sequence();
  } else if (value.is_string()) {
    text(value.as_string());
  } else {
    emitter.scalar(to_text(value).value_or("null"), yaml::Style::plain);
  }
}

Value encode(const Arguments& arguments) {
  constexpr int kWidth = 80;
  yaml::Emitter emitter(kWidth);
  write(arguments[0], emitter, arguments.budget());
  std::string text = emitter.finish();
  // Behind a document that is one plain word, older emitters say where it ends, as Go's does.
  const bool plain = arguments[0].is_null() || arguments[0].is_bool() || arguments[0].is_number();
  constexpr std::string_view kEnd = "\n...\n";  // what newer ones say behind a text that ends with empty lines
  if (!plain && text.ends_with(kEnd)) text.resize(text.size() - kEnd.size() + 1);
  return plain ? text + "...\n" : text;
}

}  // namespace

void add_yaml_functions(Entries& entries) {
  entries["yamldecode"] = {"text", 1, 1, [](const Call& call) { return decode(Arguments(call)); }};
  entries["yamlencode"] = {"value", 1, 1, [](const Call& call) { return encode(Arguments(call)); }, true};
}

}  // namespace underway::hcl::detail

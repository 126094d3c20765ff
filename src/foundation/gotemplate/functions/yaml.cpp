// YAML 1.1 as Go's yaml.v2 reads it into an interface {}, and writes it.
#include "yaml/yaml.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/language/literal.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace underway::gotemplate {

namespace {

constexpr std::size_t kLongestYaml = 1U << 20;
constexpr std::string_view kTag = "tag:yaml.org,2002:";

constexpr std::array<std::string_view, 22> kWords = {"y",   "Y",   "yes", "Yes",   "YES",   "true", "True", "TRUE",
                                                     "on",  "On",  "ON",  "n",     "N",     "no",   "No",   "NO",
                                                     "off", "Off", "OFF", "false", "False", "FALSE"};
constexpr std::size_t kTrueWords = 11;

bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::optional<double> special_real(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return std::nan("");
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text != ".inf" && text != ".Inf" && text != ".INF") return std::nullopt;
  return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

/// "1.5", ".5", "5.", "1e3": no hexadecimal, no words.
bool is_decimal_real(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at > begin;
  };
  const auto sign = [&] {
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  };
  sign();
  const bool whole = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits() && !whole) return false;
  } else if (!whole) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    sign();
    if (!digits()) return false;
  }
  return at == text.size();
}

std::optional<Value> number(std::string_view text) {
  if (text.starts_with('.')) {
    const auto real = parse_real(text);
    return real ? std::optional(Value(*real)) : std::nullopt;
  }
  const bool begins = text[0] == '+' || text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
  if (!begins) return std::nullopt;
  std::string plain(text);
  std::erase(plain, '_');
  if (const auto whole = parse_integer(plain, 0)) return Value(*whole);
  if (const auto natural = parse_natural(plain, 0)) return Value(*natural);
  if (!is_decimal_real(plain)) return std::nullopt;
  const auto real = parse_real(plain);
  return real ? std::optional(Value(*real)) : std::nullopt;
}

/// What a plain scalar means; a text when nothing else. A time is a text.
Value resolve(std::string_view text) {
  if (is_null(text)) return {};
  if (const auto* word = std::ranges::find(kWords, text); word != kWords.end())
    return word - kWords.begin() < static_cast<std::ptrdiff_t>(kTrueWords);
  if (yaml::timestamp(text)) return text;
  if (const auto real = special_real(text)) return *real;
  if (auto found = number(text)) return std::move(*found);
  return text;
}

Error wrong_tag(const yaml::Node& node, std::string_view tag) {
  return {Code::invalid, fmt::format("yaml: line {}: this is no !!{}", node.line, tag)};
}

/// A scalar with one of YAML's own tags; any other tag leaves a text.
Value tagged(const yaml::Node& node) {
  if (!node.tag.starts_with(kTag)) return std::string_view(node.text);
  const std::string_view tag = std::string_view(node.tag).substr(kTag.size());
  if (tag == "binary") {
    try {
      return base64_bytes(node.text, false);
    } catch (const Error&) {
      throw Error(Code::invalid, "yaml: !!binary value contains invalid base64 data");
    }
  }
  if (tag == "timestamp") {
    if (!yaml::timestamp(node.text)) throw wrong_tag(node, tag);
    return std::string_view(node.text);
  }
  if (tag != "null" && tag != "bool" && tag != "int" && tag != "float") return std::string_view(node.text);
  Value value = resolve(node.text);
  const Kind kind = value.kind();
  if (tag == "float" && kind == Kind::integer) return static_cast<double>(value.as_integer());
  const bool fits = tag == "null"   ? kind == Kind::nil
                    : tag == "bool" ? kind == Kind::boolean
                    : tag == "int"  ? kind == Kind::integer || kind == Kind::natural
                                    : kind == Kind::real;
  if (!fits) throw wrong_tag(node, tag);
  return value;
}

/// Nodes as values. An alias is walked as often as it occurs: the budget bounds what aliases can multiply.
class YamlReader {
 public:
  explicit YamlReader(Run& run) : run_(run) {}

  void remember(const yaml::Node& node) {
    run_.step();
    if (node.kind != yaml::Node::Kind::alias && !node.anchor.empty()) anchors_[node.anchor] = &node;
  }

  Value value(const yaml::Node& node, unsigned depth) {
    run_.step(20);
    if (depth > Value::kMaxDepth - 10) throw Error(Code::too_large, "yaml: the text is nested too deeply");
    remember(node);
    switch (node.kind) {
      case yaml::Node::Kind::alias:
        return alias(node, depth);
      case yaml::Node::Kind::scalar:
        return scalar(node);
      case yaml::Node::Kind::sequence: {
        List items;
        run_.make_elements(node.children.size());
        for (const auto& item : node.children) items.push_back(value(item, depth + 1));
        return Value::list(std::move(items));
      }
      case yaml::Node::Kind::mapping:
        break;
    }
    const Value out = run_.map();
    mapping(node, out, depth);
    return out;
  }

 private:
  Value scalar(const yaml::Node& node) {
    run_.make(node.text.size());
    if (!node.tag.empty()) return tagged(node);
    return node.style == yaml::Style::plain ? resolve(node.text) : Value(std::string_view(node.text));
  }

  const yaml::Node& target(const yaml::Node& alias) {
    const auto found = anchors_.find(alias.anchor);
    if (found == anchors_.end())
      throw Error(Code::invalid, fmt::format("yaml: unknown anchor '{}' referenced", alias.anchor));
    return *found->second;
  }

  Value alias(const yaml::Node& node, unsigned depth) {
    const yaml::Node& of = target(node);
    if (std::ranges::find(open_, &of) != open_.end())
      throw Error(Code::invalid, fmt::format("yaml: anchor '{}' value contains itself", node.anchor));
    return value(of, depth + 1);
  }

  std::string key(const yaml::Node& node, unsigned depth) {
    const Value key = value(node, depth + 1);
    if (key.kind() == Kind::map || key.kind() == Kind::list)
      throw Error(Code::invalid, fmt::format("yaml: line {}: invalid map key", node.line));
    return key.is_text() ? std::string(key.as_text()) : to_text(key, run_);
  }

  void mapping(const yaml::Node& node, const Value& out, unsigned depth) {
    open_.push_back(&node);
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const yaml::Node& name = node.children[i];
      const bool merges = name.kind == yaml::Node::Kind::scalar && name.text == "<<" && !name.quoted() &&
                          (name.tag.empty() || name.tag == std::string(kTag) + "merge");
      if (merges) {
        merge(node.children[i + 1], out, depth);
        continue;
      }
      std::string member = key(name, depth);
      Value item = value(node.children[i + 1], depth + 1);
      run_.make(96 + member.size());
      run_.change(out).insert_or_assign(std::move(member), std::move(item));
    }
    open_.pop_back();
  }

  /// "<<": the members of a map, or of several, the first of which wins.
  void merge(const yaml::Node& node, const Value& out, unsigned depth) {
    remember(node);
    const auto take = [&](const yaml::Node& from) {
      run_.step(20);
      const yaml::Node& map = from.kind == yaml::Node::Kind::alias ? target(from) : from;
      if (map.kind != yaml::Node::Kind::mapping || depth > Value::kMaxDepth - 10)
        throw Error(Code::invalid, "yaml: map merge requires map or sequence of maps as the value");
      if (std::ranges::find(open_, &map) != open_.end())
        throw Error(Code::invalid, "yaml: a map is merged into itself");
      remember(map);
      mapping(map, out, depth + 1);
    };
    if (node.kind != yaml::Node::Kind::sequence) return take(node);
    for (auto item = node.children.rbegin(); item != node.children.rend(); ++item) take(*item);
  }

  Run& run_;
  std::map<std::string, const yaml::Node*, std::less<>> anchors_;
  std::vector<const yaml::Node*> open_;
};

// --- writing ---

/// "1:30" is a number to base 60 for others.
bool is_base_60(std::string_view text) {
  std::size_t at = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  const auto is_digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  if (!is_digit()) return false;
  while (is_digit() || (at < text.size() && text[at] == '_')) ++at;
  std::size_t parts = 0;
  for (; at < text.size() && text[at] == ':'; ++parts) {
    ++at;
    if (!is_digit()) return false;
    const bool small = text[at++] <= '5';
    if (small && is_digit()) ++at;
  }
  if (parts == 0) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (is_digit() || (at < text.size() && text[at] == '_')) ++at;
  }
  return at == text.size();
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = decode(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.size);
  }
  return true;
}

std::u32string runes_of(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const Rune rune = decode(text);
    out += rune.value;
    text.remove_prefix(rune.size);
  }
  return out;
}

/// As yaml.v2 sorts keys: numbers in texts by their value, letters behind what is none.
bool before(std::string_view left, std::string_view right) {
  const std::u32string a = runes_of(left), b = runes_of(right);
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    const bool a_letter = is_letter(a[i]), b_letter = is_letter(b[i]);
    if (a_letter && b_letter) return a[i] < b[i];
    if (a_letter || b_letter) return b_letter;
    std::uint64_t a_number = 0, b_number = 0;
    if (a[i] == '0' || b[i] == '0') {
      for (std::size_t j = i; j > 0 && is_digit(a[j - 1]); --j) {
        if (a[j - 1] == '0') continue;
        a_number = b_number = 1;
        break;
      }
    }
    std::size_t a_end = i, b_end = i;
    for (; a_end < a.size() && is_digit(a[a_end]); ++a_end) a_number = a_number * 10 + (a[a_end] - '0');
    for (; b_end < b.size() && is_digit(b[b_end]); ++b_end) b_number = b_number * 10 + (b[b_end] - '0');
    if (a_number != b_number) return static_cast<std::int64_t>(a_number) < static_cast<std::int64_t>(b_number);
    return a_end != b_end ? a_end < b_end : a[i] < b[i];
  }
  return a.size() < b.size();
}

class YamlWriter {
 public:
  explicit YamlWriter(Run& run) : run_(run) {}

  std::string write(const Value& value) {
    node(value, 0);
    return emitter_.finish();
  }

 private:
  void node(const Value& value, unsigned depth) {
    run_.step();
    run_.make(2 * depth + 8);
    if (depth > Value::kMaxDepth) throw Error(Code::too_large, "yaml: the value is nested too deeply");
    switch (value.kind()) {
      case Kind::list:
        emitter_.begin_sequence();
        for (const Value& item : value.as_list()) node(item, depth + 1);
        return emitter_.end_sequence();
      case Kind::map:
        return map(value.as_map(), depth);
      case Kind::text:
        return text(value.as_text());
      case Kind::object:
        if (value.type_name() == "time.Time") return plain(value.as_object().plain().as_text());
        return node(value.as_object().plain(), depth + 1);
      case Kind::function:
        throw Error(Code::invalid, "yaml: cannot marshal type: func");
      case Kind::real:
        return real(value.as_real());
      case Kind::nil:
        return plain("null");
      default:
        return plain(to_text(value, run_));
    }
  }

  void map(const Map& members, unsigned depth) {
    std::vector<const Map::value_type*> sorted;
    for (const auto& member : members) sorted.push_back(&member);
    run_.step(sorted.size());
    std::ranges::sort(sorted, [](const auto* a, const auto* b) { return before(a->first, b->first); });
    emitter_.begin_mapping();
    for (const auto* member : sorted) {
      text(member->first);
      node(member->second, depth + 1);
    }
    emitter_.end_mapping();
  }

  void plain(std::string_view text) { emitter_.scalar(text, yaml::Style::plain); }

  void real(double value) {
    if (std::isnan(value)) return plain(".nan");
    if (std::isinf(value)) return plain(value < 0 ? "-.inf" : ".inf");
    plain(shortest_real(value));
  }

  /// strconv's 'g' with the exponent from 21 on, as %v.
  static std::string shortest_real(double value) { return real_text(value); }

  void text(std::string_view text) {
    run_.make(text.size() * 4 + 16);
    if (!is_utf8(text)) return binary(text);
    if (text.find('\n') != std::string_view::npos) return emitter_.scalar(text, yaml::Style::literal);
    const bool stays = resolve(text).is_text() && !yaml::timestamp(text) && text != "<<" && !is_base_60(text);
    emitter_.scalar(text, stays ? yaml::Style::plain : yaml::Style::double_quoted);
  }

  /// In lines of 70 characters.
  void binary(std::string_view bytes) {
    std::string text = base64_encode(bytes);
    constexpr std::size_t kLine = 70;
    const bool long_one = text.size() > kLine;
    for (std::size_t at = kLine; at < text.size(); at += kLine + 1) text.insert(at, "\n");
    if (long_one) text += '\n';
    emitter_.scalar(text, long_one ? yaml::Style::literal : yaml::Style::plain, "tag:yaml.org,2002:binary");
  }

  yaml::Emitter emitter_;
  Run& run_;
};

}  // namespace

Value from_yaml(std::string_view text, Run& run) {
  if (text.size() > kLongestYaml)
    throw Error(Code::too_large, fmt::format("yaml: the text is larger than {} bytes", kLongestYaml));
  run.make(text.size() * 16);
  run.step(text.size());
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto documents = yaml::parse(text, {.bytes = kLongestYaml, .depth = 150, .documents = 1});
  return documents.empty() ? Value() : YamlReader(run).value(documents.front(), 0);
}

std::string to_yaml(const Value& value, Run& run) {
  std::string out = YamlWriter(run).write(value);
  // yaml.v2 does not mark the end of a document that ends in blank lines.
  constexpr std::string_view kEnd = "\n...\n";
  if (out.ends_with(kEnd)) out.resize(out.size() - kEnd.size() + 1);
  return out;
}

}  // namespace underway::gotemplate

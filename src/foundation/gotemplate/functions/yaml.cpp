// YAML: reading by yaml-cpp, writing as Go's yaml.v2 does.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/detail/library.hpp"
#include "gotemplate/detail/literal.hpp"
#include "gotemplate/detail/utf8.hpp"
#include "gotemplate/format.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace underway::gotemplate::detail {

namespace {

constexpr std::size_t kLongest = 1U << 20;  // yaml-cpp's tree takes many times that
constexpr std::size_t kMaxNesting = 150;    // the reader recurses once or twice for each

constexpr std::array<std::string_view, 22> kWords = {"y",   "Y",   "yes", "Yes",   "YES",   "true", "True", "TRUE",
                                                     "on",  "On",  "ON",  "n",     "N",     "no",   "No",   "NO",
                                                     "off", "Off", "OFF", "false", "False", "FALSE"};
constexpr std::size_t kTrueWords = 11;

bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

/// YAML 1.1 as yaml.v2 reads it.
std::optional<Value> number(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  if (plain.find_first_not_of("0123456789abcdefABCDEFxXoO+-.") != std::string::npos) return std::nullopt;
  if (const auto whole = parse_integer(plain, 0)) return Value(*whole);
  if (plain.find_first_of("xXoO") != std::string::npos || plain.find_first_of("0123456789") == std::string::npos)
    return std::nullopt;
  if (const auto real = parse_real(plain)) return Value(*real);
  return std::nullopt;
}

std::optional<Value> special_real(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return Value(std::nan(""));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text != ".inf" && text != ".Inf" && text != ".INF") return std::nullopt;
  return Value(negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
}

/// What a plain scalar means; a text when nothing else.
Value resolve(std::string_view text) {
  if (is_null(text)) return {};
  if (const auto* word = std::ranges::find(kWords, text); word != kWords.end() && text.size() > 1)
    return word - kWords.begin() < static_cast<std::ptrdiff_t>(kTrueWords);
  if (auto found = number(text)) return std::move(*found);
  if (auto found = special_real(text)) return std::move(*found);
  return text;
}

/// An alias is walked as often as it occurs: the budget bounds what aliases can multiply.
Value convert(const YAML::Node& node, Run& run, unsigned depth) {
  run.step(20);
  if (depth > Value::kMaxDepth - 10) throw Error(Code::too_large, "yaml: the text is nested too deeply");
  if (!node.IsDefined() || node.IsNull()) return {};
  if (node.IsScalar()) {
    run.make(node.Scalar().size());
    const bool text = node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str";
    return text ? Value(node.Scalar()) : resolve(node.Scalar());
  }
  if (node.IsSequence()) {
    List items;
    run.make_elements(node.size());
    for (const auto& item : node) items.push_back(convert(item, run, depth + 1));
    return Value::list(std::move(items));
  }
  Map members;
  for (const auto& member : node) {
    if (!member.first.IsScalar()) throw Error(Code::invalid, "yaml: a key is no scalar");
    run.make(member.first.Scalar().size());
    members.insert_or_assign(member.first.Scalar(), convert(member.second, run, depth + 1));
  }
  return run.map(std::move(members));
}

/// Each bracket or leading indicator opens at most one level; refused before the recursive reader sees it.
void check_nesting(std::string_view text) {
  std::size_t flow = 0;
  std::size_t levels = 0;
  std::size_t indented = 0;
  bool leading = true;
  for (const char c : text) {
    if (c == '\n') {
      leading = true;
      levels = 0;
      indented = 0;
    } else if (c == '[' || c == '{') {
      ++flow;
    } else if ((c == ']' || c == '}') && flow > 0) {
      --flow;
    } else if (leading && (c == '-' || c == '?' || c == ':')) {
      ++levels;
    } else if (leading && c == ' ') {
      ++indented;
    } else if (c != ' ') {
      leading = false;
    }
    if (flow + levels > kMaxNesting || indented > 4 * kMaxNesting)
      throw Error(Code::too_large, "yaml: the text is nested too deeply");
  }
}

enum class Style : std::uint8_t { plain, single, twofold, literal };

bool could_be_time(std::string_view text) {
  return text.size() >= 8 && text.size() <= 40 && text[4] == '-' && std::ranges::all_of(text, [](char c) {
           return std::string_view("0123456789-:.TtZz +").find(c) != std::string_view::npos;
         });
}

/// "1:30" is a number to base 60.
bool is_base_60(std::string_view text) {
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of("0123456789_:.+-") == std::string_view::npos;
}

bool plain_is_fine(std::string_view text) {
  if (text.starts_with("---") || text.starts_with("...") || text.starts_with(' ') || text.ends_with(' ')) return false;
  if (std::string_view("#,[]{}&*!|>'\"%@`").find(text[0]) != std::string_view::npos) return false;
  const bool alone = text.size() == 1 || text[1] == ' ';
  if ((text[0] == '-' || text[0] == '?' || text[0] == ':') && alone) return false;
  return text.find(": ") == std::string_view::npos && !text.ends_with(':') &&
         text.find(" #") == std::string_view::npos && text.find('\t') == std::string_view::npos;
}

bool prints(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = decode(text);
    if (!rune.valid || (rune.value < ' ' && rune.value != '\n') || rune.value == 0x7F ||
        (rune.value >= 0x80 && !is_print(rune.value)))
      return false;
    text.remove_prefix(rune.size);
  }
  return true;
}

Style style_of(std::string_view text) {
  if (!prints(text)) return Style::twofold;
  if (text.find('\n') != std::string_view::npos) return text.starts_with(' ') ? Style::twofold : Style::literal;
  const bool word = std::ranges::find(kWords, text) != kWords.end();
  if (word || !resolve(text).is_text() || could_be_time(text) || is_base_60(text) || text == "<<")
    return Style::twofold;
  return plain_is_fine(text) ? Style::plain : Style::single;
}

class Writer {
 public:
  explicit Writer(Run& run) : run_(run) {}

  void write(const Value& value) {
    node(value, 0, false);
    if (!out_.ends_with('\n')) out_ += '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  static bool is_block(const Value& value) {
    if (const Map* map = value.members()) return !map->empty();
    return value.kind() == Kind::list && !value.as_list().empty();
  }

  void node(const Value& value, unsigned indent, bool behind_dash) {
    run_.step();
    if (indent > 2 * Value::kMaxDepth) throw Error(Code::too_large, "yaml: the value is nested too deeply");
    run_.make(indent + 8);
    if (value.kind() == Kind::list && !value.as_list().empty())
      list(value.as_list(), indent, behind_dash);
    else if (const Map* map = value.kind() == Kind::map ? &value.as_map() : nullptr; map != nullptr && !map->empty())
      this->map(*map, indent, behind_dash);
    else if (value.kind() == Kind::object)
      node(value.as_object().plain(), indent, behind_dash);
    else
      scalar(value, indent);
  }

  void list(const List& items, unsigned indent, bool behind_dash) {
    for (const Value& item : items) {
      if (!std::exchange(behind_dash, false)) out_.append(indent, ' ');
      out_ += "- ";
      node(item, indent + 2, true);
      end_line();
    }
  }

  void map(const Map& members, unsigned indent, bool behind_dash) {
    for (const auto& [key, member] : members) {
      if (!std::exchange(behind_dash, false)) out_.append(indent, ' ');
      text(key, indent, true);
      out_ += ':';
      const Value value = member.kind() == Kind::object ? member.as_object().plain() : member;
      if (is_block(value)) {
        out_ += '\n';
        node(value, value.kind() == Kind::list ? indent : indent + 2, false);
      } else {
        out_ += ' ';
        node(value, indent + 2, false);
      }
      end_line();
    }
  }

  void end_line() {
    if (!out_.ends_with('\n')) out_ += '\n';
  }

  void scalar(const Value& value, unsigned indent) {
    switch (value.kind()) {
      case Kind::nil:
        out_ += "null";
        return;
      case Kind::text:
        return text(value.as_text(), indent, false);
      case Kind::list:
        out_ += "[]";
        return;
      case Kind::map:
        out_ += "{}";
        return;
      case Kind::function:
        throw Error(Code::invalid, "yaml: cannot marshal type: func");
      case Kind::real:
        return real(value.as_real());
      default:
        append_text(out_, value, run_);
    }
  }

  void real(double value) {
    if (std::isnan(value))
      out_ += ".nan";
    else if (std::isinf(value))
      out_ += value < 0 ? "-.inf" : ".inf";
    else
      out_ += real_text(value);
  }

  void text(std::string_view text, unsigned indent, bool key) {
    run_.make(text.size() * 2);
    Style style = style_of(text);
    if (key && style == Style::literal) style = Style::twofold;
    switch (style) {
      case Style::plain:
        out_ += text;
        return;
      case Style::single:
        out_ += '\'';
        for (const char c : text) {
          out_ += c;
          if (c == '\'') out_ += '\'';
        }
        out_ += '\'';
        return;
      case Style::twofold:
        out_ += quote(text);
        return;
      case Style::literal:
        return literal(text, indent);
    }
  }

  void literal(std::string_view text, unsigned indent) {
    const bool ends = text.ends_with('\n');
    out_ += ends ? (text.size() == 1 || text.ends_with("\n\n") ? "|+" : "|") : "|-";
    if (ends) text.remove_suffix(1);
    for (const auto& line : underway::split(text, '\n')) {
      run_.make(indent + 2);
      out_ += '\n';
      if (!line.empty()) out_.append(std::max(indent, 2U), ' ');
      out_ += line;
    }
    out_ += '\n';
  }

  std::string out_;
  Run& run_;
};

}  // namespace

Value from_yaml(std::string_view text, Run& run) {
  if (text.size() > kLongest)
    throw Error(Code::too_large, fmt::format("yaml: the text is larger than {} bytes", kLongest));
  check_nesting(text);
  run.make(text.size() * 16);
  run.step(text.size());
  try {
    return convert(YAML::Load(std::string(text)), run, 0);
  } catch (const YAML::Exception& e) {
    throw Error(Code::invalid, fmt::format("yaml: line {}: {}", e.mark.line + 1, e.msg));
  }
}

std::string to_yaml(const Value& value, Run& run) {
  Writer writer(run);
  writer.write(value);
  return writer.take();
}

}  // namespace underway::gotemplate::detail

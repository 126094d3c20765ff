// TOML: writing, as BurntSushi's encoder does: plain members first, then tables.
#include "base/error.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/printing/format_number.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace underway::gotemplate {

namespace {

bool is_bare(std::string_view key) {
  return !key.empty() &&
         std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

class TomlWriter {
 public:
  explicit TomlWriter(Run& run) : run_(run) {}

  void table(const Map& map, const std::string& path, std::size_t depth) {
    if (depth > Value::kMaxDepth) throw Error(Code::too_large, "toml: the value is nested too deeply");
    for (const auto& [key, member] : map) {
      if (member.is_nil() || is_table(member) || is_table_list(member)) continue;
      charge(depth, key);
      out_.append(depth * 2, ' ');
      out_ += name(key) + " = ";
      value(member, depth);
      out_ += '\n';
    }
    for (const auto& [key, member] : map) {
      const std::string inner = path.empty() ? name(key) : path + "." + name(key);
      charge(depth, inner);
      if (is_table(member)) {
        header(fmt::format("[{}]", inner), depth);
        table(*members_of(member), inner, depth + 1);
      } else if (is_table_list(member)) {
        for (const Value& item : member.as_list()) {
          if (depth > 0 && !out_.empty()) out_ += '\n';
          header(fmt::format("[[{}]]", inner), depth);
          table(*members_of(item), inner, depth + 1);
        }
      }
    }
  }

  /// A document that is no table, which the encoder writes all the same.
  void alone(const Value& value) {
    if (is_table_list(value)) throw Error(Code::invalid, "toml: top-level values must be maps, not lists of them");
    if (value.is_nil()) throw Error(Code::invalid, "toml: there is no value");
    this->value(value, 0);
  }

  std::string take() { return std::move(out_); }

 private:
  static const Map* members_of(const Value& value) { return value.members(); }
  static bool is_table(const Value& value) { return members_of(value) != nullptr; }
  static bool is_table_list(const Value& value) {
    return value.kind() == Kind::list && !value.as_list().empty() && std::ranges::all_of(value.as_list(), is_table);
  }

  void charge(std::size_t depth, std::string_view text) {
    run_.step();
    run_.make(depth * 2 + text.size() + 8);
  }

  void header(const std::string& text, std::size_t depth) {
    if (depth == 0 && !out_.empty()) out_ += '\n';
    out_.append(depth * 2, ' ');
    out_ += text + "\n";
  }

  std::string name(std::string_view key) { return is_bare(key) ? std::string(key) : quoted(key); }

  std::string quoted(std::string_view text) {
    run_.make(text.size() * 2);
    std::string out = "\"";
    static constexpr std::string_view kNamed = "\b\t\n\f\r\"\\";
    static constexpr std::string_view kLetters = "btnfr\"\\";
    for (const char c : text) {
      if (const std::size_t at = kNamed.find(c); at != std::string_view::npos) {
        out += '\\';
        out += kLetters[at];
      } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
    }
    return out + '"';
  }

  void value(const Value& value, std::size_t depth) {
    run_.step();
    if (depth > Value::kMaxDepth) throw Error(Code::too_large, "toml: the value is nested too deeply");
    switch (value.kind()) {
      case Kind::text:
        out_ += quoted(value.as_text());
        return;
      case Kind::real: {
        std::string text = format_real(value.as_real(), 'f', -1);
        if (std::isnan(value.as_real())) text = "nan";
        if (std::isinf(value.as_real())) text = value.as_real() < 0 ? "-inf" : "+inf";
        out_ += text;
        if (std::isfinite(value.as_real()) && text.find('.') == std::string::npos) out_ += ".0";
        return;
      }
      case Kind::list: {
        out_ += '[';
        const char* separator = "";
        for (const Value& item : value.as_list()) {
          out_ += std::exchange(separator, ", ");
          this->value(item, depth + 1);
        }
        out_ += ']';
        return;
      }
      case Kind::object:
        if (value.type_name() == "time.Time")
          out_ += value.as_object().plain().as_text();
        else
          this->value(value.as_object().plain(), depth + 1);
        return;
      case Kind::map:
        return inline_table(value.as_map(), depth);
      case Kind::nil:
      case Kind::function:
        throw Error(Code::invalid, "toml: a list has an element without a value");
      default:
        append_text(out_, value, run_);
    }
  }

  /// Members without a value are left out, but the comma behind the one before them stays, as there.
  void inline_table(const Map& map, std::size_t depth) {
    std::vector<const Map::value_type*> sorted;
    for (const auto& member : map)
      if (!is_table(member.second) && !is_table_list(member.second)) sorted.push_back(&member);
    for (const auto& member : map)
      if (is_table(member.second) || is_table_list(member.second)) sorted.push_back(&member);
    out_ += '{';
    for (const auto* member : sorted) {
      if (member->second.is_nil()) continue;
      out_ += name(member->first) + " = ";
      value(member->second, depth + 1);
      if (member != sorted.back()) out_ += ", ";
    }
    out_ += '}';
  }

  std::string out_;
  Run& run_;
};

}  // namespace

std::string to_toml(const Value& value, Run& run) {
  TomlWriter writer(run);
  if (const Map* map = value.members())
    writer.table(*map, "", 0);
  else
    writer.alone(value);
  return writer.take();
}

}  // namespace underway::gotemplate

// consul-template's helpers, for job templates.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/language/literal.hpp"
#include "gotemplate/time/time.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cmath>

namespace underway::gotemplate {

// regex.cpp
Value regex_replace(std::string_view pattern, std::string_view replacement, std::string_view text, Run& run);

namespace {

/// Go's strconv errors, without the text: it may be a secret.
template <class T>
T parsed(std::optional<T> value, std::string_view function) {
  if (value) return *value;
  throw Error(Code::invalid, fmt::format("{}: invalid syntax", function));
}

Value parse_bool(const Call& call) {
  const std::string_view text = call.text(0);
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"", "0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  throw Error(Code::invalid, "parseBool: invalid syntax");
}

Error unknown_type(std::string_view function, const Value& value) {
  return {Code::invalid, fmt::format("{}: unknown type {}", function, value.type_name())};
}

/// consul-template's arithmetic: two floats if one is, else integers. The arguments are in the order of a pipe.
template <class Whole, class Real>
Value arithmetic(const Call& call, std::string_view name, Whole whole, Real real) {
  const Value& b = call[0];
  const Value& a = call[1];
  for (const Value* value : {&a, &b})
    if (!value->is_number()) throw unknown_type(name, *value);
  if (a.kind() == Kind::real || b.kind() == Kind::real) return real(cast_real(a), cast_real(b));
  const auto result = static_cast<std::int64_t>(whole(cast_integer(a), cast_integer(b)));
  if (a.kind() == Kind::natural && b.kind() == Kind::natural) return {static_cast<std::uint64_t>(result)};
  return Value::int64(result);
}

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

Value add(const Call& call) {
  return arithmetic(
      call, "add", [](auto a, auto b) { return bits(a) + bits(b); }, [](double a, double b) { return a + b; });
}
Value subtract(const Call& call) {
  return arithmetic(
      call, "subtract", [](auto a, auto b) { return bits(a) - bits(b); }, [](double a, double b) { return a - b; });
}
Value multiply(const Call& call) {
  return arithmetic(
      call, "multiply", [](auto a, auto b) { return bits(a) * bits(b); }, [](double a, double b) { return a * b; });
}
Value divide_of_consul(const Call& call) {
  return arithmetic(
      call, "divide",
      [](std::int64_t a, std::int64_t b) {
        if (b == 0) throw Error(Code::invalid, "runtime error: integer divide by zero");
        return b == -1 ? bits(0) - bits(a) : bits(a / b);
      },
      [](double a, double b) { return a / b; });
}
Value modulo_of_consul(const Call& call) {
  for (const Value& value : call.arguments)
    if (value.kind() == Kind::real) throw unknown_type("modulo", value);
  return arithmetic(
      call, "modulo",
      [](std::int64_t a, std::int64_t b) {
        if (b == 0) throw Error(Code::invalid, "runtime error: integer divide by zero");
        return b == -1 ? bits(0) : bits(a % b);
      },
      [](double, double) { return 0.0; });
}

/// The smaller of the two, with the type that it has.
Value extreme(const Call& call, std::string_view name, bool smallest) {
  for (const Value& value : call.arguments)
    if (!value.is_number()) throw unknown_type(name, value);
  const double b = cast_real(call[0]);
  const double a = cast_real(call[1]);
  const Value& found = (smallest ? a < b : a > b) ? call[1] : call[0];
  return found.kind() == Kind::integer ? Value::int64(found.as_integer()) : found;
}

/// Whether `container` has `value`: an element of the list, a part of the text.
bool holds(const Value& container, const Value& value, Run& run) {
  const auto no_type = [&] {
    if (value.is_nil()) throw Error(Code::invalid, "nothing has no type to compare with a text");
    return false;
  };
  if (container.is_text())
    return value.is_text() ? container.as_text().find(value.as_text()) != std::string_view::npos : no_type();
  if (container.kind() != Kind::list) return false;
  run.step(container.as_list().size() / 4);
  return std::ranges::any_of(container.as_list(), [&](const Value& item) {
    if (item.is_text() && value.is_nil()) return no_type();
    if (item.kind() != value.kind()) return false;
    if (item.kind() == Kind::integer) return item.as_integer() == value.as_integer();
    return (item.kind() == Kind::real || item.is_text()) && deep_equal(item, value, run);
  });
}

/// containsAll and its like: whether each wanted value is found decides as `stop`; the end as `otherwise`.
Value holds_some(const Call& call, bool stop, bool otherwise) {
  for (const Value& wanted : call.list(0))
    if (holds(call[1], wanted, call.run) == stop) return !otherwise;
  return otherwise;
}

Value indent(const Call& call) {
  const std::int64_t spaces = call.integer(0);
  const std::string_view text = call.text(1);
  if (spaces < 0) throw Error(Code::invalid, "indent value must be a positive integer");
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (static_cast<std::size_t>(spaces) > call.run.inputs().limits.values / lines) call.run.make(SIZE_MAX);
  call.run.make(text.size() + lines * static_cast<std::size_t>(spaces));
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && c != '\n') out.append(static_cast<std::size_t>(spaces), ' ');
    out += c;
    begins = c == '\n';
  }
  return out;
}

std::int64_t loop_bound(const Value& value) {
  if (value.kind() == Kind::integer || value.kind() == Kind::natural) return cast_integer(value);
  if (!value.is_text()) throw Error(Code::invalid, fmt::format("loop: bad argument type: {}", value.type_name()));
  return value.as_text().empty() ? 0 : parsed(parse_integer(value.as_text(), 10), "parseInt");
}

Value loop(const Call& call) {
  if (call.size() != 1 && call.size() != 2)
    throw Error(Code::invalid,
                fmt::format("loop: wrong number of arguments, expected 1 or 2, but got {}", call.size()));
  const std::int64_t start = call.size() == 2 ? loop_bound(call[0]) : 0;
  const std::int64_t stop = loop_bound(call[call.size() - 1]);
  if (stop <= start) return Value::list({});
  call.run.make_elements(bits(stop) - bits(start));
  List items;
  for (std::int64_t i = start; i < stop; ++i) items.push_back(Value::int64(i));
  return Value::list(std::move(items));
}

Value split_of_consul(const Call& call) {
  const std::string_view text = trim_space(call.text(1));
  return text.empty() ? Value::texts({}) : texts(split_text(text, call.text(0), call.run), call.run);
}

/// splitToMap "," ":" "a:1,b:2"
Value split_to_map(const Call& call) {
  Map map;
  const std::string_view text = trim_space(call.text(2));
  if (text.empty()) return call.run.map({}, Element::text);
  for (const std::string_view part : split_text(text, call.text(0), call.run)) {
    const std::size_t at = part.find(call.text(1));
    if (at != std::string_view::npos)
      map.insert_or_assign(std::string(part.substr(0, at)), Value(part.substr(at + call.text(1).size())));
  }
  return call.run.map(std::move(map), Element::text);
}

Value timestamp(const Call& call) {
  if (call.size() > 1)
    throw Error(Code::invalid,
                fmt::format("timestamp: wrong number of arguments, expected 0 or 1, but got {}", call.size()));
  const TimePoint now = call.run.now();
  if (call.size() == 0) return format_time(now);
  if (call.text(0) == "unix")
    return fmt::to_string(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  return format_layout(instant_of(now), call.text(0));
}

Value execute_template(const Call& call) {
  if (call.size() > 2)
    throw Error(Code::invalid,
                fmt::format("executeTemplate: wrong number of arguments, expected 1 or 2, but got {}", call.size()));
  return call.run.execute(call.text(0), call.size() == 2 ? call[1] : Value());
}

/// {"a/b": 1} as {"a": {"b": 1}}.
Value explode_map(const Call& call) {
  const Value root = call.run.map();
  for (const auto& [path, value] : call.map(0)) {
    Value at = root;
    const auto parts = split_text(path, "/", call.run);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      Map& map = call.run.change(at);
      auto found = map.find(parts[i]);
      if (found == map.end()) found = map.emplace(std::string(parts[i]), call.run.map()).first;
      if (found->second.kind() != Kind::map)
        throw Error(Code::invalid,
                    fmt::format("explodeMap: not a map: {}: {} already has a value", quote(path), quote(parts[i])));
      const Value next = found->second;
      at = next;
    }
    if (!parts.empty() && !parts.back().empty()) call.run.change(at).insert_or_assign(std::string(parts.back()), value);
  }
  return root;
}

Value merge_map(const Call& call, bool overwrite) {
  const Value& first = call[0];
  const Value target = first.is_nil() ? call.run.map() : call.run.owns(first) ? first : deep_copy(first, call.run);
  if (!call[1].is_nil()) merge_maps(target, call[1], overwrite, call.run);
  return target;
}

Value trimmed(const std::string& text) { return trim_space(text); }

Value hmac(const Call& call) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const std::string_view message = call.text(0);
  const std::string_view key = call.text(1);
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), bytes, &size) == nullptr)
    throw Error(Code::unsupported, "this machine's OpenSSL refuses HMAC-SHA256");
  return hex({reinterpret_cast<const char*>(bytes), size});
}

std::string url_base64(std::string_view text) {
  std::string out = base64_encode(text);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

std::vector<Function> number_helpers() {
  constexpr Origin kConsul = Origin::consul;
  return {
      {"add", "b any, a any", "a + b", kConsul, add},
      {"subtract", "b any, a any", "a - b: `5 | subtract 2` is 3.", kConsul, subtract},
      {"multiply", "b any, a any", "a * b", kConsul, multiply},
      {"divide", "b any, a any", "a / b: `6 | divide 2` is 3.", kConsul, divide_of_consul},
      {"modulo", "b any, a any", "The remainder of a / b.", kConsul, modulo_of_consul},
      {"minimum", "b any, a any", "The smaller of both.", kConsul,
       [](const Call& c) { return extreme(c, "minimum", true); }},
      {"maximum", "b any, a any", "The larger of both.", kConsul,
       [](const Call& c) { return extreme(c, "maximum", false); }},
      {"parseBool", "text string", "The bool that the text tells; \"\" is false.", kConsul, parse_bool},
      {"parseFloat", "text string", "The float that the text tells; \"\" is 0.", kConsul,
       [](const Call& c) -> Value { return c.text(0).empty() ? 0.0 : parsed(parse_real(c.text(0)), "parseFloat"); }},
      {"parseInt", "text string", "The integer that the text tells; \"\" is 0.", kConsul,
       [](const Call& c) {
         return Value::int64(c.text(0).empty() ? 0 : parsed(parse_integer(c.text(0), 10), "parseInt"));
       }},
      {"parseUint", "text string", "The integer without sign that the text tells; \"\" is 0.", kConsul,
       [](const Call& c) -> Value {
         return c.text(0).empty() ? std::uint64_t{0} : parsed(parse_natural(c.text(0), 10), "parseUint");
       }},
      {"loop", "bounds ...any", "The list from 0, or from the first of two bounds, to before the last.", kConsul, loop},
  };
}

std::vector<Function> text_helpers() {
  constexpr Origin kConsul = Origin::consul;
  return {
      {"indent", "spaces int, text string", "Each line that is not empty with so many blanks before it.", kConsul,
       indent},
      {"join", "separator string, values []string", "The texts as one.", kConsul,
       [](const Call& c) { return join_texts(as_texts(c[1], c.run), c.text(0), c.run); }},
      {"split", "separator string, text string", "The parts; a text of blanks has none.", kConsul, split_of_consul},
      {"splitToMap", "between string, inside string, text string",
       "splitToMap \",\" \":\" \"a:1,b:2\" is a map of a and b.", kConsul, split_to_map},
      {"trim", "set string, text string", "Without the characters of the set at both ends.", kConsul,
       [](const Call& c) -> Value { return trim_set(c.text(1), c.text(0)); }},
      {"trimPrefix", "prefix string, text string", "Without the prefix.", kConsul,
       [](const Call& c) -> Value {
         return c.text(1).starts_with(c.text(0)) ? Value(c.text(1).substr(c.text(0).size())) : c[1];
       }},
      {"trimSuffix", "suffix string, text string", "Without the suffix.", kConsul,
       [](const Call& c) -> Value {
         return c.text(1).ends_with(c.text(0)) ? Value(c.text(1).substr(0, c.text(1).size() - c.text(0).size())) : c[1];
       }},
      {"trimSpace", "text string", "Without blanks at both ends.", kConsul,
       [](const Call& c) -> Value { return trim_space(c.text(0)); }},
      {"replaceAll", "old string, new string, text string", "Each old replaced by new.", kConsul,
       [](const Call& c) { return replace_all(c.text(2), c.text(0), c.text(1), c.run); }},
      {"regexReplaceAll", "pattern string, new string, text string", "Each match replaced; $1 is its first group.",
       kConsul, [](const Call& c) { return regex_replace(c.text(0), c.text(1), c.text(2), c.run); }},
      {"toLower", "text string", "In lower case.", kConsul,
       [](const Call& c) -> Value { return lower_text(c.text(0)); }},
      {"toUpper", "text string", "In upper case.", kConsul,
       [](const Call& c) -> Value { return upper_text(c.text(0)); }},
      {"toTitle", "text string", "Each word's first letter in upper case.", kConsul,
       [](const Call& c) -> Value { return word_title_text(c.text(0)); }},
      {"contains", "value any, container any", "Whether the list has the value, or the text the part.", kConsul,
       [](const Call& c) -> Value { return holds(c[1], c[0], c.run); }},
      {"in", "container any, value any", "contains, the other way round.", kConsul,
       [](const Call& c) -> Value { return holds(c[0], c[1], c.run); }},
      {"containsAll", "values []any, container any", "Whether it has all values.", kConsul,
       [](const Call& c) { return holds_some(c, false, true); }},
      {"containsAny", "values []any, container any", "Whether it has one of the values.", kConsul,
       [](const Call& c) { return holds_some(c, true, false); }},
      {"containsNone", "values []any, container any", "Whether it has none of the values.", kConsul,
       [](const Call& c) { return holds_some(c, true, true); }},
      {"containsNotAll", "values []any, container any", "Whether it lacks one of the values.", kConsul,
       [](const Call& c) { return holds_some(c, false, false); }},
  };
}

std::vector<Function> data_helpers() {
  constexpr Origin kConsul = Origin::consul;
  return {
      {"base64Decode", "text string", "The text that the base64 holds.", kConsul,
       [](const Call& c) -> Value { return base64_bytes(c.text(0), false); }},
      {"base64Encode", "text string", "The text in base64.", kConsul,
       [](const Call& c) -> Value { return base64_encode(c.text(0)); }},
      {"base64URLDecode", "text string", "base64Decode with the alphabet for URLs.", kConsul,
       [](const Call& c) -> Value { return base64_bytes(c.text(0), true); }},
      {"base64URLEncode", "text string", "base64Encode with the alphabet for URLs.", kConsul,
       [](const Call& c) -> Value { return url_base64(c.text(0)); }},
      {"parseJSON", "text string", "The value that the JSON holds; numbers are floats; \"\" is an empty map.", kConsul,
       [](const Call& c) { return c.text(0).empty() ? c.run.map() : from_json(c.text(0), c.run); }},
      {"parseYAML", "text string", "The value that the YAML holds; \"\" is an empty map.", kConsul,
       [](const Call& c) { return c.text(0).empty() ? c.run.map() : from_yaml(c.text(0), c.run); }},
      {"toJSON", "value any", "The value as JSON on one line.", kConsul,
       [](const Call& c) -> Value { return to_json(c[0], c.run, true, 0); }},
      {"toJSONPretty", "value any", "The value as JSON, one member a line.", kConsul,
       [](const Call& c) -> Value { return to_json(c[0], c.run, true, 2); }},
      {"toUnescapedJSON", "value any", "As toJSON, with <, > and & as they are.", kConsul,
       [](const Call& c) -> Value { return to_json(c[0], c.run, false, 0); }},
      {"toUnescapedJSONPretty", "value any", "As toJSONPretty, with <, > and & as they are.", kConsul,
       [](const Call& c) -> Value { return to_json(c[0], c.run, false, 2); }},
      {"toYAML", "value any", "The value as YAML.", kConsul,
       [](const Call& c) { return trimmed(to_yaml(c[0], c.run)); }},
      {"toTOML", "map any", "The map as TOML.", kConsul, [](const Call& c) { return trimmed(to_toml(c[0], c.run)); }},
      {"explodeMap", "map map", "Keys with slashes as maps inside each other.", kConsul, explode_map},
      {"mergeMap", "map map, other map", "The map, with what it lacks added.", kConsul,
       [](const Call& c) { return merge_map(c, false); }},
      {"mergeMapWithOverride", "map map, other map", "The map, with the other's members.", kConsul,
       [](const Call& c) { return merge_map(c, true); }},
      {"executeTemplate", "name string, data ...any", "The text of a template that `define` made.", kConsul,
       execute_template},
      {"timestamp", "layout ...string", "The time in UTC, as RFC 3339, in Go's layout, or \"unix\".", kConsul,
       timestamp},
      {"sha256Hex", "text string", "SHA-256.", kConsul,
       [](const Call& c) -> Value { return digest("sha256", c.text(0)); }},
      {"md5sum", "text string", "MD5.", kConsul, [](const Call& c) -> Value { return digest("md5", c.text(0)); }},
      {"hmacSHA256Hex", "message string, key string", "HMAC-SHA-256.", kConsul, hmac},
  };
}

}  // namespace

std::vector<Function> consul_functions() {
  std::vector<Function> all = number_helpers();
  for (auto part : {text_helpers(), data_helpers()}) std::ranges::move(part, std::back_inserter(all));
  for (Function& function : regex_functions()) {
    if (function.name != "regexMatch") continue;
    function.origin = Origin::consul;
    all.push_back(std::move(function));
  }
  return all;
}

}  // namespace underway::gotemplate

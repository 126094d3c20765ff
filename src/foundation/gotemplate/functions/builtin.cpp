// text/template's own functions.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/printing/utf8.hpp"
#include "gotemplate/time/time.hpp"

#include <array>
#include <compare>

namespace underway::gotemplate {

namespace {

Error invalid(std::string message) { return {Code::invalid, std::move(message)}; }

std::size_t index_of(const Value& index, std::size_t bound) {
  if (index.is_nil()) throw invalid("cannot index slice/array with nil");
  if (index.kind() != Kind::integer && index.kind() != Kind::natural)
    throw invalid(fmt::format("cannot index slice/array with type {}", index.type_name()));
  const bool beyond = index.kind() == Kind::natural && index.as_natural() > bound;
  const std::int64_t at = beyond                          ? -1
                          : index.kind() == Kind::natural ? static_cast<std::int64_t>(index.as_natural())
                                                          : index.as_integer();
  if (at < 0 || static_cast<std::size_t>(at) > bound)
    throw invalid(fmt::format("index out of range: {}", index.kind() == Kind::natural
                                                            ? fmt::to_string(index.as_natural())
                                                            : fmt::to_string(index.as_integer())));
  return static_cast<std::size_t>(at);
}

Value index_one(const Value& item, const Value& index) {
  if (item.is_nil()) throw invalid("index of nil pointer");
  if (const Map* map = item.members()) {
    if (!index.is_text())
      throw invalid(index.is_nil() ? "value is nil; should be of type string"
                                   : fmt::format("value has type {}; should be string", index.type_name()));
    const auto found = map->find(index.as_text());
    return found == map->end() ? Value() : found->second;
  }
  if (item.kind() != Kind::list && item.kind() != Kind::text)
    throw invalid(fmt::format("can't index item of type {}", item.type_name()));
  const std::size_t size = item.is_text() ? item.as_text().size() : item.as_list().size();
  const std::size_t at = index_of(index, size);
  if (at == size) throw invalid(fmt::format("reflect: {} index out of range", item.kind_name()));
  if (item.is_text()) return Value::byte(static_cast<unsigned char>(item.as_text()[at]));
  return item.as_list()[at];
}

Value index(const Call& call) {
  if (call[0].is_nil()) throw invalid("index of untyped nil");
  Value item = call[0];
  for (const Value& at : call.arguments.subspan(1)) item = index_one(item, at);
  return item;
}

Value slice(const Call& call) {
  const Value& item = call[0];
  const auto indexes = call.arguments.subspan(1);
  if (item.is_nil()) throw invalid("slice of untyped nil");
  if (indexes.size() > 3) throw invalid(fmt::format("too many slice indexes: {}", indexes.size()));
  if (item.kind() != Kind::text && item.kind() != Kind::list)
    throw invalid(fmt::format("can't slice item of type {}", item.type_name()));
  if (item.is_text() && indexes.size() == 3) throw invalid("cannot 3-index slice a string");
  const std::size_t size = item.is_text() ? item.as_text().size() : item.as_list().size();
  std::array<std::size_t, 3> at{0, size, size};
  for (std::size_t i = 0; i < indexes.size(); ++i) at[i] = index_of(indexes[i], size);
  for (std::size_t i = 0; i < 2; ++i)
    if (at[i] > at[i + 1]) throw invalid(fmt::format("invalid slice index: {} > {}", at[i], at[i + 1]));
  if (item.is_text()) return {item.as_text().substr(at[0], at[1] - at[0])};
  call.run.make_elements(at[1] - at[0]);
  const auto begin = item.as_list().begin();
  return Value::list(List(begin + static_cast<std::ptrdiff_t>(at[0]), begin + static_cast<std::ptrdiff_t>(at[1])),
                     item.element());
}

Value len(const Call& call) {
  const Value& item = call[0];
  if (item.is_nil()) throw invalid("len of nil pointer");
  if (item.is_text()) return {static_cast<std::int64_t>(item.as_text().size())};
  if (item.kind() == Kind::list) return {static_cast<std::int64_t>(item.as_list().size())};
  if (const Map* map = item.members()) return {static_cast<std::int64_t>(map->size())};
  throw invalid(fmt::format("len of type {}", item.type_name()));
}

Error incompatible(const Value& a, const Value& b) {
  return invalid(fmt::format("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()));
}

bool is_whole(const Value& value) { return value.kind() == Kind::integer || value.kind() == Kind::natural; }

std::strong_ordering compare_whole(const Value& a, const Value& b) {
  if (a.kind() == Kind::integer && b.kind() == Kind::integer) return a.as_integer() <=> b.as_integer();
  if (a.kind() == Kind::natural && b.kind() == Kind::natural) return a.as_natural() <=> b.as_natural();
  if (a.kind() == Kind::natural) return 0 <=> compare_whole(b, a);
  if (a.as_integer() < 0) return std::strong_ordering::less;
  return static_cast<std::uint64_t>(a.as_integer()) <=> b.as_natural();
}

/// A value of a named type as the value that it is made of.
Value basic(const Value& value) {
  const Value made_of = value.kind() == Kind::object ? value.as_object().basic() : Value();
  return made_of.is_nil() ? value : made_of;
}

bool equal(const Value& left, const Value& right) {
  const Value a = basic(left), b = basic(right);
  if (a.is_nil() || b.is_nil()) return a.is_nil() == b.is_nil();
  if (is_whole(a) && is_whole(b)) return compare_whole(a, b) == 0;
  if (a.kind() != b.kind()) throw incompatible(a, b);
  switch (a.kind()) {
    case Kind::boolean:
      return a.as_bool() == b.as_bool();
    case Kind::real:
      return a.as_real() == b.as_real();
    case Kind::text:
      return a.as_text() == b.as_text();
    case Kind::object: {
      const Instant* x = time_of(a);
      const Instant* y = time_of(b);
      return x != nullptr && y != nullptr ? *x == *y : &a.as_object() == &b.as_object();
    }
    default:
      throw invalid(fmt::format("non-comparable type {}", b.type_name()));
  }
}

bool less(const Value& left, const Value& right) {
  const Value a = basic(left), b = basic(right);
  const auto ordered = [](const Value& v) { return v.is_number() || v.is_text() || v.kind() == Kind::boolean; };
  if (!ordered(a) || !ordered(b)) throw invalid("invalid type for comparison");
  if (is_whole(a) && is_whole(b)) return compare_whole(a, b) < 0;
  if (a.kind() != b.kind()) throw incompatible(a, b);
  if (a.kind() == Kind::real) return a.as_real() < b.as_real();
  if (a.kind() == Kind::text) return a.as_text() < b.as_text();
  throw invalid("invalid type for comparison");
}

Value eq(const Call& call) {
  if (call.size() < 2) throw invalid("missing argument for comparison");
  for (const Value& other : call.arguments.subspan(1))
    if (equal(call[0], other)) return true;
  return false;
}

/// The operands of html, js and urlquery as one text.
std::string printed(const Call& call) {
  if (call.size() == 1 && call[0].is_text()) return call.string(0);
  List values(call.arguments.begin(), call.arguments.end());
  for (Value& value : values)
    if (value.is_nil()) value = Value("<no value>");
  return print(values, call.run);
}

Value html(const Call& call) {
  const std::string text = printed(call);
  call.run.make(text.size() * 2);
  return escape_html(text);
}

Value js(const Call& call) {
  const std::string text = printed(call);
  call.run.make(text.size() * 6);
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const Rune rune = decode(rest);
    if (rune.value == '\\' || rune.value == '\'' || rune.value == '"') {
      out += '\\';
      out += static_cast<char>(rune.value);
    } else if (rune.value < ' ' ||
               std::string_view("<>&=").find(static_cast<char>(rune.value)) != std::string_view::npos) {
      if (rune.value < 0x80)
        fmt::format_to(std::back_inserter(out), "\\u{:04X}", static_cast<unsigned>(rune.value));
      else
        out += rest.substr(0, rune.size);
    } else if (rune.value >= 0x80 && !is_printable(rune.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04X}", static_cast<unsigned>(rune.value));
    } else {
      out += rest.substr(0, rune.size);
    }
    rest.remove_prefix(rune.size);
  }
  return out;
}

Value urlquery(const Call& call) {
  const std::string text = printed(call);
  call.run.make(text.size() * 3);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~')
      out += c;
    else if (c == ' ')
      out += '+';
    else
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
  }
  return out;
}

}  // namespace

std::vector<Function> builtin_functions() {
  constexpr Origin kGo = Origin::go;
  return {
      // Evaluated by the executor: the arguments behind the first that decides are not looked at.
      {"and", "value any, values ...any", "The first empty argument, else the last.", kGo},
      {"or", "value any, values ...any", "The first argument that is not empty, else the last.", kGo},
      {"not", "value any", "Whether the value is empty.", kGo, [](const Call& c) -> Value { return !c[0].truth(); }},
      {"call", "function any, values ...any", "Calls a value that is a function.", kGo,
       [](const Call& c) { return c.run.call(c[0], c.arguments.subspan(1)); }},
      {"len", "value any", "Bytes of a text, elements of a list or map.", kGo, len},
      {"index", "value any, indexes ...any", "The element at the index or key; with several, inside each other.", kGo,
       index},
      {"slice", "value any, indexes ...any", "Part of a text or list: from the first index to before the second.", kGo,
       slice},
      {"print", "values ...any", "The values as text; blanks between those that are no texts.", kGo,
       [](const Call& c) -> Value { return print(c.arguments, c.run); }},
      {"printf", "format string, values ...any", "The values in the format, with Go's verbs.", kGo,
       [](const Call& c) -> Value { return printf(c.text(0), c.arguments.subspan(1), c.run); }},
      {"println", "values ...any", "The values as text with blanks between, and a newline.", kGo,
       [](const Call& c) -> Value { return println(c.arguments, c.run); }},
      {"html", "values ...any", "The values as text, escaped for HTML.", kGo, html},
      {"js", "values ...any", "The values as text, escaped for JavaScript.", kGo, js},
      {"urlquery", "values ...any", "The values as text, escaped for a URL's query.", kGo, urlquery},
      {"eq", "value any, others ...any", "Whether the value equals one of the others.", kGo, eq},
      {"ne", "a any, b any", "a != b", kGo, [](const Call& c) -> Value { return !equal(c[0], c[1]); }},
      {"lt", "a any, b any", "a < b", kGo, [](const Call& c) -> Value { return less(c[0], c[1]); }},
      {"le", "a any, b any", "a <= b", kGo,
       [](const Call& c) -> Value { return less(c[0], c[1]) || equal(c[0], c[1]); }},
      {"gt", "a any, b any", "a > b", kGo,
       [](const Call& c) -> Value { return !less(c[0], c[1]) && !equal(c[0], c[1]); }},
      {"ge", "a any, b any", "a >= b", kGo, [](const Call& c) -> Value { return !less(c[0], c[1]); }},
  };
}

}  // namespace underway::gotemplate

#include "base/json/json.hpp"

#include "base/allowance.hpp"
#include "base/error.hpp"
#include "base/json/json_place.hpp"
#include "base/text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>

#include <charconv>
#include <cmath>

namespace underway::json {
namespace {

using describe::Kind;
using describe::Type;

constexpr std::size_t kMaxDepth = 64;

void append_integer(std::string& out, std::int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {  // JSON has no spelling for it
    out += "null";
    return;
  }
  out += fmt::format("{}", value);
}

constexpr std::string_view kZeroTime = "0001-01-01T00:00:00Z";

void append_time(std::string& out, std::int64_t nanoseconds) {
  out += '"';
  out += nanoseconds == 0 ? std::string(kZeroTime) : format_time_exactly(from_unix_nanos(nanoseconds));
  out += '"';
}

/// Writes the keys of one object, of which some ("Shared.DiskMB") are in objects of their own.
class Keys {
 public:
  explicit Keys(std::string& out) : out_(out) { out_ += '{'; }

  void begin(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    const std::string_view within = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
    if (within != open_) {
      close();
      if (!within.empty()) {
        key(within);
        out_ += '{';
        first_ = true;
      }
      open_ = within;
    }
    key(dot == std::string_view::npos ? path : path.substr(dot + 1));
  }
  void end() {
    close();
    out_ += '}';
  }

 private:
  void close() {
    if (open_.empty()) return;
    out_ += '}';
    first_ = false;
    open_ = {};
  }
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  std::string& out_;
  std::string_view open_;
  bool first_ = true;
};

void append_structure(std::string& out, const Type& type, const void* value, Encoding encoding) {
  const auto& structure = type.structure();
  const void* defaults = structure.defaults();
  Keys keys(out);
  for (const auto& field : structure.fields) {
    if (field.json.empty()) continue;
    const void* member = field.in(value);
    if (encoding == Encoding::compact && describe::equal(*field.type, member, field.in(defaults))) continue;
    keys.begin(field.json);
    if (field.time)
      append_time(out, *static_cast<const std::int64_t*>(member));
    else
      append(out, *field.type, member, encoding);
  }
  keys.end();
}

void append_list(std::string& out, const Type& type, const void* value, Encoding encoding) {
  out += '[';
  const std::size_t size = type.size(value);
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0) out += ',';
    append(out, *type.element, type.element_at(value, i), encoding);
  }
  out += ']';
}

void append_map(std::string& out, const Type& type, const void* value, Encoding encoding) {
  struct Context {
    std::string& out;
    const Type& element;
    Encoding encoding;
    bool first = true;
  } context{out, *type.element, encoding};
  out += '{';
  type.each(value, &context, [](void* raw, const std::string& key, const void* element) {
    auto& c = *static_cast<Context*>(raw);
    if (!c.first) c.out += ',';
    c.first = false;
    append_string(c.out, key);
    c.out += ':';
    append(c.out, c.element, element, c.encoding);
  });
  out += '}';
}

void decode_value(const boost::json::value& json, const Type& type, void* value, const Place& at);

[[noreturn]] void refuse(const Place& at, std::string_view expected, const boost::json::value& json) {
  std::string shown = boost::json::serialize(json);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  const std::string path = at.text();
  throw Error(Code::invalid, fmt::format("{}: expected {}", path.empty() ? "document" : path, expected))
      .because(fmt::format("found {}", shown));
}

std::int64_t decode_integer(const boost::json::value& json, const Place& at) {
  if (json.is_int64()) return json.get_int64();
  if (json.is_uint64()) refuse(at, "an integer below 2^63", json);
  if (json.is_double() && std::abs(json.get_double()) < 9.0e15 && std::trunc(json.get_double()) == json.get_double()) {
    return static_cast<std::int64_t>(json.get_double());
  }
  refuse(at, "an integer", json);
}

Duration decode_duration(const boost::json::value& json, const Place& at) {
  if (!json.is_string()) return Duration{decode_integer(json, at)};
  const auto parsed = parse_duration(std::string_view(json.get_string()));
  if (!parsed) refuse(at, "a duration like \"30s\" or an integer of nanoseconds", json);
  return *parsed;
}

std::int64_t decode_time(const boost::json::value& json, const Place& at) {
  if (!json.is_string()) return decode_integer(json, at);
  const std::string_view text(json.get_string());
  if (text == kZeroTime) return 0;
  const auto time = parse_time(text);
  if (!time) refuse(at, "a time like \"2026-11-21T11:40:00Z\"", json);
  return unix_nanos(*time);
}

void decode_field(const boost::json::value& json, const describe::Field& field, void* value, const Place& above) {
  const Place at = above.field(field.json);
  if (field.time)
    *static_cast<std::int64_t*>(field.get(value)) = decode_time(json, at);
  else
    decode_value(json, *field.type, field.get(value), at);
}

/// About what a described struct takes; jobs' groups and tasks more, most others less.
constexpr std::uint64_t kStructureBytes = 1024;

void decode_structure(const boost::json::value& json, const Type& type, void* value, const Place& at) {
  Allowance::spend(10);
  Allowance::make(kStructureBytes);
  if (!json.is_object()) refuse(at, "an object", json);
  const auto& structure = type.structure();
  for (const auto& [key, member] : json.get_object()) {
    if (member.is_null()) continue;
    const std::string_view name(key.data(), key.size());
    if (const auto* field = structure.find_json(name)) {
      decode_field(member, *field, value, at);
    } else if (member.is_object() && structure.nests(name)) {
      for (const auto& [inner, nested] : member.get_object()) {
        const auto* below = structure.find_json(std::string(name) + "." + std::string(inner.data(), inner.size()));
        if (below != nullptr && !nested.is_null()) decode_field(nested, *below, value, at);
      }
    }
  }
}

void decode_list(const boost::json::value& json, const Type& type, void* value, const Place& at) {
  // Go writes an empty list as null, wherever it stands.
  if (!json.is_array() && !json.is_null()) refuse(at, "a list", json);
  type.clear(value);
  if (json.is_null()) return;
  std::size_t index = 0;
  for (const auto& element : json.get_array()) {
    decode_value(element, *type.element, type.append(value), at.element(index++));
  }
}

void decode_map(const boost::json::value& json, const Type& type, void* value, const Place& at) {
  if (!json.is_object() && !json.is_null()) refuse(at, "an object", json);
  type.clear(value);
  if (json.is_null()) return;
  for (const auto& [key, element] : json.get_object()) {
    const std::string name(key.data(), key.size());
    decode_value(element, *type.element, type.insert(value, name), at.key(name));
  }
}

void decode_enumeration(const boost::json::value& json, const Type& type, void* value, const Place& at) {
  const auto& enumeration = type.enumeration();
  if (json.is_string()) {
    if (json.get_string().empty()) return;  // Go clients send "" for "not given"
    if (const auto parsed = enumeration.parse(std::string_view(json.get_string()))) {
      enumeration.set(value, *parsed);
      return;
    }
  }
  refuse(at, "one of " + join(enumeration.names(), ", "), json);
}

void decode_value(const boost::json::value& json, const Type& type, void* value, const Place& at) {
  switch (type.kind) {
    case Kind::boolean:
      if (!json.is_bool()) refuse(at, "true or false", json);
      *static_cast<bool*>(value) = json.get_bool();
      return;
    case Kind::integer:
      *static_cast<std::int64_t*>(value) = decode_integer(json, at);
      return;
    case Kind::number:
      if (!json.is_number()) refuse(at, "a number", json);
      *static_cast<double*>(value) = json.to_number<double>();
      return;
    case Kind::string:
      if (!json.is_string()) refuse(at, "a string", json);
      *static_cast<std::string*>(value) = std::string_view(json.get_string());
      return;
    case Kind::duration:
      // Go clients send "" for "not given".
      if (json.is_string() && json.get_string().empty()) return;
      *static_cast<Duration*>(value) = decode_duration(json, at);
      return;
    case Kind::any:
      *static_cast<boost::json::value*>(value) = json;
      return;
    case Kind::enumeration:
      decode_enumeration(json, type, value, at);
      return;
    case Kind::optional:
      if (json.is_null())
        type.clear(value);
      else
        decode_value(json, *type.element, type.append(value), at);
      return;
    case Kind::list:
      decode_list(json, type, value, at);
      return;
    case Kind::map:
      decode_map(json, type, value, at);
      return;
    case Kind::structure:
      decode_structure(json, type, value, at);
      return;
  }
}

void indent(std::string& out, const boost::json::value& value, std::size_t depth) {
  const auto line = [&](std::size_t level) { out += "\n" + std::string(level * 2, ' '); };
  if (value.is_array() && !value.get_array().empty()) {
    out += '[';
    bool first = true;
    for (const auto& element : value.get_array()) {
      if (!std::exchange(first, false)) out += ',';
      line(depth + 1);
      indent(out, element, depth + 1);
    }
    line(depth);
    out += ']';
  } else if (value.is_object() && !value.get_object().empty()) {
    out += '{';
    bool first = true;
    for (const auto& [key, element] : value.get_object()) {
      if (!std::exchange(first, false)) out += ',';
      line(depth + 1);
      append_string(out, std::string_view(key.data(), key.size()));
      out += ": ";
      indent(out, element, depth + 1);
    }
    line(depth);
    out += '}';
  } else {
    out += boost::json::serialize(value);
  }
}

}  // namespace

std::string Place::text() const {
  if (above_ == nullptr) return std::string(name_);
  std::string before = above_->text();
  switch (step_) {
    case Step::root:
      break;
    case Step::field:
      return before.empty() ? std::string(name_) : fmt::format("{}.{}", before, name_);
    case Step::element:
      return fmt::format("{}[{}]", before, index_);
    case Step::key:
      return fmt::format("{}[\"{}\"]", before, name_);
  }
  return before;
}

namespace {

/// By its letter if it is among the first `named` of those that have one, else by its number.
void append_escape(std::string& out, unsigned point, std::size_t named) {
  constexpr std::string_view kNamed = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
  const std::size_t at = point < 0x80 ? kNamed.substr(0, named).find(static_cast<char>(point)) : std::string_view::npos;
  if (at != std::string_view::npos)
    (out += '\\') += kLetters[at];
  else
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", point);
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t clean = 0;  // start of the run that needs no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, clean, i - clean);
    clean = i + 1;
    append_escape(out, c, 5);
  }
  out.append(text, clean);
  out += '"';
}

void append_go_string(std::string& out, std::string_view text, bool html) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const std::size_t size = utf8_size(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    if (size == 0)
      append_escape(out, 0xfffd, 0);
    else if (character == "\u2028" || character == "\u2029")
      append_escape(out, character == "\u2028" ? 0x2028 : 0x2029, 0);
    else if (c < 0x20 || c == '"' || c == '\\' || (html && (c == '<' || c == '>' || c == '&')))
      append_escape(out, c, 7);
    else
      out += character;
    text.remove_prefix(character.size());
  }
  out += '"';
}

void append(std::string& out, const Type& type, const void* value, Encoding encoding) {
  switch (type.kind) {
    case Kind::boolean:
      out += *static_cast<const bool*>(value) ? "true" : "false";
      return;
    case Kind::integer:
      append_integer(out, *static_cast<const std::int64_t*>(value));
      return;
    case Kind::number:
      append_number(out, *static_cast<const double*>(value));
      return;
    case Kind::string:
      append_string(out, *static_cast<const std::string*>(value));
      return;
    case Kind::duration:
      append_integer(out, static_cast<const Duration*>(value)->count());
      return;
    case Kind::any:
      out += boost::json::serialize(*static_cast<const boost::json::value*>(value));
      return;
    case Kind::enumeration:
      append_string(out, type.enumeration().spell(type.enumeration().get(value)));
      return;
    case Kind::optional:
      if (type.size(value) == 0)
        out += "null";
      else
        append(out, *type.element, type.element_at(value, 0), encoding);
      return;
    case Kind::list:
      append_list(out, type, value, encoding);
      return;
    case Kind::map:
      append_map(out, type, value, encoding);
      return;
    case Kind::structure:
      append_structure(out, type, value, encoding);
      return;
  }
}

void decode(const boost::json::value& json, const Type& type, void* value, const std::string& path) {
  decode_value(json, type, value, Place(path));
}

boost::json::value parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code failure;
  boost::json::stream_parser parser({}, options);
  const std::size_t consumed = parser.write_some(text.data(), text.size(), failure);
  if (!failure && !trim(text.substr(consumed)).empty()) failure = make_error_code(boost::json::error::extra_data);
  if (!failure) parser.finish(failure);
  if (!failure) return parser.release();
  const std::string_view before = text.substr(0, consumed);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? consumed + 1 : consumed - newline;
  throw Error(Code::invalid, fmt::format("the text is not JSON, line {}, column {}", line, column))
      .because(failure.message());
}

std::string pretty(const boost::json::value& value) {
  std::string out;
  indent(out, value, 0);
  return out;
}

bool is_empty(const boost::json::value& value) {
  if (const auto* object = value.if_object()) return object->empty();
  if (const auto* array = value.if_array()) return array->empty();
  if (const auto* text = value.if_string()) return text->empty();
  if (const auto* number = value.if_int64()) return *number == 0;
  return value.is_null() || (value.is_bool() && !value.get_bool());
}

}  // namespace underway::json

#include "filter/detail/reading.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"

#include <fmt/format.h>

namespace underway::filter::detail {
namespace {

using describe::Kind;

Place json_place(const boost::json::value* value) {
  Place place;
  place.kind = Place::Kind::json;
  place.json = value;
  return place;
}

[[noreturn]] void fail(const Selector& selector, std::size_t at, const std::string& why) {
  throw Error(Code::invalid,
              fmt::format("error finding value in datum: {} at part {}: {}", selector.pointer(), at, why));
}

/// By its exact name, as a Go client spells it.
const describe::Field* find_field(const describe::Structure& structure, std::string_view name) {
  for (const auto& field : structure.fields) {
    if (!field.json.empty() && field.json == name) return &field;
  }
  return nullptr;
}

Place field_place(const describe::Field& field, const void* object) {
  return place_of(*field.type, object == nullptr ? nullptr : field.in(object), field.time);
}

/// Goes past `at`, and past the next part as well where the wire nests what the struct holds flat ("Shared.DiskMB").
Place step_into_structure(const Place& from, const Selector& selector, std::size_t& at) {
  const auto& structure = from.type->structure();
  auto& seen = selector.seen.at(at);
  if (seen.in != &structure) {
    seen.field = find_field(structure, selector.path[at]);
    seen.parts = 1;
    if (seen.field == nullptr && at + 1 < selector.path.size()) {
      seen.field = find_field(structure, selector.path[at] + "." + selector.path[at + 1]);
      seen.parts = 2;
    }
    seen.in = &structure;
  }
  if (seen.field == nullptr)
    fail(selector, at, fmt::format("couldn't find key: struct field with name \"{}\"", selector.path[at]));
  at += seen.parts;
  return field_place(*seen.field, from.value);
}

std::size_t index_within(const Selector& selector, std::size_t at, std::size_t size) {
  const auto index = parse_number<std::size_t>(selector.path[at]);
  if (!index) fail(selector, at, fmt::format("couldn't convert key \"{}\" to an index", selector.path[at]));
  if (*index >= size) fail(selector, at, fmt::format("index {} is out of range (length = {})", *index, size));
  return *index;
}

Place step_into_json(const Place& from, const Selector& selector, std::size_t at) {
  if (from.json == nullptr || from.json->is_null()) return json_place(nullptr);
  if (from.json->is_object()) return json_place(from.json->get_object().if_contains(selector.path[at]));
  if (from.json->is_array()) {
    const auto& array = from.json->get_array();
    return json_place(&array[index_within(selector, at, array.size())]);
  }
  fail(selector, at, fmt::format("invalid value kind: {}", name_of(read(from).is)));
}

/// A JSON value may be a list in one row and text in another: what it is then.
Reading read_json(const boost::json::value& json) {
  Reading out;
  switch (json.kind()) {
    case boost::json::kind::null:
      break;
    case boost::json::kind::bool_:
      out.is = Is::boolean;
      out.boolean = json.get_bool();
      break;
    case boost::json::kind::int64:
      out.is = Is::integer;
      out.integer = json.get_int64();
      break;
    case boost::json::kind::uint64:
      out.is = Is::number;
      out.number = static_cast<double>(json.get_uint64());
      break;
    case boost::json::kind::double_:
      out.is = Is::number;
      out.number = json.get_double();
      break;
    case boost::json::kind::string:
      out.is = Is::string;
      out.kept = json.get_string();
      break;
    case boost::json::kind::array:
      out.is = Is::list;
      out.size = json.get_array().size();
      break;
    case boost::json::kind::object:
      out.is = Is::map;
      out.size = json.get_object().size();
      break;
  }
  return out;
}

/// Of a place that may be empty.
std::string_view kind_of(const Place& place) {
  if (place.kind != Place::Kind::described) return name_of(read(place).is);
  switch (place.type->kind) {
    case Kind::boolean:
      return "bool";
    case Kind::integer:
    case Kind::duration:
      return place.time ? "struct" : "int64";
    case Kind::number:
      return "float64";
    default:
      return "string";
  }
}

Reading read_text(std::string_view text) {
  Reading out;
  out.is = Reading::Is::string;
  out.kept = text;
  return out;
}

Reading read_time(std::int64_t nanoseconds) {
  Reading out;
  out.is = Reading::Is::string;
  // Go's zero time, as the wire has it.
  out.made = nanoseconds == 0 ? "0001-01-01T00:00:00Z" : format_time_exactly(from_unix_nanos(nanoseconds));
  return out;
}

Reading read_integer(std::int64_t value, Reading::Is is) {
  Reading out;
  out.is = is;
  out.integer = value;
  return out;
}

Reading read_described(const describe::Type& type, const void* value, bool time) {
  Reading out;
  switch (type.kind) {
    case Kind::boolean:
      out.is = Is::boolean;
      out.boolean = *static_cast<const bool*>(value);
      break;
    case Kind::integer: {
      const std::int64_t integer = *static_cast<const std::int64_t*>(value);
      return time ? read_time(integer) : read_integer(integer, Is::integer);
    }
    case Kind::duration:
      return read_integer(static_cast<const Duration*>(value)->count(), Is::duration);
    case Kind::number:
      out.is = Is::number;
      out.number = *static_cast<const double*>(value);
      break;
    case Kind::string:
      return read_text(*static_cast<const std::string*>(value));
    case Kind::enumeration: {
      const auto& enumeration = type.enumeration();
      return read_text(enumeration.spell(enumeration.get(value)));
    }
    case Kind::list:
    case Kind::map:
      out.is = type.kind == Kind::list ? Is::list : Is::map;
      out.size = type.size(value);
      break;
    case Kind::structure:
      out.is = Is::structure;
      break;
    case Kind::any:
    case Kind::optional:
      break;  // unwrapped by the caller
  }
  return out;
}

}  // namespace

Place place_of(const describe::Type& type, const void* value, bool time) {
  Place place;
  place.type = &type;
  place.value = value;
  place.time = time;
  return unwrapped(place);
}

Place unwrapped(Place place) {
  while (place.kind == Place::Kind::described && place.type->kind == Kind::optional) {
    const bool there = place.value != nullptr && place.type->size(place.value) > 0;
    place.value = there ? place.type->element_at(place.value, 0) : nullptr;
    place.type = place.type->element;
  }
  if (place.kind == Place::Kind::described && place.type->kind == Kind::any)
    return json_place(static_cast<const boost::json::value*>(place.value));
  return place;
}

Reading read(const Place& place) {
  switch (place.kind) {
    case Place::Kind::key:
      return read_text(place.key);
    case Place::Kind::index:
      return read_integer(place.index, Reading::Is::integer);
    case Place::Kind::json:
      return place.json == nullptr ? Reading{} : read_json(*place.json);
    case Place::Kind::described:
      break;
  }
  return place.value == nullptr ? Reading{} : read_described(*place.type, place.value, place.time);
}

std::string_view name_of(Reading::Is is) {
  switch (is) {
    case Reading::Is::absent:
      return "invalid";
    case Reading::Is::boolean:
      return "bool";
    case Reading::Is::integer:
    case Reading::Is::duration:
      return "int64";
    case Reading::Is::number:
      return "float64";
    case Reading::Is::string:
      return "string";
    case Reading::Is::list:
      return "slice";
    case Reading::Is::map:
      return "map";
    case Reading::Is::structure:
      return "struct";
  }
  return "invalid";
}

Place follow(Place from, const Selector& selector, std::size_t at) {
  while (at < selector.path.size()) {
    const bool described = from.kind == Place::Kind::described;
    if (described && from.type->kind == Kind::structure) {
      from = step_into_structure(from, selector, at);
      continue;
    }
    if (from.kind == Place::Kind::json)
      from = step_into_json(from, selector, at);
    else if (described && from.type->kind == Kind::map)
      from = member(from, selector.path[at]);
    else if (described && from.type->kind == Kind::list)
      from = from.value == nullptr ? place_of(*from.type->element, nullptr)
                                   : element(from, index_within(selector, at, from.type->size(from.value)));
    else
      fail(selector, at, fmt::format("invalid value kind: {}", kind_of(from)));
    ++at;
  }
  return from;
}

Place element(const Place& list, std::size_t index) {
  if (list.kind == Place::Kind::json) return json_place(&list.json->get_array()[index]);
  return place_of(*list.type->element, list.type->element_at(list.value, index));
}

Place member(const Place& map, const std::string& key) {
  if (map.kind == Place::Kind::json) return json_place(map.json->get_object().if_contains(key));
  return place_of(*map.type->element, map.value == nullptr ? nullptr : map.type->find(map.value, key));
}

bool has_key(const Place& map, const std::string& key) {
  if (map.kind == Place::Kind::json) return map.json->get_object().contains(key);
  return map.type->find(map.value, key) != nullptr;
}

void each_member(const Place& map, const std::function<void(std::string_view, const Place&)>& visit) {
  if (map.kind == Place::Kind::json) {
    for (const auto& [key, value] : map.json->get_object()) visit(key, json_place(&value));
    return;
  }
  struct Context {
    const describe::Type& element;
    const std::function<void(std::string_view, const Place&)>& visit;
  } context{*map.type->element, visit};
  map.type->each(map.value, &context, [](void* raw, const std::string& key, const void* value) {
    const auto& to = *static_cast<Context*>(raw);
    to.visit(key, place_of(to.element, value));
  });
}

}  // namespace underway::filter::detail

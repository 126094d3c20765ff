#include "base/json/describe.hpp"

#include "base/json/json_member.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace underway::describe {

const Field* Structure::find_hcl(std::string_view hcl_name) const {
  for (const auto& field : fields) {
    if (field.form != Form::wire && field.hcl == hcl_name) return &field;
  }
  return nullptr;
}

const Field* Structure::find_json(std::string_view json_name) const {
  for (const auto& field : fields) {
    if (!field.json.empty() && field.json == json_name) return &field;
  }
  for (const auto& field : fields) {
    if (!field.json.empty() && json::names_field(json_name, field.json)) return &field;
  }
  return nullptr;
}

bool Structure::nests(std::string_view json_name) const {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    const std::size_t dot = field.json.find('.');
    return dot != std::string_view::npos && json::names_field(json_name, field.json.substr(0, dot));
  });
}

std::optional<std::int64_t> Enumeration::parse(std::string_view text) const {
  for (const auto& value : values) {
    if (value.name == text) return value.value;
  }
  return std::nullopt;
}

std::string_view Enumeration::spell(std::int64_t value) const {
  for (const auto& candidate : values) {
    if (candidate.value == value) return candidate.name;
  }
  return "?";
}

std::vector<std::string> Enumeration::names() const {
  std::vector<std::string> out;
  out.reserve(values.size());
  for (const auto& value : values) out.emplace_back(value.name);
  return out;
}

namespace {

template <class T>
bool same(const void* a, const void* b) {
  return *static_cast<const T*>(a) == *static_cast<const T*>(b);
}

bool equal_maps(const Type& type, const void* a, const void* b) {
  if (type.size(a) != type.size(b)) return false;
  struct Context {
    const Type& type;
    const void* other;
    bool equal = true;
  } context{type, b};
  type.each(a, &context, [](void* raw, const std::string& key, const void* element) {
    auto& c = *static_cast<Context*>(raw);
    const void* found = c.equal ? c.type.find(c.other, key) : nullptr;
    c.equal = found != nullptr && describe::equal(*c.type.element, element, found);
  });
  return context.equal;
}

bool equal_sequences(const Type& type, const void* a, const void* b) {
  const std::size_t size = type.size(a);
  if (size != type.size(b)) return false;
  for (std::size_t i = 0; i < size; ++i) {
    if (!equal(*type.element, type.element_at(a, i), type.element_at(b, i))) return false;
  }
  return true;
}

}  // namespace

bool equal(const Type& type, const void* a, const void* b) {
  switch (type.kind) {
    case Kind::boolean:
      return same<bool>(a, b);
    case Kind::integer:
      return same<std::int64_t>(a, b);
    case Kind::number:
      return same<double>(a, b);
    case Kind::string:
      return same<std::string>(a, b);
    case Kind::duration:
      return same<Duration>(a, b);
    case Kind::any:
      return same<boost::json::value>(a, b);
    case Kind::enumeration:
      return type.enumeration().get(a) == type.enumeration().get(b);
    case Kind::optional:
    case Kind::list:
      return equal_sequences(type, a, b);
    case Kind::map:
      return equal_maps(type, a, b);
    case Kind::structure:
      for (const auto& field : type.structure().fields) {
        if (!equal(*field.type, field.in(a), field.in(b))) return false;
      }
      return true;
  }
  return false;
}

}  // namespace underway::describe

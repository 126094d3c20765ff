#include "driver/block_reader.hpp"

#include "base/text.hpp"
#include "driver/scalar.hpp"

namespace underway::driver {
namespace {

using describe::Field;
using describe::Form;
using describe::Structure;
using describe::Type;

/// An object, or a list that holds one: `dns { … }` and `dns = { … }`.
const boost::json::object* single(const boost::json::value& value) {
  if (value.is_object()) return &value.as_object();
  if (value.is_array() && value.as_array().size() == 1) return single(value.as_array().front());
  return nullptr;
}

const Field* label_of(const Structure& structure) {
  for (const auto& field : structure.fields) {
    if (field.form == Form::label) return &field;
  }
  return nullptr;
}

const Structure& structure_in(const Type& type) {
  return type.kind == describe::Kind::structure ? type.structure() : structure_in(*type.element);
}

template <class T>
void set(void* target, T value) {
  *static_cast<T*>(target) = std::move(value);
}

}  // namespace

void BlockReader::say(const std::string& path, std::string what) {
  problems_.push_back(fmt::format("{}: {}", path, what));
}

std::vector<BlockReader::Block> BlockReader::labelled(const boost::json::value& value) {
  std::vector<Block> blocks;
  if (value.is_array()) {
    for (const auto& item : value.as_array()) {
      for (auto& block : labelled(item)) blocks.push_back(std::move(block));
    }
  } else if (value.is_object()) {
    for (const auto& [label, body] : value.as_object()) {
      if (const auto* object = single(body)) {
        blocks.push_back({std::string(label), *object});
      } else if (body.is_array()) {
        for (const auto& element : body.as_array()) {
          if (element.is_object()) blocks.push_back({std::string(label), element.as_object()});
        }
      }
    }
  }
  return blocks;
}

void BlockReader::read(const boost::json::value& value, const Structure& structure, void* object,
                       const std::string& path) {
  const auto* body = single(value);
  if (body == nullptr) return say(path, "must be a block");
  std::vector<std::string> names;
  for (const auto& field : structure.fields) {
    if (field.form == Form::wire || field.form == Form::label) continue;
    names.emplace_back(field.hcl);
    const auto* member = body->if_contains(field.hcl);
    const auto place = fmt::format("{}.{}", path, field.hcl);
    if (member == nullptr || member->is_null()) {
      if (field.required) say(place, "is required");
    } else {
      read_field(*member, field, field.get(object), place);
    }
  }
  for (const auto& member : *body) {
    const std::string name(member.key());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest(name, names);
    say(fmt::format("{}.{}", path, name),
        near.empty() ? "is not known" : fmt::format("is not known; did you mean '{}'?", near));
  }
}

void BlockReader::read_field(const boost::json::value& value, const Field& field, void* target,
                             const std::string& path) {
  if (field.form != Form::block) return read_value(value, *field.type, target, path);
  if (field.type->kind == describe::Kind::list) return read_blocks(value, *field.type, target, path);
  void* element = field.type->kind == describe::Kind::optional ? field.type->append(target) : target;
  read(value, structure_in(*field.type), element, path);
}

void BlockReader::read_blocks(const boost::json::value& value, const Type& type, void* target,
                              const std::string& path) {
  const Structure& structure = structure_in(type);
  const Field* label = label_of(structure);
  if (!value.is_array() && !value.is_object()) return say(path, "must be a block");
  for (auto& block : labelled(value)) {
    const auto place = fmt::format("{} \"{}\"", path, block.label);
    void* element = type.append(target);
    read_value(boost::json::value(block.label), *label->type, label->get(element), place);
    read(std::move(block.body), structure, element, place);
  }
}

void BlockReader::read_value(const boost::json::value& value, const Type& type, void* target, const std::string& path) {
  if (is_open(value) && type.kind != describe::Kind::string) return;
  switch (type.kind) {
    case describe::Kind::string:
      if (auto text = as_text(value)) return set<std::string>(target, std::move(*text));
      return say(path, "must be a string");
    case describe::Kind::integer:
      if (const auto number = as_number(value)) return set<std::int64_t>(target, *number);
      return say(path, "must be a whole number");
    case describe::Kind::boolean:
      if (const auto flag = as_flag(value)) return set<bool>(target, *flag);
      return say(path, "must be true or false");
    case describe::Kind::duration: {
      const auto text = as_text(value);
      const auto duration = text ? parse_duration(*text) : std::nullopt;
      if (duration) return set<Duration>(target, *duration);
      return say(path, "must be a duration like \"30s\"");
    }
    case describe::Kind::enumeration: {
      const auto text = as_text(value);
      const auto& known = type.enumeration();
      if (const auto read = text ? known.parse(*text) : std::nullopt) return known.set(target, *read);
      return say(path, fmt::format("must be one of {}", join(known.names(), ", ")));
    }
    case describe::Kind::list: {
      if (!value.is_array()) return say(path, "must be a list");
      type.clear(target);
      std::size_t index = 0;
      for (const auto& item : value.as_array()) {
        read_value(item, *type.element, type.append(target), fmt::format("{}[{}]", path, index++));
      }
      return;
    }
    case describe::Kind::map: {
      const auto* members = single(value);
      if (members == nullptr) return say(path, "must be a map");
      for (const auto& [key, member] : *members) {
        read_value(member, *type.element, type.insert(target, key), fmt::format("{}[\"{}\"]", path, std::string(key)));
      }
      return;
    }
    default:
      return say(path, "cannot be given here");
  }
}

}  // namespace underway::driver

#include "jobspec/decode.hpp"

#include "base/text.hpp"
#include "hcl/type.hpp"

namespace underway::jobspec {
namespace {

using describe::Field;
using describe::Form;
using describe::Kind;
using describe::Structure;
using describe::Type;

/// Of one block that is read into a struct (measured: an empty group takes 60 µs and 2 KiB).
constexpr std::uint64_t kStepsPerBlock = 400;
constexpr std::uint64_t kBytesPerBlock = 2048;

/// The structure that a block of this type describes, through optional, list and map; null for free forms.
const Structure* structure_in(const Type& type) {
  if (type.kind == Kind::structure) return &type.structure();
  if (type.kind == Kind::any || type.element == nullptr) return nullptr;
  return structure_in(*type.element);
}

std::vector<const Field*> label_fields(const Structure& structure) {
  std::vector<const Field*> labels;
  for (const auto& field : structure.fields) {
    if (field.form == Form::label) labels.push_back(&field);
  }
  return labels;
}

class Decoder {
 public:
  Decoder(const hcl::Context& context, hcl::Diagnostics& diagnostics, const Dialect& dialect, Given* given = nullptr)
      : context_(context), diagnostics_(diagnostics), dialect_(dialect), given_(given) {}

  void body(const hcl::Body& body, const Structure& structure, void* object, const hcl::Range& header) {
    if (!affordable(header)) return;
    const auto found = dialect_.find(structure.name);
    const Extension* extension = found == dialect_.end() ? nullptr : &found->second;
    if (extension != nullptr && extension->prepare) extension->prepare(object);
    const hcl::Content content = body.content(schema(structure, extension), diagnostics_, structure.name);
    if (extension != nullptr) refuse_names(*extension, content);
    for (const auto& field : structure.fields) read_field(structure, field, content, body, object);
    if (extension != nullptr && extension->finish)
      extension->finish(object, {body, header, content, context_, diagnostics_, given_});
  }

  void block(const hcl::Block& block, const Structure& structure, void* object) {
    std::size_t index = 0;
    for (const Field* field : label_fields(structure)) {
      if (index >= block.labels.size()) break;  // the schema has reported it
      const auto& label = block.labels[index++];
      value(hcl::Value(label.text), *field->type, field->get(object), label.range,
            fmt::format("label '{}' of {}", field->hcl, structure.name));
    }
    body(block.body, structure, object, block.range);
  }

  void value(const hcl::Value& value, const Type& type, void* target, const hcl::Range& range,
             const std::string& what) {
    switch (type.kind) {
      case Kind::boolean:
        if (const auto read = hcl::to_bool(value)) return set<bool>(target, *read);
        return refuse(value, range, what, "true or false");
      case Kind::integer: {
        const auto number = hcl::to_number(value);
        const auto read = number ? number->to_int64() : std::nullopt;
        if (read) return set<std::int64_t>(target, *read);
        return refuse(value, range, what, number && number->is_integer() ? "an integer below 2^63" : "an integer");
      }
      case Kind::number:
        if (const auto read = hcl::to_number(value)) return set<double>(target, read->to_double());
        return refuse(value, range, what, "a number");
      case Kind::string:
        if (auto read = hcl::to_text(value)) return set<std::string>(target, std::move(*read));
        return refuse(value, range, what, "a string");
      case Kind::duration:
        return duration(value, target, range, what);
      case Kind::any:
        return set<boost::json::value>(target, hcl::to_json(value));
      case Kind::enumeration:
        return enumeration(value, type, target, range, what);
      case Kind::optional:
        return this->value(value, *type.element, type.append(target), range, what);
      case Kind::list:
        return list(value, type, target, range, what);
      case Kind::map:
        return map(value, type, target, range, what);
      case Kind::structure:
        return members(value, type.structure(), target, range, what);
    }
  }

 private:
  /// Blocks cost as well: forty thousand empty ones are a megabyte of text, and a job that nobody can plan.
  bool affordable(const hcl::Range& header) {
    if (context_.budget().spent() && diagnostics_.has_errors()) return false;  // said already
    try {
      context_.budget().step(kStepsPerBlock);
      context_.budget().produce(kBytesPerBlock);
      return true;
    } catch (const Error& e) {
      diagnostics_.error(header, e.message(), join(e.reasons(), "; "), e.advice());
      return false;
    }
  }

  template <class T>
  static void set(void* target, T value) {
    *static_cast<T*>(target) = std::move(value);
  }

  static hcl::Schema schema(const Structure& structure, const Extension* extension) {
    hcl::Schema schema;
    for (const auto& field : structure.fields) {
      if (field.form == Form::attribute || field.form == Form::block_or_attribute)
        schema.attributes.push_back({std::string(field.hcl), field.required && field.form == Form::attribute});
      if (field.form == Form::block || field.form == Form::block_or_attribute)
        schema.blocks.push_back(block_schema(field));
    }
    if (extension == nullptr) return schema;
    for (const auto& name : extension->attributes) schema.attributes.push_back({name});
    schema.blocks.insert(schema.blocks.end(), extension->blocks.begin(), extension->blocks.end());
    for (const auto& [name, why] : extension->refused) {
      schema.attributes.push_back({name});
      schema.blocks.push_back({name, {"name", "name", "name"}, true});
    }
    return schema;
  }

  void refuse_names(const Extension& extension, const hcl::Content& content) {
    const auto refuse_name = [&](const std::string& name, const hcl::Range& range) {
      for (const auto& [refused, why] : extension.refused) {
        if (refused == name)
          diagnostics_.error(range, fmt::format("`{}` is not supported", name), why, fmt::format("remove `{}`", name));
      }
    };
    for (const auto& attribute : content.attributes) refuse_name(attribute.name, attribute.name_range);
    for (const auto& block : content.blocks) refuse_name(block.type, block.type_range);
  }

  void read_field(const Structure& structure, const Field& field, const hcl::Content& content, const hcl::Body& body,
                  void* object) {
    if (field.form == Form::wire || field.form == Form::label) return;
    const hcl::Attribute* attribute = field.form == Form::block ? nullptr : content.find(field.hcl);
    if (attribute != nullptr) read_attribute(structure, field, *attribute, field.get(object));
    if (field.form == Form::attribute) return;
    const auto blocks = content.blocks_of(field.hcl);
    const bool repeats = field.form == Form::block && (field.type->kind == Kind::list || field.type->kind == Kind::map);
    const hcl::Range* first = attribute != nullptr ? &attribute->name_range : nullptr;
    for (const hcl::Block* each : blocks) {
      if (first != nullptr && !repeats) {
        diagnostics_.error(each->type_range, fmt::format("a second '{}' in {}", field.hcl, structure.name),
                           fmt::format("the first is at {}", first->where()), "join the two");
        continue;
      }
      first = &each->type_range;
      read_block(field, *each, field.get(object));
    }
    if (field.required && first == nullptr && field.form == Form::block)
      diagnostics_.error(body.missing_range(), fmt::format("{} lacks its block '{}'", structure.name, field.hcl));
  }

  void read_attribute(const Structure& structure, const Field& field, const hcl::Attribute& attribute, void* target) {
    const auto evaluated = attribute.expression.evaluate(context_, diagnostics_);
    if (!evaluated) return;
    if (!evaluated->is_null()) note(field);
    if (!evaluated->is_null())
      return value(*evaluated, *field.type, target, attribute.expression.range(), fmt::format("'{}'", field.hcl));
    if (field.required)
      diagnostics_.error(attribute.expression.range(),
                         fmt::format("'{}' of {} is null, and must be given", field.hcl, structure.name));
  }

  void read_block(const Field& field, const hcl::Block& block, void* target) {
    const Type& type = *field.type;
    if (field.form == Form::block_or_attribute) return read_free_form(field, block, target);
    if (type.kind == Kind::map) return read_keyed_block(field, block, target);
    void* const into = type.kind == Kind::structure ? target : type.append(target);  // optional, list
    within(given_ == nullptr ? nullptr : &given_->add(field.json), block, *structure_in(type), into);
  }

  void note(const Field& field) {
    if (given_ != nullptr) given_->note(field.json);
  }

  /// What the block gives is noted in `given`.
  void within(Given* given, const hcl::Block& block, const Structure& structure, void* object) {
    Given* const around = std::exchange(given_, given);
    this->block(block, structure, object);
    given_ = around;
  }

  /// A map of structures: the first label is the key.
  void read_keyed_block(const Field& field, const hcl::Block& block, void* target) {
    const Type& type = *field.type;
    if (block.labels.empty()) return;  // the schema has reported it
    const std::string& key = block.labels.front().text;
    if (type.find(target, key) != nullptr) {
      diagnostics_.error(block.range, fmt::format("a second '{}' \"{}\"", block.type, key));
      return;
    }
    within(given_ == nullptr ? nullptr : &given_->add(field.json, key), block, type.element->structure(),
           type.insert(target, key));
  }

  void read_free_form(const Field& field, const hcl::Block& block, void* target) {
    note(field);
    const auto read =
        field.type->kind == Kind::any ? hcl::decode_any(block.body, context_, diagnostics_) : pairs(block.body, field);
    if (read) value(*read, *field.type, target, block.range, fmt::format("'{}'", field.hcl));
  }

  std::optional<hcl::Value> pairs(const hcl::Body& body, const Field& field) {
    hcl::Value::Object members;
    const bool texts = field.type->element->kind == Kind::string;
    for (const auto& attribute : body.just_attributes(diagnostics_, field.hcl)) {
      auto read = attribute.expression.evaluate(context_, diagnostics_);
      if (!read) continue;
      if (texts && !read->is_null() && !hcl::to_text(*read)) {
        refuse(*read, attribute.expression.range(), fmt::format("'{}'", attribute.name), "a string");
        continue;
      }
      members.insert_or_assign(attribute.name, std::move(*read));
    }
    return hcl::Value::object(std::move(members));
  }

  void duration(const hcl::Value& value, void* target, const hcl::Range& range, const std::string& what) {
    std::optional<Duration> read;
    if (value.is_string()) {
      read = parse_duration(value.as_string());
    } else if (value.is_number()) {
      if (const auto count = value.as_number().to_int64()) read = Duration{*count};
    }
    if (read) return set<Duration>(target, *read);
    refuse(value, range, what, "a duration like \"30s\" or \"1h15m\"");
  }

  void enumeration(const hcl::Value& value, const Type& type, void* target, const hcl::Range& range,
                   const std::string& what) {
    const auto& described = type.enumeration();
    const auto text = hcl::to_text(value);
    if (const auto read = text ? described.parse(*text) : std::nullopt) return described.set(target, *read);
    const auto names = described.names();
    diagnostics_.error(range, fmt::format("{} must be one of {}", what, join(names, ", ")),
                       fmt::format("it is {}", hcl::describe(value, 80)), text ? hcl::suggest(*text, names) : "");
  }

  void list(const hcl::Value& value, const Type& type, void* target, const hcl::Range& range, const std::string& what) {
    if (!value.is_sequence()) return refuse(value, range, what, "a list");
    type.clear(target);
    std::size_t index = 0;
    for (const auto& item : value.items()) {
      if (diagnostics_.error_count() >= hcl::Diagnostics::kMax) return;
      const std::string name = fmt::format("{}[{}]", what, index++);
      if (item.is_null())
        refuse(item, range, name, "a value");
      else
        this->value(item, *type.element, type.append(target), range, name);
    }
  }

  void map(const hcl::Value& value, const Type& type, void* target, const hcl::Range& range, const std::string& what) {
    if (!value.is_mapping()) return refuse(value, range, what, "a map");
    type.clear(target);
    for (const auto& [key, member] : value.members()) {
      if (diagnostics_.error_count() >= hcl::Diagnostics::kMax) return;
      if (member.is_null()) continue;
      this->value(member, *type.element, type.insert(target, key), range, fmt::format("{}[\"{}\"]", what, key));
    }
  }

  /// A structure written as a value: { … } in a list, say.
  void members(const hcl::Value& value, const Structure& structure, void* target, const hcl::Range& range,
               const std::string& what) {
    if (!value.is_mapping()) return refuse(value, range, what, "an object");
    for (const auto& [key, member] : value.members()) {
      const Field* field = structure.find_hcl(key);
      if (field == nullptr) {
        std::vector<std::string> known;
        for (const auto& each : structure.fields) known.emplace_back(each.hcl);
        diagnostics_.error(range, fmt::format("unknown attribute '{}' in {}", key, what), "", hcl::suggest(key, known));
      } else if (!member.is_null()) {
        this->value(member, *field->type, field->get(target), range, fmt::format("{}.{}", what, key));
      }
    }
    for (const auto& field : structure.fields) {
      if (field.required && value.find(field.hcl) == nullptr)
        diagnostics_.error(range, fmt::format("{} lacks '{}'", what, field.hcl));
    }
  }

  void refuse(const hcl::Value& value, const hcl::Range& range, const std::string& what, std::string_view expected) {
    diagnostics_.error(range, fmt::format("{} must be {}", what, expected),
                       fmt::format("it is {}", hcl::describe(value, 80)));
  }

  const hcl::Context& context_;
  hcl::Diagnostics& diagnostics_;
  const Dialect& dialect_;
  Given* given_;  ///< of the object at hand; null: nobody asks
};

}  // namespace

void decode(const hcl::Body& body, const Structure& structure, void* object, const hcl::Context& context,
            hcl::Diagnostics& diagnostics, const Dialect& dialect) {
  Decoder(context, diagnostics, dialect).body(body, structure, object, body.range());
}

void decode(const hcl::Block& block, const Structure& structure, void* object, const hcl::Context& context,
            hcl::Diagnostics& diagnostics, const Dialect& dialect, Given* given) {
  Decoder(context, diagnostics, dialect, given).block(block, structure, object);
}

void decode_value(const hcl::Value& value, const Type& type, void* target, const hcl::Range& range,
                  const std::string& what, hcl::Diagnostics& diagnostics) {
  const hcl::Context context;
  const Dialect dialect;
  Decoder(context, diagnostics, dialect).value(value, type, target, range, what);
}

hcl::BlockSchema block_schema(const Field& field) {
  hcl::BlockSchema schema{.type = std::string(field.hcl)};
  const Structure* structure = field.form == Form::block ? structure_in(*field.type) : nullptr;
  if (structure == nullptr) return schema;
  for (const Field* label : label_fields(*structure)) schema.labels.emplace_back(label->hcl);
  if (schema.labels.empty() && field.type->kind == Kind::map) schema.labels.emplace_back("name");
  return schema;
}

}  // namespace underway::jobspec

#include "gotemplate/objects.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace underway::gotemplate {

namespace {

/// Fields by name, in the order of Go's struct.
class Record final : public Object {
 public:
  using Fields = std::vector<std::pair<std::string_view, Value>>;
  /// `text` empty: printed as Go prints a pointer to a struct.
  Record(std::string_view type, Fields fields, std::optional<std::string> text = {}, std::optional<Value> plain = {})
      : type_(type), fields_(std::move(fields)), text_(std::move(text)), plain_(std::move(plain)) {}

  std::string_view type_name() const override { return type_; }

  std::optional<Value> member(std::string_view name, std::span<const Value> /*arguments*/) const override {
    if (text_ && name == "String") return Value(*text_);
    for (const auto& [field, value] : fields_)
      if (field == name) return value;
    return std::nullopt;
  }

  std::vector<std::string> member_names() const override {
    std::vector<std::string> names;
    for (const auto& [field, value] : fields_) names.emplace_back(field);
    return names;
  }

  std::string text() const override {
    if (text_) return *text_;
    std::string out = "{";
    for (const auto& [field, value] : fields_) {
      if (out.size() > 1) out += ' ';
      out += print_field(value);
    }
    return out + '}';
  }

  Value plain() const override {
    if (plain_) return *plain_;
    Map map;
    for (const auto& [field, value] : fields_)
      map.emplace(field, value.kind() == Kind::object ? value.as_object().plain() : value);
    return Value::map(std::move(map));
  }

 private:
  static std::string print_field(const Value& value) {
    switch (value.kind()) {
      case Kind::text:
        return std::string(value.as_text());
      case Kind::integer:
        return fmt::to_string(value.as_integer());
      case Kind::natural:
        return fmt::to_string(value.as_natural());
      case Kind::boolean:
        return value.as_bool() ? "true" : "false";
      case Kind::list: {
        std::vector<std::string> parts;
        for (const Value& item : value.as_list()) parts.push_back(print_field(item));
        return "[" + join(parts, " ") + "]";
      }
      case Kind::object:
        return value.as_object().text();
      default:
        return "<nil>";
    }
  }

  std::string_view type_;
  Fields fields_;
  std::optional<std::string> text_;
  std::optional<Value> plain_;
};

class VariableItems final : public Object {
 public:
  explicit VariableItems(Variable variable) : variable_(std::move(variable)) {
    for (const auto& [key, value] : variable_.items) items_.emplace(key, item(key, value));
  }

  std::string_view type_name() const override { return "*dependency.NomadVarItems"; }
  const Map* members() const override { return &items_; }
  Value absent_member() const override { return item("", ""); }
  std::vector<std::string> member_names() const override {
    std::vector<std::string> names;
    for (const auto& [key, value] : items_) names.push_back(key);
    return names;
  }

  std::optional<Value> member(std::string_view name, std::span<const Value> /*arguments*/) const override {
    if (name == "Metadata") return metadata_value(variable_.metadata);
    if (name == "Parent") return parent();
    if (name == "ItemsMap") return plain();
    if (name != "Keys" && name != "Values" && name != "Tuples") return std::nullopt;
    List out;
    for (const auto& [key, value] : variable_.items) {
      if (name == "Tuples")
        out.push_back(record("struct { K string; V string }", {{"K", Value(key)}, {"V", Value(value)}}));
      else
        out.emplace_back(name == "Keys" ? key : value);
    }
    return Value::list(std::move(out));
  }

  std::string text() const override {
    std::string out = "map[";
    for (const auto& [key, value] : variable_.items) {
      if (out.size() > 4) out += ' ';
      out += key + ":" + value;
    }
    return out + "]";
  }

  Value plain() const override {
    Map map;
    for (const auto& [key, value] : variable_.items) map.emplace(key, Value(value));
    return Value::map(std::move(map));
  }

 private:
  static Value item(const std::string& key, const std::string& value) {
    return record("dependency.NomadVarItem", {{"Key", Value(key)}, {"Value", Value(value)}}, value, Value(value));
  }

  Value parent() const {
    const VariableMetadata& meta = variable_.metadata;
    return record("*dependency.NomadVariable", {{"Namespace", Value(meta.namespace_name)},
                                                {"Path", Value(meta.path)},
                                                {"CreateIndex", Value(meta.create_index)},
                                                {"ModifyIndex", Value(meta.modify_index)},
                                                {"CreateTime", Value::int64(unix_nanos(meta.create_time))},
                                                {"ModifyTime", Value::int64(unix_nanos(meta.modify_time))},
                                                {"Items", Value::object(std::make_shared<VariableItems>(variable_))}});
  }

  Variable variable_;
  Map items_;
};

}  // namespace

Value record(std::string_view type, std::vector<std::pair<std::string_view, Value>> fields,
             std::optional<std::string> text, std::optional<Value> plain) {
  return Value::object(std::make_shared<Record>(type, std::move(fields), std::move(text), std::move(plain)));
}

Value variable_items(Variable variable) { return Value::object(std::make_shared<VariableItems>(std::move(variable))); }

Value metadata_value(VariableMetadata metadata) {
  return record("*dependency.NomadVarMeta",
                {{"Namespace", Value(metadata.namespace_name)},
                 {"Path", Value(metadata.path)},
                 {"CreateIndex", Value(metadata.create_index)},
                 {"ModifyIndex", Value(metadata.modify_index)},
                 {"CreateTime", Value::int64(unix_nanos(metadata.create_time))},
                 {"ModifyTime", Value::int64(unix_nanos(metadata.modify_time))}},
                metadata.path);
}

Value service_value(ServiceInstance instance) {
  return record("*dependency.NomadService", {{"ID", Value(instance.id)},
                                             {"Name", Value(instance.name)},
                                             {"Node", Value(instance.node)},
                                             {"Address", Value(instance.address)},
                                             {"Port", Value(instance.port)},
                                             {"Datacenter", Value(instance.datacenter)},
                                             {"Tags", Value::texts(instance.tags)},
                                             {"JobID", Value(instance.job_id)},
                                             {"AllocID", Value(instance.alloc_id)}});
}

Value summary_value(ServiceSummary summary, std::string_view type) {
  return record(type, {{"Name", Value(summary.name)}, {"Tags", Value::texts(summary.tags)}});
}

}  // namespace underway::gotemplate

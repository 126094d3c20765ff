// Consul's and Vault's things as templates see them.
#include "gotemplate/objects.hpp"
#include "gotemplate/run.hpp"

#include <boost/json/array.hpp>

namespace underway::gotemplate {

namespace {

Value map_of(const std::map<std::string, std::string>& texts) {
  Map members;
  for (const auto& [name, text] : texts) members.emplace(name, Value(text));
  return Value::map(std::move(members));
}

Value check_value(const ForeignCheck& check) {
  return record("*api.HealthCheck", {{"Node", Value(check.node)},
                                     {"CheckID", Value(check.id)},
                                     {"Name", Value(check.name)},
                                     {"Status", Value(check.status)},
                                     {"Notes", Value(check.notes)},
                                     {"Output", Value(check.output)},
                                     {"ServiceID", Value(check.service_id)},
                                     {"ServiceName", Value(check.service_name)}});
}

/// Whole numbers stay whole: Vault's client keeps their digits.
Value json_value(const boost::json::value& json, Run& run) {
  run.step();
  switch (json.kind()) {
    case boost::json::kind::null:
      return {};
    case boost::json::kind::bool_:
      return json.get_bool();
    case boost::json::kind::int64:
      return json.get_int64();
    case boost::json::kind::uint64:
      return json.get_uint64();
    case boost::json::kind::double_:
      return json.get_double();
    case boost::json::kind::string:
      run.make(json.get_string().size());
      return std::string_view(json.get_string());
    case boost::json::kind::array: {
      run.make_elements(json.get_array().size());
      List items;
      for (const auto& item : json.get_array()) items.push_back(json_value(item, run));
      return Value::list(std::move(items));
    }
    case boost::json::kind::object:
      break;
  }
  Map members;
  run.make(json.get_object().size() * 96);
  for (const auto& member : json.get_object())
    members.insert_or_assign(std::string(member.key()), json_value(member.value(), run));
  return Value::map(std::move(members));
}

/// Data that is asked for as that of KV version 1 and as that of version 2.
class EitherData final : public Object {
 public:
  EitherData(Map items, Value metadata) : items_(std::move(items)), metadata_(std::move(metadata)) {}
  std::string_view type_name() const override { return "map[string]interface {}"; }
  const Map* members() const override { return &items_; }
  std::optional<Value> member(std::string_view name, std::span<const Value> /*arguments*/) const override {
    if (items_.contains(name)) return std::nullopt;  // an item of that name goes first
    if (name == "data") return plain();
    if (name == "metadata") return metadata_;
    return std::nullopt;
  }
  std::vector<std::string> member_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, value] : items_) names.push_back(name);
    return names;
  }
  std::string text() const override {
    std::string out = "map[";
    for (const auto& [name, value] : items_) {
      if (out.size() > 4) out += ' ';
      out += name + ":" + (value.is_text() ? std::string(value.as_text()) : std::string());
    }
    return out + "]";
  }
  Value plain() const override { return Value::map(items_); }

 private:
  Map items_;
  Value metadata_;
};

Value data_value(const Secret& secret, Run& run) {
  Value data = json_value(boost::json::value(secret.data), run);
  if (!secret.metadata) return data;
  return Value::object(
      std::make_shared<EitherData>(data.as_map(), json_value(boost::json::value(*secret.metadata), run)));
}

}  // namespace

Value foreign_instance_value(ForeignInstance instance) {
  List checks;
  for (const auto& check : instance.checks) checks.push_back(check_value(check));
  return record("*dependency.HealthService", {{"Node", Value(instance.node)},
                                              {"NodeID", Value(instance.node_id)},
                                              {"NodeAddress", Value(instance.node_address)},
                                              {"NodeDatacenter", Value(instance.node_datacenter)},
                                              {"NodeMeta", map_of(instance.node_meta)},
                                              {"ServiceMeta", map_of(instance.meta)},
                                              {"Address", Value(instance.address)},
                                              {"ID", Value(instance.id)},
                                              {"Name", Value(instance.name)},
                                              {"Tags", Value::texts(instance.tags)},
                                              {"Checks", Value::list(std::move(checks))},
                                              {"Status", Value(instance.status)},
                                              {"Port", Value(instance.port)}});
}

Value key_value(const KeyPair& pair, std::string_view key) {
  return record("*dependency.KeyPair", {{"Path", Value(pair.path)},
                                        {"Key", Value(key)},
                                        {"Value", Value(pair.value)},
                                        {"Exists", Value(true)},
                                        {"CreateIndex", Value(pair.create_index)},
                                        {"ModifyIndex", Value(pair.modify_index)},
                                        {"LockIndex", Value(pair.lock_index)},
                                        {"Flags", Value(pair.flags)},
                                        {"Session", Value(pair.session)}});
}

Value secret_value(const Secret& secret, Run& run) {
  return record("*dependency.Secret", {{"RequestID", Value(secret.request_id)},
                                       {"LeaseID", Value(secret.lease_id)},
                                       {"LeaseDuration", Value(secret.lease_duration)},
                                       {"Renewable", Value(secret.renewable)},
                                       {"Data", data_value(secret, run)},
                                       {"Warnings", Value::texts(secret.warnings)}});
}

}  // namespace underway::gotemplate

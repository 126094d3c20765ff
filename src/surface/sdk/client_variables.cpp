// Variables with their locks, and the root keys under which they are sealed.
#include "base/json/json.hpp"
#include "sdk/client.hpp"
#include "sdk/detail/refusal.hpp"

#include <boost/json/serialize.hpp>

namespace underway::sdk {
namespace {

std::string variable_path(const std::string& path) { return "/v1/var/" + http::percent_encode(path); }

std::string variable_body(const std::string& path, const std::optional<model::StringMap>& items,
                          const std::optional<model::VariableLock>& lock) {
  model::OpenVariable out;
  out.row.path = path;
  out.row.lock = lock;
  auto body = json::parse(wire::encode_variable({out.row, items.value_or(model::StringMap{})}, true)).as_object();
  body.erase("Namespace");  // the request says it
  if (!items) body.erase("Items");
  return boost::json::serialize(body);
}

http::Query with_index(const std::optional<model::Revision>& cas) {
  return cas ? http::Query{{"cas", std::to_string(*cas)}} : http::Query{};
}

}  // namespace

std::vector<model::Variable> Client::variables(const std::string& prefix) {
  std::vector<model::Variable> out;
  const auto answer = json::parse(send("GET", "/v1/vars", {{"prefix", prefix}}).body);
  for (const auto& entry : answer.as_array()) out.push_back(wire::decode_variable(entry.as_object()).row);
  return out;
}
model::OpenVariable Client::variable(const std::string& path) {
  return wire::decode_variable(json::parse(send("GET", variable_path(path)).body).as_object());
}

WrittenVariable Client::write_variable(const std::string& method, const std::string& path, http::Query query,
                                       std::string body) {
  const auto response = exchange(method, variable_path(path), std::move(query), std::move(body), {});
  WrittenVariable out;
  // A refusal is a text; a conflict is a variable.
  out.conflict = response.status == 409 && response.body.starts_with('{');
  if (!out.conflict) detail::throw_refusal(response);
  if (!response.body.empty()) out.variable = wire::decode_variable(json::parse(response.body).as_object());
  return out;
}

WrittenVariable Client::put_variable(const std::string& path, const model::StringMap& items,
                                     std::optional<model::Revision> cas) {
  return write_variable("PUT", path, with_index(cas), variable_body(path, items, {}));
}
WrittenVariable Client::delete_variable(const std::string& path, std::optional<model::Revision> cas) {
  return write_variable("DELETE", path, with_index(cas), {});
}
WrittenVariable Client::acquire_lock(const std::string& path, const model::VariableLock& lock,
                                     const std::optional<model::StringMap>& items) {
  return write_variable("PUT", path, {{"lock-acquire", ""}}, variable_body(path, items, lock));
}
WrittenVariable Client::renew_lock(const std::string& path, const std::string& lock_id) {
  return write_variable("PUT", path, {{"lock-renew", ""}}, variable_body(path, {}, model::VariableLock{lock_id}));
}
WrittenVariable Client::release_lock(const std::string& path, const std::string& lock_id) {
  return write_variable("PUT", path, {{"lock-release", ""}}, variable_body(path, {}, model::VariableLock{lock_id}));
}

boost::json::value Client::root_keys() { return json::parse(send("GET", "/v1/operator/keyring/keys").body); }
boost::json::value Client::rotate_root_key(bool full) {
  return json::parse(send("PUT", "/v1/operator/keyring/rotate", {{"full", full ? "true" : "false"}}).body).at("Key");
}
boost::json::value Client::prepublish_root_key(TimePoint at) {
  return json::parse(
             send("PUT", "/v1/operator/keyring/rotate", {{"publish_time", std::to_string(unix_nanos(at))}}).body)
      .at("Key");
}
void Client::remove_root_key(const std::string& id, bool force) {
  send("DELETE", "/v1/operator/keyring/key/" + http::percent_encode(id), {{"force", force ? "true" : "false"}});
}

}  // namespace underway::sdk

// Policies, tokens, roles and namespaces.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

template <class T>
T read_access_answer(const http::Response& response) {
  return json::decode_text<T>(response.body, "answer");
}

NewToken new_token(const http::Response& response) {
  const auto value = json::parse(response.body);
  NewToken made{json::decode<model::AclToken>(value, "answer"), {}};
  const auto* secret = value.as_object().if_contains("SecretID");
  if (secret != nullptr && secret->is_string()) made.secret = std::string_view(secret->get_string());
  return made;
}

}  // namespace

NewToken Client::bootstrap_acl(const std::string& secret) {
  std::string body;
  if (!secret.empty()) body = boost::json::serialize(boost::json::object{{"BootstrapSecret", secret}});
  return new_token(send("PUT", "/v1/acl/bootstrap", {}, std::move(body)));
}

std::vector<model::AclPolicy> Client::acl_policies() {
  return read_access_answer<std::vector<model::AclPolicy>>(send("GET", "/v1/acl/policies"));
}
model::AclPolicy Client::acl_policy(const std::string& name) {
  return read_access_answer<model::AclPolicy>(send("GET", "/v1/acl/policy/" + http::percent_encode(name)));
}
void Client::put_acl_policy(const model::AclPolicy& policy) {
  send("PUT", "/v1/acl/policy/" + http::percent_encode(policy.name), {}, json::encode(policy));
}
void Client::delete_acl_policy(const std::string& name) {
  send("DELETE", "/v1/acl/policy/" + http::percent_encode(name));
}

std::vector<model::AclToken> Client::acl_tokens() {
  return read_access_answer<std::vector<model::AclToken>>(send("GET", "/v1/acl/tokens"));
}
model::AclToken Client::acl_token(const std::string& accessor_id) {
  return read_access_answer<model::AclToken>(send("GET", "/v1/acl/token/" + http::percent_encode(accessor_id)));
}
model::AclToken Client::acl_token_self() {
  return read_access_answer<model::AclToken>(send("GET", "/v1/acl/token/self"));
}
NewToken Client::put_acl_token(const model::AclToken& token) {
  const std::string path =
      "/v1/acl/token" + (token.accessor_id.empty() ? "" : "/" + http::percent_encode(token.accessor_id));
  return new_token(send("PUT", path, {}, json::encode(token)));
}
void Client::delete_acl_token(const std::string& accessor_id) {
  send("DELETE", "/v1/acl/token/" + http::percent_encode(accessor_id));
}

std::vector<model::AclRole> Client::acl_roles() {
  return read_access_answer<std::vector<model::AclRole>>(send("GET", "/v1/acl/roles"));
}
model::AclRole Client::acl_role(const std::string& id) {
  return read_access_answer<model::AclRole>(send("GET", "/v1/acl/role/" + http::percent_encode(id)));
}
model::AclRole Client::acl_role_by_name(const std::string& name) {
  return read_access_answer<model::AclRole>(send("GET", "/v1/acl/role/name/" + http::percent_encode(name)));
}
model::AclRole Client::put_acl_role(const model::AclRole& role) {
  const std::string path = "/v1/acl/role" + (role.id.empty() ? "" : "/" + http::percent_encode(role.id));
  return read_access_answer<model::AclRole>(send("PUT", path, {}, json::encode(role)));
}
void Client::delete_acl_role(const std::string& id) { send("DELETE", "/v1/acl/role/" + http::percent_encode(id)); }

std::vector<model::Namespace> Client::namespaces() {
  return read_access_answer<std::vector<model::Namespace>>(send("GET", "/v1/namespaces"));
}
model::Namespace Client::ns(const std::string& name) {
  return read_access_answer<model::Namespace>(send("GET", "/v1/namespace/" + http::percent_encode(name)));
}
void Client::put_namespace(const model::Namespace& ns) { send("PUT", "/v1/namespace", {}, json::encode(ns)); }
void Client::delete_namespace(const std::string& name) {
  send("DELETE", "/v1/namespace/" + http::percent_encode(name));
}

std::vector<model::ChangeEntry> Client::changes(const std::string& since) {
  return read_access_answer<std::vector<model::ChangeEntry>>(send("GET", "/v1/underway/changes", {{"since", since}}));
}

void Client::audit(const std::string& since, const std::string& who, bool follow,
                   const std::function<bool(std::string_view)>& line) {
  const http::Query query{{"since", since}, {"who", who}, {"follow", follow ? "true" : "false"}};
  if (!follow) {
    const auto records = json::parse(send("GET", "/v1/underway/audit", query).body);
    for (const auto& record : records.as_array()) {
      if (!line(boost::json::serialize(record))) return;
    }
    return;
  }
  std::string rest;  // pieces end anywhere
  stream("/v1/underway/audit", query, [&](std::string_view piece) {
    rest += piece;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      if (!line(std::string_view(rest).substr(0, end))) return false;
      rest.erase(0, end + 1);
    }
    return true;
  });
}

}  // namespace underway::sdk

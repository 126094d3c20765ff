#include "sources/vault_reply.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "http/client.hpp"

namespace underway::sources {

namespace {

/// Longer leases are taken for this long; Vault's own most is 32 days unless a site says otherwise.
constexpr std::int64_t kLongestLease = 10LL * 365 * 24 * 3600;

std::int64_t seconds_of(const boost::json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  boost::json::error_code wrong;
  const auto number = value != nullptr && value->is_number() ? value->to_number<std::int64_t>(wrong) : 0;
  return wrong ? 0 : std::clamp<std::int64_t>(number, 0, kLongestLease);
}

bool flag_of(const boost::json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::vector<std::string> texts_of(const boost::json::object& from, std::string_view name) {
  std::vector<std::string> out;
  const auto* value = from.if_contains(name);
  if (value == nullptr || !value->is_array()) return out;
  for (const auto& item : value->get_array())
    if (item.is_string()) out.emplace_back(std::string_view(item.get_string()));
  return out;
}

/// {"errors": ["permission denied"]}
std::string words_of(const http::Response& response) {
  std::string out;
  try {
    const auto json = json::parse(response.body);
    if (json.is_object()) out = join(texts_of(json.get_object(), "errors"), "; ");
  } catch (const Error&) {
    out.clear();
  }
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return out.substr(0, 300);
}

Login login_of(const boost::json::object& auth) {
  return {json::text_at(auth, "client_token"), std::chrono::seconds(seconds_of(auth, "lease_duration")),
          flag_of(auth, "renewable")};
}

}  // namespace

http::Request vault_request(std::string method, const std::string& path, const std::string& token,
                            const std::string& ns, std::string body) {
  http::Request request = http::request(std::move(method), "/v1/" + path, {}, std::move(body));
  request.headers.set("X-Vault-Request", "true");
  if (!token.empty()) request.headers.set("X-Vault-Token", token);
  if (!ns.empty()) request.headers.set("X-Vault-Namespace", ns);
  return request;
}

boost::json::object read_vault(const http::Response& response) {
  if (response.status < 200 || response.status > 299) {
    Error error(http::code_of_status(response.status), fmt::format("Vault answers {}", response.status));
    if (std::string words = words_of(response); !words.empty()) error.because(std::move(words));
    if (response.status == 503) error.advise("it is sealed, or not initialised: `vault status` says which");
    throw error;
  }
  if (response.body.empty()) return {};
  auto json = json::parse(response.body);
  if (!json.is_object())
    throw Error(Code::invalid, "Vault's answer is no object").advise("look whether its address is Vault's");
  return std::move(json.get_object());
}

Login read_login(const http::Response& response) {
  const auto json = read_vault(response);
  return login_of(json::object_at(json, "auth"));
}

Login read_token(const http::Response& response) {
  const auto json = read_vault(response);
  const auto& data = json::object_at(json, "data");
  return {{}, std::chrono::seconds(seconds_of(data, "ttl")), flag_of(data, "renewable")};
}

gotemplate::Secret read_secret(const http::Response& response) {
  const auto json = read_vault(response);
  gotemplate::Secret secret;
  secret.request_id = json::text_at(json, "request_id");
  secret.lease_id = json::text_at(json, "lease_id");
  secret.lease_duration = seconds_of(json, "lease_duration");
  secret.renewable = flag_of(json, "renewable");
  secret.data = json::object_at(json, "data");
  secret.warnings = texts_of(json, "warnings");
  return secret;
}

std::vector<std::string> read_names(const http::Response& response) {
  const auto json = read_vault(response);
  auto names = texts_of(json::object_at(json, "data"), "keys");
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> version_2_mount(const http::Response& response) {
  const auto json = read_vault(response);
  const auto& data = json::object_at(json, "data");
  if (json::text_at(json::object_at(data, "options"), "version") != "2") return std::nullopt;
  return json::text_at(data, "path");
}

}  // namespace underway::sources

#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/acl/access_losses.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/impact/loss.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "http/plain_error.hpp"

namespace underway::cli {

boost::json::value ask(sdk::Client& client, const std::string& method, const std::string& path,
                       const boost::json::value& body) {
  const auto response = client.raw(method, path, body.is_null() ? "" : boost::json::serialize(body));
  if (response.status >= 300) throw http::parse_plain_error(response.status, response.body);
  return trim(response.body).empty() ? boost::json::value() : json::parse(response.body);
}

namespace {

using boost::json::object;
using model::AuthMethod;

std::string path_of_acl_auth_method(const std::string& name) {
  return "/v1/acl/auth-method/" + http::percent_encode(name);
}

std::string list_or_none(const std::vector<std::string>& list_acl_auth_methods) {
  return list_acl_auth_methods.empty() ? "<none>" : join(list_acl_auth_methods, ",");
}

std::string mappings(const std::map<std::string, std::string>& map) {
  std::vector<std::string> out;
  for (const auto& [from, to] : map) out.push_back(fmt::format("{{{}: {}}}", from, to));
  return out.empty() ? "<none>" : join(out, "; ");
}

/// As Nomad prints it; what is secret the server does not tell.
int print_method(const boost::json::value& value, const Arguments& arguments) {
  if (print_formatted(arguments, value)) return kDone;
  const auto method = json::decode<AuthMethod>(value, "answer");
  const auto& config = method.config;
  print(key_values({{"Name", method.name},
                    {"Type", std::string(describe::spell(method.type))},
                    {"Locality", std::string(describe::spell(method.token_locality))},
                    {"Max Token TTL", format_duration(method.max_token_ttl)},
                    {"Token Name Format", method.token_name_format},
                    {"Default", method.is_default ? "true" : "false"},
                    {"Create Index", std::to_string(method.create_index)},
                    {"Modify Index", std::to_string(method.modify_index)}}));
  print("\nAuth Method Config\n\n");
  print(key_values(
      {{"JWT Validation Public Keys",
        config.jwt_validation_pub_keys.empty() ? "<none>" : std::to_string(config.jwt_validation_pub_keys.size())},
       {"JWKS URL", config.jwks_url.empty() ? "<none>" : config.jwks_url},
       {"OIDC Discovery URL", config.oidc_discovery_url.empty() ? "<none>" : config.oidc_discovery_url},
       {"OIDC Client ID", config.oidc_client_id.empty() ? "<none>" : config.oidc_client_id},
       {"OIDC Enable PKCE", config.oidc_enable_pkce ? "true" : "false"},
       {"OIDC Disable UserInfo", config.oidc_disable_user_info ? "true" : "false"},
       {"OIDC Scopes", list_or_none(config.oidc_scopes)},
       {"Bound audiences", list_or_none(config.bound_audiences)},
       {"Bound issuer", list_or_none(config.bound_issuer)},
       {"Allowed redirects URIs", list_or_none(config.allowed_redirect_uris)},
       {"Discovery CA pem", config.discovery_ca_pem.empty() ? "<none>" : "set"},
       {"JWKS CA cert", config.jwks_ca_cert.empty() ? "<none>" : "set"},
       {"Signing algorithms", list_or_none(config.signing_algs)},
       {"Expiration Leeway", format_duration(config.expiration_leeway)},
       {"NotBefore Leeway", format_duration(config.not_before_leeway)},
       {"ClockSkew Leeway", format_duration(config.clock_skew_leeway)},
       {"Claim mappings", mappings(config.claim_mappings)},
       {"List claim mappings", mappings(config.list_claim_mappings)}}));
  return kDone;
}

/// -config: JSON, a file behind "@", or standard input for "-". Secrets are better given in one of the last two: what
/// is typed is seen by whoever lists processes.
boost::json::value config_of(const std::string& text) {
  if (text == "-") return json::parse(read_input("-"));
  return json::parse(text.starts_with('@') ? read_input(text.substr(1)) : text);
}

object fields_of_acl_auth_method(const Arguments& arguments) {
  object body;
  const auto copy = [&](const char* flag, const char* member) {
    if (const auto value = arguments.find(flag)) body[member] = *value;
  };
  copy("name", "Name");
  copy("type", "Type");
  copy("token-locality", "TokenLocality");
  copy("token-name-format", "TokenNameFormat");
  copy("max-token-ttl", "MaxTokenTTL");
  if (arguments.has("default")) body["Default"] = arguments.get("default") != "false";
  if (const auto config = arguments.find("config")) body["Config"] = config_of(*config);
  if (const auto* type = body.if_contains("Type"); type != nullptr) body["Type"] = upper(type->as_string());
  return body;
}

/// What a body leaves out stays at the server: here it is said.
object with_the_rest_empty(object said) {
  object body = json::to_value(AuthMethod{}).as_object();
  for (const char* servers : {"CreateTime", "ModifyTime", "CreateIndex", "ModifyIndex"}) body.erase(servers);
  for (auto& [name, value] : said) body[name] = std::move(value);
  return body;
}

int create_acl_auth_method(const Arguments& arguments) {
  for (const char* flag : {"name", "type", "max-token-ttl", "token-locality", "config"}) {
    if (!arguments.has(flag)) throw Error(Code::invalid, fmt::format("-{} is missing", flag));
  }
  auto client = make_client(arguments);
  return print_method(ask(client, "PUT", "/v1/acl/auth-method", fields_of_acl_auth_method(arguments)), arguments);
}

int update_acl_auth_method(const Arguments& arguments) {
  auto client = make_client(arguments);
  object body = fields_of_acl_auth_method(arguments);
  const std::string& name = arguments.positional().front();
  body["Name"] = name;
  if (arguments.has("no-merge")) body = with_the_rest_empty(std::move(body));
  return print_method(ask(client, "PUT", path_of_acl_auth_method(name), body), arguments);
}

int list_acl_auth_methods(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto methods = ask(client, "GET", "/v1/acl/auth-methods");
  if (print_formatted(arguments, methods)) return kDone;
  Table table({"Name", "Type", "Default"});
  for (const auto& row : methods.as_array()) {
    const auto method = json::decode<AuthMethod>(row, "answer");
    table.add({method.name, std::string(describe::spell(method.type)), method.is_default ? "true" : "false"});
  }
  table.print();
  return kDone;
}

int info_acl_auth_method(const Arguments& arguments) {
  auto client = make_client(arguments);
  return print_method(ask(client, "GET", path_of_acl_auth_method(arguments.positional().front())), arguments);
}

int remove_acl_auth_method(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string& name = arguments.positional().front();
  if (!arguments.has(kYes.name)) {
    ask(client, "GET", path_of_acl_auth_method(name));
    const auto rules = ask(client, "GET", "/v1/acl/binding-rules");
    const auto count = std::count_if(rules.as_array().begin(), rules.as_array().end(), [&](const auto& rule) {
      return json::decode<model::BindingRule>(rule, "answer").auth_method == name;
    });
    const auto lost = losses_of_auth_method(name, static_cast<std::size_t>(count));
    if (const auto agreed = ask_before(
            {.deed = fmt::format("this deletes auth method '{}' for good", name), .word = name, .lost = lost},
            arguments);
        agreed != kDone)
      return agreed;
  }
  ask(client, "DELETE", path_of_acl_auth_method(name));
  print(fmt::format("Successfully deleted ACL auth-method {}\n", name));
  return kDone;
}

std::vector<Flag> method_flags() {
  return {{"name", "NAME", "The method's name."},
          {"type", "OIDC|JWT", "How people prove who they are."},
          {"max-token-ttl", "DURATION", "How long the tokens live: 8h."},
          {"token-locality", "local|global", "What kind of token is made."},
          {"token-name-format", "TEXT", "The tokens' names; ${value.x} is a mapped claim."},
          {"default", "", "Used by a login that names no method."},
          {"config", "JSON|@FILE|-", "The rest, as JSON; give secrets in a file or on standard input."},
          {"json", "", "As JSON."},
          kTemplate};
}

std::vector<Flag> with_no_merge(std::vector<Flag> flags) {
  flags.push_back({"no-merge", "", "What is not said is emptied, instead of staying."});
  return flags;
}

}  // namespace

const Command& acl_auth_method_create_command() {
  static const Command command{.name = "acl auth-method create",
                               .summary = "Lets people log in by an identity provider.",
                               .details = "Secrets in -config are kept sealed, and shown by no command.",
                               .examples = {"underway acl auth-method create -name corp -type OIDC -max-token-ttl 8h "
                                            "-token-locality global -default -config @corp.json"},
                               .flags = method_flags(),
                               .run = create_acl_auth_method};
  return command;
}

const Command& acl_auth_method_update_command() {
  static const Command command{.name = "acl auth-method update",
                               .arguments = "NAME",
                               .summary = "Changes an auth method; what is not said stays.",
                               .flags = with_no_merge(method_flags()),
                               .least = 1,
                               .most = 1,
                               .run = update_acl_auth_method};
  return command;
}

const Command& acl_auth_method_list_command() {
  static const Command command{.name = "acl auth-method list",
                               .summary = "Lists auth methods.",
                               .flags = with_format_flags(),
                               .run = list_acl_auth_methods};
  return command;
}

const Command& acl_auth_method_info_command() {
  static const Command command{.name = "acl auth-method info",
                               .arguments = "NAME",
                               .summary = "Shows an auth method, without its secrets.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = info_acl_auth_method};
  return command;
}

const Command& acl_auth_method_delete_command() {
  static const Command command{.name = "acl auth-method delete",
                               .arguments = "NAME",
                               .summary = "Deletes an auth method with its binding rules; tokens that it made stay.",
                               .flags = {kYes},
                               .least = 1,
                               .most = 1,
                               .run = remove_acl_auth_method};
  return command;
}

}  // namespace underway::cli

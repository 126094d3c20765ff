#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/acl/access_losses.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/loss.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string time_or(std::int64_t nanoseconds, const char* otherwise) {
  return nanoseconds == 0 ? otherwise : format_time(from_unix_nanos(nanoseconds));
}

/// The hash of the secret is the server's business.
boost::json::value without_hash(boost::json::value value) {
  if (value.is_array()) {
    for (auto& element : value.get_array()) element.as_object().erase("SecretHash");
  } else {
    value.as_object().erase("SecretHash");
  }
  return value;
}

void print_roles(const std::vector<model::AclRoleLink>& roles) {
  print("\nRoles\n");
  if (roles.empty()) return print("<none>\n");
  Table table({"ID", "Name"});
  for (const auto& role : roles) table.add({role.id, role.name});
  table.print();
}

/// As Nomad prints it. The server keeps no secret: it is shown when it is made.
void print_token(const model::AclToken& token, const std::string& secret = {}) {
  const bool management = token.type == model::AclTokenType::management;
  std::vector<std::pair<std::string, std::string>> lines = {{"Accessor ID", token.accessor_id},
                                                            {"Secret ID", secret.empty() ? "<none>" : secret}};
  lines.insert(lines.end(), {{"Name", token.name.empty() ? "<none>" : token.name},
                             {"Type", std::string(describe::spell(token.type))},
                             {"Global", token.global ? "true" : "false"},
                             {"Create Time", time_or(token.create_time, "n/a")},
                             {"Expiry Time", time_or(token.expiration_time, "<none>")},
                             {"Create Index", std::to_string(token.create_index)},
                             {"Modify Index", std::to_string(token.modify_index)},
                             {"Policies", management ? "n/a" : "[" + join(token.policies, " ") + "]"}});
  if (management) lines.emplace_back("Roles", "n/a");
  print(key_values(lines));
  if (!management) print_roles(token.roles);
}

int print_made(const sdk::NewToken& made, const Arguments& arguments) {
  auto value = without_hash(json::to_value(made.token));
  if (!made.secret.empty()) value.as_object()["SecretID"] = made.secret;
  if (print_formatted(arguments, value)) return kDone;
  print_token(made.token, made.secret);
  if (!made.secret.empty()) say("The secret is told this once: keep it where only its owner reads it.");
  return kDone;
}

int bootstrap(const Arguments& arguments) { return print_made(make_client(arguments).bootstrap_acl(), arguments); }

void set_links(model::AclToken& token, const Arguments& arguments) {
  if (const auto policies = arguments.all("policy"); !policies.empty()) token.policies = policies;
  std::vector<model::AclRoleLink> roles;
  for (const auto& name : arguments.all("role-name")) roles.push_back({"", name});
  for (const auto& id : arguments.all("role-id")) roles.push_back({id, ""});
  if (!roles.empty()) token.roles = std::move(roles);
}

/// A policy that does not exist yet grants nothing: likely a typing error.
void warn_of_unknown_policies(sdk::Client& client, const std::vector<std::string>& policies) {
  std::vector<std::string> known;
  for (const auto& policy : client.acl_policies()) known.push_back(policy.name);
  for (const auto& name : policies) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest(name, known);
    say(fmt::format("warning: there is no policy '{}' yet{}", name, near.empty() ? "" : fmt::format("; '{}'?", near)));
  }
}

model::AclTokenType type_of(const std::string& text) {
  const auto parsed = description(describe::Tag<model::AclTokenType>{}).parse(text);
  if (!parsed) throw Error(Code::invalid, fmt::format("-type '{}' is neither client nor management", text));
  return static_cast<model::AclTokenType>(*parsed);
}

int create_acl_token(const Arguments& arguments) {
  model::AclToken token;
  token.name = arguments.get("name");
  token.global = arguments.has("global");
  if (const auto type = arguments.find("type")) token.type = type_of(*type);
  if (const auto ttl = arguments.find("ttl")) {
    const auto life = parse_duration(*ttl);
    if (!life) throw Error(Code::invalid, fmt::format("-ttl '{}' is no duration", *ttl));
    token.expiration_ttl = *life;
  }
  set_links(token, arguments);
  auto client = make_client(arguments);
  warn_of_unknown_policies(client, token.policies);
  return print_made(client.put_acl_token(token), arguments);
}

/// By accessor id or its beginning.
std::string resolve_token(sdk::Client& client, const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& token : client.acl_tokens()) {
    if (token.accessor_id == prefix) return prefix;
    if (token.accessor_id.starts_with(prefix)) found.push_back(token.accessor_id);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) throw Error(Code::not_found, fmt::format("no token with accessor id or prefix '{}'", prefix));
  Error error(Code::conflict, fmt::format("'{}' matches {} tokens", prefix, found.size()));
  for (std::size_t i = 0; i < found.size() && i < 10; ++i) error.because(found[i]);
  throw error.advise("give more of the accessor id");
}

int update_acl_token(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto token = client.acl_token(resolve_token(client, arguments.positional().front()));
  if (const auto name = arguments.find("name")) token.name = *name;
  if (const auto type = arguments.find("type")) token.type = type_of(*type);
  if (arguments.find("global")) token.global = arguments.has("global");
  set_links(token, arguments);
  warn_of_unknown_policies(client, token.policies);
  return print_made(client.put_acl_token(token), arguments);
}

int list_acl_tokens(const Arguments& arguments) {
  const auto tokens = make_client(arguments).acl_tokens();
  if (print_formatted(arguments, without_hash(json::to_value(tokens)))) return kDone;
  Table table({"Name", "Type", "Global", "Accessor ID", "Expired"});
  const TimePoint now = current_time();
  for (const auto& token : tokens) {
    table.add({token.name, std::string(describe::spell(token.type)), token.global ? "true" : "false", token.accessor_id,
               token.is_expired(now) ? "true" : "false"});
  }
  table.print();
  return kDone;
}

int info_acl_token(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto token = client.acl_token(resolve_token(client, arguments.positional().front()));
  if (print_formatted(arguments, without_hash(json::to_value(token)))) return kDone;
  print_token(token);
  return kDone;
}

int self(const Arguments& arguments) {
  const auto token = make_client(arguments).acl_token_self();
  if (print_formatted(arguments, without_hash(json::to_value(token)))) return kDone;
  print_token(token);
  return kDone;
}

int remove_acl_token(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string accessor = resolve_token(client, arguments.positional().front());
  const auto token = client.acl_token(accessor);
  const auto word = token.name.empty() ? accessor : token.name;
  if (const auto agreed = ask_before({.deed = fmt::format("this revokes token '{}'", word),
                                      .word = word,
                                      .lost = losses_of_token(token, current_time())},
                                     arguments);
      agreed != kDone)
    return agreed;
  client.delete_acl_token(accessor);
  print(fmt::format("Token {} successfully deleted\n", accessor));
  return kDone;
}

std::vector<Flag> link_flags(std::vector<Flag> more) {
  more.insert(more.end(), {{"policy", "NAME", "A policy that the token has.", true},
                           {"role-name", "NAME", "A role that the token has.", true},
                           {"role-id", "ID", "The same by its id.", true},
                           {"json", "", "As JSON."},
                           kTemplate});
  return more;
}

}  // namespace

const Command& acl_bootstrap_command() {
  static const Command command{
      .name = "acl bootstrap",
      .summary = "Makes the first management token; works once.",
      .details =
          "Root on the server machine needs no token. If the first one is lost, make another as root there, or write "
          "the "
          "index that a second bootstrap names into server/acl-bootstrap-reset below the state directory.",
      .flags = with_format_flags(),
      .run = bootstrap};
  return command;
}

const Command& acl_token_create_command() {
  static const Command command{
      .name = "acl token create",
      .summary = "Makes a token and prints its secret, this once.",
      .examples = {"underway acl token create -name anna -policy reader -ttl 8h",
                   "underway acl token create -name ops -type management"},
      .flags = link_flags({{"name", "TEXT", "For people, and the audit log."},
                           {"type", "TYPE", "client or management; client."},
                           {"ttl", "DURATION", "How long it lives; without, until it is deleted."},
                           {"global", "", "Kept for Nomad's clients."}}),
      .run = create_acl_token};
  return command;
}

const Command& acl_token_update_command() {
  static const Command command{.name = "acl token update",
                               .arguments = "ACCESSOR",
                               .summary = "Changes a token's name, type, policies or roles.",
                               .flags = link_flags({{"name", "TEXT", "For people, and the audit log."},
                                                    {"type", "client|management", "What kind it is from now on."}}),
                               .least = 1,
                               .most = 1,
                               .run = update_acl_token};
  return command;
}

const Command& acl_token_list_command() {
  static const Command command{.name = "acl token list",
                               .summary = "Lists tokens, without their secrets.",
                               .flags = with_format_flags(),
                               .run = list_acl_tokens};
  return command;
}

const Command& acl_token_info_command() {
  static const Command command{.name = "acl token info",
                               .arguments = "ACCESSOR",
                               .summary = "Shows a token, without its secret.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = info_acl_token};
  return command;
}

const Command& acl_token_self_command() {
  static const Command command{.name = "acl token self",
                               .summary = "Shows who the server takes you for.",
                               .flags = with_format_flags(),
                               .run = self};
  return command;
}

const Command& acl_token_delete_command() {
  static const Command command{.name = "acl token delete",
                               .arguments = "ACCESSOR",
                               .summary = "Revokes a token: what it runs ends within a second.",
                               .flags = {kYes},
                               .least = 1,
                               .most = 1,
                               .run = remove_acl_token};
  return command;
}

}  // namespace underway::cli

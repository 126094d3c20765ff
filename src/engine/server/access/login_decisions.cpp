#include "server/access/login_decisions.hpp"

#include "base/error.hpp"
#include "crypto/foreign_token.hpp"

namespace underway::server {

using model::AuthMethod;
using model::AuthMethodType;
using model::BindingRule;

namespace {

constexpr std::size_t kLongestTokenName = 256;
const std::vector<std::string> kNamesOfMethod = {"auth_method_type", "auth_method_name"};

void refuse_problems(const std::vector<std::string>& problems, std::string what) {
  if (problems.empty()) return;
  throw Error(Code::invalid, std::move(what)).because(problems);
}

/// Adds what `check` throws as invalid.
template <class Check>
void collect(std::vector<std::string>& problems, Check check) {
  try {
    check();
  } catch (const Error& error) {
    problems.push_back(error.one_line());
  }
}

void check_method(const AuthMethod& method, const TokenLifetimes& lifetimes, std::vector<std::string>& problems) {
  for (const auto& name : method.config.signing_algs) {
    const auto known = crypto::signing_algorithms();
    if (std::find(known.begin(), known.end(), name) == known.end())
      problems.push_back(fmt::format("unsupported signing algorithm '{}'", name));
  }
  for (const auto& pem : method.config.jwt_validation_pub_keys)
    collect(problems, [&] { crypto::issuer_key_from_pem(pem); });
  collect(problems, [&] { acl::check_template(method.token_name_format, kNamesOfMethod); });
  if (method.max_token_ttl < lifetimes.shortest || method.max_token_ttl > lifetimes.longest)
    problems.push_back(
        fmt::format("MaxTokenTTL is {}; tokens that expire live for {} to {} (acl "
                    "token_min_expiration_ttl, token_max_expiration_ttl)",
                    format_duration(method.max_token_ttl), format_duration(lifetimes.shortest),
                    format_duration(lifetimes.longest)));
}

void check_default(const Tables& tables, const AuthMethod& method) {
  if (!method.is_default) return;
  for (const auto& other : tables::records<AuthMethod>(tables)) {
    if (other.is_default && other.type == method.type && other.name != method.name)
      throw Error(Code::conflict, fmt::format("default auth method for type {} already exists: {}",
                                              describe::spell(method.type), other.name));
  }
}

}  // namespace

Decision<AuthMethod> decide(const Tables& tables, const PutAuthMethod& request, const Context& context) {
  AuthMethod method = request.method;
  const auto current = tables::find_record<AuthMethod>(tables, method.name);
  if (request.must_exist && !current)
    throw Error(Code::not_found, fmt::format("ACL auth-method '{}' not found", method.name));
  if (!request.must_exist && current)
    throw Error(Code::conflict, fmt::format("ACL auth-method '{}' already exists", method.name));
  if (method.token_name_format.empty()) method.token_name_format = AuthMethod{}.token_name_format;
  auto problems = model::problems(method);
  check_method(method, request.lifetimes, problems);
  refuse_problems(problems, fmt::format("auth method '{}' is not valid", method.name));
  check_default(tables, method);
  if (current && method.sealed.empty()) {
    method.sealed = current->sealed;
    method.key_id = current->key_id;
  }
  method.modify_time = unix_nanos(context.now);
  method.create_time = current ? current->create_time : method.modify_time;
  method.create_index = method.modify_index = 0;
  Decision<AuthMethod> decision;
  decision.changes.push_back(tables::put_record(method));
  decision.result = std::move(method);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteAuthMethod& request, const Context&) {
  const auto& name = request.name;
  if (!tables::find_record<AuthMethod>(tables, name))
    throw Error(Code::not_found, fmt::format("ACL auth-method '{}' not found", name));
  Decision<Nothing> decision;
  decision.changes.push_back(tables::delete_record<AuthMethod>(name));
  for (const auto& rule : tables::records<BindingRule>(tables)) {
    if (rule.auth_method == name) decision.changes.push_back(tables::delete_record<BindingRule>(rule.id));
  }
  return decision;
}

namespace {

AuthMethod find_method(const Tables& tables, const std::string& name, AuthMethodType type) {
  if (name.empty()) {
    for (auto& method : tables::records<AuthMethod>(tables)) {
      if (method.is_default && method.type == type) return std::move(method);
    }
    throw Error(Code::not_found, fmt::format("no default auth-method found for type {}", describe::spell(type)));
  }
  auto method = tables::find_record<AuthMethod>(tables, name);
  if (!method) throw Error(Code::not_found, fmt::format("auth-method {} not found", name));
  if (method->type != type)
    throw Error(Code::invalid, fmt::format("auth-method {} is of type {}, not {}", name, describe::spell(method->type),
                                           describe::spell(type)));
  return std::move(*method);
}

}  // namespace

AuthMethod get_auth_method(const Tables& tables, const std::string& name, AuthMethodType type) {
  auto method = find_method(tables, name, type);
  if (!model::names_provider(method.config))
    throw Error(Code::invalid, fmt::format("nobody can log in by auth method '{}'", method.name))
        .because("its Config names no provider: no OIDCDiscoveryURL, JWKSURL or JWTValidationPubKeys")
        .advise(fmt::format("give it one: `underway acl auth-method update -config=@FILE {}`", method.name));
  return method;
}

Decision<BindingRule> decide(const Tables& tables, const PutBindingRule& request, const Context& context) {
  const auto& wanted = request.rule;
  BindingRule rule = wanted;
  const auto current = rule.id.empty() ? std::nullopt : tables::find_record<BindingRule>(tables, rule.id);
  if (!rule.id.empty() && !current)
    throw Error(Code::not_found, fmt::format("cannot find ACL binding rule {}", rule.id));
  auto problems = model::problems(rule);
  if (!tables::find_record<model::AuthMethod>(tables, rule.auth_method))
    problems.push_back(fmt::format("auth method {} not found", rule.auth_method));
  if (current && current->auth_method != rule.auth_method)
    problems.push_back("cannot change the auth method of a rule");
  if (!rule.selector.empty()) collect(problems, [&] { acl::selects(rule.selector, {}); });
  collect(problems, [&] { acl::check_template(rule.bind_name); });
  refuse_problems(problems, "the binding rule is not valid");
  if (rule.id.empty()) rule.id = context.ids.uuid();
  rule.modify_time = unix_nanos(context.now);
  rule.create_time = current ? current->create_time : rule.modify_time;
  rule.create_index = rule.modify_index = 0;
  Decision<BindingRule> decision;
  decision.changes.push_back(tables::put_record(rule));
  decision.result = std::move(rule);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteBindingRule& request, const Context&) {
  const auto& id = request.id;
  if (!tables::find_record<BindingRule>(tables, id))
    throw Error(Code::not_found, fmt::format("cannot find ACL binding rule {}", id));
  Decision<Nothing> decision;
  decision.changes.push_back(tables::delete_record<BindingRule>(id));
  return decision;
}

void refuse_key_removal(const Tables& tables, const std::string& key_id) {
  for (const auto& method : tables::records<AuthMethod>(tables)) {
    if (method.key_id != key_id) continue;
    throw Error(Code::conflict, fmt::format("root key {} is in use", key_id))
        .because(fmt::format("the secrets of auth method '{}' are sealed under it", method.name))
        .advise("run `underway operator root keyring rotate -full` first");
  }
  for (const auto& token : tables.rows<model::AclToken>()) {
    if (token->key_id != key_id) continue;
    throw Error(Code::conflict, fmt::format("root key {} is in use", key_id))
        .because(fmt::format("the secret of token {} is sealed under it", token->accessor_id))
        .advise("run `underway operator root keyring rotate -full` first");
  }
}

Decision<Nothing> decide(const Tables& tables, const ResealAuthMethods& request, const Context&) {
  const auto& resealed = request.resealed;
  Decision<Nothing> decision;
  for (auto method : resealed) {
    const auto current = tables::find_record<AuthMethod>(tables, method.name);
    if (!current || current->modify_index != method.modify_index) continue;
    method.create_index = method.modify_index = 0;
    decision.changes.push_back(tables::put_record(method));
  }
  return decision;
}

Decision<model::AclToken> decide(const Tables& tables, const Login& login, const Context& context) {
  const auto current = tables::find_record<AuthMethod>(tables, login.method.name);
  if (!current || current->modify_index != login.method.modify_index)
    throw Error(Code::denied, fmt::format("auth-method {} was changed during the login", login.method.name))
        .advise("log in again");
  auto bindings = acl::bind(tables, login.method.name, login.claims);
  if (bindings.none()) throw Error(Code::denied, "no role or policy bindings matched");
  model::AclToken token;
  token.accessor_id = context.ids.uuid();
  token.secret_hash = login.secret_hash;
  token.name = acl::interpolate(
      login.method.token_name_format, login.claims,
      {{"auth_method_type", std::string(describe::spell(login.method.type))}, {"auth_method_name", login.method.name}});
  if (token.name.size() > kLongestTokenName)
    throw Error(Code::denied, fmt::format("the token's name would be longer than {} bytes", kLongestTokenName));
  token.global = login.method.token_locality == model::TokenLocality::global;
  token.type = bindings.management ? model::AclTokenType::management : model::AclTokenType::client;
  if (!bindings.management) {
    token.roles = std::move(bindings.roles);
    token.policies = std::move(bindings.policies);
  }
  token.create_time = unix_nanos(context.now);
  token.expiration_ttl = login.method.max_token_ttl;
  token.expiration_time = unix_nanos(context.now + login.method.max_token_ttl);
  Decision<model::AclToken> decision;
  decision.changes.push_back(tables::PutAclToken{token});
  decision.result = std::move(token);
  return decision;
}

}  // namespace underway::server

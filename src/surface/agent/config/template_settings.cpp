#include "agent/config/template_settings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "http/endpoint.hpp"

namespace underway::agent {

using describe::Builder;
using describe::Structure;
using describe::Tag;
using sources::From;

namespace {

/// What stands in, the site's server, and none.
std::optional<From> from_word(const std::string& word, std::string_view ours, std::string_view foreign, bool has) {
  if (word.empty()) return has ? From::foreign : From::ours;
  if (word == ours) return From::ours;
  if (word == foreign) return From::foreign;
  if (word == "none") return From::nothing;
  return std::nullopt;
}

void add_word_problem(std::vector<std::string>& out, const char* key, const std::string& word, const char* ours,
                      const char* foreign, const std::string& address) {
  const auto from = from_word(word, ours, foreign, false);
  if (!from)
    out.push_back(fmt::format("client.template.compat.{} '{}' is none of {}, {}, none", key, word, ours, foreign));
  else if (*from == From::foreign && address.empty())
    out.push_back(fmt::format("client.template.compat.{} is {}, and client.template.compat.{}.address is missing", key,
                              foreign, foreign));
}

bool is_this_machine(const http::Url& url) {
  const std::string& host = url.endpoint.host;
  return url.endpoint.is_unix() || host.starts_with("127.") || host == "::1" || host == "localhost";
}

template <class T>
void add_access_problems(std::vector<std::string>& out, const std::string& place, const T& access,
                         bool carries_secrets) {
  if (access.cert_file.empty() != access.key_file.empty())
    out.push_back(fmt::format("{0}.cert_file and {0}.key_file go together", place));
  if (access.timeout < std::chrono::seconds(1)) out.push_back(place + ".timeout is less than 1s");
  for (const auto* file : {&access.token_file, &access.ca_file, &access.cert_file, &access.key_file})
    if (!file->empty() && file->front() != '/')
      out.push_back(fmt::format("{}: '{}' is no absolute path", place, *file));
  if (access.address.empty()) return;
  try {
    const auto url = http::parse_url(access.address);
    if (carries_secrets && !url.tls && !is_this_machine(url))
      out.push_back(
          fmt::format("{}.address '{}' is plain http to another machine, which would carry a token or secrets", place,
                      access.address));
  } catch (const Error& error) {
    out.push_back(fmt::format("{}.address: {}", place, error.one_line()));
  }
}

sources::Access access_of(const auto& from) {
  return {from.address,  from.token_file,      from.ca_file, from.cert_file,
          from.key_file, from.tls_server_name, from.timeout};
}

}  // namespace

std::vector<std::string> problems(const CompatSettings& compat) {
  std::vector<std::string> out;
  add_word_problem(out, "service", compat.service, "catalogue", "consul", compat.consul.address);
  add_word_problem(out, "key.source", compat.key.source, "variables", "consul", compat.consul.address);
  add_word_problem(out, "secret.source", compat.secret.source, "variables", "vault", compat.vault.address);
  for (const auto& [name, keys] : {std::pair("key", &compat.key), std::pair("secret", &compat.secret)})
    if (keys->variables.empty() || keys->variables.front() == '/' || keys->variables.back() == '/')
      out.push_back(
          fmt::format("client.template.compat.{}.variables '{}' is no path of variables", name, keys->variables));
  add_access_problems(out, "client.template.compat.consul", compat.consul, !compat.consul.token_file.empty());
  add_access_problems(out, "client.template.compat.vault", compat.vault, true);
  if (compat.consul.wait < std::chrono::seconds(1) || compat.consul.wait > std::chrono::minutes(10))
    out.push_back("client.template.compat.consul.wait is not between 1s and 10m");
  if (compat.vault.default_lease_duration < std::chrono::seconds(10))
    out.push_back("client.template.compat.vault.default_lease_duration is less than 10s");
  if (compat.vault.jwt_auth_backend_path.empty() || compat.vault.jwt_auth_backend_path.front() == '/')
    out.push_back("client.template.compat.vault.jwt_auth_backend_path is no path");
  return out;
}

sources::Settings source_settings(const CompatSettings& compat) {
  sources::Settings out;
  const bool has_consul = !compat.consul.address.empty(), has_vault = !compat.vault.address.empty();
  out.service = from_word(compat.service, "catalogue", "consul", has_consul).value_or(From::ours);
  out.key = from_word(compat.key.source, "variables", "consul", has_consul).value_or(From::ours);
  out.secret = from_word(compat.secret.source, "variables", "vault", has_vault).value_or(From::ours);
  out.key_variables = compat.key.variables;
  out.secret_variables = compat.secret.variables;
  out.consul = {access_of(compat.consul), compat.consul.datacenter, compat.consul.wait};
  out.vault.access = access_of(compat.vault);
  out.vault.ns = compat.vault.ns;
  out.vault.jwt_path = "auth/" + compat.vault.jwt_auth_backend_path;
  out.vault.role = compat.vault.create_from_role;
  out.vault.allow = compat.vault.allow;
  out.vault.reread = compat.vault.default_lease_duration;
  return out;
}

const Structure& description(Tag<CompatKeys>) {
  static const Structure s =
      Builder<CompatKeys>("compat source", "Where keys, or secrets, are read.")
          .attribute<&CompatKeys::source>("source", "source",
                                          "`variables`; `consul` for keys, `vault` for secrets; or `none`. Without a "
                                          "word the site's server, where its block has an address, else variables.")
          .attribute<&CompatKeys::variables>(
              "variables", "variables",
              "Below which variables they lie, as far as the task may read them; with `$${namespace}`, `$${job}`, "
              "`$${group}` and `$${task}`.")
          .done();
  return s;
}

const Structure& description(Tag<CompatConsul>) {
  static const Structure s =
      Builder<CompatConsul>("compat consul", "A Consul that templates read.")
          .attribute<&CompatConsul::address>("address", "address", "`http://127.0.0.1:8500`, `https://HOST:8501`.")
          .attribute<&CompatConsul::token_file>("token_file", "token_file",
                                                "A file with a token, which nobody else may read.")
          .attribute<&CompatConsul::ca_file>("ca_file", "ca_file",
                                             "Whose certificates its server may have; without it the system's.")
          .attribute<&CompatConsul::cert_file>("cert_file", "cert_file", "The certificate that it is shown.")
          .attribute<&CompatConsul::key_file>("key_file", "key_file", "The key of that certificate.")
          .attribute<&CompatConsul::tls_server_name>("tls_server_name", "tls_server_name",
                                                     "The name in its certificate, when not that of the address.")
          .attribute<&CompatConsul::datacenter>("datacenter", "datacenter",
                                                "For templates that name none; without it that of its agent.")
          .attribute<&CompatConsul::wait>("wait", "wait", "How long a query waits for news.")
          .attribute<&CompatConsul::timeout>("timeout", "timeout", "How long any other answer may take.")
          .done();
  return s;
}

const Structure& description(Tag<CompatVault>) {
  static const Structure s =
      Builder<CompatVault>("compat vault", "A Vault, or OpenBao, that templates read.")
          .attribute<&CompatVault::address>("address", "address", "`https://HOST:8200`.")
          .attribute<&CompatVault::token_file>(
              "token_file", "token_file",
              "A file with a token, which nobody else may read: for tasks without a `vault` block, and `allow`.")
          .attribute<&CompatVault::ca_file>("ca_file", "ca_file",
                                            "Whose certificates its server may have; without it the system's.")
          .attribute<&CompatVault::cert_file>("cert_file", "cert_file", "The certificate that it is shown.")
          .attribute<&CompatVault::key_file>("key_file", "key_file", "The key of that certificate.")
          .attribute<&CompatVault::tls_server_name>("tls_server_name", "tls_server_name",
                                                    "The name in its certificate, when not that of the address.")
          .attribute<&CompatVault::ns>("namespace", "namespace", "Vault's namespace, where a job names none.")
          .attribute<&CompatVault::jwt_auth_backend_path>(
              "jwt_auth_backend_path", "jwt_auth_backend_path",
              "Where tasks with a `vault` block log in with their identity `vault_default`.")
          .attribute<&CompatVault::create_from_role>(
              "create_from_role", "create_from_role",
              "The role of those whose block names none; without it the default of the mount.")
          .attribute<&CompatVault::allow>("allow", "allow",
                                          "Paths that the token of `token_file` reads for tasks, with `*` at their end "
                                          "and `$${namespace}`, `$${job}`, `$${group}`, `$${task}`.")
          .attribute<&CompatVault::default_lease_duration>("default_lease_duration", "default_lease_duration",
                                                           "How often secrets without a lease are read again.")
          .attribute<&CompatVault::timeout>("timeout", "timeout", "How long an answer may take.")
          .done();
  return s;
}

const Structure& description(Tag<CompatSettings>) {
  static const Structure s =
      Builder<CompatSettings>("compat", "What answers Consul's and Vault's functions in templates.")
          .attribute<&CompatSettings::service>(
              "service", "service",
              "`catalogue`, the built-in one; `consul`; or `none`. Without a word `consul` where its block has an "
              "address, else `catalogue`.")
          .block<&CompatSettings::key>("key", "key", "What `key`, `ls`, `tree` and the like read.")
          .block<&CompatSettings::secret>("secret", "secret", "What `secret` and `secrets` read.")
          .block<&CompatSettings::consul>("consul", "consul", "A Consul that templates read.")
          .block<&CompatSettings::vault>("vault", "vault", "A Vault, or OpenBao, that templates read.")
          .done();
  return s;
}

}  // namespace underway::agent

#include "oci/registry/credentials.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kCredentialsLimit = 1U << 20;

struct Login {
  std::string auth, identity_token, username, password;
};
struct AuthFile {
  std::map<std::string, Login> auths;
  std::map<std::string, std::string> helpers;
};

const describe::Structure& description(describe::Tag<Login>) {
  static const describe::Structure s = describe::Builder<Login>("login", "Of one registry.")
                                           .wire<&Login::auth>("auth", "user:password in base64.")
                                           .wire<&Login::identity_token>("identitytoken", "A refresh token.")
                                           .wire<&Login::username>("username", "Name.")
                                           .wire<&Login::password>("password", "Password.")
                                           .done();
  return s;
}

const describe::Structure& description(describe::Tag<AuthFile>) {
  static const describe::Structure s = describe::Builder<AuthFile>("auth file", "Logins.")
                                           .wire<&AuthFile::auths>("auths", "By registry.")
                                           .wire<&AuthFile::helpers>("credHelpers", "Programs that know them.")
                                           .done();
  return s;
}

/// "https://host/v1/" is "host" in old files.
std::string plain_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  for (const std::string_view end : {"/v1/", "/v2/", "/v1", "/v2", "/"})
    if (key.ends_with(end)) {
      key.remove_suffix(end.size());
      break;
    }
  return key == "index.docker.io" ? "docker.io" : std::string(key);
}

Credentials credentials_of(const std::string& key, const Login& login, const std::string& name) {
  Credentials out{login.username, login.password, login.identity_token};
  if (login.auth.empty()) return out;
  try {
    const std::string text = base64_decode(login.auth);
    const auto colon = text.find(':');
    if (colon == std::string::npos) throw Error(Code::invalid, "there is no ':' in it");
    out.username = text.substr(0, colon);
    out.password = text.substr(colon + 1);
    while (out.password.ends_with('\0')) out.password.pop_back();  // old versions of Docker padded it
  } catch (const Error& error) {
    // Not what is in it: that is a password.
    throw Error(Code::invalid, fmt::format("the file of credentials '{}' is wrong", name))
        .because(fmt::format("auths[\"{}\"].auth is not user:password in base64", key))
        .advise("log in again");
  }
  return out;
}

}  // namespace

std::optional<Credentials> parse_auth_file(std::string_view text, const Reference& reference, const std::string& name) {
  AuthFile file;
  try {
    file = json::decode_text<AuthFile>(text);
  } catch (Error& error) {
    error.while_doing(fmt::format("reading the credentials in '{}'", name));
    throw;
  }
  std::map<std::string, std::pair<std::string, const Login*>> known;
  for (const auto& [key, login] : file.auths) known.try_emplace(plain_key(key), key, &login);
  for (std::string want = reference.registry + "/" + reference.repository;;) {
    if (const auto found = known.find(want); found != known.end()) {
      auto credentials = credentials_of(found->second.first, *found->second.second, name);
      if (!credentials.empty()) return credentials;
    }
    const auto slash = want.rfind('/');
    if (slash == std::string::npos) break;
    want.resize(slash);
  }
  for (const auto& [key, helper] : file.helpers)
    if (plain_key(key) == reference.registry)
      throw Error(Code::unsupported, fmt::format("the credentials for '{}' are kept by a helper", reference.registry))
          .because(fmt::format("'{}' names docker-credential-{}, and no such program is run", name, helper))
          .advise("write them into the job's auth block, or log in without a helper");
  return {};
}

std::optional<Credentials> find_credentials(const std::string& path, const Reference& reference) {
  const auto text = os::find_file(path, kCredentialsLimit);
  return text ? parse_auth_file(*text, reference, path) : std::nullopt;
}

}  // namespace underway::oci

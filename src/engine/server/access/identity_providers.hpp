#pragma once
/// @file
/// Those who vouch for people: verifies their tokens, and goes through the authorization code flow with them (OpenID
/// Connect Core 1.0, PKCE: RFC 7636, client assertions: RFC 7523). What they answer is a stranger's input: only the
/// host that the auth method names is asked (and those that it lists), redirects are not followed, answers are small
/// and have a deadline. Documents are kept for a while; a key that is not among those known has them fetched again, but
/// not at whatever rate strangers send tokens.

#include "async/event.hpp"
#include "async/loop.hpp"
#include "crypto/foreign_token.hpp"
#include "http/client.hpp"
#include "model/access/auth_method.hpp"
#include "server/variable/keyring.hpp"

namespace underway::server {

/// An auth method's secrets, as they are sealed together.
struct AuthSecrets {
  std::string client_secret;
  std::string private_key;  ///< PEM
};
/// Takes the secrets out of the configuration, and seals them. Without any, what the method has stays.
void seal_secrets(model::AuthMethod& method, const Keyring& keyring);
/// Throws Error as Keyring::open does. Whoever has the result must not log it.
AuthSecrets open_secrets(const model::AuthMethod& method, const Keyring& keyring);
/// Under the active key. False when they are already, or there are none.
bool seal_anew(model::AuthMethod& method, const Keyring& keyring);

/// How a login comes back from the provider.
struct CompleteAuth {
  std::string state, code, nonce, redirect_uri;
};

class IdentityProviders {
 public:
  struct Options {
    Duration connect = std::chrono::seconds(5);
    Duration exchange = std::chrono::seconds(10);
    std::size_t body_limit = 1U << 20;
    Duration fresh = std::chrono::minutes(10);    ///< documents are used for so long
    Duration again = std::chrono::seconds(30);    ///< and are not fetched more often than this
    Duration patience = std::chrono::minutes(5);  ///< for people at the provider
  };
  /// All outlive it.
  IdentityProviders(async::Executor executor, Clock& clock, const Keyring& keyring)
      : IdentityProviders(std::move(executor), clock, keyring, Options{}) {}
  IdentityProviders(async::Executor executor, Clock& clock, const Keyring& keyring, Options options);

  /// The claims of a token that somebody brings along (type JWT). Throws denied: it is not valid, and why; unavailable,
  /// timeout: the provider cannot be asked.
  async::awaitable<boost::json::object> verify(model::AuthMethod method, std::string token);

  /// Where to send a person to log in (type OIDC). Throws invalid for a redirect that the method does not allow.
  async::awaitable<std::string> auth_url(model::AuthMethod method, std::string redirect_uri, std::string nonce);
  /// The claims of who came back from there. Throws denied when the state, the nonce or the redirect is another's or
  /// too old, when the provider refuses the code, when what it gives for it is not valid.
  async::awaitable<boost::json::object> complete(model::AuthMethod method, CompleteAuth back);

 private:
  struct Document;
  struct Endpoints;
  async::awaitable<std::string> fetch(std::string url, std::string authority, TimePoint newer_than);
  async::awaitable<http::Response> send(std::string url, std::string authority, http::Request request);
  async::awaitable<Endpoints> discover(const model::AuthMethod& method);
  async::awaitable<boost::json::object> verify_by_set(std::string url, std::string authority, std::string token,
                                                      crypto::ForeignTokenExpectation expected);
  async::awaitable<boost::json::object> tokens_for(const model::AuthMethod& method, const Endpoints& endpoints,
                                                   const CompleteAuth& back, const std::string& verifier);
  async::awaitable<void> add_user_info(const model::AuthMethod& method, const Endpoints& endpoints,
                                       const std::string& access_token, boost::json::object& claims);
  std::string assertion(const model::AuthMethod& method, const std::string& token_endpoint) const;
  const http::TlsContext& tls_for(const std::string& authority);
  std::string make_state(const boost::json::object& content) const;
  boost::json::object open_state(const std::string& state) const;

  async::Executor executor_;
  Clock& clock_;
  const Keyring& keyring_;
  Options options_;
  crypto::SealingKey state_key_;  ///< logins do not outlive the server, and need not
  std::map<std::string, std::shared_ptr<Document>> documents_;
  std::map<std::string, http::TlsContext> tls_;
};

/// The host of an address, lower case. Throws invalid: no https, except to this machine itself.
std::string checked_host(const std::string& url);

}  // namespace underway::server

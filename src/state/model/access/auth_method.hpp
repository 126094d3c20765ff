#pragma once
/// @file
/// Single sign-on as it is kept: who vouches for people (auth methods), and what those whom they vouch for may do
/// (binding rules). Names, limits and the wire are those of Nomad's API (documentation "ACL auth methods HTTP API" and
/// "ACL Binding Rules HTTP API"), except that secrets are kept sealed and never shown again.

#include "model/access/acl.hpp"

namespace underway::model {

enum class AuthMethodType { OIDC, JWT };
enum class TokenLocality { local, global };

/// The key with which the server proves itself to a provider, instead of a client secret.
struct AssertionKey {
  std::string pem_key;        ///< only on its way in: it is kept sealed
  std::string pem_key_file;   ///< on the server
  std::string pem_cert;       ///< names the key by its thumbprint
  std::string pem_cert_file;  ///< on the server
  std::string key_id;         ///< names the key, instead of a certificate
  std::string key_id_header;  ///< "kid", "x5t" or "x5t#S256"
};

struct ClientAssertion {
  std::vector<std::string> audience;
  std::string key_source;     ///< "nomad" (the server's signing key), "private_key" or "client_secret"
  std::string key_algorithm;  ///< of the signature; empty: RS256, and as identities of the server's key
  std::map<std::string, std::string> extra_headers;
  std::optional<AssertionKey> private_key;
};

struct AuthMethodConfig {
  std::vector<std::string> jwt_validation_pub_keys;  ///< PEM
  std::string jwks_url;
  std::string jwks_ca_cert;
  std::string oidc_discovery_url;
  std::string oidc_client_id;
  std::string oidc_client_secret;  ///< only on its way in: it is kept sealed
  std::optional<ClientAssertion> oidc_client_assertion;
  bool oidc_enable_pkce = false;
  bool oidc_disable_user_info = false;
  std::vector<std::string> oidc_scopes;
  std::vector<std::string> bound_audiences;
  std::vector<std::string> bound_issuer;
  std::vector<std::string> allowed_redirect_uris;
  std::vector<std::string> discovery_ca_pem;
  std::vector<std::string> signing_algs;
  Duration expiration_leeway{0};
  Duration not_before_leeway{0};
  Duration clock_skew_leeway{0};
  std::map<std::string, std::string> claim_mappings;
  std::map<std::string, std::string> list_claim_mappings;
  bool verbose_logging = false;
  /// Ours: hosts, besides the one that is configured, that the provider's discovery document may send us to.
  std::vector<std::string> endpoint_hosts;
};

struct AuthMethod {
  std::string name;
  AuthMethodType type = AuthMethodType::OIDC;
  TokenLocality token_locality = TokenLocality::local;
  std::string token_name_format = "${auth_method_type}-${auth_method_name}";
  Duration max_token_ttl{0};
  bool is_default = false;
  AuthMethodConfig config;
  std::string key_id, sealed;  ///< the secrets, by the server's keyring, in base64; never on the wire
  std::int64_t create_time = 0;
  std::int64_t modify_time = 0;
  Revision create_index = 0;
  Revision modify_index = 0;
};

enum class BindType { role, policy, management };

struct BindingRule {
  std::string id;
  std::string description;
  std::string auth_method;
  std::string selector;  ///< over `value` and `list`; empty: everybody
  BindType bind_type = BindType::role;
  std::string bind_name;  ///< with ${value.x}
  std::int64_t create_time = 0;
  std::int64_t modify_time = 0;
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// Whether it says by whom people are identified. A method may be made first and told later: nobody logs in by it then.
bool names_provider(const AuthMethodConfig& config);

/// All problems, in words. What the keys and selectors hold is checked by those who use them.
std::vector<std::string> problems(const AuthMethod& method);
std::vector<std::string> problems(const BindingRule& rule);

const describe::Enumeration& description(describe::Tag<AuthMethodType>);
const describe::Enumeration& description(describe::Tag<TokenLocality>);
const describe::Enumeration& description(describe::Tag<BindType>);
const describe::Structure& description(describe::Tag<AssertionKey>);
const describe::Structure& description(describe::Tag<ClientAssertion>);
const describe::Structure& description(describe::Tag<AuthMethodConfig>);
const describe::Structure& description(describe::Tag<AuthMethod>);
const describe::Structure& description(describe::Tag<BindingRule>);

}  // namespace underway::model

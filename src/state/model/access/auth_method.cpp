#include "model/access/auth_method.hpp"

#include "model/detail/words.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

constexpr std::size_t kLongestText = 256;
constexpr std::size_t kLongestSelector = 4096;
constexpr std::size_t kMostRules = 64;
constexpr std::size_t kLongestValue = 64U << 10;

void check_sizes(const AuthMethodConfig& config, std::vector<std::string>& out) {
  for (const auto* list :
       {&config.jwt_validation_pub_keys, &config.oidc_scopes, &config.bound_audiences, &config.bound_issuer,
        &config.allowed_redirect_uris, &config.discovery_ca_pem, &config.signing_algs, &config.endpoint_hosts}) {
    if (list->size() > kMostRules) out.push_back(fmt::format("a list of Config has more than {} entries", kMostRules));
    for (const auto& entry : *list) {
      if (entry.size() > kLongestValue) out.push_back("an entry of Config is longer than 64 KiB");
    }
  }
  if (config.claim_mappings.size() > kMostRules || config.list_claim_mappings.size() > kMostRules)
    out.push_back(fmt::format("more than {} claims are mapped", kMostRules));
}

void check_oidc(const AuthMethodConfig& config, std::vector<std::string>& out) {
  if (config.oidc_discovery_url.empty()) out.push_back("missing OIDCDiscoveryURL");
  if (config.oidc_client_id.empty()) out.push_back("missing OIDCClientID");
  if (!config.jwks_url.empty() || !config.jwt_validation_pub_keys.empty())
    out.push_back("JWKSURL and JWTValidationPubKeys are for the type JWT");
}

void check_jwt(const AuthMethodConfig& config, std::vector<std::string>& out) {
  const int given = (config.jwks_url.empty() ? 0 : 1) + (config.oidc_discovery_url.empty() ? 0 : 1) +
                    (config.jwt_validation_pub_keys.empty() ? 0 : 1);
  if (given != 1) out.push_back("exactly one of JWKSURL, OIDCDiscoveryURL and JWTValidationPubKeys must be set");
}

}  // namespace

bool names_provider(const AuthMethodConfig& config) {
  return !(config.oidc_discovery_url.empty() && config.oidc_client_id.empty() && config.jwks_url.empty() &&
           config.jwt_validation_pub_keys.empty());
}

std::vector<std::string> problems(const AuthMethod& method) {
  std::vector<std::string> out;
  if (!detail::is_name(method.name))
    out.push_back(fmt::format("invalid name '{}': 1 to {} letters, digits, '-' and '_'",
                              method.name.substr(0, detail::kLongestName), detail::kLongestName));
  if (method.max_token_ttl <= Duration{0}) out.push_back("missing MaxTokenTTL");
  if (method.token_name_format.size() > kLongestText) out.push_back("TokenNameFormat is longer than 256 bytes");
  check_sizes(method.config, out);
  if (!names_provider(method.config)) return out;
  if (method.type == AuthMethodType::OIDC)
    check_oidc(method.config, out);
  else
    check_jwt(method.config, out);
  return out;
}

std::vector<std::string> problems(const BindingRule& rule) {
  std::vector<std::string> out;
  if (rule.auth_method.empty()) out.push_back("auth method is missing");
  if (rule.description.size() > kLongestText) out.push_back("description longer than 256 bytes");
  if (rule.selector.size() > kLongestSelector) out.push_back("selector longer than 4096 bytes");
  if (rule.bind_name.size() > kLongestText) out.push_back("bind name longer than 256 bytes");
  if (rule.bind_type == BindType::management && !rule.bind_name.empty())
    out.push_back("bind name must be empty when bind type is 'management'");
  if (rule.bind_type != BindType::management && rule.bind_name.empty()) out.push_back("bind name is missing");
  return out;
}

const Enumeration& description(Tag<AuthMethodType>) {
  static const Enumeration e = describe::enumeration<AuthMethodType>("auth method type");
  return e;
}

const Enumeration& description(Tag<TokenLocality>) {
  static const Enumeration e = describe::enumeration<TokenLocality>("token locality");
  return e;
}

const Enumeration& description(Tag<BindType>) {
  static const Enumeration e = describe::enumeration<BindType>("bind type");
  return e;
}

const Structure& description(Tag<AssertionKey>) {
  using K = AssertionKey;
  static const Structure s = Builder<K>("assertion key", "The key that signs a client assertion.")
                                 .wire<&K::pem_key>("PemKey", "PEM; never shown again.")
                                 .wire<&K::pem_key_file>("PemKeyFile", "A file on the server.")
                                 .wire<&K::pem_cert>("PemCert", "Its certificate; names the key by its thumbprint.")
                                 .wire<&K::pem_cert_file>("PemCertFile", "A file on the server.")
                                 .wire<&K::key_id>("KeyID", "Names the key.")
                                 .wire<&K::key_id_header>("KeyIDHeader", "kid, x5t or x5t#S256.")
                                 .done();
  return s;
}

const Structure& description(Tag<ClientAssertion>) {
  using A = ClientAssertion;
  static const Structure s = Builder<A>("client assertion", "A signed token instead of a client secret.")
                                 .wire<&A::audience>("Audience", "Of the token; the provider's token endpoint.")
                                 .wire<&A::key_source>("KeySource", "nomad, private_key or client_secret.")
                                 .wire<&A::key_algorithm>("KeyAlgorithm", "Of the signature.")
                                 .wire<&A::extra_headers>("ExtraHeaders", "More of the token's header.")
                                 .wire<&A::private_key>("PrivateKey", "With KeySource private_key.")
                                 .done();
  return s;
}

const Structure& description(Tag<AuthMethodConfig>) {
  using C = AuthMethodConfig;
  static const Structure s =
      Builder<C>("auth method config", "How those who log in are verified.")
          .wire<&C::jwt_validation_pub_keys>("JWTValidationPubKeys", "Public keys in PEM.")
          .wire<&C::jwks_url>("JWKSURL", "Where the keys are.")
          .wire<&C::jwks_ca_cert>("JWKSCACert", "Whom to trust there, in PEM; else the system's authorities.")
          .wire<&C::oidc_discovery_url>("OIDCDiscoveryURL", "The provider, without .well-known.")
          .wire<&C::oidc_client_id>("OIDCClientID", "Who we are to it.")
          .wire<&C::oidc_client_secret>("OIDCClientSecret", "Kept sealed; never shown again.")
          .wire<&C::oidc_client_assertion>("OIDCClientAssertion", "Instead of a secret.")
          .wire<&C::oidc_enable_pkce>("OIDCEnablePKCE", "Binds the code to who asked for it (RFC 7636).")
          .wire<&C::oidc_disable_user_info>("OIDCDisableUserInfo", "Ask for no claims besides the token's.")
          .wire<&C::oidc_scopes>("OIDCScopes", "Besides openid.")
          .wire<&C::bound_audiences>("BoundAudiences", "One of them must be in `aud`.")
          .wire<&C::bound_issuer>("BoundIssuer", "One of them must be `iss`.")
          .wire<&C::allowed_redirect_uris>("AllowedRedirectURIs", "Where people may be sent back to.")
          .wire<&C::discovery_ca_pem>("DiscoveryCaPem", "Whom to trust at the provider.")
          .wire<&C::signing_algs>("SigningAlgs", "RS256 unless said.")
          .wire<&C::expiration_leeway>("ExpirationLeeway", "How long a token without exp lives; 150s.")
          .wire<&C::not_before_leeway>("NotBeforeLeeway", "The same for nbf; 150s.")
          .wire<&C::clock_skew_leeway>("ClockSkewLeeway", "How far clocks may differ; 60s.")
          .wire<&C::claim_mappings>("ClaimMappings", "From a claim to value.NAME.")
          .wire<&C::list_claim_mappings>("ListClaimMappings", "From a claim to list.NAME.")
          .wire<&C::verbose_logging>("VerboseLogging", "Logs the names of claims at login.")
          .wire<&C::endpoint_hosts>("EndpointHosts", "Other hosts that the provider's endpoints may be on.")
          .done();
  return s;
}

const Structure& description(Tag<AuthMethod>) {
  using M = AuthMethod;
  static const Structure s =
      Builder<M>("ACL auth method", "Who vouches for people.")
          .wire<&M::name>("Name", "Letters, digits, `-` and `_`, at most 128.")
          .wire<&M::type>("Type", "`OIDC`: people log in at the provider; `JWT`: a token is brought along.")
          .wire<&M::token_locality>("TokenLocality", "`local` or `global`: Global of the tokens that logins get.")
          .wire<&M::token_name_format>("TokenNameFormat", "With ${value.x}.")
          .wire<&M::max_token_ttl>("MaxTokenTTL", "How long the tokens live.")
          .wire<&M::is_default>("Default", "Used when a login names none.")
          .wire<&M::config>("Config", "How those who log in are verified.")
          .wire<&M::key_id>("SealedBy", "ID of the root key under which Sealed is; empty: there is no secret.")
          .wire<&M::sealed>("Sealed", "Its secrets, sealed, in base64; never shown.")
          .wire<&M::create_time>("CreateTime", "When it was made.")
          .time()
          .wire<&M::modify_time>("ModifyTime", "When it was last changed.")
          .time()
          .wire<&M::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&M::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<BindingRule>) {
  using R = BindingRule;
  static const Structure s =
      Builder<R>("ACL binding rule", "What those may do who log in.")
          .wire<&R::id>("ID", "UUID, made by the server.")
          .wire<&R::description>("Description", "For people.")
          .wire<&R::auth_method>("AuthMethod", "Name of the auth method to whose logins it applies.")
          .wire<&R::selector>("Selector", "Over value and list; empty: everybody.")
          .wire<&R::bind_type>("BindType",
                               "What a login gets: a `role`, a `policy`, or `management`, which is everything.")
          .wire<&R::bind_name>("BindName", "With ${value.x}.")
          .wire<&R::create_time>("CreateTime", "When it was made.")
          .time()
          .wire<&R::modify_time>("ModifyTime", "When it was last changed.")
          .time()
          .wire<&R::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&R::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model

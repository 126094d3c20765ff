#include "server/access/token_secrets.hpp"

#include "base/text.hpp"

namespace underway::server {
namespace {

std::string context_of(const model::AclToken& token) { return "token " + token.secret_hash; }

crypto::Secret open_sealed(const model::AclToken& token, const Keyring& keyring) {
  return keyring.open({token.key_id, base64_decode(token.sealed)}, context_of(token));
}

}  // namespace

void seal_secret(model::AclToken& token, std::string_view secret, const Keyring& keyring) {
  const auto sealed = keyring.seal(secret, context_of(token));
  token.key_id = sealed.key_id;
  token.sealed = base64_encode(sealed.bytes);
}

std::string open_secret(const model::AclToken& token, const Keyring& keyring) {
  return token.sealed.empty() ? std::string() : std::string(open_sealed(token, keyring).bytes());
}

bool seal_anew(model::AclToken& token, const Keyring& keyring) {
  if (token.sealed.empty() || token.key_id == keyring.active_id()) return false;
  seal_secret(token, open_sealed(token, keyring).bytes(), keyring);
  return true;
}

Decision<Nothing> decide(const Tables& tables, const ResealTokens& request, const Context&) {
  const auto& resealed = request.resealed;
  Decision<Nothing> decision;
  for (const auto& token : resealed) {
    const auto current = tables.find<model::AclToken>(token.accessor_id);
    if (current && current->modify_index == token.modify_index) decision.changes.push_back(tables::PutAclToken{token});
  }
  return decision;
}

}  // namespace underway::server

#include "api/access/token_body.hpp"

#include "api/nomad/nomad_body.hpp"

namespace underway::api {

std::string token_json(const model::AclToken& token, const std::string& secret) {
  auto value = nomad_value(token);
  auto& object = value.get_object();
  for (const char* kept : {"SecretHash", "Sealed", "SealedBy"}) object.erase(kept);
  if (!secret.empty()) object["SecretID"] = secret;
  // Of a token that does not expire both are there, and say nothing: Ansible's module reads them unasked, and Go would
  // read a zero time as long ago.
  if (token.expiration_time == 0) object["ExpirationTime"] = nullptr;
  const bool stays = token.expiration_ttl == Duration{0};
  object["ExpirationTTL"] = stays ? std::string() : format_duration(token.expiration_ttl);
  return boost::json::serialize(value);
}

boost::json::value method_body(const model::AuthMethod& method) {
  auto value = nomad_value(method);
  auto& object = value.get_object();
  object.erase("Sealed");
  object.erase("SealedBy");
  object["MaxTokenTTL"] = format_duration(method.max_token_ttl);
  auto& config = object["Config"].get_object();
  config["ExpirationLeeway"] = format_duration(method.config.expiration_leeway);
  config["NotBeforeLeeway"] = format_duration(method.config.not_before_leeway);
  config["ClockSkewLeeway"] = format_duration(method.config.clock_skew_leeway);
  return value;
}

}  // namespace underway::api

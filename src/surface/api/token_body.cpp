#include "api/token_body.hpp"

#include "base/json.hpp"

namespace underway::api {

std::string token_json(const model::AclToken& token, const std::string& secret) {
  auto value = json::to_value(token);
  auto& object = value.get_object();
  for (const char* kept : {"SecretHash", "Sealed", "SealedBy"}) object.erase(kept);
  if (!secret.empty()) object["SecretID"] = secret;
  // Absent in Nomad when the token does not expire; Go would read a zero time as long ago.
  if (token.expiration_time == 0) object.erase("ExpirationTime");
  if (token.expiration_ttl == Duration{0}) object.erase("ExpirationTTL");
  return boost::json::serialize(value);
}

boost::json::value method_body(const model::AuthMethod& method) {
  auto value = json::to_value(method);
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

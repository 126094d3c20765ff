// Tokens, key sets and claims as identity providers, or those who pretend to be one, send them: nothing but a genuine
// token passes, nothing but a refusal comes out.
#include <cstdlib>

#include "base/error.hpp"
#include "crypto/foreign_token.hpp"
#include "crypto/sign.hpp"

#include <boost/json/serialize.hpp>

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const crypto::SigningKey key = crypto::SigningKey::from_seed(crypto::Secret(std::string(32, 'k')));
  static const auto keys =
      crypto::parse_issuer_keys(boost::json::serialize(crypto::to_jwks(std::vector{key.verifying()})));
  const std::vector<std::string> algorithms(crypto::signing_algorithms().begin(), crypto::signing_algorithms().end());
  try {
    crypto::verify_foreign_token(input, keys,
                                 {.now = TimePoint{std::chrono::seconds{1'700'000'000}}, .algorithms = algorithms});
    if (crypto::head_of(input).algorithm != "EdDSA") std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::denied) std::abort();
  }
  try {
    for (const auto& issuer_key : crypto::parse_issuer_keys(input)) {
      if (issuer_key.key == nullptr) std::abort();
    }
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  try {
    crypto::issuer_key_from_pem(input);
  } catch (const Error& error) {
    if (error.code() != Code::invalid && error.code() != Code::internal) std::abort();
  }
  return 0;
}

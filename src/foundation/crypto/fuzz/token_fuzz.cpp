// Tokens and key sets as strangers send them: nothing but a genuine token passes, nothing but a refusal comes out.
#include <cstdlib>

#include "base/error.hpp"
#include "crypto/digest.hpp"
#include "crypto/sign.hpp"
#include "crypto/token.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const crypto::SigningKey key = crypto::SigningKey::from_seed(crypto::Secret(std::string(32, 'k')));
  try {
    crypto::verify_jwt(input, std::vector{key.verifying()}, {.now = TimePoint{std::chrono::seconds{1'700'000'000}}});
    if (!input.ends_with(crypto::base64url_encode(key.sign(input.substr(0, input.rfind('.')))))) std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::denied) std::abort();
  }
  try {
    const auto keys = crypto::parse_jwks(input);
    for (const auto& verifying_key : keys) crypto::verify(verifying_key, "message", input);
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  crypto::token_matches("token", input);
  return 0;
}

// What a stranger who wants to join sends: a certificate signing request, and PEM bundles.
#include <cstdlib>

#include "base/error.hpp"
#include "crypto/authority.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const TimePoint now{std::chrono::seconds{1'700'000'000}};
  static const crypto::Authority authority = crypto::Authority::make("fuzz", std::chrono::hours(1), now);
  try {
    const std::string made = authority.sign_request(input, {.common_name = "node", .names = {"node"}}, now);
    // Whatever the request said, the certificate says only what it was told to.
    const auto info = crypto::describe_certificate(made);
    if (info.is_authority || info.names != std::vector<std::string>{"node"}) std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  try {
    crypto::describe_certificates(input);
    if (crypto::merge_certificates(input, input) != crypto::merge_certificates(input, "")) std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  return 0;
}

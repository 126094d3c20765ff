// Signed texts and their signatures come from mirrors, before anything of them is believed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "openpgp/clearsigned.hpp"
#include "openpgp/detail/packets.hpp"

namespace {

std::string escaped(const std::string& content) {
  std::string out;
  for (std::size_t at = 0; at < content.size();) {
    const auto end = content.find('\n', at) + 1;
    if (content[at] == '-') out += "- ";
    out += content.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto parts = openpgp::split_clearsigned(text);
    if (!parts.content.empty()) openpgp::check_clearsignable(parts.content);
    if (!openpgp::is_canonical_text(parts.signed_bytes())) __builtin_trap();
    // Written anew, it is the same text, and nothing was outside of it.
    const auto again = "-----BEGIN PGP SIGNED MESSAGE-----\n\n" + escaped(parts.content) + std::string(parts.signature);
    if (openpgp::split_clearsigned(again).content != parts.content) __builtin_trap();
    (void)openpgp::detail::parse_signatures(parts.signature);
  } catch (const Error&) {
    // Refused, as it should be.
  }
  try {
    std::size_t bytes = 0;
    for (const auto& packet : openpgp::detail::parse_signatures(text)) bytes += packet.bytes.size();
    if (!text.empty() && (data[0] & 0x80) && bytes != size) __builtin_trap();
  } catch (const Error&) {
    // Likewise.
  }
  return 0;
}

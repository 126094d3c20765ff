// Takes any bytes for what Consul or Vault answers; the first byte chooses the question and the status. Nothing may
// crash or hang; whatever is thrown is an Error.
#include "base/error.hpp"
#include "sources/consul.hpp"
#include "sources/lease.hpp"
#include "sources/vault_reply.hpp"

using namespace underway;
using namespace underway::sources;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr int kStatus[] = {200, 404, 403, 204};
  const auto kind = static_cast<gotemplate::ForeignKind>(data[0] % 6);
  http::Response response;
  response.status = kStatus[data[0] / 6 % 4];
  response.body.assign(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    if (kind < gotemplate::ForeignKind::secret) {
      (void)read_consul({.kind = kind, .name = "x"}, response);
      return 0;
    }
    const auto secret = read_secret(response);
    (void)until_reread(secret, std::chrono::minutes(5), TimePoint{}, 0.5);
    (void)read_names(response);
    (void)read_login(response);
    (void)read_token(response);
    (void)version_2_mount(response);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}

#include "server/access/one_time_tokens.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "crypto/digest.hpp"

namespace underway::server {
namespace {

constexpr const char* kContext = "one-time token";

crypto::SealingKey key_of(const std::string& secret) {
  return {"one-time", crypto::Secret(crypto::hmac_sha256(secret, "sealing"))};
}

std::string hash_of(const std::string& secret) { return crypto::sha256(secret); }

}  // namespace

OneTimeTokens::Made OneTimeTokens::make(const std::string& accessor, std::string_view token_secret, TimePoint now) {
  std::erase_if(kept_,
                [&](const auto& entry) { return entry.second.expires <= now || entry.second.accessor == accessor; });
  if (kept_.size() >= kMost)
    throw Error(Code::exhausted, "too many one-time tokens are under way").advise("try again in ten minutes");
  Made made{SystemIds().uuid(), now + kLifetime};
  kept_[hash_of(made.secret)] = {accessor, crypto::seal(key_of(made.secret), token_secret, kContext), made.expires};
  return made;
}

std::string OneTimeTokens::exchange(const std::string& secret, TimePoint now) {
  const auto node = kept_.extract(hash_of(secret));
  if (node.empty() || node.mapped().expires <= now) throw Error(Code::denied, "one-time token not found or expired");
  return std::string(crypto::open(key_of(secret), node.mapped().sealed, kContext).bytes());
}

}  // namespace underway::server

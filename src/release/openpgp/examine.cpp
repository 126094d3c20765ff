#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "openpgp/clearsigned.hpp"
#include "openpgp/detail/gpg.hpp"
#include "openpgp/detail/packets.hpp"
#include "openpgp/keyring.hpp"

namespace underway::openpgp {
namespace {

using detail::SignaturePacket;

std::string key_of(const Signature& signature) {
  if (!signature.fingerprint.empty())
    return signature.user_id.empty() ? signature.fingerprint
                                     : fmt::format("{} ({})", signature.fingerprint, signature.user_id);
  return signature.key_id.empty() ? "a key that it does not name" : signature.key_id;
}

void refuse(Signature& signature, Standing standing, std::string why) {
  signature.standing = standing;
  signature.problem = std::move(why);
}

Signature described(const SignaturePacket& packet) {
  Signature out;
  if (packet.issuer.size() >= 16) out.key_id = packet.issuer.substr(packet.issuer.size() - 16);
  if (packet.created) out.created = TimePoint(std::chrono::seconds(*packet.created));
  return out;
}

/// What needs no key to be refused; gpg does not get to see it.
bool refuse_by_kind(const SignaturePacket& packet, std::string_view bytes, Signature& out) {
  if (packet.version != 4 && packet.version != 3) {
    refuse(out, Standing::unusable, fmt::format("a signature of version {} is not understood", packet.version));
  } else if (packet.type != 0x00 && packet.type != 0x01) {
    refuse(out, Standing::unusable,
           fmt::format("a signature by {} is of type 0x{:02x}, and none of bytes or text", key_of(out), packet.type));
  } else if (!detail::is_strong_digest(packet.digest)) {
    refuse(out, Standing::weak_digest,
           fmt::format("the signature by {} is of a digest by {}, which others can have too", key_of(out),
                       detail::digest_name(packet.digest)));
  } else if (packet.type == 0x01 && !is_canonical_text(bytes)) {
    refuse(
        out, Standing::unusable,
        fmt::format("the signature by {} is of text, however its lines end, and these have carriage returns, blanks at "
                    "their ends or more than {} bytes",
                    key_of(out), kLongestLine));
  } else {
    return false;
  }
  return true;
}

std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

struct Holder {
  const Key* key = nullptr;
  const KeyPart* part = nullptr;
};

Holder holder_of(const std::vector<Key>& keys, std::string_view fingerprint) {
  for (const auto& key : keys) {
    if (key.primary.fingerprint == fingerprint) return {&key, &key.primary};
    for (const auto& part : key.subkeys)
      if (part.fingerprint == fingerprint) return {&key, &part};
  }
  return {};
}

/// The signature is of these bytes and by this key: whether it counts now. gpg tells by its own clock; this is by ours.
void judge(Signature& out, const Holder& holder, TimePoint now) {
  const auto made = std::max(holder.key->primary.created, holder.part->created);
  if (holder.key->primary.revoked || holder.part->revoked)
    return refuse(out, Standing::revoked_key, fmt::format("the key {} was revoked by its owner", key_of(out)));
  if (!out.created || *out.created > now + kClockTolerance)
    return refuse(out, Standing::future,
                  fmt::format("the signature by {} is of {}, and it is {}", key_of(out),
                              out.created ? format_time(*out.created) : "no time", format_time(now)));
  if (*out.created < made)
    return refuse(out, Standing::future,
                  fmt::format("the signature by {} is of {}, and the key was made on {}", key_of(out),
                              format_time(*out.created), format_time(made)));
  if (out.key_expires && *out.key_expires <= now)
    return refuse(out, Standing::expired_key,
                  fmt::format("the key {} expired on {}", key_of(out), format_time(*out.key_expires)));
  if (out.expires && *out.expires <= now)
    return refuse(out, Standing::expired,
                  fmt::format("the signature by {} expired on {}", key_of(out), format_time(*out.expires)));
  out.standing = Standing::good;
  out.problem.clear();
}

void take_answer(Signature& out, const _gpgme_signature& answer, const std::vector<Key>& keys, TimePoint now) {
  const Holder holder = holder_of(keys, answer.fpr ? answer.fpr : "");
  if (holder.key) {
    out.fingerprint = holder.part->fingerprint;
    out.key_id = out.fingerprint.substr(out.fingerprint.size() - 16);
    out.primary = holder.key->primary.fingerprint;
    out.user_id = holder.key->user_id;
    out.key_expires = earlier(holder.key->primary.expires, holder.part->expires);
  }
  if (answer.timestamp) out.created = TimePoint(std::chrono::seconds(answer.timestamp));
  if (answer.exp_timestamp) out.expires = TimePoint(std::chrono::seconds(answer.exp_timestamp));

  switch (gpgme_err_code(answer.status)) {
    case GPG_ERR_NO_ERROR:
    case GPG_ERR_SIG_EXPIRED:
    case GPG_ERR_KEY_EXPIRED:
    case GPG_ERR_CERT_REVOKED:
      if (!holder.key)
        return refuse(out, Standing::unknown_key, fmt::format("the key {} is not in the keyring", key_of(out)));
      if (gpgme_err_code(answer.status) == GPG_ERR_CERT_REVOKED)
        return refuse(out, Standing::revoked_key, fmt::format("the key {} was revoked by its owner", key_of(out)));
      if (answer.wrong_key_usage)
        return refuse(out, Standing::unusable, fmt::format("the key {} is not for signatures", key_of(out)));
      return judge(out, holder, now);
    case GPG_ERR_BAD_SIGNATURE:
      return refuse(out, Standing::bad, fmt::format("the signature by {} is of other bytes than these", key_of(out)));
    case GPG_ERR_NO_PUBKEY:
      return refuse(out, Standing::unknown_key, fmt::format("the key {} is not in the keyring", key_of(out)));
    default:
      return refuse(out, Standing::unusable,
                    fmt::format("gpg refuses the signature by {}: {}", key_of(out), detail::error_text(answer.status)));
  }
}

}  // namespace

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::good:
      return "good";
    case Standing::expired:
      return "expired";
    case Standing::expired_key:
      return "expired_key";
    case Standing::future:
      return "future";
    case Standing::revoked_key:
      return "revoked_key";
    case Standing::bad:
      return "bad";
    case Standing::unknown_key:
      return "unknown_key";
    case Standing::weak_digest:
      return "weak_digest";
    case Standing::unusable:
      return "unusable";
  }
  return "unusable";
}

std::vector<Signature> Keyring::examine(std::string_view bytes, std::string_view signatures, TimePoint now) const {
  std::vector<Signature> out;
  std::vector<std::size_t> asked;  // of which gpg is asked, in the order of its answers
  std::string packets;
  for (const auto& packet : detail::parse_signatures(signatures)) {
    auto& signature = out.emplace_back(described(packet));
    if (refuse_by_kind(packet, bytes, signature)) continue;
    refuse(signature, Standing::unusable, fmt::format("gpg says nothing of the signature by {}", key_of(signature)));
    asked.push_back(out.size() - 1);
    packets += packet.bytes;
  }
  if (asked.empty()) return out;

  const detail::Input signature(packets), text(bytes);
  const detail::Context context(home_);
  detail::check(gpgme_op_verify(context.get(), signature.get(), text.get(), nullptr), "cannot verify signatures");
  const auto* result = gpgme_op_verify_result(context.get());
  std::vector<const _gpgme_signature*> answers;
  for (auto answer = result ? result->signatures : nullptr; answer; answer = answer->next) answers.push_back(answer);
  // Which is which is told by their order alone.
  if (answers.size() != asked.size()) return out;
  for (std::size_t i = 0; i < asked.size(); ++i) take_answer(out[asked[i]], *answers[i], keys_, now);
  return out;
}

}  // namespace underway::openpgp

#include "image/key.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"

namespace underway::image {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

constexpr std::size_t kFileLimit = 64U << 10;

/// What a private key's file holds; the seed is taken out of it as soon as it was read.
struct PrivateRecord {
  std::string name;
  std::int64_t expires = 0;
  std::string seed;
};

const Structure& description(Tag<PrivateRecord>) {
  static const Structure s = Builder<PrivateRecord>("private key", "A key that signs images.")
                                 .wire<&PrivateRecord::name>("Name", "Name of the key.")
                                 .wire<&PrivateRecord::expires>("Expires", "When it ends.")
                                 .time()
                                 .wire<&PrivateRecord::seed>("Seed", "The secret, in base64url.")
                                 .done();
  return s;
}

TimePoint expiry(std::int64_t nanoseconds) {
  return nanoseconds == 0 ? TimePoint::max() : from_unix_nanos(nanoseconds);
}
std::int64_t nanoseconds(TimePoint expires) { return expires == TimePoint::max() ? 0 : unix_nanos(expires); }

}  // namespace

const Structure& description(Tag<KeyRecord>) {
  static const Structure s = Builder<KeyRecord>("capsule key", "A key whose signature on an image is trusted.")
                                 .wire<&KeyRecord::name>("Name", "Name of the key.")
                                 .wire<&KeyRecord::id>("ID", "Follows from the key (RFC 7638).")
                                 .wire<&KeyRecord::key>("Key", "The public key, Ed25519, in base64url.")
                                 .wire<&KeyRecord::expires>("Expires", "From when on it is not trusted.")
                                 .time()
                                 .wire<&KeyRecord::revoked>("Revoked", "Since when it is not trusted any more.")
                                 .time()
                                 .wire<&KeyRecord::reason>("Reason", "Why it was revoked.")
                                 .done();
  return s;
}

TrustedKey to_trusted(const KeyRecord& record) {
  TrustedKey out{.id = record.id, .name = record.name, .key = {}, .expires = expiry(record.expires)};
  out.key.bytes = crypto::base64url_decode(record.key);
  if (out.key.bytes.size() != 32)
    throw Error(Code::invalid, fmt::format("key '{}' is no Ed25519 key", record.name))
        .because(fmt::format("it has {} bytes, not 32", out.key.bytes.size()));
  if (out.key.id() != record.id)
    throw Error(Code::invalid, fmt::format("key '{}' is not what it says", record.name))
        .because(fmt::format("its id is {}, and {} is written", out.key.id(), record.id));
  if (record.revoked != 0) out.revoked = from_unix_nanos(record.revoked);
  out.reason = record.reason;
  return out;
}

KeyRecord to_record(const TrustedKey& key) {
  return {.name = key.name,
          .id = key.id,
          .key = crypto::base64url_encode(key.key.bytes),
          .expires = nanoseconds(key.expires),
          .revoked = key.revoked ? unix_nanos(*key.revoked) : 0,
          .reason = key.reason};
}

std::string write_public_key(const TrustedKey& key) { return json::pretty(json::to_value(to_record(key))) + "\n"; }

TrustedKey parse_public_key(std::string_view text) { return to_trusted(json::decode_text<KeyRecord>(text, "key")); }

std::vector<TrustedKey> read_trusted_keys(const std::string& directory) {
  std::vector<TrustedKey> out;
  if (!os::exists(directory)) return out;
  for (const auto& entry : os::list_directory(directory)) {
    if (!entry.name.ends_with(".pub")) continue;
    const std::string path = directory + "/" + entry.name;
    try {
      out.push_back(parse_public_key(os::read_file(path, kFileLimit)));
    } catch (Error& error) {
      error.while_doing(fmt::format("reading the key '{}'", path));
      throw;
    }
  }
  return out;
}

TrustedKey generate_key(const std::string& path, const std::string& name, TimePoint expires) {
  const auto key = crypto::SigningKey::generate();
  PrivateRecord record{.name = name, .expires = nanoseconds(expires)};
  const crypto::Secret seed = key.seed();
  record.seed = crypto::base64url_encode(seed.bytes());
  std::string text = json::encode(record) + "\n";
  crypto::wipe(record.seed);
  const os::Fd file = os::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  os::write_all(file, text, fmt::format("'{}'", path));
  crypto::wipe(text);
  if (::fsync(file.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path));
  return {.id = key.verifying().id(), .name = name, .key = key.verifying(), .expires = expires};
}

PrivateKeyFile read_private_key(const std::string& path) {
  const os::Fd file = os::open_file(path, O_RDONLY);
  struct stat st{};
  if (::fstat(file.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  if ((st.st_mode & 077) != 0)
    throw Error(Code::denied, fmt::format("the private key '{}' is not used", path))
        .because(fmt::format("its mode is {:04o}: others than its owner may read it", st.st_mode & 07777))
        .advise(fmt::format("if nobody did: chmod 600 {}; else make a new key and revoke this one", path));
  std::string text = os::read_all(file, kFileLimit, fmt::format("'{}'", path));
  auto record = json::decode_text<PrivateRecord>(text, "key");
  crypto::wipe(text);
  const auto seed = crypto::Secret::take(crypto::base64url_decode(record.seed));
  crypto::wipe(record.seed);
  if (seed.size() != 32)
    throw Error(Code::invalid, fmt::format("'{}' is no private key", path))
        .because(fmt::format("its seed has {} bytes, not 32", seed.size()));
  return {.name = record.name, .expires = expiry(record.expires), .key = crypto::SigningKey::from_seed(seed)};
}

std::optional<std::string> unusable(const TrustedKey& key, TimePoint now) {
  const std::string what = fmt::format("key '{}' ({})", key.name, key.id);
  if (key.revoked)
    return fmt::format("{} was revoked at {}: {}", what, format_time(*key.revoked),
                       key.reason.empty() ? "no reason was given" : key.reason);
  if (now >= key.expires) return fmt::format("{} expired at {}", what, format_time(key.expires));
  return std::nullopt;
}

}  // namespace underway::image

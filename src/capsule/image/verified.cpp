#include "image/verified.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/payload.hpp"

namespace underway::image {
namespace {

constexpr std::int64_t kSmallestChunk = 64 << 10;
constexpr std::int64_t kLargestChunk = 64 << 20;

Error refused(const ImageFile& file, std::string why) {
  return Error(Code::denied, fmt::format("'{}' is not to be trusted", file.name())).because(std::move(why));
}

std::string called(const Signature& signature) {
  // The name is the signer's word; the id is not.
  return signature.name.empty() || !is_utf8(signature.name)
             ? fmt::format("key {}", signature.key)
             : fmt::format("key {} ('{}')", signature.key, signature.name);
}

/// Nothing when `signature` is good, else why not.
std::optional<std::string> fault(const Signature& signature, const TrustedKey* key, const std::string& message,
                                 TimePoint now) {
  if (key == nullptr) return fmt::format("{} is none of the trusted keys", called(signature));
  std::string bytes;
  try {
    bytes = base64_decode(signature.signature);
  } catch (const Error&) {
    // Stays empty, which no key verifies.
  }
  if (!crypto::verify(key->key, message, bytes))
    return fmt::format("the signature of key '{}' ({}) does not fit the manifest: it was changed, or signed elsewhere",
                       key->name, key->id);
  return unusable(*key, now);
}

const TrustedKey* find(const std::vector<TrustedKey>& keys, const std::string& id) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.id == id; });
  return found == keys.end() ? nullptr : &*found;
}

/// What the manifest says of the payload must hold together before a byte of it is read.
void check_description(const ImageFile& file, const Manifest& manifest) {
  const auto& payload = manifest.payload;
  if (manifest.format != 1)
    throw refused(file, fmt::format("its manifest has format {}; this program knows format 1", manifest.format));
  if (payload.size != file.layout().payload)
    throw refused(file, fmt::format("it has the manifest of another image: that describes {} bytes of file system, and "
                                    "there are {}",
                                    payload.size, file.layout().payload));
  if (payload.chunk_size < kSmallestChunk || payload.chunk_size > kLargestChunk)
    throw refused(file, fmt::format("its manifest has chunks of {} bytes", payload.chunk_size));
  const auto count = (payload.size + payload.chunk_size - 1) / payload.chunk_size;
  if (count != static_cast<std::int64_t>(payload.chunks.size()) || root_of(payload.chunks) != payload.root)
    throw refused(file, "its manifest does not hold together: root and chunks of its file system differ");
}

std::string uuid_in(const ImageFile& file) {
  std::string bytes(16, '\0');
  constexpr off_t kAt = 1024 + 48;  // fs/erofs/erofs_fs.h: uuid in the superblock
  if (::pread(file.file().get(), bytes.data(), bytes.size(), kAt) != 16) return {};
  const std::string text = hex(bytes);
  return fmt::format("{}-{}-{}-{}-{}", text.substr(0, 8), text.substr(8, 4), text.substr(12, 4), text.substr(16, 4),
                     text.substr(20));
}

}  // namespace

const TrustedKey& check_signatures(const ImageFile& file, const std::vector<TrustedKey>& keys, TimePoint now) {
  if (file.signatures().empty())
    throw refused(file, "it is not signed").advise("sign it: underway capsule sign -key FILE " + file.name());
  const std::string message = signed_message(file.manifest_bytes());
  std::vector<std::string> faults;
  for (const auto& signature : file.signatures()) {
    const auto* key = find(keys, signature.key);
    const auto why = fault(signature, key, message, now);
    if (!why) return *key;
    faults.push_back(*why);
  }
  Error error(Code::denied, fmt::format("'{}' is not to be trusted", file.name()));
  error.because(faults);
  if (keys.empty()) error.because("no key is trusted at all");
  throw std::move(error).advise("see `underway capsule keys list`; trust the signer's key or sign the image again");
}

void check_payload(const ImageFile& file, const Manifest& manifest) {
  check_description(file, manifest);
  const auto& payload = manifest.payload;
  const auto digests = chunk_digests(file.file(), payload.size, payload.chunk_size, file.name());
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < digests.size(); ++i)
    if (digests[i] != payload.chunks[i]) wrong.push_back(i);
  if (wrong.empty()) return;
  if (uuid_in(file) != payload.uuid || (wrong.size() == digests.size() && digests.size() > 1))
    throw refused(file, fmt::format("it has the manifest of another image, '{}': {} of {} chunks of its file system "
                                    "have another digest",
                                    manifest.reference(), wrong.size(), digests.size()));
  const std::int64_t offset = static_cast<std::int64_t>(wrong.front()) * payload.chunk_size;
  throw refused(file,
                fmt::format("it was changed after it was built: the bytes from {} to {} have another digest ({} "
                            "of {} chunks)",
                            offset, std::min(offset + payload.chunk_size, payload.size), wrong.size(), digests.size()))
      .advise("fetch or build it again");
}

VerifiedImage verify(ImageFile file, const std::vector<TrustedKey>& keys, TimePoint now) {
  TrustedKey signer = check_signatures(file, keys, now);
  // Only now is the manifest worth parsing.
  Manifest manifest = file.manifest();
  check_payload(file, manifest);
  return {std::move(file), std::move(manifest), std::move(signer)};
}

VerifiedImage open_verified(const std::string& path, const std::vector<TrustedKey>& keys, TimePoint now) {
  try {
    return verify(ImageFile::open(path), keys, now);
  } catch (const Error& error) {
    if (error.code() != Code::invalid) throw;
    // Whoever wants to mount it has one reaction to all of these.
    throw Error(Code::denied, error.message()).because(error.reasons());
  }
}

}  // namespace underway::image

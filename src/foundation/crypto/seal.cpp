#include "crypto/seal.hpp"

#include <fmt/format.h>
#include <openssl/kdf.h>

#include <array>

#include "crypto/detail/openssl.hpp"

namespace underway::crypto {
namespace {

constexpr std::size_t kSealingKeySize = 32;
constexpr std::size_t kNonceSize = 12;
constexpr std::size_t kTagSize = 16;

void expect_sizes(std::string_view key, std::string_view nonce) {
  if (key.size() == kSealingKeySize && nonce.size() == kNonceSize) return;
  throw Error(Code::internal, "AES-256-GCM needs a key of 32 bytes and a nonce of 12")
      .because(fmt::format("given are {} and {}", key.size(), nonce.size()));
}

/// Binds the id as well, so that bytes relabelled with another key's id do not open either.
std::string associated_of(const std::string& key_id, std::string_view context) {
  return fmt::format("{}\n{}", key_id, context);
}

std::string context_of_key(std::string_view id) { return fmt::format("sealing key {}", id); }

}  // namespace

std::string gcm_encrypt(std::string_view key, std::string_view nonce, std::string_view plain,
                        std::string_view associated) {
  expect_sizes(key, nonce);
  const detail::Cipher cipher(::EVP_CIPHER_CTX_new());
  std::string out(plain.size() + kTagSize, '\0');
  int size = 0;
  const bool done = cipher != nullptr &&
                    ::EVP_EncryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr, detail::bytes_of(key),
                                         detail::bytes_of(nonce)) &&
                    ::EVP_EncryptUpdate(cipher.get(), nullptr, &size, detail::bytes_of(associated),
                                        static_cast<int>(associated.size())) &&
                    ::EVP_EncryptUpdate(cipher.get(), detail::bytes_of(out), &size, detail::bytes_of(plain),
                                        static_cast<int>(plain.size())) &&
                    ::EVP_EncryptFinal_ex(cipher.get(), detail::bytes_of(out) + size, &size) &&
                    ::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagSize, out.data() + plain.size());
  if (!done) throw detail::failure("cannot encrypt");
  return out;
}

std::optional<Secret> gcm_decrypt(std::string_view key, std::string_view nonce, std::string_view cipher_and_tag,
                                  std::string_view associated) {
  expect_sizes(key, nonce);
  if (cipher_and_tag.size() < kTagSize) return std::nullopt;
  const std::string_view encrypted = cipher_and_tag.substr(0, cipher_and_tag.size() - kTagSize);
  std::string tag(cipher_and_tag.substr(encrypted.size()));
  const detail::Cipher cipher(::EVP_CIPHER_CTX_new());
  // OpenSSL writes plain bytes before it knows whether they are genuine: they are wiped when they are not.
  std::string out(encrypted.size(), '\0');
  int size = 0;
  const bool ready = cipher != nullptr &&
                     ::EVP_DecryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr, detail::bytes_of(key),
                                          detail::bytes_of(nonce)) &&
                     ::EVP_DecryptUpdate(cipher.get(), nullptr, &size, detail::bytes_of(associated),
                                         static_cast<int>(associated.size())) &&
                     ::EVP_DecryptUpdate(cipher.get(), detail::bytes_of(out), &size, detail::bytes_of(encrypted),
                                         static_cast<int>(encrypted.size())) &&
                     ::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagSize, tag.data());
  if (!ready) throw detail::failure("cannot decrypt");
  const bool genuine = ::EVP_DecryptFinal_ex(cipher.get(), detail::bytes_of(out) + size, &size) == 1;
  Secret plain = Secret::take(std::move(out));
  if (genuine) return plain;
  return std::nullopt;
}

SealingKey make_sealing_key(IdSource& ids) { return {.id = ids.uuid(), .bytes = Secret::random(kSealingKeySize)}; }

SealingKey derive_key(const SealingKey& from, std::string_view purpose) {
  const detail::KeyContext context(::EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
  std::string out(kSealingKeySize, '\0');
  std::size_t size = out.size();
  const bool done =
      context != nullptr && ::EVP_PKEY_derive_init(context.get()) == 1 &&
      ::EVP_PKEY_CTX_set_hkdf_md(context.get(), ::EVP_sha256()) == 1 &&
      ::EVP_PKEY_CTX_set1_hkdf_key(context.get(), detail::bytes_of(from.bytes.bytes()),
                                   static_cast<int>(from.bytes.size())) == 1 &&
      ::EVP_PKEY_CTX_add1_hkdf_info(context.get(), detail::bytes_of(purpose), static_cast<int>(purpose.size())) == 1 &&
      ::EVP_PKEY_derive(context.get(), detail::bytes_of(out), &size) == 1;
  if (!done) throw detail::failure("cannot derive a key");
  return {.id = from.id, .bytes = Secret::take(std::move(out))};
}

Sealed seal(const SealingKey& key, std::string_view plain, std::string_view context) {
  std::string nonce = random_bytes(kNonceSize);
  const std::string encrypted = gcm_encrypt(key.bytes.bytes(), nonce, plain, associated_of(key.id, context));
  return {.key_id = key.id, .bytes = std::move(nonce) + encrypted};
}

Secret open(const SealingKey& key, const Sealed& sealed, std::string_view context) {
  if (sealed.key_id == key.id && sealed.bytes.size() >= kNonceSize + kTagSize) {
    const std::string_view bytes = sealed.bytes;
    auto plain = gcm_decrypt(key.bytes.bytes(), bytes.substr(0, kNonceSize), bytes.substr(kNonceSize),
                             associated_of(key.id, context));
    if (plain) return std::move(*plain);
  }
  throw Error(Code::denied,
              fmt::format("what was sealed with key '{}' for '{}' cannot be opened", sealed.key_id, context))
      .because(fmt::format("key '{}' does not fit, or the bytes were changed or moved", key.id));
}

Sealed wrap(const SealingKey& by, const SealingKey& key) { return seal(by, key.bytes.bytes(), context_of_key(key.id)); }

SealingKey unwrap(const SealingKey& by, std::string id, const Sealed& wrapped) {
  Secret bytes = open(by, wrapped, context_of_key(id));
  return {.id = std::move(id), .bytes = std::move(bytes)};
}

void Keyring::add(SealingKey key) {
  if (active_.empty()) active_ = key.id;
  std::string id = key.id;
  keys_.insert_or_assign(std::move(id), std::move(key));
}

void Keyring::activate(const std::string& id) {
  if (!keys_.contains(id)) throw Error(Code::not_found, fmt::format("there is no key '{}'", id));
  active_ = id;
}

void Keyring::remove(const std::string& id) {
  if (id == active_ && !id.empty()) {
    throw Error(Code::conflict, fmt::format("key '{}' cannot be removed", id))
        .because("it is the one that seals")
        .advise("rotate first: then another key seals");
  }
  keys_.erase(id);
}

const SealingKey* Keyring::find(const std::string& id) const {
  const auto it = keys_.find(id);
  return it == keys_.end() ? nullptr : &it->second;
}

std::vector<std::string> Keyring::ids() const {
  std::vector<std::string> out;
  for (const auto& [id, key] : keys_) out.push_back(id);
  return out;
}

Sealed Keyring::seal(std::string_view plain, std::string_view context) const {
  const SealingKey* key = find(active_);
  if (key == nullptr) throw Error(Code::not_found, "there is no key to seal with");
  return crypto::seal(*key, plain, context);
}

Secret Keyring::open(const Sealed& sealed, std::string_view context) const {
  const SealingKey* key = find(sealed.key_id);
  if (key == nullptr) {
    throw Error(Code::not_found, fmt::format("there is no key '{}' to open '{}' with", sealed.key_id, context));
  }
  return crypto::open(*key, sealed, context);
}

}  // namespace underway::crypto

#include "base/random.hpp"
#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"

#include <crypt.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <fmt/format.h>

#include <memory>

namespace underway::hcl::detail {

namespace {

std::string digest(const EVP_MD* algorithm, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), bytes, &size, algorithm, nullptr) != 1) {
    throw Error(Code::unsupported, "this machine's OpenSSL refuses the algorithm");
  }
  return {reinterpret_cast<const char*>(bytes), size};
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};

/// RSAES-PKCS1-v1_5 of base64 text, as Go's rsa.DecryptPKCS1v15.
Value rsa_decrypt(const Arguments& arguments) {
  std::string sealed;
  try {
    sealed = base64_decode(arguments.text(0));
  } catch (const Error& e) {
    throw ArgumentError(0, e.message());
  }
  const std::string pem = arguments.text(1);
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // Without a callback OpenSSL would ask the terminal for a passphrase. An empty one would be tried, with as many
  // rounds of key derivation as the text asks for.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, FreeKey> key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr)
                                                   : nullptr);
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA)
    throw ArgumentError(1, "this is no RSA private key in PEM without passphrase");
  const auto words = static_cast<std::uint64_t>(EVP_PKEY_bits(key.get())) / 64;
  arguments.budget().step(words * words * words / 4);  // 1 ms with 2048 bits
  const std::unique_ptr<EVP_PKEY_CTX, FreeContext> context(EVP_PKEY_CTX_new(key.get(), nullptr));
  const auto* in = reinterpret_cast<const unsigned char*>(sealed.data());
  std::size_t size = 0;
  std::string plain;
  bool good = context && EVP_PKEY_decrypt_init(context.get()) == 1 &&
              EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PADDING) == 1 &&
              EVP_PKEY_decrypt(context.get(), nullptr, &size, in, sealed.size()) == 1;
  if (good) {
    plain.resize(size);
    good =
        EVP_PKEY_decrypt(context.get(), reinterpret_cast<unsigned char*>(plain.data()), &size, in, sealed.size()) == 1;
    plain.resize(good ? size : 0);
  }
  if (!good || !is_utf8(plain)) throw Error(Code::invalid, "the text cannot be decrypted with this key");
  return plain;
}

/// 2^cost rounds of about 60 µs each (measured: cost 14 takes 1 s).
constexpr std::uint64_t kStepsPerRound = 576;

Value bcrypt(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::int64_t cost = arguments.size() > 1 ? arguments.integer(1) : 10;
  // Each step doubles the time; 14 is about a second, and as much as one file may take.
  if (cost < 4 || cost > 14) throw ArgumentError(1, "a cost from 4 to 14 is required");
  if (text.find('\0') != std::string::npos) throw ArgumentError(0, "a text without NUL is required");
  if (text.size() > 72) throw ArgumentError(0, "bcrypt takes at most 72 bytes");
  arguments.budget().step(kStepsPerRound << static_cast<unsigned>(cost));
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  const std::string salt = random_bytes(16);
  auto state = std::make_unique<crypt_data>();
  if (crypt_gensalt_rn("$2a$", static_cast<unsigned long>(cost), salt.data(), static_cast<int>(salt.size()), setting,
                       sizeof setting) == nullptr) {
    throw Error(Code::unsupported, "this machine's libcrypt has no bcrypt");
  }
  const char* hashed = crypt_r(text.c_str(), setting, state.get());
  if (hashed == nullptr || hashed[0] == '*') throw Error(Code::unsupported, "this machine's libcrypt has no bcrypt");
  return std::string(hashed);
}

std::string spell_uuid(const std::string& bytes) {
  const std::string h = hex(bytes);
  return fmt::format("{}-{}-{}-{}-{}", h.substr(0, 8), h.substr(8, 4), h.substr(12, 4), h.substr(16, 4),
                     h.substr(20, 12));
}

/// Version 5: from the SHA-1 of namespace and name (RFC 9562, 5.5; namespaces from its table 4).
Value uuid_v5(const Arguments& arguments) {
  static const std::map<std::string, std::string, std::less<>> kNamespaces = {
      {"dns", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
      {"url", "6ba7b811-9dad-11d1-80b4-00c04fd430c8"},
      {"oid", "6ba7b812-9dad-11d1-80b4-00c04fd430c8"},
      {"x500", "6ba7b814-9dad-11d1-80b4-00c04fd430c8"}};
  const std::string space = arguments.text(0);
  const auto known = kNamespaces.find(space);
  std::string id = known != kNamespaces.end() ? known->second : space;
  // The other spellings that are read: urn:uuid:…, {…}, and without dashes.
  if (id.starts_with("urn:uuid:")) id.erase(0, 9);
  if (id.size() == 38 && id.front() == '{' && id.back() == '}') id = id.substr(1, 36);
  if (id.size() == 32)
    for (const std::size_t at : {8, 13, 18, 23}) id.insert(at, "-");
  if (!is_uuid(id)) throw ArgumentError(0, "a namespace is dns, url, oid, x500 or a UUID");
  std::erase(id, '-');
  const std::string bytes = unhex(id).value();
  std::string hashed = digest(EVP_sha1(), bytes + arguments.text(1)).substr(0, 16);
  hashed[6] = static_cast<char>((static_cast<unsigned char>(hashed[6]) & 0x0f) | 0x50);
  hashed[8] = static_cast<char>((static_cast<unsigned char>(hashed[8]) & 0x3f) | 0x80);
  return spell_uuid(hashed);
}

Function hash_function(const EVP_MD* (*algorithm)()) {
  return {"text", 1, 1,
          [algorithm](const Call& call) -> Value { return hex(digest(algorithm(), Arguments(call).text(0))); }};
}

}  // namespace

void add_crypto_functions(Entries& entries) {
  entries["bcrypt"] = {"text, cost", 1, 2, [](const Call& call) { return bcrypt(Arguments(call)); }};
  entries["md5"] = hash_function(EVP_md5);
  entries["sha1"] = hash_function(EVP_sha1);
  entries["sha256"] = hash_function(EVP_sha256);
  entries["sha512"] = hash_function(EVP_sha512);
  entries["rsadecrypt"] = {"sealed, key", 2, 2, [](const Call& call) { return rsa_decrypt(Arguments(call)); }};
  entries["uuidv4"] = {"", 0, 0, [](const Call&) -> Value { return SystemIds().uuid(); }};
  entries["uuidv5"] = {"namespace, name", 2, 2, [](const Call& call) { return uuid_v5(Arguments(call)); }};
}

}  // namespace underway::hcl::detail

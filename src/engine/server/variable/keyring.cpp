#include "server/variable/keyring.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/json/describe.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::server {
namespace {

constexpr const char* kActive = "active";          // a file that holds the id of the active key
constexpr const char* kWrapping = "wrapping.key";  // 32 bytes
constexpr const char* kSuffix = ".key";
constexpr std::size_t kKeySize = 32;
constexpr std::size_t kFileLimit = 16U << 10;

/// What a key's file holds.
struct KeyFile {
  std::string id;
  std::int64_t create_time = 0;
  std::int64_t publish_time = 0;
  bool prepublished = false;
  std::string wrapped;      ///< base64
  std::string rsa_wrapped;  ///< base64; empty: it signs by EdDSA alone
};

const describe::Structure& description(describe::Tag<KeyFile>) {
  static const auto s =
      describe::Builder<KeyFile>("root key", "A root key, wrapped.")
          .wire<&KeyFile::id>("KeyID", "Names the key, and its file; not secret.")
          .wire<&KeyFile::create_time>("CreateTime", "Unix time in nanoseconds at which it was made.")
          .wire<&KeyFile::publish_time>("PublishTime",
                                        "Unix time in nanoseconds at which it becomes, or became, active; 0: at once.")
          .wire<&KeyFile::prepublished>("Prepublished", "Whether it waits for that: others know it before it signs.")
          .wire<&KeyFile::wrapped>("Wrapped", "The key, sealed by the wrapping key, in base64.")
          .wire<&KeyFile::rsa_wrapped>("RSAWrapped", "Its RSA key, likewise; empty: it signs by EdDSA alone.")
          .done();
  return s;
}

crypto::Secret read_secret(const std::string& path) { return crypto::Secret::take(os::read_file(path, 4096)); }

/// It becomes a file's name.
bool is_key_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && id.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

crypto::SealingKey load_wrapping_key(const std::string& directory, const std::string& elsewhere) {
  const std::string path = elsewhere.empty() ? directory + "/" + kWrapping : elsewhere;
  if (elsewhere.empty() && !os::exists(path)) os::write_file(path, crypto::Secret::random(kKeySize).bytes(), 0600);
  crypto::SealingKey key{"wrapping", read_secret(path)};
  if (key.bytes.size() != kKeySize) {
    throw Error(Code::denied, fmt::format("'{}' is no wrapping key", path))
        .because(fmt::format("it has {} bytes instead of {}", key.bytes.size(), kKeySize))
        .advise("restore it from a backup: without it no variable can be read");
  }
  return key;
}

}  // namespace

Keyring::Keyring(std::string directory, std::string wrapping_key, TimePoint now) : directory_(std::move(directory)) {
  if (directory_.empty()) {
    activate(make_key(now, std::nullopt));
    return;
  }
  os::make_directories(directory_, 0700);
  wrapping_ = load_wrapping_key(directory_, wrapping_key);
  for (const auto& entry : os::list_directory(directory_)) {
    if (entry.name != kWrapping && entry.name.ends_with(kSuffix))
      load(entry.name.substr(0, entry.name.size() - std::string_view(kSuffix).size()));
  }
  std::ranges::sort(keys_, {}, &RootKey::create_time);
  const auto active = os::find_file(directory_ + "/" + kActive);
  if (active && !ring_.find(std::string(trim(*active)))) {
    throw Error(Code::denied, fmt::format("the root key {} is missing in '{}'", trim(*active), directory_))
        .advise("restore the directory from a backup: what is sealed under that key cannot be read without it");
  }
  activate(active ? std::string(trim(*active)) : make_key(now, crypto::PrivateKey::generate_rsa()));
}

std::string Keyring::prepublish(TimePoint now, TimePoint at, const Rsa& rsa) {
  return make_key(now, rsa, unix_nanos(at));
}

std::string Keyring::promote(TimePoint now) {
  std::string last;
  for (const RootKey* key = next_prepublished(); key != nullptr && from_unix_nanos(key->publish_time) <= now;
       key = next_prepublished()) {
    last = key->id;
    activate(last);
  }
  return last;
}

const RootKey* Keyring::next_prepublished() const {
  const RootKey* first = nullptr;
  for (const auto& key : keys_) {
    if (key.prepublished && (first == nullptr || key.publish_time < first->publish_time)) first = &key;
  }
  return first;
}

const crypto::TokenKey& Keyring::signing(std::string_view algorithm) const {
  const Signers& active = signers_.at(active_id());
  const std::string_view wanted = algorithm.empty() ? std::string_view(preferred_) : algorithm;
  return active.rs256 && wanted != active.eddsa.algorithm() ? *active.rs256 : active.eddsa;
}

void Keyring::list_verifying() {
  verifying_.clear();
  for (const auto& key : keys_) {
    const Signers& signers = signers_.at(key.id);
    if (signers.rs256) verifying_.push_back(signers.rs256->verifying());
    verifying_.push_back(signers.eddsa.verifying());
  }
}

/// The newest first: a consumer that takes the first key of its kind takes the one that signs now.
boost::json::object Keyring::jwks() const {
  boost::json::array list;
  for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
    const Signers& signers = signers_.at(key->id);
    if (signers.rs256) list.push_back(signers.rs256->jwk());
    list.push_back(signers.eddsa.jwk());
  }
  return {{"keys", std::move(list)}};
}

std::string Keyring::rotate(TimePoint now, const Rsa& rsa) {
  std::string id = make_key(now, rsa);
  activate(id);
  return id;
}

void Keyring::remove(const std::string& id) {
  if (ring_.find(id) == nullptr) throw Error(Code::not_found, "root key not found");
  ring_.remove(id);
  signers_.erase(id);
  std::erase_if(keys_, [&](const RootKey& key) { return key.id == id; });
  list_verifying();
  if (!directory_.empty()) ::unlink(file_of(id).c_str());
}

/// Durable before it is used: what is sealed under a key that a power cut takes is lost.
std::string Keyring::make_key(TimePoint now, const Rsa& rsa, std::int64_t publish_time) {
  SystemIds ids;  // as random as the key itself: no seed reproduces either
  crypto::SealingKey key = crypto::make_sealing_key(ids);
  const std::string id = key.id;
  const RootKey what{
      .id = id, .create_time = unix_nanos(now), .publish_time = publish_time, .prepublished = publish_time != 0};
  write(key, what, rsa ? wrap_rsa(id, rsa->pem()) : "");
  add(std::move(key), what, rsa);
  return id;
}

/// The context ties it to its root key: that of another does not open in its place.
std::string Keyring::wrap_rsa(const std::string& id, const crypto::Secret& pem) const {
  if (directory_.empty() || pem.empty()) return {};
  return base64_encode(crypto::seal(wrapping_, pem.bytes(), "rsa key " + id).bytes);
}

std::string Keyring::wrapped_rsa(const std::string& id) const {
  const auto& rsa = signers_.at(id).rs256;
  return rsa ? wrap_rsa(id, rsa->pem()) : std::string();
}

Keyring::Rsa Keyring::unwrap_rsa(const std::string& id, const std::string& wrapped) const {
  if (wrapped.empty()) return std::nullopt;
  const auto pem = crypto::open(wrapping_, {wrapping_.id, base64_decode(wrapped)}, "rsa key " + id);
  return crypto::PrivateKey::from_pem(pem.bytes());
}

void Keyring::write(const crypto::SealingKey& key, const RootKey& what, std::string rsa_wrapped) const {
  if (directory_.empty()) return;
  const KeyFile file{what.id,
                     what.create_time,
                     what.publish_time,
                     what.prepublished,
                     base64_encode(crypto::wrap(wrapping_, key).bytes),
                     std::move(rsa_wrapped)};
  os::write_file(file_of(key.id), json::encode(file) + "\n", 0600);
}

std::vector<snapshot::WrappedKey> Keyring::wrapped() const {
  std::vector<snapshot::WrappedKey> out;
  if (directory_.empty()) return out;
  for (const auto& key : keys_)
    out.push_back({key.id, key.active, key.create_time,
                   base64_encode(crypto::wrap(wrapping_, *ring_.find(key.id)).bytes), wrapped_rsa(key.id)});
  return out;
}

std::vector<snapshot::WrappedKey> Keyring::missing(const std::vector<snapshot::WrappedKey>& keys) const {
  std::vector<snapshot::WrappedKey> out;
  for (const auto& key : keys) {
    if (ring_.find(key.id) != nullptr) continue;
    try {
      if (directory_.empty()) throw Error(Code::denied, "this server keeps its keys in memory");
      if (!is_key_id(key.id)) throw Error(Code::denied, "its id is none");
      static_cast<void>(crypto::unwrap(wrapping_, key.id, {wrapping_.id, base64_decode(key.wrapped)}));
      static_cast<void>(unwrap_rsa(key.id, key.rsa_wrapped));
    } catch (const Error& error) {
      throw Error(Code::denied, fmt::format("the root key '{}' cannot be opened here", key.id))
          .because(error.one_line())
          .advise(
              "what is sealed under it would be lost: stop this server, give it the wrapping key of the server that "
              "made the snapshot (server { wrapping_key = \"…\" }, or keyring/wrapping.key in its data directory), "
              "remove the other files of its keyring directory, and start it again");
    }
    out.push_back(key);
  }
  return out;
}

void Keyring::adopt(const std::vector<snapshot::WrappedKey>& keys) {
  for (const auto& key : missing(keys)) {
    const KeyFile file{key.id, key.create_time, 0, false, key.wrapped, key.rsa_wrapped};
    os::write_file(file_of(key.id), json::encode(file) + "\n", 0600);
    load(key.id);
  }
  std::ranges::sort(keys_, {}, &RootKey::create_time);
}

void Keyring::load(const std::string& id) {
  try {
    const auto file = json::decode_text<KeyFile>(os::read_file(file_of(id), kFileLimit));
    add(crypto::unwrap(wrapping_, id, {wrapping_.id, base64_decode(file.wrapped)}),
        {.id = id,
         .create_time = file.create_time,
         .publish_time = file.publish_time,
         .prepublished = file.prepublished},
        unwrap_rsa(id, file.rsa_wrapped));
  } catch (const Error& error) {
    throw Error(Code::denied, fmt::format("the root key '{}' cannot be opened", file_of(id)))
        .because(error.one_line())
        .advise("restore it, and the wrapping key, from a backup");
  }
}

void Keyring::add(crypto::SealingKey key, RootKey what, const Rsa& rsa) {
  const auto seed = crypto::derive_key(key, "workload identities");
  Signers signers{std::nullopt, crypto::TokenKey::eddsa(crypto::SigningKey::from_seed(seed.bytes))};
  if (rsa) signers.rs256 = crypto::TokenKey::rs256(*rsa);
  signers_.insert_or_assign(key.id, std::move(signers));
  keys_.push_back(std::move(what));
  ring_.add(std::move(key));
  list_verifying();
}

void Keyring::activate(const std::string& id) {
  if (!directory_.empty()) os::write_file(directory_ + "/" + kActive, id + "\n", 0600);
  ring_.activate(id);
  for (auto& key : keys_) {
    key.active = key.id == id;
    if (!key.active || !key.prepublished) continue;
    // Last: a server that dies before this finds its active key waiting, and ends the wait when it starts.
    key.prepublished = false;
    write(*ring_.find(id), key, wrapped_rsa(id));
  }
}

}  // namespace underway::server

#include "server/keyring.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/describe.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::server {
namespace {

constexpr const char* kActive = "active";          // a file that holds the id of the active key
constexpr const char* kWrapping = "wrapping.key";  // 32 bytes
constexpr const char* kSuffix = ".key";
constexpr std::size_t kKeySize = 32;

/// What a key's file holds.
struct KeyFile {
  std::string id;
  std::int64_t create_time = 0;
  std::int64_t publish_time = 0;
  bool prepublished = false;
  std::string wrapped;  ///< base64
};

const describe::Structure& description(describe::Tag<KeyFile>) {
  static const auto s = describe::Builder<KeyFile>("root key", "A root key, wrapped.")
                            .wire<&KeyFile::id>("KeyID", "")
                            .wire<&KeyFile::create_time>("CreateTime", "")
                            .wire<&KeyFile::publish_time>("PublishTime", "")
                            .wire<&KeyFile::prepublished>("Prepublished", "")
                            .wire<&KeyFile::wrapped>("Wrapped", "")
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
    activate(make_key(now));
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
  activate(active ? std::string(trim(*active)) : make_key(now));
}

std::string Keyring::prepublish(TimePoint now, TimePoint at) { return make_key(now, unix_nanos(at)); }

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

std::vector<crypto::VerifyingKey> Keyring::verifying() const {
  std::vector<crypto::VerifyingKey> out;
  for (const auto& key : keys_) out.push_back(signing_.at(key.id).verifying());
  return out;
}

std::string Keyring::rotate(TimePoint now) {
  std::string id = make_key(now);
  activate(id);
  return id;
}

void Keyring::remove(const std::string& id) {
  if (ring_.find(id) == nullptr) throw Error(Code::not_found, "root key not found");
  ring_.remove(id);
  signing_.erase(id);
  std::erase_if(keys_, [&](const RootKey& key) { return key.id == id; });
  if (!directory_.empty()) ::unlink(file_of(id).c_str());
}

/// Durable before it is used: what is sealed under a key that a power cut takes is lost.
std::string Keyring::make_key(TimePoint now, std::int64_t publish_time) {
  SystemIds ids;  // as random as the key itself: no seed reproduces either
  crypto::SealingKey key = crypto::make_sealing_key(ids);
  const std::string id = key.id;
  const RootKey what{
      .id = id, .create_time = unix_nanos(now), .publish_time = publish_time, .prepublished = publish_time != 0};
  write(key, what);
  add(std::move(key), what);
  return id;
}

void Keyring::write(const crypto::SealingKey& key, const RootKey& what) const {
  if (directory_.empty()) return;
  const KeyFile file{what.id, what.create_time, what.publish_time, what.prepublished,
                     base64_encode(crypto::wrap(wrapping_, key).bytes)};
  os::write_file(file_of(key.id), json::encode(file) + "\n", 0600);
}

std::vector<snapshot::WrappedKey> Keyring::wrapped() const {
  std::vector<snapshot::WrappedKey> out;
  if (directory_.empty()) return out;
  for (const auto& key : keys_)
    out.push_back(
        {key.id, key.active, key.create_time, base64_encode(crypto::wrap(wrapping_, *ring_.find(key.id)).bytes)});
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
    os::write_file(file_of(key.id), json::encode(KeyFile{key.id, key.create_time, 0, false, key.wrapped}) + "\n", 0600);
    load(key.id);
  }
  std::ranges::sort(keys_, {}, &RootKey::create_time);
}

void Keyring::load(const std::string& id) {
  try {
    const auto file = json::decode_text<KeyFile>(os::read_file(file_of(id), 4096));
    add(crypto::unwrap(wrapping_, id, {wrapping_.id, base64_decode(file.wrapped)}),
        {.id = id,
         .create_time = file.create_time,
         .publish_time = file.publish_time,
         .prepublished = file.prepublished});
  } catch (const Error& error) {
    throw Error(Code::denied, fmt::format("the root key '{}' cannot be opened", file_of(id)))
        .because(error.one_line())
        .advise("restore it, and the wrapping key, from a backup");
  }
}

void Keyring::add(crypto::SealingKey key, RootKey what) {
  signing_.insert_or_assign(key.id,
                            crypto::SigningKey::from_seed(crypto::derive_key(key, "workload identities").bytes));
  keys_.push_back(std::move(what));
  ring_.add(std::move(key));
}

void Keyring::activate(const std::string& id) {
  if (!directory_.empty()) os::write_file(directory_ + "/" + kActive, id + "\n", 0600);
  ring_.activate(id);
  for (auto& key : keys_) {
    key.active = key.id == id;
    if (!key.active || !key.prepublished) continue;
    // Last: a server that dies before this finds its active key waiting, and ends the wait when it starts.
    key.prepublished = false;
    write(*ring_.find(id), key);
  }
}

}  // namespace underway::server

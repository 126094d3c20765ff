#include "openpgp/keyring.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.hpp"
#include "crypto/hasher.hpp"
#include "openpgp/clearsigned.hpp"
#include "openpgp/detail/gpg.hpp"
#include "openpgp/detail/packets.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"

namespace underway::openpgp {
namespace {

/// Part of a home's name: another one where we would make it otherwise.
constexpr std::string_view kMaking = "keyring 1\n";

std::string name_of(std::span<const std::string> texts) {
  crypto::Hasher hasher;
  hasher.add(kMaking);
  for (const auto& text : texts) {
    hasher.add(fmt::format("{}\n", text.size()));
    hasher.add(text);
  }
  return hex(hasher.finish());
}

void check_texts(std::span<const std::string> texts, std::span<const std::string> names) {
  if (texts.empty()) throw Error(Code::invalid, "a keyring cannot be empty").because("no file of keys is named");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto what = fmt::format("cannot take the keys of '{}'", names[i]);
    if (texts[i].size() > kLargestKeys)
      throw Error(Code::too_large, what)
          .because(fmt::format("it has {}, and {} are taken", human_bytes(texts[i].size()), human_bytes(kLargestKeys)));
    if (detail::has_secret_key(texts[i]))
      throw Error(Code::invalid, what)
          .because("there is a secret key in it, and whoever verifies needs none")
          .advise("export the public key: gpg --export --armor KEY");
  }
}

/// Makes the home unless it is there. Who has the lock is alone, so what is half made was left by somebody who died.
void make_home(const std::string& directory, const std::string& home, std::span<const std::string> texts,
               std::span<const std::string> names) {
  const os::Fd lock = os::open_directory(directory);
  if (::flock(lock.get(), LOCK_EX) != 0) throw errno_error(errno, fmt::format("cannot lock '{}'", directory));
  const std::string making = directory + "/making";
  os::remove_tree(making);
  if (!os::exists(home)) {
    try {
      os::make_directories(making, 0700);
      detail::write_settings(making);
      for (std::size_t i = 0; i < texts.size(); ++i) detail::import_keys(making, texts[i], names[i]);
      if (::rename(making.c_str(), home.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", home));
    } catch (...) {
      os::remove_tree(making);
      ::flock(lock.get(), LOCK_UN);
      throw;
    }
  }
  // A child that is about to execute its program may have a copy of the descriptor.
  ::flock(lock.get(), LOCK_UN);
}

std::vector<Key> open_home(const std::string& directory, const std::string& home, std::span<const std::string> texts,
                           std::span<const std::string> names) {
  check_texts(texts, names);
  detail::make_private_directory(directory);
  make_home(directory, home, texts, names);
  auto keys = detail::list_keys(home);
  if (keys.empty()) throw Error(Code::internal, fmt::format("the keyring '{}' is empty", home)).advise("remove it");
  return keys;
}

}  // namespace

Keyring Keyring::of_texts(const std::string& directory, std::span<const std::string> texts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < texts.size(); ++i) names.push_back(fmt::format("text {}", i + 1));
  Keyring out;
  out.home_ = directory + "/" + name_of(texts);
  out.keys_ = open_home(directory, out.home_, texts, names);
  return out;
}

Keyring Keyring::of_files(const std::string& directory, std::span<const std::string> paths) {
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(os::read_file(path, kLargestKeys));
  Keyring out;
  out.home_ = directory + "/" + name_of(texts);
  out.keys_ = open_home(directory, out.home_, texts, paths);
  return out;
}

Verified Keyring::verify_clearsigned(std::string_view text, TimePoint now) const {
  auto parts = split_clearsigned(text);
  auto signatures = examine(parts.signed_bytes(), parts.signature, now);
  return require_good(std::move(parts.content), std::move(signatures));
}

Verified Keyring::verify_detached(std::string_view bytes, std::string_view signature, TimePoint now) const {
  if (bytes.size() > kLargestSigned)
    throw Error(Code::too_large, fmt::format("{} are too large to be verified", human_bytes(bytes.size())))
        .because(fmt::format("{} are taken", human_bytes(kLargestSigned)));
  return require_good({}, examine(bytes, signature, now));
}

Verified Keyring::require_good(std::string content, std::vector<Signature> signatures) const {
  if (std::ranges::any_of(signatures, &Signature::good)) return {std::move(content), std::move(signatures)};
  std::vector<std::string> reasons;
  for (const auto& signature : signatures) reasons.push_back(signature.problem);
  throw Error(Code::denied, "no signature is good").because(reasons);
}

}  // namespace underway::openpgp

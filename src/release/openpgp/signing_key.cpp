#include "openpgp/signing_key.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "openpgp/clearsigned.hpp"
#include "openpgp/detail/agent.hpp"
#include "openpgp/detail/gpg.hpp"
#include "os/file.hpp"

namespace underway::openpgp {
namespace {

constexpr const char* kCannotSign = "cannot sign";

/// The secret of a directory is in use by us alone.
class InUse {
 public:
  explicit InUse(const std::string& directory) : directory_(os::open_directory(directory)) {
    if (::flock(directory_.get(), LOCK_EX) != 0) throw errno_error(errno, fmt::format("cannot lock '{}'", directory));
  }
  // A child that is about to execute its program may have a copy of the descriptor.
  ~InUse() { ::flock(directory_.get(), LOCK_UN); }
  InUse(const InUse&) = delete;
  void flush() const {
    if (::syncfs(directory_.get()) != 0) throw errno_error(errno, "cannot flush a key to disk");
  }

 private:
  os::Fd directory_;
};

/// gpg takes its time from its settings: it stands still at `at`.
void set_time(const std::string& home, TimePoint at) {
  detail::write_settings(home, fmt::format("digest-algo SHA512\n"
                                           "cert-digest-algo SHA512\n"
                                           "no-emit-version\n"
                                           "faked-system-time {}!\n",
                                           unix_seconds(at)));
}

void check_user_id(const std::string& user_id) {
  const auto odd = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (user_id.size() < 5 || user_id.size() > 255 || std::ranges::any_of(user_id, odd) || user_id.front() == ' ' ||
      user_id.back() == ' ')
    throw Error(Code::invalid, fmt::format("'{}' is no user id of a key", user_id))
        .because("it has 5 to 255 characters, such as 'Releases <releases@example.com>', and none that controls");
}

/// A directory in which a key is being made: emptied again unless it is done.
class Making {
 public:
  explicit Making(const std::string& directory) : directory_(directory) {
    detail::make_private_directory(directory);
    if (!os::list_directory(directory).empty())
      throw Error(Code::conflict, fmt::format("'{}' cannot take a new key", directory))
          .because("there is something in it")
          .advise("name a directory of its own for each key");
  }
  ~Making() {
    if (done_) return;
    try {
      for (const auto& entry : os::list_directory(directory_)) os::remove_tree(directory_ + "/" + entry.name);
    } catch (const Error&) {
      // What is left is in nobody's way: the next try names it.
    }
  }
  Making(const Making&) = delete;
  void done() { done_ = true; }

 private:
  std::string directory_;
  bool done_ = false;
};

}  // namespace

SigningKey SigningKey::create(const std::string& directory, const NewKey& key, TimePoint now) {
  check_user_id(key.user_id);
  if (key.valid_for && *key.valid_for < std::chrono::seconds(1))
    throw Error(Code::invalid, "a key cannot expire before it is made");
  detail::make_private_directory(directory);
  const InUse in_use(directory);
  Making making(directory);
  set_time(directory, now);
  {
    const detail::Agent agent(directory);
    const detail::Context context(directory);
    const auto seconds = key.valid_for ? std::chrono::floor<std::chrono::seconds>(*key.valid_for).count() : 0;
    detail::check(gpgme_op_createkey(
                      context.get(), key.user_id.c_str(), key.algorithm == Algorithm::ed25519 ? "ed25519" : "rsa4096",
                      0, static_cast<unsigned long>(seconds), nullptr,
                      GPGME_CREATE_SIGN | GPGME_CREATE_CERT | GPGME_CREATE_NOPASSWD | GPGME_CREATE_FORCE |
                          (key.valid_for ? 0U : static_cast<unsigned>(GPGME_CREATE_NOEXPIRE))),
                  "cannot make a key");
  }
  SigningKey out(directory);
  out.load();
  in_use.flush();
  making.done();
  return out;
}

SigningKey SigningKey::import(const std::string& directory, const crypto::Secret& secret_key, TimePoint now) {
  if (secret_key.size() > kLargestKeys) throw Error(Code::too_large, "a secret key is too large");
  if (!detail::has_secret_key(secret_key.bytes()))
    throw Error(Code::invalid, "this is no secret key").advise("gpg --export-secret-keys --armor KEY writes one");
  detail::make_private_directory(directory);
  std::optional<SigningKey> out;
  {
    const InUse in_use(directory);
    Making making(directory);
    set_time(directory, now);
    {
      const detail::Agent agent(directory);
      detail::import_keys(directory, secret_key.bytes(), "the secret key");
    }
    out.emplace(SigningKey(directory));
    out->load();
    out->check_usable(now);
    in_use.flush();
    making.done();
  }
  try {
    // One with a passphrase is taken and then of no use.
    out->detach_sign("a trial\n", now);
  } catch (Error& error) {
    const InUse in_use(directory);
    for (const auto& entry : os::list_directory(directory)) os::remove_tree(directory + "/" + entry.name);
    throw Error(Code::invalid, "this secret key cannot be used")
        .because(error.one_line())
        .because("a key that signs by itself has no passphrase")
        .advise("take it away first: gpg --change-passphrase KEY");
  }
  return *std::move(out);
}

SigningKey SigningKey::open(const std::string& directory) {
  if (!os::exists(directory + "/pubring.kbx"))
    throw Error(Code::not_found, fmt::format("there is no signing key in '{}'", directory));
  detail::make_private_directory(directory);
  SigningKey out(directory);
  out.load();
  return out;
}

void SigningKey::load() {
  auto keys = detail::list_keys(directory_);
  if (keys.size() != 1)
    throw Error(Code::invalid, fmt::format("'{}' is no signing key", directory_))
        .because(fmt::format("there are {} keys in it, and one is expected", keys.size()));
  key_ = std::move(keys.front());
  const detail::Output output;
  const detail::Context context(directory_);
  detail::check(gpgme_op_export(context.get(), key_.primary.fingerprint.c_str(), 0, output.get()),
                "cannot export a key");
  public_key_ = output.bytes();
}

void SigningKey::check_usable(TimePoint at) const {
  const auto refuse = [&](std::string why) {
    throw Error(Code::denied, fmt::format("the key {} ({}) cannot sign", key_.primary.fingerprint, key_.user_id))
        .because(std::move(why));
  };
  if (key_.primary.revoked) refuse("it was revoked");
  if (key_.primary.expires && *key_.primary.expires <= at)
    refuse(fmt::format("it expired on {}, and this is of {}", format_time(*key_.primary.expires), format_time(at)));
  if (key_.primary.created > at)
    refuse(fmt::format("it was made on {}, and this is of {}", format_time(key_.primary.created), format_time(at)));
}

std::string SigningKey::clearsign(std::string_view text, TimePoint at) const {
  check_clearsignable(text);
  std::string out = sign(text, at, true);
  if (split_clearsigned(out).content != text)
    throw Error(Code::internal, kCannotSign).because("gpg signed another text than the one it was given");
  return out;
}

std::string SigningKey::detach_sign(std::string_view bytes, TimePoint at) const {
  if (bytes.size() > kLargestSigned) throw Error(Code::too_large, kCannotSign).because("there are too many bytes");
  return sign(bytes, at, false);
}

std::string SigningKey::sign(std::string_view bytes, TimePoint at, bool clear) const {
  check_usable(at);
  const detail::Input input(bytes);
  const detail::Output output;
  const InUse in_use(directory_);
  set_time(directory_, at);
  const detail::Agent agent(directory_);
  const detail::Context context(directory_);
  detail::check(
      gpgme_op_sign(context.get(), input.get(), output.get(), clear ? GPGME_SIG_MODE_CLEAR : GPGME_SIG_MODE_DETACH),
      kCannotSign);
  const auto* result = gpgme_op_sign_result(context.get());
  if (!result || !result->signatures)
    throw Error(Code::internal, kCannotSign).because(fmt::format("gpg has no usable secret key in '{}'", directory_));
  return output.bytes();
}

}  // namespace underway::openpgp

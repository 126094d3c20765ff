#include "openpgp/detail/gpg.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::openpgp::detail {
namespace {

/// What holds in every home. Time is ours to judge (keys and signatures of another clock are told, not refused);
/// nothing is fetched, asked, started or remembered.
constexpr std::string_view kSettings =
    "batch\n"
    "no-tty\n"
    "no-greeting\n"
    "no-autostart\n"
    "disable-dirmngr\n"
    "no-auto-key-locate\n"
    "no-auto-key-retrieve\n"
    "no-random-seed-file\n"
    "no-auto-check-trustdb\n"
    "trust-model always\n"
    "ignore-time-conflict\n"
    "pinentry-mode loopback\n";

/// gpgme wants this once, before anything else. It also has SIGPIPE ignored, if nobody has said otherwise.
void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpgme_check_version(nullptr);
    if (const auto error = gpgme_engine_check_version(GPGME_PROTOCOL_OpenPGP))
      throw Error(Code::unsupported, "gpg cannot be used").because(error_text(error)).advise("apt-get install gnupg");
  });
}

KeyPart part_of(const gpgme_subkey_t& subkey) {
  KeyPart out{.fingerprint = subkey->fpr ? subkey->fpr : "", .revoked = subkey->revoked != 0};
  out.created = TimePoint(std::chrono::seconds(subkey->timestamp));
  if (subkey->expires > 0) out.expires = TimePoint(std::chrono::seconds(subkey->expires));
  return out;
}

}  // namespace

std::string error_text(gpgme_error_t error) {
  char text[256] = "";
  (void)gpgme_strerror_r(error, text, sizeof text);
  return text;
}

Error gpg_error(gpgme_error_t error, std::string what) {
  return Error(gpgme_err_code(error) == GPG_ERR_ENOSPC ? Code::exhausted : Code::internal, std::move(what))
      .because(fmt::format("gpg answers: {}", error_text(error)));
}

Input::Input(std::string_view bytes) : data_(nullptr, &gpgme_data_release) {
  initialize();
  gpgme_data_t data = nullptr;
  check(gpgme_data_new_from_mem(&data, bytes.data(), bytes.size(), 0), "cannot hand bytes to gpg");
  data_.reset(data);
}

Output::Output() : data_(nullptr, &gpgme_data_release) {
  initialize();
  gpgme_data_t data = nullptr;
  check(gpgme_data_new(&data), "cannot take bytes from gpg");
  data_.reset(data);
}

std::string Output::bytes() const {
  gpgme_data_seek(get(), 0, SEEK_SET);
  std::string out;
  char piece[16'384];
  for (ssize_t got; (got = gpgme_data_read(get(), piece, sizeof piece)) != 0;) {
    if (got < 0) throw errno_error(errno, "cannot read what gpg wrote");
    out.append(piece, static_cast<std::size_t>(got));
  }
  return out;
}

Context::Context(const std::string& home) : context_(nullptr, &gpgme_release) {
  initialize();
  gpgme_ctx_t context = nullptr;
  check(gpgme_new(&context), "cannot start gpg");
  context_.reset(context);
  check(gpgme_set_protocol(context, GPGME_PROTOCOL_OpenPGP), "cannot start gpg");
  check(gpgme_ctx_set_engine_info(context, GPGME_PROTOCOL_OpenPGP, nullptr, home.c_str()), "cannot start gpg");
  gpgme_set_offline(context, 1);
  gpgme_set_armor(context, 1);
  check(gpgme_set_pinentry_mode(context, GPGME_PINENTRY_MODE_LOOPBACK), "cannot start gpg");
}

void make_private_directory(const std::string& directory) {
  os::make_directories(directory, 0700);
  struct stat st{};
  if (::stat(directory.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", directory));
  if ((st.st_mode & 077) != 0 || st.st_uid != ::geteuid())
    throw Error(Code::denied, fmt::format("'{}' is no place for keys", directory))
        .because(fmt::format("its mode is {:04o}, and it belongs to user {}", st.st_mode & 07777, st.st_uid))
        .advise(fmt::format("chmod 0700 '{}', and let it belong to user {}", directory, ::geteuid()));
}

void write_settings(const std::string& home, std::string_view more) {
  os::write_file(home + "/gpg.conf", std::string(kSettings) + std::string(more), 0600, {}, os::Durability::cached);
}

std::vector<Key> list_keys(const std::string& home) {
  const Context context(home);
  constexpr const char* kWhat = "cannot list the keys of a keyring";
  check(gpgme_op_keylist_start(context.get(), nullptr, 0), kWhat);
  std::vector<Key> out;
  for (;;) {
    gpgme_key_t raw = nullptr;
    const auto error = gpgme_op_keylist_next(context.get(), &raw);
    if (gpgme_err_code(error) == GPG_ERR_EOF) return out;
    check(error, kWhat);
    const std::unique_ptr<_gpgme_key, decltype(&gpgme_key_unref)> key(raw, &gpgme_key_unref);
    if (!key->subkeys) continue;
    auto& added = out.emplace_back();
    added.primary = part_of(key->subkeys);
    if (key->revoked) added.primary.revoked = true;
    for (auto subkey = key->subkeys->next; subkey; subkey = subkey->next) added.subkeys.push_back(part_of(subkey));
    if (key->uids && key->uids->uid) added.user_id = key->uids->uid;
  }
}

std::size_t import_keys(const std::string& home, std::string_view bytes, const std::string& name) {
  const Input input(bytes);
  const Context context(home);
  const auto what = fmt::format("cannot take the keys of '{}'", name);
  if (const auto error = gpgme_op_import(context.get(), input.get())) {
    if (gpgme_err_code(error) == GPG_ERR_NO_DATA)
      throw Error(Code::invalid, what).because("there is no OpenPGP key in it");
    throw gpg_error(error, what);
  }
  const auto* result = gpgme_op_import_result(context.get());
  if (!result || result->considered == 0) throw Error(Code::invalid, what).because("there is no OpenPGP key in it");
  int taken = 0;
  for (auto status = result->imports; status; status = status->next) {
    if (gpgme_err_code(status->result) != GPG_ERR_NO_ERROR)
      throw Error(Code::invalid, what)
          .because(
              fmt::format("gpg refuses the key {}: {}", status->fpr ? status->fpr : "", error_text(status->result)));
    if (!(status->status & GPGME_IMPORT_SECRET)) ++taken;
  }
  if (taken < result->considered)
    throw Error(Code::invalid, what)
        .because(fmt::format("gpg takes {} of the {} keys in it: {} without a user id, {} of version 3", taken,
                             result->considered, result->no_user_id, result->skipped_v3_keys));
  return static_cast<std::size_t>(taken);
}

bool has_secret_key(std::string_view keys) {
  if (keys.find("-----BEGIN PGP PRIVATE KEY BLOCK-----") != std::string_view::npos) return true;
  if (keys.empty()) return false;
  const auto head = static_cast<std::uint8_t>(keys.front());
  if (!(head & 0x80)) return false;
  return (head & 0x40 ? head & 0x3F : head >> 2 & 0xF) == 5;  // RFC 4880, section 4.3: Secret-Key Packet
}

}  // namespace underway::openpgp::detail

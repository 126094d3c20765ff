#pragma once
/// @file
/// gpgme as owned values, and homes of gpg.

#include <gpgme.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "openpgp/keyring.hpp"

namespace underway::openpgp::detail {

/// In words; gpgme_strerror is not for several threads.
std::string error_text(gpgme_error_t error);
/// An answer of gpgme that is no success.
Error gpg_error(gpgme_error_t error, std::string what);
inline void check(gpgme_error_t error, const char* what) {
  if (error) throw gpg_error(error, what);
}

/// Bytes on their way to gpg; they must live as long as this.
class Input {
 public:
  explicit Input(std::string_view bytes);
  gpgme_data_t get() const { return data_.get(); }

 private:
  std::unique_ptr<gpgme_data, decltype(&gpgme_data_release)> data_;
};

/// Bytes that gpg writes.
class Output {
 public:
  Output();
  gpgme_data_t get() const { return data_.get(); }
  std::string bytes() const;

 private:
  std::unique_ptr<gpgme_data, decltype(&gpgme_data_release)> data_;
};

/// One conversation with a gpg of `home`. Its input and output must live longer. Thread: one.
class Context {
 public:
  explicit Context(const std::string& home);
  gpgme_ctx_t get() const { return context_.get(); }

 private:
  std::unique_ptr<gpgme_context, decltype(&gpgme_release)> context_;
};

/// Makes `directory` for its owner alone, with mode 0700. Errors: denied when it is there and others may enter it.
void make_private_directory(const std::string& directory);
/// Writes the settings of gpg for a home; `more` are further lines of gpg.conf.
void write_settings(const std::string& home, std::string_view more = {});
/// The keys of a home.
std::vector<Key> list_keys(const std::string& home);
/// Imports keys and returns how many. Errors: invalid when one of them is not taken.
std::size_t import_keys(const std::string& home, std::string_view bytes, const std::string& name);
/// Whether there is a secret key in a text of keys, armored or binary.
bool has_secret_key(std::string_view keys);

}  // namespace underway::openpgp::detail

#pragma once
/// @file
/// A directory for a test, and gpg and gpgv themselves in it, as strangers use them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "openpgp/keyring.hpp"
#include "openpgp/signing_key.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::openpgp {

/// 2020-09-13, when gpg's own clock shows much later: what is judged by that one instead is found out.
inline const TimePoint kNow{std::chrono::seconds(1'600'000'000)};
inline constexpr auto kDay = std::chrono::hours(24);

/// The error's text when `body` throws one.
template <class Body>
std::string failure_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.text();
  }
  return "no failure";
}

class OpenPgp : public testing::Test {
 protected:
  OpenPgp() {
    char name[] = "/tmp/underway-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    os::make_directories(at("home"), 0700);
    os::make_directories(at("user"), 0700);
    ::setenv("HOME", at("user").c_str(), 1);
    ::unsetenv("GNUPGHOME");
  }
  ~OpenPgp() override {
    // gpg's own agents of the strangers; ours are gone already.
    for (const auto& entry : os::list_directory(directory_))
      if (entry.name.starts_with("home")) shell("gpgconf --homedir " + at(entry.name) + " --kill all");
    EXPECT_TRUE(os::list_directory(at("user")).empty()) << "nothing touches the home of whoever runs this";
    os::remove_tree(directory_);
  }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }

  os::Output shell(const std::string& command) const {
    os::SpawnSpec spec{.argv = {"/bin/sh", "-c", command},
                       .env = {"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + at("user")},
                       .cwd = directory_};
    return os::run_program(spec, std::chrono::seconds(60));
  }
  /// What gpg writes; it succeeds.
  std::string gpg(const std::string& arguments, TimePoint when = kNow, const std::string& home = "home") const {
    const auto output = shell("gpg --homedir " + at(home) +
                              " --batch --no-tty --yes --pinentry-mode loopback --passphrase '' --faked-system-time " +
                              std::to_string(unix_seconds(when)) + "! --trust-model always " + arguments);
    EXPECT_TRUE(output.status.success()) << arguments << "\n" << output.err;
    return output.out;
  }
  /// Whether gpgv, which is what apt runs, believes it with a keyring of `keys`.
  bool gpgv(const std::string& keys, const std::string& arguments) const {
    os::write_file(at("gpgv.asc"), keys);
    shell("rm -f gpgv.gpg; gpg --homedir " + at("home") + " --dearmor -o gpgv.gpg gpgv.asc");
    return shell("gpgv --homedir " + at("home") + " --keyring ./gpgv.gpg " + arguments).status.success();
  }

  Keyring keyring(const std::string& keys) const {
    const std::vector<std::string> texts = {keys};
    return Keyring::of_texts(at("keyrings"), texts);
  }
  SigningKey signing_key(const std::string& name = "ours", std::optional<Duration> valid_for = {}) const {
    return SigningKey::create(at(name), {.user_id = name + " <" + name + "@example.com>", .valid_for = valid_for},
                              kNow);
  }
  std::string directory_;
};

}  // namespace underway::openpgp

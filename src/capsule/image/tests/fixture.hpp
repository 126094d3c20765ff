#pragma once
/// @file
/// A directory for a test, small trees, keys and images in it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "image/key.hpp"
#include "image/pack.hpp"
#include "os/file.hpp"

namespace underway::image {

inline const TimePoint kNow{std::chrono::seconds(1'780'000'000)};
inline constexpr auto kYear = std::chrono::hours(24 * 365);

class Images : public testing::Test {
 protected:
  Images() {
    char name[] = "/tmp/underway-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    trusted_ = {generate_key(at("ops.key"), "ops", kNow + kYear)};
  }
  ~Images() override { os::remove_tree(directory_); }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }
  PrivateKeyFile private_key(const std::string& name = "ops") const { return read_private_key(at(name + ".key")); }

  /// A small root with a file, a program, a link and a larger file that is hard to compress.
  std::string tree(const std::string& name = "tree") const {
    const std::string root = at(name);
    os::make_directories(root + "/etc", 0755);
    os::make_directories(root + "/usr/bin", 0755);
    os::write_file(root + "/etc/motd", "welcome\n");
    os::write_file(root + "/usr/bin/tool", "#!/bin/sh\n", 0755);
    std::string noise(1536 << 10, '\0');
    std::uint32_t state = 7;
    for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    os::write_file(root + "/usr/bin/large", noise, 0755);
    EXPECT_EQ(::symlink("tool", (root + "/usr/bin/other").c_str()), 0);
    return root;
  }

  static Manifest manifest(const std::string& name = "web", const std::string& version = "1.0") {
    Manifest out;
    out.name = name;
    out.version = version;
    out.architecture = "amd64";
    out.created = 1'700'000'000'000'000'000;
    return out;
  }

  /// A signed image, at `name`.capsule.
  std::string image(const std::string& name = "web", const std::string& version = "1.0") const {
    const auto key = private_key();
    const std::string root = tree("tree-of-" + name + version);
    os::write_file(root + "/etc/name", name + version);
    pack(root, manifest(name, version), at(name + ".capsule"), {.all_root = true, .key = &key});
    return at(name + ".capsule");
  }

  std::string directory_;
  std::vector<TrustedKey> trusted_;
};

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

}  // namespace underway::image

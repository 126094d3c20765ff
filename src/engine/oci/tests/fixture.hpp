#pragma once
/// @file
/// A directory for a test, and the error of what a test does.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::oci {

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

class InDirectory : public testing::Test {
 protected:
  InDirectory() {
    char name[] = "/tmp/underway-oci-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~InDirectory() override { os::remove_tree(directory_); }
  std::string at(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
};

}  // namespace underway::oci

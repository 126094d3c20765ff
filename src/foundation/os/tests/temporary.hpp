#pragma once
/// @file
/// A directory that lives as long as the test.
#include <cstdlib>
#include <string>

#include "os/file.hpp"

namespace underway::os {

class Temporary {
 public:
  Temporary() {
    char name[] = "/tmp/underway-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  Temporary(const Temporary&) = delete;
  ~Temporary() { remove_tree(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace underway::os

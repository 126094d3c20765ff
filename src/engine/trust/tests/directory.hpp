#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace underway::trust {

/// A directory of the test's own, removed at its end.
class Directory {
 public:
  Directory() {
    std::string pattern = "/tmp/underway-trust-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace underway::trust

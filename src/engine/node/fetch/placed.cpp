#include "node/fetch/placed.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.hpp"

namespace underway::node::fetch {

std::int64_t disk_bytes_of(int directory, const std::string& name) {
  struct stat status{};
  const bool there = ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  return there && status.st_nlink == 1 ? status.st_blocks * 512 : 0;  // stat(2)
}

Placed::~Placed() {
  if (kept_) return;
  for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) {
    try {
      take_back(*path);
    } catch (const Error& error) {
      // The first failure is what is told; this one says what it left behind.
      std::fprintf(stderr, "underway-fetch: '%s' stays: %s\n", path->c_str(), error.one_line().c_str());
    }
  }
}

void Placed::add(const std::string& path) {
  const auto plain = normalise(path);
  if (!plain) return;
  for (std::size_t slash = plain->find('/'); slash != std::string::npos; slash = plain->find('/', slash + 1))
    if (slash > below_.size()) paths_.insert(plain->substr(0, slash));
  if (!plain->empty()) paths_.insert(*plain);
}

void Placed::take_back(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  os::Fd parent;
  try {
    parent = root_.open(slash == std::string::npos ? "." : path.substr(0, slash), O_PATH | O_DIRECTORY);
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return;
    throw;
  }
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT) return;
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOTEMPTY || errno == EEXIST) return;
  throw errno_error(errno, "cannot remove it");
}

}  // namespace underway::node::fetch

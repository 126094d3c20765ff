#include "net/sysctl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

std::string path_of(const std::string& key) {
  if (!key.starts_with("net.") || key.find("..") != std::string::npos || key.find('\0') != std::string::npos) {
    throw Error(Code::invalid, fmt::format("'{}' is no setting of a network namespace", key))
        .because("these begin with 'net.'");
  }
  std::string path = "/proc/sys/";
  for (const char c : key) path += c == '.' ? '/' : c == '/' ? '.' : c;
  return path;
}

/// Below /proc/sys/net the kernel shows whoever opens a file his own namespace's.
void on_file(const Namespace& in, const std::string& key, int flags, const std::function<bool(int)>& work) {
  const auto path = path_of(key);
  in.run([&] {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC);
    const bool done = file >= 0 && work(file);
    const int problem = errno;
    if (file >= 0) ::close(file);
    if (!done) {
      throw errno_error(problem, fmt::format("cannot {} '{}' in network namespace '{}'",
                                             flags == O_WRONLY ? "set" : "read", key, in.label()));
    }
  });
}

}  // namespace

void set_sysctl(const Namespace& in, const std::string& key, const std::string& value) {
  on_file(in, key, O_WRONLY,
          [&](int file) { return ::write(file, value.data(), value.size()) == static_cast<ssize_t>(value.size()); });
}

std::string get_sysctl(const Namespace& in, const std::string& key) {
  std::string value(4096, '\0');
  on_file(in, key, O_RDONLY, [&](int file) {
    const auto size = ::read(file, value.data(), value.size());
    if (size < 0) return false;
    value.resize(static_cast<std::size_t>(size));
    return true;
  });
  while (value.ends_with('\n')) value.pop_back();
  return value;
}

}  // namespace underway::net

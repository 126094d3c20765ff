// Also part of the keeper program: libc only, no allocation.
#include "keeper/proc_files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "keeper/protocol.hpp"

namespace underway::keeper {

std::size_t read_small(const char* path, char* out, std::size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, out, size - 1);
  close(fd);
  const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
  out[length] = '\0';
  return length;
}

std::uint64_t start_time_of(std::int32_t pid) {
  char path[32] = "/proc/", text[1024];
  char digits[12];
  int n = sizeof digits;
  digits[--n] = '\0';
  for (std::int32_t rest = pid; rest > 0; rest /= 10) digits[--n] = static_cast<char>('0' + rest % 10);
  strcat(strcat(path, digits + n), "/stat");
  if (read_small(path, text, sizeof text) == 0) return 0;
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at != nullptr ? static_cast<std::uint64_t>(Field{at, 0, at, strspn(at, "0123456789")}.number()) : 0;
}

std::int32_t own_pid() {
  char text[16];
  const ssize_t n = readlink("/proc/self", text, sizeof text);
  return n > 0 ? static_cast<std::int32_t>(Field{text, 0, text, static_cast<std::size_t>(n)}.number()) : getpid();
}

void kill_listed(const char* path) {
  char text[4096];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t n = 0;
  std::int64_t number = 0;
  while ((n = read(fd, text, sizeof text)) > 0) {
    for (ssize_t i = 0; i < n; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        number = number * 10 + (text[i] - '0');
        continue;
      }
      if (number > 1 && number != getpid()) kill(static_cast<pid_t>(number), SIGKILL);
      number = 0;
    }
  }
  close(fd);
}

}  // namespace underway::keeper

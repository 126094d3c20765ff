#include "run/init/places.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace underway::run::init {
namespace {

constexpr int kBacklog = 8;
/// What is parsed points into it.
char spec_text[1 << 20];

}  // namespace

bool read_spec(Spec& spec) {
  const int fd = open(kSpecFile, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t size = 0;
  while (size < sizeof spec_text - 1) {
    const ssize_t n = read(fd, spec_text + size, sizeof spec_text - 1 - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  close(fd);
  return size < sizeof spec_text - 1 && parse_spec(spec_text, spec);
}

int open_control() {
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, kControlSocket);
  unlink(kControlSocket);
  // The directory's mode lets only root through.
  const bool open = listening >= 0 &&
                    bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                    chmod(kControlSocket, 0600) == 0 && listen(listening, kBacklog) == 0;
  return open ? listening : -1;
}

}  // namespace underway::run::init

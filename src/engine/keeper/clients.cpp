#include "keeper/clients.hpp"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

namespace underway::keeper {

void Clients::admit(const State& state) {
  const int client = accept4(kSocketFd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != 0 && peer.uid != geteuid())) {
    close(client);
    return;
  }
  int* slot = nullptr;
  for (int& candidate : clients_) {
    if (candidate < 0) slot = &candidate;
  }
  if (slot == nullptr) slot = &clients_[next_++ % kMost];
  if (*slot >= 0) close(*slot);
  *slot = client;
  tell(*slot, state);
}

void Clients::tell(const State& state) {
  for (int& client : clients_) {
    if (client >= 0) tell(client, state);
  }
}

void Clients::tell(int& client, const State& state) {
  char text[kMaxPacket];
  const std::size_t size = format_state(state, text, sizeof text);
  // A client that does not read is not waited for; it finds the file when it comes back.
  if (send(client, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) drop(client);
}

std::size_t Clients::receive(int place, char (&text)[kMaxPacket]) {
  const ssize_t n = recv(clients_[place], text, sizeof text, MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) drop(clients_[place]);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

void Clients::drop_all() {
  for (int& client : clients_) {
    if (client >= 0) drop(client);
  }
}

void Clients::drop(int& client) {
  close(client);
  client = -1;
}

}  // namespace underway::keeper

// The program of a Slurm job of two nodes: its ranks work on one number in turn, which goes to and fro between them on
// a TCP connection that is open all the time. A rank that hears anything but what it would have sent itself ends at
// once.
//
//   srun -N2 two_ranks PORT STOP RESULT
//
// The first rank listens where the step was launched. It ends the work when the file STOP is there, and each rank then
// writes the rounds and the number into RESULT.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

uint64_t mix(uint64_t x) {  // splitmix64, Vigna 2015
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

struct Message {
  uint64_t round = 0, number = 0, last = 0;
};

void pause_for(long milliseconds) {
  timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  while (nanosleep(&time, &time) != 0) {
  }
}

int fail(const char* what) {
  perror(what);
  return 1;
}

sockaddr_in place(const char* address, const char* port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<uint16_t>(atoi(port)));
  inet_pton(AF_INET, address, &out.sin_addr);
  return out;
}

int listen_for_one(const char* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto at = place("0.0.0.0", port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(listener, 1) != 0) return -1;
  return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
}

int connect_to(const char* address, const char* port) {
  const auto at = place(address, port);
  for (int tries = 0; tries < 300; ++tries) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return made;
    close(made);
    pause_for(100);
  }
  return -1;
}

bool tell(int connection, const Message& message) {
  return send(connection, &message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}
bool hear(int connection, Message& message) {
  return recv(connection, &message, sizeof message, MSG_WAITALL) == static_cast<ssize_t>(sizeof message);
}

}  // namespace

int main(int argc, char** argv) {
  const char* rank = getenv("SLURM_PROCID");
  const char* launched_at = getenv("SLURM_LAUNCH_NODE_IPADDR");
  if (argc != 4 || rank == nullptr || launched_at == nullptr) {
    fprintf(stderr, "srun two_ranks PORT STOP RESULT\n");
    return 2;
  }
  const bool first = strcmp(rank, "0") == 0;
  const int connection = first ? listen_for_one(argv[1]) : connect_to(launched_at, argv[1]);
  if (connection < 0) return fail("connection");
  uint64_t round = 0, number = 0;
  for (bool last = false; !last;) {
    // The one whose turn it is does a step and tells; the other one hears, and does the same step.
    const uint64_t next = mix(number);
    const bool turn = (round % 2 == 0) == first;
    Message message{round, next, first && access(argv[2], F_OK) == 0 ? 1U : 0U};
    if (turn && !tell(connection, message)) return fail("send");
    if (!turn && !hear(connection, message)) return fail("receive");
    if (message.round != round || message.number != next) {
      fprintf(stderr, "round %llu is not what it must be\n", static_cast<unsigned long long>(round));
      return 1;
    }
    // Only the first says so, in its own turn.
    last = message.last != 0 && round % 2 == 0;
    number = next;
    ++round;
    pause_for(20);
  }
  FILE* out = fopen(argv[3], "we");
  if (out == nullptr) return fail(argv[3]);
  fprintf(out, "%llu %016llx\n", static_cast<unsigned long long>(round), static_cast<unsigned long long>(number));
  return fclose(out) == 0 ? 0 : fail(argv[3]);
}

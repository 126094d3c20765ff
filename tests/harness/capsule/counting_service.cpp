/// @file
/// The service of capsules under test. It counts what it serves, and is sure that it is the only one.
///
///     counting_service PORT DIRECTORY SHARED [replace]
///
/// Each connection gets one line, "COUNT START": one more than the one before, which is in DIRECTORY before it is said
/// (with `replace` as slurmctld saves: in a new file, that is written out and takes the old one's place), and a number
/// that this process alone has. SHARED is seen by all hosts of a cluster: who serves holds a lock there,
/// and who finds it held writes a line to SHARED/doubled. On SIGTERM it ends when there is no SHARED/hold.stop.
/// Static, so that an image needs nothing else.

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

volatile sig_atomic_t told_to_end = 0;

void on_term(int) { told_to_end = 1; }

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Held until this process is gone, however it goes.
void be_the_only_one(const std::string& shared, unsigned long long start) {
  const int lock = ::open((shared + "/owner").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) fail("the lock");
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return;
  const int told = ::open((shared + "/doubled").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = std::to_string(start) + " was started while another one lived\n";
  if (told < 0 || ::write(told, line.data(), line.size()) < 0) fail("the list of those that were two");
}

int listen_on(int port) {
  const int out = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::setsockopt(out, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(out, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(out, 64) != 0)
    fail("the port");
  return out;
}

class Count {
 public:
  Count(const std::string& directory, bool replace)
      : directory_(directory),
        replace_(replace),
        fd_(::open((directory + "/count").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail("the count");
    char text[kWidth + 1] = {};
    if (::pread(fd_, text, kWidth, 0) > 0) value_ = std::atoll(text);
  }
  long long next() {
    char text[kWidth + 1];
    std::snprintf(text, sizeof text, "%020lld\n", ++value_);
    if (replace_) {
      replace(text);
      return value_;
    }
    if (::pwrite(fd_, text, kWidth, 0) != kWidth) fail("the count");
    return value_;
  }

 private:
  static constexpr int kWidth = 21;

  void replace(const char* text) const {
    const std::string to = directory_ + "/count", from = to + ".new";
    const int fd = ::open(from.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ::write(fd, text, kWidth) != kWidth || ::fsync(fd) != 0 || ::close(fd) != 0) fail("the new count");
    if (::rename(from.c_str(), to.c_str()) != 0) fail("the name of the count");
  }

  std::string directory_;
  bool replace_;
  int fd_;
  long long value_ = 0;
};

void serve(int listening, Count& count, unsigned long long start) {
  pollfd waiting{listening, POLLIN, 0};
  if (::poll(&waiting, 1, 20) <= 0) return;
  const int client = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%lld %llu\n", count.next(), start);
  static_cast<void>(::send(client, line, static_cast<std::size_t>(size), MSG_NOSIGNAL));
  ::close(client);
}

}  // namespace

int main(int argc, char** argv) {
  const bool replace = argc == 5 && std::strcmp(argv[4], "replace") == 0;
  if (argc != 4 && !replace) {
    std::fputs("usage: counting_service PORT DIRECTORY SHARED [replace]\n", stderr);
    return 2;
  }
  const std::string shared = argv[3];
  struct sigaction action{};
  action.sa_handler = on_term;
  ::sigaction(SIGTERM, &action, nullptr);
  unsigned long long start = 0;
  if (::getrandom(&start, sizeof start, 0) != sizeof start) fail("a number");
  be_the_only_one(shared, start);
  Count count(argv[2], replace);
  const int listening = listen_on(std::atoi(argv[1]));
  while (told_to_end == 0) serve(listening, count, start);
  while (::access((shared + "/hold.stop").c_str(), F_OK) == 0) ::usleep(5000);
  return 0;
}

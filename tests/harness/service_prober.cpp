/// @file
/// Asks services again and again, as their clients do, and writes how often they answered and how long they did not.
///
///     service_prober FILE NAME KIND ADDRESS PORT …      asks each every 100 ms until SIGTERM
///     service_prober serve PORT                         echoes what it gets, for the kind `echo`
///
/// FILE holds a line for each: "NAME asked failed longest_ms since_ms": the longest time between two answers, and that
/// since the last one. Kinds: tcp (it accepts), smtp (it greets), ntp, nfs (it answers a call), echo (one connection
/// that must live on).

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kEvery{100};
constexpr milliseconds kPatience{1000};
std::atomic<bool> ended = false;

class Socket {
 public:
  explicit Socket(int raw = -1) : raw_(raw) {}
  Socket(Socket&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Socket& operator=(Socket other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Socket() {
    if (raw_ >= 0) ::close(raw_);
  }
  int get() const { return raw_; }
  bool good() const { return raw_ >= 0; }

 private:
  int raw_;
};

struct Target {
  std::string name, kind;
  sockaddr_in address{};
  std::atomic<long long> asked = 0, failed = 0, longest = 0;
  std::atomic<Clock::rep> last = Clock::now().time_since_epoch().count();
};

bool ready(int fd, short events, milliseconds patience) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, static_cast<int>(patience.count())) == 1 && (one.revents & (events | POLLERR)) != 0;
}

Socket connect_to(const sockaddr_in& address, int type) {
  Socket out(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.good()) return out;
  sockaddr_in to = address;
  if (::connect(out.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return out;
  int error = 0;
  socklen_t size = sizeof error;
  if (errno != EINPROGRESS || !ready(out.get(), POLLOUT, kPatience) ||
      ::getsockopt(out.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    return Socket();
  }
  return out;
}

/// Sends `question` and has an answer of at least `least` bytes.
bool answers(int fd, const std::string& question, std::size_t least, milliseconds patience = kPatience) {
  if (!question.empty() && ::send(fd, question.data(), question.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, 1024> buffer;
  for (std::size_t have = 0; have < least;) {
    if (!ready(fd, POLLIN, patience)) return false;
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}

/// RFC 5905, section 7.3: version 4, client.
std::string ntp_question() { return std::string(1, '\x23') + std::string(47, '\0'); }

/// RFC 5531: a call of procedure 0 of program 100003 (NFS), version 4, in one record.
std::string nfs_question() {
  const std::array<std::uint32_t, 11> words{0x80000000U + 40, 1, 0, 2, 100003, 4, 0, 0, 0, 0, 0};
  std::string out;
  for (const auto word : words) {
    const std::uint32_t wire = htonl(word);
    out.append(reinterpret_cast<const char*>(&wire), sizeof wire);
  }
  return out;
}

/// Whether the service answered; `held` is a connection that lives from question to question.
bool ask(const Target& target, Socket& held) {
  if (target.kind == "echo") {
    if (!held.good()) held = connect_to(target.address, SOCK_STREAM);
    // Routers may take a while to fail over; that is a long answer, not a lost connection.
    return held.good() && answers(held.get(), "0123456789", 10, milliseconds(15000));
  }
  const Socket socket = connect_to(target.address, target.kind == "ntp" ? SOCK_DGRAM : SOCK_STREAM);
  if (!socket.good()) return false;
  if (target.kind == "smtp") return answers(socket.get(), "", 4);
  if (target.kind == "ntp") return answers(socket.get(), ntp_question(), 48);
  if (target.kind == "nfs") return answers(socket.get(), nfs_question(), 28);
  return true;
}

void keep_asking(Target& target) {
  Socket held;
  while (!ended) {
    const auto next = Clock::now() + kEvery;
    ++target.asked;
    if (ask(target, held)) {
      const auto now = Clock::now().time_since_epoch().count();
      const auto gap = std::chrono::duration_cast<milliseconds>(Clock::duration(now - target.last)).count();
      if (gap > target.longest) target.longest = gap;
      target.last = now;
    } else {
      ++target.failed;
    }
    std::this_thread::sleep_until(next);
  }
}

void write_readings(const std::string& path, const std::list<Target>& targets) {
  {
    std::ofstream out(path + ".new");
    for (const auto& target : targets) {
      const auto since = Clock::now().time_since_epoch() - Clock::duration(target.last);
      out << target.name << ' ' << target.asked << ' ' << target.failed << ' ' << target.longest << ' '
          << std::chrono::duration_cast<milliseconds>(since).count() << '\n';
    }
  }
  if (std::rename((path + ".new").c_str(), path.c_str()) != 0) std::perror(path.c_str());
}

void echo(Socket client) {
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::recv(client.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    if (::send(client.get(), buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) < 0) return;
  }
}

int serve(int port) {
  const Socket listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening.get(), 16) != 0) {
    std::perror("listen");
    return 1;
  }
  std::vector<std::jthread> clients;
  for (;;) {
    Socket client(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.good()) return 1;
    clients.emplace_back([held = std::move(client)]() mutable { echo(std::move(held)); });
  }
}

void on_term(int) { ended = true; }

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "serve") return serve(std::atoi(argv[2]));
  if (argc < 6 || (argc - 2) % 4 != 0) {
    std::fputs("usage: service_prober FILE NAME KIND ADDRESS PORT …\n", stderr);
    return 2;
  }
  ::signal(SIGTERM, on_term);
  std::list<Target> targets;
  for (int i = 2; i < argc; i += 4) {
    Target& target = targets.emplace_back();
    target.name = argv[i];
    target.kind = argv[i + 1];
    target.address.sin_family = AF_INET;
    target.address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[i + 3])));
    if (::inet_pton(AF_INET, argv[i + 2], &target.address.sin_addr) != 1) return 2;
  }
  {
    std::vector<std::jthread> threads;
    for (auto& target : targets) threads.emplace_back([&target] { keep_asking(target); });
    while (!ended) {
      std::this_thread::sleep_for(kEvery);
      write_readings(argv[1], targets);
    }
  }
  write_readings(argv[1], targets);
  return 0;
}

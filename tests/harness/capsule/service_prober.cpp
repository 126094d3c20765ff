/// @file
/// Asks services again and again, as their clients do, and writes how often they answered and how long they did not.
///
///     service_prober FILE EVERY_MS PATIENCE_MS NAME KIND ADDRESS PORT …
///                                                                asks each so often, and waits so long for an answer,
///                                                                until SIGTERM; SIGUSR1 begins a new measurement
///     service_prober serve PORT                                  echoes what it gets, for the kind `echo`
///     service_prober flood ADDRESS SIZE PORTS                    datagrams of SIZE bytes to PORTS ports in turn until
///                                                                SIGTERM; says how many
///
/// FILE holds a line for each: "NAME asked failed longest_ms since_ms late_ms measurement value fell returned": the
/// longest time between two answers in this measurement, and that since the last one; by how much the prober itself
/// woke too late at most, which is in no longest time; and the measurement's number, from 0. Kinds: tcp (it accepts),
/// held (it accepts within a minute), smtp (it greets), ntp, nfs (it answers a call), echo (one connection that must
/// live on), count (counting_service.cpp: its last count, how far a count was below an earlier one, and how often a
/// process answered after another one had).

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

milliseconds every{100};
milliseconds patience{5000};  ///< for one question (Prober)
std::atomic<bool> ended = false;
std::atomic<long long> measurement = 0;

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
  std::atomic<long long> asked = 0, failed = 0, longest = 0, late = 0;
  std::atomic<Clock::rep> last = Clock::now().time_since_epoch().count();
  std::atomic<long long> value = 0, fell = 0, returned = 0;
  std::vector<unsigned long long> starts;  ///< of those that answered, the last one at the end
  std::mutex measuring;                    ///< no gap of the measurement before comes after its end
};

bool ready(int fd, short events, milliseconds limit) {
  pollfd waiting{fd, events, 0};
  return ::poll(&waiting, 1, static_cast<int>(limit.count())) == 1 && (waiting.revents & (events | POLLERR)) != 0;
}

Socket connect_to(const sockaddr_in& address, int type, milliseconds limit = patience) {
  Socket out(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.good()) return out;
  sockaddr_in to = address;
  if (::connect(out.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return out;
  int error = 0;
  socklen_t size = sizeof error;
  if (errno != EINPROGRESS || !ready(out.get(), POLLOUT, limit) ||
      ::getsockopt(out.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    return Socket();
  }
  return out;
}

/// Sends `question` and has an answer of at least `least` bytes.
bool answers(int fd, const std::string& question, std::size_t least, milliseconds limit = patience) {
  if (!question.empty() && ::send(fd, question.data(), question.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, 1024> buffer;
  for (std::size_t have = 0; have < least;) {
    if (!ready(fd, POLLIN, limit)) return false;
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

/// Up to the end of the line.
std::string line_from(int fd) {
  std::string out;
  char byte = 0;
  while (out.size() < 100 && ready(fd, POLLIN, patience) && ::recv(fd, &byte, 1, 0) == 1 && byte != '\n') out += byte;
  return byte == '\n' ? out : "";
}

/// "COUNT START"
bool count(Target& target, int fd) {
  const std::string line = line_from(fd);
  long long value = 0;
  unsigned long long start = 0;
  if (std::sscanf(line.c_str(), "%lld %llu", &value, &start) != 2) return false;
  target.fell = std::max<long long>(target.fell, target.value - value + 1);
  target.value = value;
  auto& starts = target.starts;
  if (!starts.empty() && starts.back() == start) return true;
  if (std::find(starts.begin(), starts.end(), start) != starts.end()) ++target.returned;
  starts.push_back(start);
  return true;
}

/// Whether the service answered; `held` is a connection that lives from question to question.
bool ask(Target& target, Socket& held) {
  if (target.kind == "echo") {
    if (!held.good()) held = connect_to(target.address, SOCK_STREAM);
    // Routers may take a while to fail over; that is a long answer, not a lost connection.
    return held.good() && answers(held.get(), "0123456789", 10, milliseconds(15000));
  }
  if (target.kind == "held") return connect_to(target.address, SOCK_STREAM, milliseconds(60000)).good();
  const Socket socket = connect_to(target.address, target.kind == "ntp" ? SOCK_DGRAM : SOCK_STREAM);
  if (!socket.good()) return false;
  if (target.kind == "count") return count(target, socket.get());
  if (target.kind == "smtp") return answers(socket.get(), "", 4);
  if (target.kind == "ntp") return answers(socket.get(), ntp_question(), 48);
  if (target.kind == "nfs") return answers(socket.get(), nfs_question(), 28);
  return true;
}

/// How much later than at `due` it is when this thread has a processor again. A question that took long leaves nothing
/// to sleep, and is not late.
Clock::duration sleep_until(Clock::time_point due) {
  due = std::max(due, Clock::now());
  std::this_thread::sleep_until(due);
  return Clock::now() - due;
}

/// The service has answered: the time since it did before, but for `waited`, in which nobody asked it.
void note_answer(Target& target, Clock::duration waited) {
  const std::lock_guard lock(target.measuring);
  const auto now = Clock::now().time_since_epoch();
  const auto gap = now - Clock::duration(target.last) - waited;
  target.longest = std::max<long long>(target.longest, std::chrono::duration_cast<milliseconds>(gap).count());
  target.last = now.count();
}

void note_late(Target& target, Clock::duration late) {
  const std::lock_guard lock(target.measuring);
  target.late = std::max<long long>(target.late, std::chrono::duration_cast<milliseconds>(late).count());
}

void begin_measurement(std::list<Target>& targets) {
  for (auto& target : targets) {
    const std::lock_guard lock(target.measuring);
    target.longest = target.late = 0;
  }
}

void keep_asking(Target& target) {
  Socket held;
  // Since the last answer. Between two questions without an answer a service was away, whoever was late.
  Clock::duration waited{0}, late{0};
  bool away = false;
  while (!ended) {
    const auto next = Clock::now() + every;
    ++target.asked;
    if (ask(target, held)) {
      note_answer(target, waited + late);
      waited = {};
      away = false;
    } else {
      ++target.failed;
      if (!away) waited += late;
      away = true;
    }
    late = sleep_until(next);
    note_late(target, late);
  }
}

void write_readings(const std::string& path, const std::list<Target>& targets, long long number) {
  {
    std::ofstream out(path + ".new");
    for (const auto& target : targets) {
      const auto since = Clock::now().time_since_epoch() - Clock::duration(target.last);
      out << target.name << ' ' << target.asked << ' ' << target.failed << ' ' << target.longest << ' '
          << std::chrono::duration_cast<milliseconds>(since).count() << ' ' << target.late << ' ' << number << ' '
          << target.value << ' ' << target.fell << ' ' << target.returned << '\n';
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

/// Each port is a flow of its own to whoever keeps track of them.
int flood(const char* to, std::size_t size, int ports) {
  constexpr int kFirst = 10000;
  const Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (::inet_pton(AF_INET, to, &address.sin_addr) != 1) return 2;
  // Datagrams to one port leave by the dozen (udp(7), UDP_SEGMENT): one by one, a busy processor sends no flood.
  const int batch = ports == 1 ? static_cast<int>(60000 / size) : 1;
  const int segment = static_cast<int>(size);
  if (batch > 1 && ::setsockopt(socket.get(), SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) return 2;
  const std::string bytes(size * static_cast<std::size_t>(batch), 'x');
  long long sent = 0;
  for (int next = 0; !ended; next = (next + 1) % ports) {
    address.sin_port = htons(static_cast<std::uint16_t>(kFirst + next));
    if (::sendto(socket.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&address), sizeof address) >
        0)
      sent += batch;
  }
  std::printf("%lld\n", sent);
  return 0;
}

void on_term(int) { ended = true; }
void on_usr1(int) { ++measurement; }

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "serve") return serve(std::atoi(argv[2]));
  if (argc == 5 && std::string(argv[1]) == "flood") {
    ::signal(SIGTERM, on_term);
    return flood(argv[2], static_cast<std::size_t>(std::atoi(argv[3])), std::atoi(argv[4]));
  }
  if (argc < 8 || (argc - 4) % 4 != 0) {
    std::fputs("usage: service_prober FILE EVERY_MS PATIENCE_MS NAME KIND ADDRESS PORT …\n", stderr);
    return 2;
  }
  every = milliseconds(std::atoi(argv[2]));
  patience = milliseconds(std::atoi(argv[3]));
  ::signal(SIGTERM, on_term);
  ::signal(SIGUSR1, on_usr1);
  std::list<Target> targets;
  for (int i = 4; i < argc; i += 4) {
    Target& target = targets.emplace_back();
    target.name = argv[i];
    target.kind = argv[i + 1];
    target.address.sin_family = AF_INET;
    target.address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[i + 3])));
    if (::inet_pton(AF_INET, argv[i + 2], &target.address.sin_addr) != 1) return 2;
  }
  {
    // SIGUSR1 is this thread's: it would end the wait for an answer in another.
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::vector<std::jthread> threads;
    for (auto& target : targets) threads.emplace_back([&target] { keep_asking(target); });
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    for (long long number = 0; !ended;) {
      std::this_thread::sleep_for(milliseconds(100));
      if (number != measurement) begin_measurement(targets);
      number = measurement;
      write_readings(argv[1], targets, number);
    }
  }
  write_readings(argv[1], targets, measurement);
  return 0;
}

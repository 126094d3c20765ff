// How many packets of a capture file a core folds into flows in a second of its time. The capture is made here: the mix
// of a management network of 450 nodes in the order of time, cut to 256 bytes a packet as tcpdump -s 256 does, and for
// comparison one in which every packet is a new conversation.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "net/capture_file.hpp"
#include "traffic/reading.hpp"

namespace {

using namespace underway;

constexpr int kNodes = 450;
constexpr int kPackets = 4'000'000;
constexpr std::uint32_t kSnap = 256;

/// Writes frames of a fixed shape: what matters to the reader is their sizes and their addresses.
class Writer {
 public:
  explicit Writer(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
    const std::uint32_t header[6] = {0xa1b2'3c4d, 0x0004'0002, 0, 0, kSnap, 1};
    std::fwrite(header, sizeof header, 1, file_);
  }
  ~Writer() { std::fclose(file_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void packet(std::uint32_t from, std::uint16_t port, std::uint32_t to, std::uint16_t to_port, bool tcp,
              std::uint32_t payload, std::uint8_t flags = 0x10) {
    std::uint8_t frame[kSnap] = {};
    const std::uint32_t transport = tcp ? 32 : 8;
    const std::uint32_t length = 14 + 20 + transport + payload;
    const auto put16 = [&](std::size_t at, std::uint32_t value) {
      frame[at] = static_cast<std::uint8_t>(value >> 8U);
      frame[at + 1] = static_cast<std::uint8_t>(value);
    };
    const auto put32 = [&](std::size_t at, std::uint32_t value) {
      put16(at, value >> 16U);
      put16(at + 2, value & 0xffffU);
    };
    put16(0, 0x0200);
    put32(2, to);
    put16(6, 0x0200);
    put32(8, from);
    put16(12, 0x0800);
    frame[14] = 0x45;
    put16(16, length - 14);
    frame[22] = 64;
    frame[23] = tcp ? 6 : 17;
    put32(26, from);
    put32(30, to);
    put16(34, port);
    put16(36, to_port);
    if (tcp) {
      frame[46] = 0x80;  // 32 bytes: with the timestamps that every Linux sends
      frame[47] = flags;
    } else {
      put16(38, 8 + payload);
    }
    const std::uint32_t captured = std::min(length, kSnap);
    const std::uint32_t header[4] = {static_cast<std::uint32_t>(time_ / 1'000'000'000),
                                     static_cast<std::uint32_t>(time_ % 1'000'000'000), captured, length};
    std::fwrite(header, sizeof header, 1, file_);
    std::fwrite(frame, captured, 1, file_);
    time_ += 20'000;
    ++count_;
  }
  int count() const { return count_; }

 private:
  std::FILE* file_;
  std::uint64_t time_ = 1'700'000'000'000'000'000;
  int count_ = 0;
};

constexpr std::uint32_t kServer = 0x0a01'0001;
std::uint32_t node(unsigned index) { return 0x0a01'0100 + index; }

/// A connection that opens, says `rounds` questions with answers of `answer` bytes, and closes.
void connection(Writer& out, std::uint32_t client, std::uint16_t port, std::uint32_t server, std::uint16_t to,
                int rounds, std::uint32_t answer) {
  out.packet(client, port, server, to, true, 0, 0x02);
  out.packet(server, to, client, port, true, 0, 0x12);
  for (int i = 0; i < rounds; ++i) {
    out.packet(client, port, server, to, true, 120);
    for (std::uint32_t left = answer; left > 0; left -= std::min(left, 1448U))
      out.packet(server, to, client, port, true, std::min(left, 1448U));
  }
  out.packet(client, port, server, to, true, 0, 0x11);
  out.packet(server, to, client, port, true, 0, 0x11);
}

/// NFS 40 %, file synchronisation and images over HTTP 25 %, Slurm 15 %, syslog 10 %, gmond, NTP and DNS the rest.
void write_mix(const std::string& path) {
  Writer out(path);
  std::mt19937 random(450);
  std::uint16_t ephemeral = 32'768;
  while (out.count() < kPackets) {
    const std::uint32_t who = node(random() % kNodes);
    const auto port = static_cast<std::uint16_t>(ephemeral = ephemeral >= 60'000 ? 32'768 : ephemeral + 1);
    const unsigned kind = random() % 100;
    if (kind < 45) {
      for (int i = 0; i < 8; ++i) {
        out.packet(who, static_cast<std::uint16_t>(700 + who % 300), kServer, 2049, true, 180);
        out.packet(kServer, 2049, who, static_cast<std::uint16_t>(700 + who % 300), true, i == 0 ? 1448 : 200);
      }
    } else if (kind < 58) {
      connection(out, who, port, kServer, 9873, 1, 20'000);
    } else if (kind < 72) {
      connection(out, kServer, port, who, 6818, 1, 300);
    } else if (kind < 76) {
      connection(out, who, port, kServer, 6817, 1, 300);
    } else if (kind < 90) {
      for (int i = 0; i < 6; ++i)
        out.packet(who, static_cast<std::uint16_t>(40'000 + who % 1000), kServer, 514, true, 160);
    } else {
      const std::uint16_t to = kind < 94 ? 8649 : kind < 97 ? 123 : 53;
      out.packet(who, port, kServer, to, false, 48);
      out.packet(kServer, to, who, port, false, 48);
    }
  }
}

void write_storm(const std::string& path) {
  Writer out(path);
  std::mt19937 random(1);
  while (out.count() < kPackets / 2)
    out.packet(0x0a02'0000 + random() % 65'536, static_cast<std::uint16_t>(random()), kServer,
               static_cast<std::uint16_t>(random() % 1024), true, 0, 0x02);
}

/// Of this process's one thread, the kernel's part included: what others do on the machine does not count.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// Reads the file, and the best of five runs counts; the file is in the page cache after the first.
template <class Run>
void measure(const char* what, const std::string& path, const Run& run) {
  double best = 1e9;
  std::int64_t packets = 0;
  for (int i = 0; i < 5; ++i) {
    const double began = processor_seconds();
    packets = run(path);
    best = std::min(best, processor_seconds() - began);
  }
  fmt::print("{:<44} {:6.2f} million packets/s  {:5.0f} MB/s  ({} packets)\n", what,
             static_cast<double>(packets) / best / 1e6,
             static_cast<double>(std::filesystem::file_size(path)) / best / 1e6, packets);
  std::fflush(stdout);
}

std::int64_t only_read(const std::string& path) {
  auto file = net::CaptureFile::open(path);
  std::array<net::Packet, 256> batch;
  std::int64_t packets = 0;
  while (const std::size_t count = file.next(batch)) packets += static_cast<std::int64_t>(count);
  return packets;
}

std::int64_t survey_of(const std::string& path) { return traffic::read_traffic({path}, {}).packets; }

/// Ten gigabytes that are nowhere: the mix again and again, through a pipe.
std::int64_t survey_of_pipe(const std::string& mix) {
  auto pipe = os::open_pipe();
  const pid_t writer = ::fork();
  if (writer == 0) {
    pipe.read.reset();
    ::signal(SIGPIPE, SIG_DFL);
    const os::Fd file = os::open_file(mix, O_RDONLY);
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(mix));
    for (std::int64_t sent = 0; sent < 10'000'000'000;) {
      off_t at = sent == 0 ? 0 : 24;  // one header
      while (at < size) {
        const ssize_t went = ::sendfile(pipe.write.get(), file.get(), &at, 1U << 20);
        if (went <= 0) ::_exit(1);
        sent += went;
      }
    }
    ::_exit(0);
  }
  pipe.write.reset();
  const std::int64_t packets = survey_of(fmt::format("/dev/fd/{}", pipe.read.get()));
  int status = 0;
  ::waitpid(writer, &status, 0);
  return status == 0 ? packets : -1;
}

double peak_mebibytes() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

}  // namespace

int main() {
  std::string directory = "/tmp/survey_bench.XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  const std::string mix = directory + "/mix.pcap";
  const std::string storm = directory + "/storm.pcap";
  write_mix(mix);
  write_storm(storm);
  measure("reader alone, 450 nodes", mix, only_read);
  measure("survey, 450 nodes", mix, survey_of);
  const double began = processor_seconds();
  const std::int64_t packets = survey_of_pipe(mix);
  const double took = processor_seconds() - began;
  fmt::print("{:<44} {:6.2f} million packets/s  ({} packets)\n{:<44} {:6.1f} MiB\n", "survey, 10 GB through a pipe",
             static_cast<double>(packets) / took / 1e6, packets, "memory at most until here", peak_mebibytes());
  measure("survey, every packet a new conversation", storm, survey_of);
  fmt::print("{:<44} {:6.1f} MiB\n", "memory at most", peak_mebibytes());
  std::filesystem::remove_all(directory);
  return 0;
}

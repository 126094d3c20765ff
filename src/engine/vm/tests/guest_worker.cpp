// The program that machines in tests run, as their first process: it knows nothing of being suspended or moved. It
// holds an open file, 16 MiB of memory whose sum it knows (or `memory=MIB` of the kernel's command line), and a TCP
// connection on which it counts:
//   next       counts one, writes "<count> <sum>" into the file and answers with that
//   check      reads file and memory from the beginning: "ok <count>", or what is wrong
//   boot       the kernel's boot id
//   reboot     at once, as a crash would
//   line PATH  the first line of a file
//   address    eth0's
//   pci V D    how many devices of this vendor and kind there are
//   random     what the kernel gives for random, in hexadecimal
//   time       seconds since the epoch
// On the virtio-serial port it answers the few questions of a guest agent that are asked, and the power button ends it.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

size_t words = (16U << 20) / sizeof(uint64_t);
constexpr int kPort = 7000;

uint64_t mix(uint64_t x) {  // splitmix64, Vigna 2015
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

struct Work {
  uint64_t* memory = nullptr;
  uint64_t memory_sum = 0;
  uint64_t count = 0, sum = 0;
  int file = -1;

  void begin() {
    char told[1024] = {};
    if (FILE* in = fopen("/proc/cmdline", "re")) {
      if (fgets(told, sizeof told, in) != nullptr) {
        const char* word = strstr(told, "memory=");
        if (word != nullptr && atoi(word + 7) > 0)
          words = (static_cast<size_t>(atoi(word + 7)) << 20) / sizeof(uint64_t);
      }
      fclose(in);
    }
    memory = static_cast<uint64_t*>(
        mmap(nullptr, words * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t i = 0; i < words; ++i) {
      memory[i] = mix(i);
      memory_sum ^= memory[i];
    }
    file = open("/data/log", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    char line[64];
    // A boot begins where the file ends.
    for (FILE* old = fopen("/data/log", "r"); old != nullptr; old = nullptr) {
      while (fgets(line, sizeof line, old) != nullptr) sscanf(line, "%lu %lx", &count, &sum);
      fclose(old);
    }
  }

  void next(char* answer, size_t size) {
    ++count;
    sum = mix(sum ^ count);
    uint64_t& word = memory[mix(count) % words];
    memory_sum ^= word;
    word = sum;
    memory_sum ^= word;
    snprintf(answer, size, "%lu %lx\n", count, sum);
    if (write(file, answer, strlen(answer)) < 0) snprintf(answer, size, "cannot write: %s\n", strerror(errno));
    fsync(file);
  }

  void check(char* answer, size_t size) const {
    uint64_t found = 0;
    for (size_t i = 0; i < words; ++i) found ^= memory[i];
    if (found != memory_sum) {
      snprintf(answer, size, "memory is damaged\n");
      return;
    }
    uint64_t lines = 0, expected = 0, at = 0, said = 0;
    FILE* in = fopen("/data/log", "r");
    char line[64];
    while (in != nullptr && fgets(line, sizeof line, in) != nullptr) {
      ++lines;
      expected = mix(expected ^ lines);
      if (sscanf(line, "%lu %lx", &at, &said) != 2 || at != lines || said != expected) {
        snprintf(answer, size, "the file is wrong in line %lu\n", lines);
        fclose(in);
        return;
      }
    }
    if (in != nullptr) fclose(in);
    if (lines != count)
      snprintf(answer, size, "the file has %lu lines and not %lu\n", lines, count);
    else
      snprintf(answer, size, "ok %lu\n", count);
  }
};

void boot_id(char* out, size_t size) {
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t n = read(fd, out, size - 1);
  out[n > 0 ? n : 0] = '\0';
  close(fd);
}

void shut_down() {
  sync();
  reboot(RB_POWER_OFF);
}

void first_line(const char* path, char* answer, size_t size) {
  snprintf(answer, size, "none: %s\n", strerror(errno));
  FILE* in = fopen(path, "re");
  if (in == nullptr) return;
  if (fgets(answer, static_cast<int>(size - 1), in) == nullptr) snprintf(answer, size, "empty\n");
  if (strchr(answer, '\n') == nullptr) strcat(answer, "\n");
  fclose(in);
}

void count_devices(const char* wanted, char* answer, size_t size) {
  unsigned vendor = 0, kind = 0, count = 0, word = 0;
  sscanf(wanted, "%x %x", &vendor, &kind);
  DIR* all = opendir("/sys/bus/pci/devices");
  while (const dirent* entry = all != nullptr ? readdir(all) : nullptr) {
    const unsigned expected[] = {vendor, kind};
    unsigned equal = 0;
    for (int i = 0; i < 2; ++i) {
      char path[512], text[32];
      snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", entry->d_name, i == 0 ? "vendor" : "device");
      FILE* in = fopen(path, "re");
      if (in == nullptr) break;
      if (fgets(text, sizeof text, in) != nullptr && sscanf(text, "%x", &word) == 1 && word == expected[i]) ++equal;
      fclose(in);
    }
    if (equal == 2) ++count;
  }
  if (all != nullptr) closedir(all);
  snprintf(answer, size, "%u\n", count);
}

void own_address(char* answer, size_t size) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  strcpy(request.ifr_name, "eth0");
  sockaddr_in address{};
  if (ioctl(fd, SIOCGIFADDR, &request) == 0) memcpy(&address, &request.ifr_addr, sizeof address);
  char text[INET_ADDRSTRLEN];
  snprintf(answer, size, "%s\n", inet_ntop(AF_INET, &address.sin_addr, text, sizeof text));
  close(fd);
}

void draw(char* answer, size_t size) {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return;
  for (size_t i = 0; i < sizeof bytes; ++i)
    snprintf(answer + 2 * i, size - 2 * i, "%02x%s", bytes[i], i == 15 ? "\n" : "");
}

void answer_tcp(Work& work, int fd, const char* line) {
  char answer[512] = "?\n";
  if (strcmp(line, "next") == 0) work.next(answer, sizeof answer);
  if (strcmp(line, "check") == 0) work.check(answer, sizeof answer);
  if (strcmp(line, "boot") == 0) boot_id(answer, sizeof answer);
  if (strcmp(line, "reboot") == 0) reboot(RB_AUTOBOOT);
  if (strncmp(line, "line ", 5) == 0) first_line(line + 5, answer, sizeof answer);
  if (strcmp(line, "address") == 0) own_address(answer, sizeof answer);
  if (strncmp(line, "pci ", 4) == 0) count_devices(line + 4, answer, sizeof answer);
  if (strcmp(line, "random") == 0) draw(answer, sizeof answer);
  if (strcmp(line, "time") == 0) snprintf(answer, sizeof answer, "%ld\n", static_cast<long>(time(nullptr)));
  if (write(fd, answer, strlen(answer)) < 0) return;
}

void base64(const char* text, char* out) {
  static const char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t size = strlen(text);
  for (size_t i = 0; i < size; i += 3) {
    const auto byte = [&](size_t at) { return at < size ? static_cast<unsigned char>(text[at]) : 0U; };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    *out++ = kLetters[group >> 18 & 63];
    *out++ = kLetters[group >> 12 & 63];
    *out++ = i + 1 < size ? kLetters[group >> 6 & 63] : '=';
    *out++ = i + 2 < size ? kLetters[group & 63] : '=';
  }
  *out = '\0';
}

void answer_agent(int fd, const char* line) {
  char answer[256] = "{\"return\": {}}\n";
  if (strstr(line, "\"guest-sync\"") != nullptr) {
    const char* id = strstr(line, "\"id\":");
    snprintf(answer, sizeof answer, "{\"return\": %lld}\n", id != nullptr ? atoll(id + 5) : 0LL);
  } else if (strstr(line, "\"guest-file-open\"") != nullptr) {
    snprintf(answer, sizeof answer, "{\"return\": 1000}\n");
  } else if (strstr(line, "\"guest-file-read\"") != nullptr) {
    char id[64], coded[128];
    boot_id(id, sizeof id);
    base64(id, coded);
    snprintf(answer, sizeof answer, "{\"return\": {\"count\": 37, \"buf-b64\": \"%s\", \"eof\": true}}\n", coded);
  } else if (strstr(line, "\"guest-shutdown\"") != nullptr) {
    puts("guest: told by its agent's port to shut down");
    shut_down();
  } else if (line[0] == '\0') {
    return;
  }
  // A question may be here before the kernel has heard that somebody is at the port's other end.
  for (int left = 1000; left > 0 && write(fd, answer, strlen(answer)) < 0 && errno == EAGAIN; --left) usleep(10000);
}

struct Source {
  enum Kind { listener, connection, agent, button } kind;
  int fd;
  char line[1024];
  size_t used;
};

constexpr size_t kMost = 16;
Source sources[kMost];
size_t count_of_sources = 0;

void add(Source::Kind kind, int fd) {
  if (fd < 0 || count_of_sources == kMost) return;
  sources[count_of_sources++] = {kind, fd, {}, 0};
}

/// A device whose node has one of these names' first letters.
int open_first(const char* directory, const char* prefix) {
  DIR* all = opendir(directory);
  if (all == nullptr) return -1;
  char path[512] = {};
  while (const dirent* entry = readdir(all)) {
    if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
      snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
  }
  closedir(all);
  return path[0] != '\0' ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
}

int listen_here() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd, 8) != 0) return -1;
  return fd;
}

/// False when the other side has gone.
bool take_lines(Work& work, Source& source) {
  const ssize_t n = read(source.fd, source.line + source.used, sizeof source.line - source.used - 1);
  if (n <= 0 && source.kind == Source::agent) {
    usleep(10000);  // nobody is at its other end, which to poll is something to read
    return true;
  }
  if (n <= 0) return false;
  source.used += static_cast<size_t>(n);
  source.line[source.used] = '\0';
  char* begin = source.line;
  while (char* end = strchr(begin, '\n')) {
    *end = '\0';
    if (source.kind == Source::agent)
      answer_agent(source.fd, begin);
    else
      answer_tcp(work, source.fd, begin);
    begin = end + 1;
  }
  source.used = strlen(begin);
  memmove(source.line, begin, source.used + 1);
  if (source.used == sizeof source.line - 1) source.used = 0;
  return true;
}

void press(int fd) {
  input_event event{};
  while (read(fd, &event, sizeof event) == sizeof event) {
    if (event.type == EV_KEY && event.code == KEY_POWER && event.value == 1) {
      puts("guest: its power button was pressed");
      shut_down();
    }
  }
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  static Work work;
  work.begin();
  add(Source::listener, listen_here());
  add(Source::agent, open_first("/dev", "vport"));
  for (int i = 0; i < 4; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/dev/input/event%d", i);
    add(Source::button, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  puts("guest: ready");
  for (;;) {
    pollfd wait[kMost];
    for (size_t i = 0; i < count_of_sources; ++i) wait[i] = {sources[i].fd, POLLIN, 0};
    if (poll(wait, count_of_sources, -1) < 0) continue;
    for (size_t i = count_of_sources; i-- > 0;) {
      if (wait[i].revents == 0) continue;
      Source& source = sources[i];
      if (source.kind == Source::listener) {
        add(Source::connection, accept4(source.fd, nullptr, nullptr, SOCK_CLOEXEC));
      } else if (source.kind == Source::button) {
        press(source.fd);
      } else if (!take_lines(work, source)) {
        close(source.fd);
        source = sources[--count_of_sources];
      }
    }
  }
}

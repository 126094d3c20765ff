// Makes the guest that it runs in another machine than the one whose memory it woke with. It is brought there and run
// by the guest agent, reads a line for each part and answers each with "ok <part>", "none <part>: …" (this guest has
// no such thing) or "failed <part>: …". Static, the kernel alone is asked: what an image has, or has not, does not
// matter, but for ssh-keygen, which only images need that have an sshd.
//   seed HEX              into the kernel's generator, which then draws anew
//   time NANOSECONDS      the clock
//   hostname NAME · machine-id HEX
//   nic OLD NEW ADDRESS   hardware address, and "10.0.0.7/24" or "-"; routes by a gateway of its network stay
//   ssh-keys              the host's are drawn anew, of the kinds that it has, and an sshd is told
// Source: random(4) for RNDADDENTROPY, drivers/char/random.c (6.1) for RNDRESEEDCRNG, netdevice(7), machine-id(5).
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

void ok(const char* part) { printf("ok %s\n", part); }
void failed(const char* part, const char* what) { printf("failed %s: %s: %s\n", part, what, strerror(errno)); }

/// The whole file, in place. False with errno.
bool put(const char* path, const char* text, mode_t mode) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return false;
  const size_t size = strlen(text);
  const bool done = write(fd, text, size) == static_cast<ssize_t>(size) && fsync(fd) == 0;
  return close(fd) == 0 && done;
}

bool there(const char* path) { return access(path, F_OK) == 0; }

void seed(const char* hexadecimal) {
  struct {
    int entropy_count = 0;  // nothing is credited: it is mixed in, whoever thinks how much of it
    int buf_size = 0;
    unsigned char buf[64] = {};
  } pool;
  static_assert(sizeof(rand_pool_info) == 2 * sizeof(int));
  unsigned byte = 0;
  for (const char* at = hexadecimal; pool.buf_size < 64 && sscanf(at, "%2x", &byte) == 1; at += 2)
    pool.buf[pool.buf_size++] = static_cast<unsigned char>(byte);
  const int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
  if (fd < 0) return failed("seed", "/dev/urandom");
  if (ioctl(fd, RNDADDENTROPY, &pool) != 0) return failed("seed", "RNDADDENTROPY");
  // Without this the pool is looked at once a minute only, and until then clones draw the same numbers. A generator
  // that is not ready (ENODATA) draws from the pool when it becomes so.
  if (ioctl(fd, RNDRESEEDCRNG) != 0 && errno != ENODATA) return failed("seed", "RNDRESEEDCRNG");
  close(fd);
  // What the next boot begins with.
  unsigned char next[512];
  const int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const int kept = open("/var/lib/systemd/random-seed", O_WRONLY | O_CLOEXEC);
  if (kept >= 0 && read(random, next, sizeof next) == static_cast<ssize_t>(sizeof next) &&
      pwrite(kept, next, sizeof next, 0) != static_cast<ssize_t>(sizeof next))
    return failed("seed", "/var/lib/systemd/random-seed");
  close(random);
  if (kept >= 0) close(kept);
  ok("seed");
}

void set_clock(const char* nanoseconds) {
  const long long at = atoll(nanoseconds);
  const timespec now = {static_cast<time_t>(at / 1'000'000'000), static_cast<long>(at % 1'000'000'000)};
  if (clock_settime(CLOCK_REALTIME, &now) != 0) return failed("time", "clock_settime");
  ok("time");
}

void set_hostname(const char* name) {
  if (sethostname(name, strlen(name)) != 0) return failed("hostname", "sethostname");
  char line[256];
  snprintf(line, sizeof line, "%s\n", name);
  if (there("/etc") && !put("/etc/hostname", line, 0644)) return failed("hostname", "/etc/hostname");
  ok("hostname");
}

void set_machine_id(const char* id) {
  if (!there("/etc")) return void(printf("none machine-id: no /etc\n"));
  char line[64];
  snprintf(line, sizeof line, "%s\n", id);
  if (!put("/etc/machine-id", line, 0444) &&
      (chmod("/etc/machine-id", 0644) != 0 || !put("/etc/machine-id", line, 0444)))
    return failed("machine-id", "/etc/machine-id");
  struct stat st;
  if (lstat("/var/lib/dbus/machine-id", &st) == 0 && S_ISREG(st.st_mode) &&
      !put("/var/lib/dbus/machine-id", line, 0444))
    return failed("machine-id", "/var/lib/dbus/machine-id");
  ok("machine-id");
}

/// The interface with this hardware address; false: none has it.
bool find_interface(const char* mac, char* name) {
  DIR* all = opendir("/sys/class/net");
  if (all == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(all)) {
    char path[512], has[64] = {};
    snprintf(path, sizeof path, "/sys/class/net/%s/address", entry->d_name);
    FILE* in = fopen(path, "re");
    if (in == nullptr) continue;
    if (fgets(has, sizeof has, in) != nullptr && strncasecmp(has, mac, 17) == 0) {
      snprintf(name, IFNAMSIZ, "%s", entry->d_name);
      found = true;
    }
    fclose(in);
  }
  closedir(all);
  return found;
}

constexpr int kMostRoutes = 32;

/// Those by a gateway: they go when the interface's address does.
int routes_of(const char* interface, rtentry* into, char (*names)[IFNAMSIZ]) {
  FILE* in = fopen("/proc/net/route", "re");
  char line[256], name[64];
  int count = 0;
  while (in != nullptr && count < kMostRoutes && fgets(line, sizeof line, in) != nullptr) {
    unsigned destination = 0, gateway = 0, flags = 0, mask = 0;
    int metric = 0;
    if (sscanf(line, "%63s %x %x %x %*d %*d %d %x", name, &destination, &gateway, &flags, &metric, &mask) != 6)
      continue;
    if (strcmp(name, interface) != 0 || (flags & RTF_GATEWAY) == 0) continue;
    rtentry& route = into[count];
    memset(&route, 0, sizeof route);
    const unsigned parts[] = {destination, gateway, mask};
    sockaddr* const places[] = {&route.rt_dst, &route.rt_gateway, &route.rt_genmask};
    for (int i = 0; i < 3; ++i) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = parts[i];
      memcpy(places[i], &address, sizeof address);
    }
    route.rt_flags = static_cast<unsigned short>(flags);
    route.rt_metric = static_cast<short>(metric + 1);
    snprintf(names[count], IFNAMSIZ, "%s", interface);
    route.rt_dev = names[count];
    ++count;
  }
  if (in != nullptr) fclose(in);
  return count;
}

/// False with errno.
bool set_address(int socket, const char* interface, const char* address) {
  char text[64];
  snprintf(text, sizeof text, "%s", address);
  char* slash = strchr(text, '/');
  const int length = slash != nullptr ? atoi(slash + 1) : 32;
  if (slash != nullptr) *slash = '\0';
  static rtentry routes[kMostRoutes];
  static char names[kMostRoutes][IFNAMSIZ];
  const int count = routes_of(interface, routes, names);
  ifreq request{};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (inet_pton(AF_INET, text, &to.sin_addr) != 1) {
    errno = EINVAL;
    return false;
  }
  memcpy(&request.ifr_addr, &to, sizeof to);
  if (ioctl(socket, SIOCSIFADDR, &request) != 0) return false;
  to.sin_addr.s_addr = htonl(length == 0 ? 0 : ~uint32_t{0} << (32 - length));
  memcpy(&request.ifr_netmask, &to, sizeof to);
  if (ioctl(socket, SIOCSIFNETMASK, &request) != 0) return false;
  for (int i = 0; i < count; ++i) {
    // One whose gateway is in no network of the new address is of no use.
    if (ioctl(socket, SIOCADDRT, &routes[i]) != 0 && errno != EEXIST && errno != ENETUNREACH && errno != EINVAL)
      return false;
  }
  return true;
}

void set_nic(const char* rest) {
  char old[32], now[32], address[64], interface[IFNAMSIZ];
  if (sscanf(rest, "%31s %31s %63s", old, now, address) != 3)
    return void(printf("failed nic: cannot read '%s'\n", rest));
  // Again after half of it: it has the new one already.
  const bool renamed = find_interface(now, interface);
  if (!renamed && !find_interface(old, interface))
    return void(printf("failed nic: no interface has the hardware address %s\n", old));
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  unsigned bytes[6] = {};
  sscanf(now, "%x:%x:%x:%x:%x:%x", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5]);
  for (int i = 0; i < 6; ++i) request.ifr_hwaddr.sa_data[i] = static_cast<char>(bytes[i]);
  if (!renamed && ioctl(fd, SIOCSIFHWADDR, &request) != 0) return failed("nic", interface);
  if (strcmp(address, "-") != 0 && !set_address(fd, interface, address)) return failed("nic", address);
  close(fd);
  ok("nic");
}

constexpr const char* kKinds[] = {"rsa", "ecdsa", "ed25519"};
constexpr size_t kKindCount = sizeof kKinds / sizeof *kKinds;

/// In place of the one that is there, which stays until the new one is whole. False with errno.
bool draw_key(const char* keygen, const char* kind) {
  constexpr const char* kNew = "/etc/ssh/underway_new_key";
  char path[64], pub[64], cert[64], new_pub[64];
  snprintf(path, sizeof path, "/etc/ssh/ssh_host_%s_key", kind);
  snprintf(pub, sizeof pub, "%s.pub", path);
  snprintf(cert, sizeof cert, "%s-cert.pub", path);
  snprintf(new_pub, sizeof new_pub, "%s.pub", kNew);
  unlink(kNew);
  unlink(new_pub);
  const pid_t child = fork();
  if (child == 0) {
    execl(keygen, keygen, "-q", "-t", kind, "-N", "", "-f", kNew, nullptr);
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return false;
  errno = EIO;
  if (status != 0) return false;
  return rename(new_pub, pub) == 0 && rename(kNew, path) == 0 && (unlink(cert) == 0 || errno == ENOENT);
}

/// Of the kinds that it has.
void draw_keys() {
  DIR* all = opendir("/etc/ssh");
  if (all == nullptr) return void(printf("none ssh-keys: no /etc/ssh\n"));
  bool has[kKindCount] = {}, some = false;
  while (const dirent* entry = readdir(all)) {
    if (strncmp(entry->d_name, "ssh_host_", 9) != 0) continue;
    some = true;
    for (size_t i = 0; i < kKindCount; ++i) {
      if (strncmp(entry->d_name + 9, kKinds[i], strlen(kKinds[i])) == 0) has[i] = true;
    }
  }
  const char* keygen = there("/usr/bin/ssh-keygen") ? "/usr/bin/ssh-keygen" : "/bin/ssh-keygen";
  closedir(all);
  if (!some) return void(printf("none ssh-keys: it has none yet\n"));
  if (!there(keygen)) return void(printf("failed ssh-keys: there is no ssh-keygen, and they are another machine's\n"));
  for (size_t i = 0; i < kKindCount; ++i) {
    if (!has[i]) continue;
    if (!draw_key(keygen, kKinds[i])) return failed("ssh-keys", kKinds[i]);
  }
  char text[32] = {};
  const int fd = open("/run/sshd.pid", O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && atoi(text) > 1) kill(atoi(text), SIGHUP);
  if (fd >= 0) close(fd);
  ok("ssh-keys");
}

}  // namespace

int main() {
  char line[512];
  while (fgets(line, sizeof line, stdin) != nullptr) {
    line[strcspn(line, "\n")] = '\0';
    const char* rest = strchr(line, ' ');
    rest = rest != nullptr ? rest + 1 : "";
    if (strncmp(line, "seed ", 5) == 0)
      seed(rest);
    else if (strncmp(line, "time ", 5) == 0)
      set_clock(rest);
    else if (strncmp(line, "hostname ", 9) == 0)
      set_hostname(rest);
    else if (strncmp(line, "machine-id ", 11) == 0)
      set_machine_id(rest);
    else if (strncmp(line, "nic ", 4) == 0)
      set_nic(rest);
    else if (strcmp(line, "ssh-keys") == 0)
      draw_keys();
    else
      printf("failed %s: it is not known\n", line);
  }
  return 0;
}

// Runs between fork and exec, also in the keeper: no allocation, no exception, no C++ library (launch.hpp).
#include "os/process/launch.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// <sys/mount.h> clashes with <linux/mount.h> in glibc 2.36, so these three are declared here.
extern "C" {
int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data);
int umount2(const char* target, int flags);
}

namespace underway::os::launch {
namespace {

constexpr int kMaxStrings = 1 << 20;
constexpr int kDetach = 2;             // MNT_DETACH
constexpr unsigned long kMove = 8192;  // MS_MOVE

struct View {
  const char* data;
  std::uint32_t size;
};

/// Walks the strings of one step; the bounds were checked by well_formed().
class Strings {
 public:
  explicit Strings(const char* step) : next_(step + sizeof(StepHead)) {}
  View next() {
    View view{};
    memcpy(&view.size, next_, sizeof view.size);
    view.data = next_ + sizeof view.size;
    next_ = view.data + view.size + 1;
    return view;
  }

 private:
  const char* next_;
};

int write_text(const char* path, View text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t n = write(fd, text.data, text.size);
  const int error = n == static_cast<ssize_t>(text.size) ? 0 : (n < 0 ? errno : EIO);
  close(fd);
  return error;
}

int touch(const char* path, mode_t mode) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int check(long result) { return result < 0 ? errno : 0; }
int check_new(long result) { return result < 0 && errno != EEXIST ? errno : 0; }

int enter_root(const char* path) {
  if (chdir(path) != 0) return errno;
  if (syscall(SYS_pivot_root, ".", ".") != 0) return errno;
  if (umount2(".", kDetach) != 0) return errno;
  return check(chdir("/"));
}

int raise_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ifreq request{};
  memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int error = check(ioctl(fd, SIOCSIFFLAGS, &request));
  close(fd);
  return error;
}

int set_limit(int resource, std::uint64_t soft, std::uint64_t hard) {
  const rlimit limit{soft, hard};
  return check(syscall(SYS_prlimit64, 0, resource, &limit, nullptr));
}

/// Raw system calls: glibc's setuid() would signal every thread, and only this one exists here.
int become(uid_t uid, gid_t gid, View groups) {
  const std::size_t count = groups.size / sizeof(gid_t);
  gid_t list[256];
  if (count > sizeof list / sizeof list[0]) return E2BIG;
  memcpy(list, groups.data, count * sizeof(gid_t));
  // A process without CAP_SETGID may still become what it already is.
  if (syscall(SYS_setgroups, count, list) != 0 && !(errno == EPERM && getuid() == uid && getgid() == gid)) return errno;
  if (syscall(SYS_setresgid, gid, gid, gid) != 0) return errno;
  return check(syscall(SYS_setresuid, uid, uid, uid));
}

int bound(std::uint64_t keep) {
  for (unsigned long bit = 0; bit < 64; ++bit) {
    if ((keep >> bit & 1) != 0 || prctl(PR_CAPBSET_READ, bit) != 1) continue;
    if (prctl(PR_CAPBSET_DROP, bit) != 0) return errno;
  }
  return 0;
}

/// After setuid with PR_SET_KEEPCAPS: exactly `keep`, and ambient, so that it survives exec.
int keep_capabilities(std::uint64_t keep) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  for (int word = 0; word < 2; ++word) {
    const auto bits = static_cast<std::uint32_t>(keep >> (32 * word));
    sets[word] = {bits, bits, bits};
  }
  if (syscall(SYS_capset, &head, sets) != 0) return errno;
  for (unsigned long bit = 0; bit < 64; ++bit) {
    if ((keep >> bit & 1) != 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, bit, 0, 0) != 0) return errno;
  }
  return 0;
}

int install_filter(View filter) {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(filter.size / sizeof(sock_filter));
  // The kernel copies with memcpy semantics; the buffer need not be aligned on the machines we build for.
  program.filter = const_cast<sock_filter*>(reinterpret_cast<const sock_filter*>(filter.data));
  return check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

int follow_parent(int signal, int report_fd) {
  if (prctl(PR_SET_PDEATHSIG, signal) != 0) return errno;
  // The parent may have died before the call: then nobody holds the other end of the report pipe.
  pollfd p{report_fd, POLLOUT, 0};
  if (poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0) _exit(127);
  return 0;
}

/// Candidates in order; a missing one is passed over, and what stopped a present one is remembered (execvp(3)).
int execute(Strings strings, const StepHead& head) {
  const auto argc = static_cast<std::size_t>(head.a), envc = static_cast<std::size_t>(head.b);
  const std::size_t candidates = head.strings - argc - envc;
  const std::size_t slots = argc + envc + candidates + 2;
  void* memory = mmap(nullptr, slots * sizeof(char*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  char** argv = static_cast<char**>(memory);
  char** envp = argv + argc + 1;
  char** paths = envp + envc + 1;
  for (std::size_t i = 0; i < argc; ++i) argv[i] = const_cast<char*>(strings.next().data);
  for (std::size_t i = 0; i < envc; ++i) envp[i] = const_cast<char*>(strings.next().data);
  for (std::size_t i = 0; i < candidates; ++i) paths[i] = const_cast<char*>(strings.next().data);
  int error = ENOENT;
  for (std::size_t i = 0; i < candidates; ++i) {
    execve(paths[i], argv, envp);
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    if (error != ENOENT && error != EACCES) break;
  }
  return error;
}

/// A path below /proc/<pid>; `name` begins with a slash.
class ProcPath {
 public:
  ProcPath(long pid, const char* name) {
    std::size_t at = strlen(text_);
    char digits[20];
    std::size_t count = 0;
    for (; pid > 0; pid /= 10) digits[count++] = static_cast<char>('0' + pid % 10);
    while (count > 0) text_[at++] = digits[--count];
    strcpy(text_ + at, name);
  }
  const char* get() const { return text_; }

 private:
  char text_[48] = "/proc/";
};

/// A user namespace with these maps, as a descriptor. It is made by a process of its own: one that enters it could do
/// nothing more to the mounts here.
int open_user_namespace(View uids, View gids, int& space) {
  int go_ahead[2];
  if (pipe2(go_ahead, O_CLOEXEC) != 0) return errno;
  const long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0UL);
  if (pid == 0) {
    close(go_ahead[1]);
    char end = 0;
    [[maybe_unused]] const ssize_t n = read(go_ahead[0], &end, 1);  // until the pipe is closed, however that happens
    _exit(0);
  }
  int error = check(pid);
  if (error == 0) error = write_text(ProcPath(pid, "/uid_map").get(), uids);
  if (error == 0) error = write_text(ProcPath(pid, "/gid_map").get(), gids);
  if (error == 0) error = check(space = open(ProcPath(pid, "/ns/user").get(), O_RDONLY | O_CLOEXEC));
  close(go_ahead[0]);
  close(go_ahead[1]);
  if (pid > 0) waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return error;
}

int map_mount(const char* source, const char* target, View uids, View gids) {
  int space = -1;
  if (const int error = open_user_namespace(uids, gids, space)) return error;
  const auto tree =
      static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  int error = check(tree);
  if (error == 0) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<std::uint64_t>(space);
    // Nobody may have used the mount before: it is mapped while it is attached nowhere.
    error = check(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes));
    if (error == 0) error = check(syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
    close(tree);
  }
  close(space);
  return error;
}

/// What the process may do to namespaces that are there already ends here: they belong to the one it leaves.
int enter_user_namespace(View uids, View gids) {
  int space = -1;
  if (const int error = open_user_namespace(uids, gids, space)) return error;
  const int error = check(setns(space, CLONE_NEWUSER));
  close(space);
  return error;
}

void send(int report_fd, const Report& report) {
  [[maybe_unused]] ssize_t n = write(report_fd, &report, sizeof report);  // a dead reader changes nothing here
}

/// Goes on in a new process; the old one tells its number and ends.
int fork_again(unsigned long flags, int report_fd) {
  const long pid = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0UL);
  if (pid < 0) return errno;
  if (pid == 0) return 0;
  Report report{};
  report.kind = Report::process;
  report.pid = static_cast<std::int32_t>(pid);
  send(report_fd, report);
  _exit(0);
}

int apply(const StepHead& head, const char* step, int report_fd) {
  Strings strings(step);
  const auto text = [&strings] { return strings.next().data; };
  switch (static_cast<Op>(head.op)) {
    case Op::write_file: {
      const char* path = text();
      return write_text(path, strings.next());
    }
    case Op::set_namespaces:
      return check(setns(static_cast<int>(head.a), static_cast<int>(head.b)));
    case Op::unshare:
      return check(unshare(static_cast<int>(head.a)));
    case Op::fork_again:
      return fork_again(static_cast<unsigned long>(head.a), report_fd);
    case Op::new_session:
      return check(setsid());
    case Op::mount: {
      const char *source = text(), *target = text(), *type = text(), *data = text();
      return check(mount(*source ? source : nullptr, target, *type ? type : nullptr, static_cast<unsigned long>(head.a),
                         *data ? data : nullptr));
    }
    case Op::unmount:
      return check(umount2(text(), static_cast<int>(head.a)));
    case Op::make_directory:
      return check_new(mkdir(text(), static_cast<mode_t>(head.a)));
    case Op::make_symlink: {
      const char* target = text();
      return check_new(symlink(target, text()));
    }
    case Op::make_node:
      return check_new(mknod(text(), static_cast<mode_t>(head.a), static_cast<dev_t>(head.b)));
    case Op::touch:
      return touch(text(), static_cast<mode_t>(head.a));
    case Op::change_owner:
      return check(lchown(text(), static_cast<uid_t>(head.a), static_cast<gid_t>(head.b)));
    case Op::change_mode:
      return check(chmod(text(), static_cast<mode_t>(head.a)));
    case Op::set_mount_attributes: {
      mount_attr attributes{};
      attributes.attr_set = static_cast<std::uint64_t>(head.a);
      return check(
          syscall(SYS_mount_setattr, AT_FDCWD, text(), head.b != 0 ? AT_RECURSIVE : 0, &attributes, sizeof attributes));
    }
    case Op::move_mount: {
      const char* source = text();
      return check(mount(source, text(), nullptr, kMove, nullptr));
    }
    case Op::map_mount: {
      const char *source = text(), *target = text();
      const View uids = strings.next();
      return map_mount(source, target, uids, strings.next());
    }
    case Op::user_namespace: {
      const View uids = strings.next();
      return enter_user_namespace(uids, strings.next());
    }
    case Op::give_fd:
      return check(fchown(static_cast<int>(head.a), static_cast<uid_t>(head.b), static_cast<gid_t>(head.c)));
    case Op::pivot_root:
      return enter_root(text());
    case Op::change_directory:
      return check(chdir(text()));
    case Op::set_hostname: {
      const View name = strings.next();
      return check(sethostname(name.data, name.size));
    }
    case Op::loopback_up:
      return raise_loopback();
    case Op::limit:
      return set_limit(static_cast<int>(head.a), static_cast<std::uint64_t>(head.b),
                       static_cast<std::uint64_t>(head.c));
    case Op::set_umask:
      umask(static_cast<mode_t>(head.a));
      return 0;
    case Op::move_fd:
      if (head.a == head.b) return check(fcntl(static_cast<int>(head.a), F_SETFD, 0));
      return check(dup2(static_cast<int>(head.a), static_cast<int>(head.b)));
    case Op::become_user:
      return become(static_cast<uid_t>(head.a), static_cast<gid_t>(head.b), strings.next());
    case Op::bound_capabilities: {
      if (prctl(PR_SET_KEEPCAPS, head.b) != 0) return errno;
      return bound(static_cast<std::uint64_t>(head.a));
    }
    case Op::keep_capabilities:
      return keep_capabilities(static_cast<std::uint64_t>(head.a));
    case Op::no_new_privileges:
      return check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    case Op::seccomp:
      return install_filter(strings.next());
    case Op::parent_death_signal:
      return follow_parent(static_cast<int>(head.a), report_fd);
    case Op::controlling_terminal:
      return check(ioctl(static_cast<int>(head.a), TIOCSCTTY, 0));
    case Op::exec:
      return execute(strings, head);
  }
  return ENOSYS;
}

void reset_signals() {
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 65; ++signal) sigaction(signal, &by_default, nullptr);  // KILL and STOP refuse: fine
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// The own process id as the mounted /proc numbers it: that of the agent, although we may be in a deeper namespace.
std::int32_t own_pid() {
  char text[16];
  const ssize_t n = readlink("/proc/self", text, sizeof text);
  std::int32_t pid = 0;
  for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; ++i) pid = pid * 10 + (text[i] - '0');
  return pid;
}

}  // namespace

bool well_formed(const char* bytes, std::size_t size) {
  PlanHead plan;
  if (size < sizeof plan) return false;
  memcpy(&plan, bytes, sizeof plan);
  if (plan.magic != PlanHead{}.magic || plan.steps == 0) return false;
  std::size_t at = sizeof plan;
  StepHead head;
  for (std::uint32_t i = 0; i < plan.steps; ++i) {
    if (size - at < sizeof head) return false;
    memcpy(&head, bytes + at, sizeof head);
    if (head.size < sizeof head || head.size > size - at || head.strings > kMaxStrings) return false;
    std::size_t in = at + sizeof head;
    const std::size_t end = at + head.size;
    for (std::uint32_t s = 0; s < head.strings; ++s) {
      std::uint32_t length = 0;
      if (end - in < sizeof length + 1) return false;
      memcpy(&length, bytes + in, sizeof length);
      in += sizeof length;
      if (length >= end - in || bytes[in + length] != '\0') return false;
      in += length + 1;
    }
    if (in != end) return false;
    // How many strings each step reads; exec reads as many as it says.
    constexpr std::uint8_t kStrings[] = {0, 2, 0, 0, 0, 0, 4, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1,
                                         1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 4, 0, 2};
    if (head.op >= sizeof kStrings) return false;
    const bool is_exec = static_cast<Op>(head.op) == Op::exec;
    if (!is_exec && head.strings != kStrings[head.op]) return false;
    if (is_exec && (head.a < 1 || head.a > kMaxStrings || head.b < 0 || head.b > kMaxStrings ||
                    static_cast<std::int64_t>(head.strings) <= head.a + head.b)) {
      return false;
    }
    if (is_exec != (i + 1 == plan.steps)) return false;
    at = end;
  }
  return at == size;
}

void run(const char* bytes, std::size_t size, int report_fd, bool announce) {
  reset_signals();
  Report report{};
  if (announce) {
    report.kind = Report::process;
    report.pid = own_pid();
    send(report_fd, report);
  }
  report.kind = Report::failure;
  report.step = -1;
  report.error = EINVAL;
  // Nothing of the creator's reaches the program but what a step moves; until exec, steps may use the rest.
  syscall(SYS_close_range, 3U, ~0U, 1U << 2);  // CLOSE_RANGE_CLOEXEC
  if (well_formed(bytes, size)) {
    PlanHead plan;
    memcpy(&plan, bytes, sizeof plan);
    const char* at = bytes + sizeof plan;
    StepHead head;
    for (std::uint32_t i = 0; i < plan.steps; ++i) {
      memcpy(&head, at, sizeof head);
      report.error = apply(head, at, report_fd);
      report.step = static_cast<std::int32_t>(i);
      if (report.error != 0 && head.optional == 0) break;
      at += head.size;
    }
  }
  send(report_fd, report);
  _exit(127);
}

}  // namespace underway::os::launch

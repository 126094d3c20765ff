#include "run/init/saves.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/init/attach.hpp"
#include "run/init/saves_filter.hpp"
#include "run/init/service.hpp"

namespace underway::run::init {
namespace {

/// include/linux/errno.h: what a call that was interrupted, and is begun anew, ends with (ERESTARTSYS to
/// ERESTART_RESTARTBLOCK).
constexpr int64_t kBegunAnewFrom = -516, kBegunAnewTo = -512;
/// What PTRACE_O_TRACESYSGOOD makes of a stop at a system call.
constexpr int kAtCall = SIGTRAP | 0x80;

long trace(int what, pid_t thread, unsigned long data = 0) { return syscall(SYS_ptrace, what, thread, nullptr, data); }

/// The mount that a descriptor's file is on (proc_pid_fdinfo(5)); 0: it cannot be told.
uint64_t mount_of(const char* fdinfo) {
  const int fd = open(fdinfo, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[256];
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  const char* at = strstr(text, "mnt_id:");
  return at != nullptr ? strtoull(at + sizeof "mnt_id:" - 1, nullptr, 10) : 0;
}

uint64_t mount_of_root() {
  const int root = open("/", O_PATH | O_CLOEXEC);
  if (root < 0) return 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", root);
  const uint64_t mount = mount_of(path);
  close(root);
  return mount;
}

/// What is mounted there (proc_pid_mountinfo(5)); 0: it cannot be told, as of a mount that we do not have ourselves: a
/// process may have mounts of its own, of the overlay, too.
uint64_t device_of(uint64_t mount) {
  FILE* file = mount != 0 ? fopen("/proc/self/mountinfo", "re") : nullptr;
  if (file == nullptr) return 0;
  uint64_t device = 0;
  char part[512];
  for (bool at_start = true; device == 0 && fgets(part, sizeof part, file) != nullptr;
       at_start = strchr(part, '\n') != nullptr) {
    unsigned long long id = 0;
    unsigned major = 0, minor = 0;
    if (at_start && sscanf(part, "%llu %*d %u:%u", &id, &major, &minor) == 3 && id == mount)
      device = uint64_t{major} << 32 | minor;
  }
  fclose(file);
  return device;
}

/// Who is started has what the bounding set holds (capabilities(7)), and what we can do without we need not have.
bool keep_to_ourselves(uint64_t own) {
  for (int number = 0; number < 64; ++number) {
    if ((own >> number & 1U) != 0 && prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0) return false;
  }
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capget, &head, sets) != 0) return false;
  for (unsigned half = 0; half < _LINUX_CAPABILITY_U32S_3; ++half) {
    const auto these = static_cast<uint32_t>(own >> (32 * half));
    const uint32_t needed = half == CAP_TO_INDEX(CAP_SYS_PTRACE) ? CAP_TO_MASK(CAP_SYS_PTRACE) : 0;
    sets[half].effective &= ~these | needed;
    sets[half].permitted &= ~these | needed;
    sets[half].inheritable &= ~these;
  }
  return syscall(SYS_capset, &head, sets) == 0;
}

/// The structures may be larger in the kernel that runs.
alignas(seccomp_notif) char notif_bytes[512];
alignas(seccomp_notif_resp) char answer_bytes[512];

}  // namespace

bool Saves::begin(uint64_t own) {
  seccomp_notif_sizes sizes{};
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
  if (sizes.seccomp_notif > sizeof notif_bytes || sizes.seccomp_notif_resp > sizeof answer_bytes) {
    errno = EOVERFLOW;
    return false;
  }
  listening_ = install_saves_filter();
  if (listening_ < 0 || !keep_to_ourselves(own)) return false;
  root_device_ = device_of(mount_of_root());
  behind_since_ = now_ms();
  return true;
}

Saves::Call* Saves::find(pid_t thread) {
  for (Call& call : calls_) {
    if (call.stage != Stage::free && call.thread == thread) return &call;
  }
  return nullptr;
}

/// When another thread of a process executes a program it goes on with the number of the first one, and nobody hears of
/// the end of that (ptrace(2), "execve(2) under ptrace"): what we know by that number is of a thread that is no more.
Saves::Call* Saves::find_under_way(pid_t thread) {
  Call* call = find(thread);
  if (call == nullptr) return nullptr;
  const pid_t tracer = tracer_of(thread);
  if (call->stage != Stage::held && (tracer < 0 || tracer == getpid())) return call;
  *call = {};
  return nullptr;
}

int Saves::held() const {
  int count = 0;
  for (const Call& call : calls_) count += call.stage == Stage::held ? 1 : 0;
  return count;
}

void Saves::take() {
  memset(notif_bytes, 0, sizeof notif_bytes);
  auto* told = reinterpret_cast<seccomp_notif*>(notif_bytes);
  // ENOENT: who called was interrupted, and calls again. It does not block: poll() has said that there is one.
  if (ioctl(listening_, SECCOMP_IOCTL_NOTIF_RECV, told) == 0) take_one(*told);
}

void Saves::take_one(const seccomp_notif& told) {
  const auto thread = static_cast<pid_t>(told.pid);
  if (const Call* call = find_under_way(thread)) {
    // One that is to stop will stop, and comes back.
    if (call->stage != Stage::interrupted) go_on(told.id);
    return;
  }
  bool elsewhere = false;
  if (holding_ && names_a_file(told.data.arch, told.data.nr)) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", thread, static_cast<int>(told.data.args[0]));
    const uint64_t device = device_of(mount_of(path));
    elsewhere = device != 0 && root_device_ != 0 && device != root_device_;
  }
  if (!holding_ || elsewhere) return go_on(told.id);
  if (interrupt(told)) return;
  if (ioctl(listening_, SECCOMP_IOCTL_NOTIF_ID_VALID, &told.id) != 0) return;  // it has ended, or comes back
  // Somebody else traces it, or too many are under way.
  if (behind_since_ == 0) behind_since_ = now_ms();
  caught_up_ = ++newest_;
  go_on(told.id);
}

void Saves::go_on(uint64_t id) const {
  memset(answer_bytes, 0, sizeof answer_bytes);
  auto* answer = reinterpret_cast<seccomp_notif_resp*>(answer_bytes);
  answer->id = id;
  answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listening_, SECCOMP_IOCTL_NOTIF_SEND, answer);
}

/// Takes the thread out of its wait, to have it before the call as one that we trace.
bool Saves::interrupt(const seccomp_notif& told) {
  const auto thread = static_cast<pid_t>(told.pid);
  for (Call& call : calls_) {
    if (call.stage != Stage::free) continue;
    if (thread <= 0 || !seize(thread, PTRACE_O_TRACESYSGOOD)) return false;
    call = {.thread = thread, .number = told.data.nr, .stage = Stage::interrupted};
    if (trace(PTRACE_INTERRUPT, thread) != 0) call = {};  // it has ended
    return true;
  }
  return false;
}

bool Saves::mind(pid_t thread, int status) {
  Call* call = find(thread);
  if (!WIFSTOPPED(status)) {
    if (call != nullptr) *call = {};
    return false;  // its end is whoever's process it was
  }
  if (call != nullptr) step(*call, status);
  return true;
}

void Saves::step(Call& call, int status) {
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (event == PTRACE_EVENT_STOP && signal == SIGTRAP && call.stage == Stage::interrupted) {
    call.stage = Stage::entering;
    trace(PTRACE_SYSCALL, call.thread);
    return;
  }
  if (event == 0 && signal == kAtCall) {
    __ptrace_syscall_info at{};
    syscall(SYS_ptrace, PTRACE_GET_SYSCALL_INFO, call.thread, sizeof at, &at);
    if (at.op == PTRACE_SYSCALL_INFO_ENTRY && call.stage == Stage::entering &&
        static_cast<int>(at.entry.nr) == call.number) {
      call.stage = Stage::doing;
      trace(PTRACE_SYSCALL, call.thread);
      return;
    }
    if (at.op == PTRACE_SYSCALL_INFO_EXIT && call.stage == Stage::doing) return done(call, at.exit.rval);
    return let_go(call);
  }
  // A signal, which it gets, or it is to stand still: a call that was not done is told of again.
  let_go(call, event == 0 ? signal : 0);
}

void Saves::done(Call& call, int64_t result) {
  if (result >= kBegunAnewFrom && result <= kBegunAnewTo) {
    call.stage = Stage::entering;
    trace(PTRACE_SYSCALL, call.thread);
    return;
  }
  if (result < 0) return let_go(call);
  if (!holding_) {
    caught_up_ = ++newest_;
    return let_go(call);
  }
  call.stage = Stage::held;
  call.place = ++newest_;
  call.since = now_ms();
}

void Saves::let_go(Call& call, int signal) {
  trace(PTRACE_DETACH, call.thread, static_cast<unsigned long>(signal));
  call = {};
}

void Saves::copied(uint64_t number) {
  if (listening_ < 0 || over_ || number > newest_) return;
  if (number > copied_) copied_ = number;
  for (Call& call : calls_) {
    if (call.stage == Stage::held && call.place <= number) let_go(call);
  }
  if (!holding_) {
    holding_ = true;
    caught_up_ = ++newest_;  // what went on meanwhile is in a copy that is begun from now on
  } else if (behind_since_ != 0 && copied_ >= caught_up_) {
    behind_since_ = 0;
    say("what is saved is on the standby before a service goes on");
  }
}

void Saves::stop_holding(const char* why) {
  holding_ = false;
  for (Call& call : calls_) {
    if (call.stage == Stage::held) let_go(call);
  }
  if (why == nullptr) return;
  if (behind_since_ == 0) behind_since_ = now_ms();
  say("what is saved is not on the standby any more when a service goes on: %s", why);
}

void Saves::give_up() {
  if (over_) return;
  over_ = true;
  stop_holding(nullptr);
}

void Saves::tick(int64_t now) {
  for (const Call& call : calls_) {
    if (call.stage != Stage::held || now < call.since + kPatienceMs) continue;
    char why[80];
    snprintf(why, sizeof why, "there was no copy within %lld ms", static_cast<long long>(kPatienceMs));
    return stop_holding(why);
  }
}

int64_t Saves::due() const {
  int64_t first = 0;
  for (const Call& call : calls_) {
    if (call.stage == Stage::held && (first == 0 || call.since < first)) first = call.since;
  }
  return first == 0 ? 0 : first + kPatienceMs;
}

}  // namespace underway::run::init

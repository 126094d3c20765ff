#include "keeper/control_directory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace underway::keeper {

bool read_spec(Spec& spec) {
  struct stat st{};
  if (fstat(kSpecFd, &st) != 0 || st.st_size <= 0) return false;
  void* memory = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_PRIVATE, kSpecFd, 0);
  if (memory == MAP_FAILED) return false;
  spec.mapped = memory;
  spec.mapped_size = static_cast<std::size_t>(st.st_size);
  const char* text = static_cast<const char*>(memory);
  auto size = spec.mapped_size;
  const auto copy = [](const Field& field, char* out, std::size_t room) {
    memcpy(out, field.value, field.value_size < room ? field.value_size : room - 1);
  };
  Field field{};
  if (!next_field(text, size, field) || !field.is("keeper-spec")) return false;
  while (next_field(text, size, field)) {
    if (field.is("log_name")) copy(field, spec.log_name, sizeof spec.log_name - 8);
    if (field.is("log_stdout")) spec.log_index[0] = static_cast<std::uint32_t>(field.number());
    if (field.is("log_stderr")) spec.log_index[1] = static_cast<std::uint32_t>(field.number());
    if (field.is("log_files")) spec.log_files = static_cast<std::uint32_t>(field.number());
    if (field.is("log_bytes")) spec.log_bytes = static_cast<std::uint64_t>(field.number());
    if (field.is("kill_mode") && field.says(to_text(KillMode::process))) spec.kill_mode = KillMode::process;
    if (field.is("adopts")) spec.adopts = field.number() != 0;
    if (field.is("clone")) spec.clone = static_cast<long>(field.number());
    if (field.is("cgroup_kill")) copy(field, spec.cgroup_kill, sizeof spec.cgroup_kill);
    if (field.is("cgroup_procs")) copy(field, spec.cgroup_procs, sizeof spec.cgroup_procs);
    if (field.is("oom_events")) copy(field, spec.oom_events, sizeof spec.oom_events);
  }
  spec.plan = text;
  spec.plan_size = size;
  return true;
}

void forget_plan(Spec& spec) {
  close(kSpecFd);
  munmap(spec.mapped, spec.mapped_size);
  spec.mapped = nullptr;
  spec.plan = nullptr;
}

void write_state(const State& state, bool flush) {
  char text[kMaxPacket];
  const std::size_t size = format_state(state, text, sizeof text);
  const int fd = openat(kDirectoryFd, "state.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool whole = fd >= 0 && write(fd, text, size) == static_cast<ssize_t>(size) && (!flush || fsync(fd) == 0);
  if (fd >= 0) close(fd);
  whole = whole && renameat(kDirectoryFd, "state.new", kDirectoryFd, kStateFile) == 0;
  if (!whole) {
    // The disk is full: the old file has its block already, so overwrite that. The end mark tells a torn one.
    const int old = openat(kDirectoryFd, kStateFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (old < 0) return;
    if (pwrite(old, text, size, 0) == static_cast<ssize_t>(size)) fsync(old);
    close(old);
  } else if (flush) {
    fsync(kDirectoryFd);
  }
}

pid_t started_task() {
  char text[16] = {};
  const int fd = openat(kDirectoryFd, kPidFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  const pid_t pid = n > 0 ? static_cast<pid_t>(strtol(text, nullptr, 10)) : 0;
  return pid > 1 && kill(pid, 0) == 0 ? pid : 0;
}

void Removal::watch() {
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  char path[] = "/proc/self/fd/0";
  path[sizeof path - 2] = static_cast<char>('0' + kDirectoryFd);
  if (inotify_ >= 0 && inotify_add_watch(inotify_, path, IN_DELETE) < 0) close();
}

bool Removal::happened() {
  char events[4096];
  while (inotify_ >= 0 && read(inotify_, events, sizeof events) > 0) {
  }
  struct stat lock{};
  return fstat(kLockFd, &lock) == 0 && lock.st_nlink == 0;
}

void Removal::close() {
  if (inotify_ >= 0) ::close(inotify_);
  inotify_ = -1;
}

}  // namespace underway::keeper

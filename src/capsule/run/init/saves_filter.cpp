#include "run/init/saves_filter.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

namespace underway::run::init {
namespace {

/// As one architecture numbers them.
struct Numbers {
  uint32_t architecture;
  int fsync, fdatasync, syncfs, msync;
  int others[6];  ///< sync, and those that give a name; -1: has it not
};

#if defined(__x86_64__)
constexpr Numbers kNumbers[] = {
    {AUDIT_ARCH_X86_64,
     SYS_fsync,
     SYS_fdatasync,
     SYS_syncfs,
     SYS_msync,
     {SYS_sync, SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat}},
    // arch/x86/entry/syscalls/syscall_32.tbl
    {AUDIT_ARCH_I386, 118, 148, 344, 144, {36, 38, 302, 353, 9, 303}},
};
/// x32 has the numbers of x86-64, with this bit (__X32_SYSCALL_BIT).
constexpr uint32_t kMask = ~0x40000000U;
#elif defined(__aarch64__)
constexpr Numbers kNumbers[] = {
    {AUDIT_ARCH_AARCH64,
     SYS_fsync,
     SYS_fdatasync,
     SYS_syncfs,
     SYS_msync,
     {SYS_sync, SYS_renameat, SYS_renameat2, SYS_linkat, -1, -1}},
    // arch/arm/tools/syscall.tbl
    {AUDIT_ARCH_ARM, 118, 148, 373, 144, {36, 38, 329, 382, 9, 330}},
};
constexpr uint32_t kMask = ~0U;
#else
#error "the numbers of this architecture's system calls are not known"
#endif

class Program {
 public:
  Program() {
    load(offsetof(seccomp_data, arch));
    for (const Numbers& numbers : kNumbers) add(numbers);
    put(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  sock_fprog get() { return {size_, code_}; }

 private:
  void put(sock_filter instruction) { code_[size_++] = instruction; }
  void load(uint32_t offset) { put(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void tell() { put(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)); }
  void tell_if(int call) {
    if (call < 0) return;
    put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    tell();
  }
  /// With the architecture in the accumulator; leaves it there for another one.
  void add(const Numbers& numbers) {
    const unsigned short skip = size_;
    put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers.architecture, 0, 0));
    load(offsetof(seccomp_data, nr));
    put(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kMask));
    for (const int call : {numbers.fsync, numbers.fdatasync, numbers.syncfs}) tell_if(call);
    for (const int call : numbers.others) tell_if(call);
    // msync without MS_SYNC saves nothing.
    put(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(numbers.msync), 0, 3));
    load(offsetof(seccomp_data, args) + 2 * sizeof(uint64_t));  // little-endian: the lower half comes first
    put(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MS_SYNC, 0, 1));
    tell();
    put(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    code_[skip].jf = static_cast<uint8_t>(size_ - skip - 1);
  }

  sock_filter code_[96];
  unsigned short size_ = 0;
};

}  // namespace

int install_saves_filter() {
  Program program;
  const sock_fprog filter = program.get();
  return static_cast<int>(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));  // close-on-exec
}

bool names_a_file(unsigned architecture, int call) {
  for (const Numbers& numbers : kNumbers) {
    if (numbers.architecture == architecture)
      return call == numbers.fsync || call == numbers.fdatasync || call == numbers.syncfs;
  }
  return false;
}

}  // namespace underway::run::init

#pragma once
/// @file
/// What a service saves is on the standby before the service goes on: fsync, fdatasync, msync, sync and syncfs, and
/// the names that rename and link give. The kernel tells us of such a call before it is done (seccomp_unotify(2)); we
/// let it be done and stop its thread at its end (ptrace(2)), until a copy that was begun afterwards is complete. At
/// its end, as a call that is held before it begins is begun anew whenever the freezer or a signal comes.
///
/// Without copies services go on all the same: after kPatienceMs nobody is held any more, until there are copies again.

#include <stdint.h>
#include <sys/types.h>

struct seccomp_notif;

namespace underway::run::init {

class Saves {
 public:
  /// A call is held for at most so long.
  static constexpr int64_t kPatienceMs = 5'000;

  /// This process and all that it starts from now on are told of. Needs CAP_SYS_ADMIN and CAP_SETPCAP now, and
  /// CAP_SYS_PTRACE later; of `own` (1 << number) nobody who is started has any, and we keep no more than the last one.
  /// False: errno.
  bool begin(uint64_t own);
  /// To be polled for POLLIN, then take(); -1: begin() was not called.
  int listening() const { return listening_; }
  void take();
  /// Whether the end or the stop of a process (waitpid(2)) was one of ours, and nobody else's business.
  bool mind(pid_t thread, int status);
  /// A copy is complete that holds all calls up to that number.
  void copied(uint64_t number);
  /// Nobody is held any more, and never again: they stop.
  void give_up();
  void tick(int64_t now);
  /// When tick() is to be called next; 0: not by the clock.
  int64_t due() const;

  /// The newest call that is done: a copy that is begun now holds it.
  uint64_t newest() const { return newest_; }
  /// Somebody waits for a copy that is begun from now on.
  bool wants_copy() const { return holding_ && newest_ > copied_; }
  /// Since when a call may be missing on the standby that was not held; 0: none is.
  int64_t behind_since() const { return behind_since_; }
  int held() const;

 private:
  enum class Stage : uint8_t {
    free,
    interrupted,  ///< it was told of, and is to stop
    entering,     ///< it stands before the call, and goes on to it
    doing,
    held,
  };
  struct Call {
    pid_t thread = 0;
    int number = 0;  ///< of the system call
    Stage stage = Stage::free;
    uint64_t place = 0;  ///< in the order of those that are done
    int64_t since = 0;
  };
  static constexpr int kMaxCalls = 512;

  Call* find(pid_t thread);
  Call* find_under_way(pid_t thread);
  void take_one(const seccomp_notif& told);
  bool interrupt(const seccomp_notif& told);
  void go_on(uint64_t id) const;
  void step(Call& call, int status);
  void done(Call& call, int64_t result);
  static void let_go(Call& call, int signal = 0);
  void stop_holding(const char* why);

  int listening_ = -1;
  bool holding_ = false, over_ = false;
  uint64_t newest_ = 0, copied_ = 0;
  uint64_t caught_up_ = 0;  ///< once this is copied nothing is missing
  int64_t behind_since_ = 0;
  uint64_t root_device_ = 0;
  Call calls_[kMaxCalls];
};

}  // namespace underway::run::init

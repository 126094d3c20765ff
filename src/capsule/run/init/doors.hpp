#pragma once
/// @file
/// What becomes of those who connect to the capsule from outside while a service is away: they wait, as a client's
/// kernel repeats what gets no answer, instead of being told that nobody is there. By a table of nftables in the
/// capsule's network; connections of the capsule with itself do not notice it.

#include <stdint.h>

namespace underway::run::init {

enum class Door : uint8_t {
  open,
  /// Nobody is refused: no reset of a TCP connection leaves the capsule. Who listens is reached.
  held,
  /// Also no new TCP connection comes in; those that there are go on.
  closed,
};

class Doors {
 public:
  /// `table`: its name. `passing`: it is gone with this process, whatever ends it (Linux 5.12; before, nobody is held).
  explicit Doors(const char* table = "underway-doors", bool passing = false) : table_(table), passing_(passing) {}

  /// Where the kernel or the capsule's rights do not allow it, that is said once, and clients are refused as ever.
  void set(Door door);
  Door door() const { return door_; }

 private:
  const char* table_;
  bool passing_;
  Door door_ = Door::open;
  bool complained_ = false;
  int socket_ = -1;
};

/// Before services stop, those that have asked have this long to be answered, and are looked for so often.
inline constexpr int64_t kAnswerMs = 1'000, kLookMs = 2;

/// TCP connections from outside to a port on which somebody listens, whose client has asked and has no answer yet, or
/// not all of it, or is about to ask. One that lies idle between two questions, or that only brings something, does not
/// count. 0 where the kernel does not tell (sock_diag(7)).
int count_unanswered();

/// Runs a command while nobody asks: those that have asked are answered first, others wait until it has ended. Returns
/// its exit code. For what cannot be done to a service that talks to its clients.
int run_alone(char** command);

}  // namespace underway::run::init

#pragma once
/// @file
/// What a capsule's init is told to run. Plain data and libc only: the program is static and has no C++ library.
///
/// The text is lines of "key value":
///
///     capsule-init 1
///     attempts <n>          failures in a row after which a service is given up; 0: never
///     go_ms <n>             how long to wait for the word to go
///     sync <bits>           saves are held until they are on the standby; the capabilities that we have for that alone
///     service <name>        begins a service; the lines behind it are its own:
///     arg <word>              of its command, one line a word
///     env <NAME=value>        one line a variable
///     after <service>         starts once that one is ready
///     ready <word>            of the command that tells whether it is ready
///     ready_ms <n>   user <name>   restart always|on_failure|never   signal <n>   stop_ms <n>      (one key a line)
///     step <moment>         begins a step; its own are arg, user and ms
///
/// In values "%", line breaks and NUL are written as %25, %0A, %00. Unknown keys are passed over, so that either side
/// may be the newer one.

#include <stddef.h>
#include <stdint.h>

namespace underway::run::init {

inline constexpr const char* kSpecHead = "capsule-init 1";
/// In the capsule; the host sees it as `control` in the keeper's directory.
inline constexpr const char* kDirectory = "/run/underway";
inline constexpr const char* kSpecFile = "/run/underway/spec";
inline constexpr const char* kControlSocket = "/run/underway/control";
inline constexpr const char* kProgram = "/run/underway/init";

inline constexpr int kMaxServices = 64;
inline constexpr int kMaxSteps = 64;
inline constexpr int kMaxWords = 256;  ///< of a command, of an environment, of depends_on

enum class Restart : uint8_t { always, on_failure, never };
enum class Moment : uint8_t { before_stop, after_start, probe, check, quiesce, unquiesce, before_revert };
inline constexpr const char* kMoments[] = {"before_stop", "after_start", "probe",        "check",
                                           "quiesce",     "unquiesce",   "before_revert"};
inline constexpr int kMomentCount = sizeof kMoments / sizeof kMoments[0];
inline constexpr const char* kRestarts[] = {"always", "on_failure", "never"};

/// NULL-terminated, as execve(2) wants it.
struct Words {
  char** items = nullptr;
  int count = 0;
};

struct ServiceSpec {
  const char* name = "";
  Words command, environment, after, ready;
  const char* user = "";
  int64_t ready_ms = 60'000;
  Restart restart = Restart::always;
  int stop_signal = 15;
  int64_t stop_ms = 20'000;
};

struct StepSpec {
  Moment moment = Moment::check;
  Words command;
  const char* user = "";
  int64_t timeout_ms = 30'000;
};

struct Spec {
  ServiceSpec services[kMaxServices];
  int service_count = 0;
  StepSpec steps[kMaxSteps];
  int step_count = 0;
  /// Failures in a row after which a service is given up, and the capsule with it; 0: never.
  int attempts = 10;
  /// How long to wait for the word to go.
  int64_t go_ms = 30'000;
  /// What a service saves is on the standby before it goes on.
  bool sync = false;
  /// Capabilities (1 << number) that we have only for that: services have none of them.
  uint64_t own = 0;

  /// -1 when there is none.
  int find_service(const char* name) const;
};

/// Reads `text`, which is changed and stays in use. False when it is no spec or too large.
bool parse_spec(char* text, Spec& spec);
/// False when `name` is none.
bool parse_moment(const char* name, Moment& moment);

}  // namespace underway::run::init

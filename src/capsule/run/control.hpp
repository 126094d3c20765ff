#pragma once
/// @file
/// Talking to the init of a capsule that runs on this host (init/main.cpp has the messages). Blocks: yes; a connection
/// is one question at a time. Thread: one at a time.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"
#include "image/manifest.hpp"
#include "os/fd.hpp"

namespace underway::run {

struct ServiceStatus {
  std::string name;
  std::string state;     ///< waiting, starting, ready, paused, done, failed, stopping, stopped
  std::int64_t pid = 0;  ///< as the capsule numbers it
  std::int64_t restarts = 0;
  std::int64_t exit_code = 0, signal = 0;  ///< of its last end
  Duration since{};                        ///< how long it has been in that state
};

struct Status {
  std::string phase;  ///< waiting, probing, starting, running, stopping
  std::vector<ServiceStatus> services;
  std::map<std::string, std::int64_t> steps;  ///< moment to the result of its last run

  /// Services are held until what they save is on the standby, and for how long a save may be missing there even so;
  /// negative: none is.
  bool sync = false;
  Duration behind{-1};

  /// Every service is ready or done.
  bool healthy() const;
};
const describe::Structure& description(describe::Tag<ServiceStatus>);
const describe::Structure& description(describe::Tag<Status>);

/// Throws Error(internal) when it is none: what is in a capsule need not be trusted.
Status parse_status(std::string_view text);

struct StepResult {
  /// 0, an exit code, 128 and a signal, 124 when it took too long.
  int result = 0;
  /// The end of what it said.
  std::string output;
  bool succeeded() const { return result == 0; }
};
StepResult parse_step_result(std::string_view text);

/// What services save, in the order in which they do.
struct Saves {
  std::uint64_t newest = 0;  ///< that is done
  Duration behind{};         ///< as in Status
};
Saves parse_saves(std::string_view text);

class Control {
 public:
  /// `directory` is the keeper's, of the capsule's run. Errors: not_found (no such run), unavailable (it does not
  /// listen within `within`).
  static Control connect(const std::string& directory, Duration within = std::chrono::seconds{5});

  void go();
  Status status();
  /// Runs the steps of a moment; a moment without steps has succeeded. `since`, in seconds since the epoch, is told
  /// them as UNDERWAY_SINCE; 0: is not. Errors: timeout.
  StepResult run_step(image::Moment moment, Duration within = std::chrono::minutes{10}, std::int64_t since = 0);
  /// Ends the capsule cleanly, as the signal of a stop does; returns at once.
  void stop();
  void signal(const std::string& service, int number);
  void restart(const std::string& service);

  /// Errors: conflict when nobody is held.
  Saves saves(Duration within);
  /// A copy that was begun after saves() said `newest` is on the standby.
  void saves_copied(std::uint64_t newest, Duration within);
  /// Asks to be told when somebody waits for a copy that is begun from now on; this connection is for nothing else
  /// then.
  void ask_for_saves();
  /// Whether that was told. Never blocks: fd() can be read from then. Errors: unavailable when the capsule has ended.
  bool saves_wanted();
  int fd() const { return socket_.get(); }

 private:
  Control(os::Fd socket, std::string directory) : socket_(std::move(socket)), directory_(std::move(directory)) {}
  std::string ask(const std::string& question, Duration within);
  /// Throws what an "error …" says.
  std::string ask_ok(const std::string& question, Duration within);
  std::string ask_ok(const std::string& question);

  os::Fd socket_;
  std::string directory_;
};

}  // namespace underway::run

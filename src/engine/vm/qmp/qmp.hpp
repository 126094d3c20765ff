#pragma once
/// @file
/// Control of a running QEMU, over its QMP socket.
///
///   Qmp qmp = Qmp::connect(run_directory, "qmp.sock", "machine 'web'", 5s);
///   qmp.execute("stop");
///   qmp.execute("migrate", {{"uri", "fd:state"}});
///   auto event = qmp.wait_event({"MIGRATION"}, 10s);
///
/// Blocks: yes, never longer than it is told. One connection at a time is served by QEMU; a second one waits for its
/// greeting until the first has gone. Thread: one at a time. A connection that is lost changes nothing for the guest.

#include <deque>
#include <vector>

#include "vm/qmp/line_socket.hpp"
#include "vm/qmp/message.hpp"

namespace underway::vm {

class Qmp {
 public:
  /// Events beyond this many that nobody takes are dropped, the oldest first.
  static constexpr std::size_t kMaxEvents = 1024;
  static constexpr Duration kPatience = std::chrono::seconds{10};

  /// Takes the greeting and leaves capability negotiation. Errors: unavailable, timeout.
  static Qmp connect(const std::string& directory, const std::string& name, const std::string& who, Duration within);
  /// Of a socket that is connected already.
  Qmp(os::Fd socket, const std::string& who, Duration within);

  /// What the command returns. An error carries the command, QEMU's class of it and its words: unsupported
  /// (CommandNotFound), not_found (DeviceNotFound), else conflict. Errors: also unavailable (QEMU has ended), timeout.
  boost::json::value execute(const std::string& command, boost::json::object arguments = {},
                             Duration within = kPatience);
  /// Gives QEMU a copy of `fd`, which commands then call "fd:<name>" (getfd).
  void give_fd(const std::string& name, const os::Fd& fd);

  /// All that came since it was last asked, without waiting.
  std::vector<QmpEvent> take_events();
  /// The first of these names, taken out; others stay. Nothing when none came in time.
  std::optional<QmpEvent> wait_event(const std::vector<std::string>& names, Duration within);

  const std::string& version() const { return version_; }

 private:
  Qmp(LineSocket socket, std::string who, Duration within);
  void greet(Duration within);
  void keep(QmpEvent event);
  boost::json::value ask(const std::string& command, boost::json::object arguments, Duration within, int descriptor);

  LineSocket socket_;
  std::string who_;
  std::string version_;
  std::deque<QmpEvent> events_;
  std::int64_t next_id_ = 1;
};

}  // namespace underway::vm

#pragma once
/// @file
/// The guest agent: a program inside the guest that answers on a virtio-serial port, as qemu-guest-agent does. What it
/// says is the guest's word, and need not be true. Blocks: yes, never longer than it is told.
/// Source: QEMU, docs/interop/qemu-ga-ref (7.2).

#include <string>
#include <string_view>
#include <vector>

#include "vm/qmp/qmp.hpp"

namespace underway::vm {

class GuestAgent {
 public:
  /// Errors: unavailable, timeout (no agent runs in the guest, or it hangs).
  static GuestAgent connect(const std::string& directory, const std::string& name, const std::string& who,
                            Duration within);

  /// The kernel's: it is another one after each boot.
  std::string boot_id(Duration within);
  /// An agent that obeys gives no answer. True once its machine has ended; false when it still shuts down by then, or
  /// has not heard.
  bool shut_down(Duration within);
  /// A file of the guest with these bytes, in place of what it had. Errors: conflict (the agent refuses: a site may
  /// have switched this off, as EL does).
  void write_file(const std::string& path, std::string_view bytes, Duration within);
  struct Ran {
    std::int64_t exit_code = 0;  ///< -1: a signal ended it
    std::string out, err;
  };
  /// A command in the guest, to its end. Errors: conflict (refused, or there is no such program), timeout: it may run
  /// on.
  Ran run(const std::vector<std::string>& argv, std::string_view input, Duration within);
  /// From the machine's clock: a guest that slept has the time of when it fell asleep.
  void set_time(Duration within);

 private:
  explicit GuestAgent(LineSocket socket, std::string who) : socket_(std::move(socket)), who_(std::move(who)) {}
  boost::json::value ask(const std::string& command, boost::json::object arguments, const Deadline& deadline);

  LineSocket socket_;
  std::string who_;
};

}  // namespace underway::vm

#pragma once
/// @file
/// What a machine says of itself, beside what is seen on the wire: which programs listen where, and what they need of
/// each other. Munge and the database speak over unix sockets and the loopback; no packet of the network shows them. A
/// HostSurvey is a value: it is written as JSON on the machine in question and read anywhere. Nothing secret is in it:
/// words of a command line that follow a password's flag are redacted, files are named and never copied.

#include "base/json/describe.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::inspection {

/// A socket that waits for others.
struct Listener {
  std::string protocol;   ///< "tcp", "udp" or "unix"
  std::string address;    ///< "0.0.0.0", "::", "127.0.0.1"; of unix: the path, or "@name"
  std::int64_t port = 0;  ///< 0 for unix

  /// On the loopback or a unix socket: nothing from outside reaches it.
  bool local() const;
};

/// Why one program cannot do without another one of the machine.
struct Need {
  std::string program;  ///< whom it needs
  std::string how;      ///< "connection", "library", "unit" or "configuration"
  std::string detail;   ///< "/run/munge/munge.socket.2", "libmunge.so.2", "After=munge.service"
};

/// All processes of one service: those of its unit, or of one executable and one user.
struct Program {
  std::string name;        ///< of the executable: "slurmctld"
  std::string executable;  ///< its path; empty where it could not be read
  std::string unit;        ///< "slurmctld.service"; empty when no unit starts it
  std::string package;     ///< "slurmctld"
  std::string version;     ///< of the package
  std::string user;
  std::vector<std::string> command;  ///< of its oldest process; redacted; as the unit starts it when none runs
  std::vector<std::int64_t> pids;    ///< none: a unit that is enabled and does not run
  std::vector<Listener> listens;
  std::vector<Need> needs;
  std::vector<std::string> open_files;         ///< that it holds open for writing
  std::vector<std::string> state_directories;  ///< where it keeps what must not be lost
  std::vector<std::string> configuration;      ///< files of its package below /etc
};

struct Interface {
  std::string name;
  std::string mac;
  std::vector<std::string> addresses;  ///< "10.77.0.1/24"
};

/// Something that the machine does by the clock.
struct TimedJob {
  std::string source;  ///< "/etc/cron.d/sync:3", "logrotate.timer"
  std::string when;    ///< "*/5 * * * *", "OnCalendar=daily"
  std::string user;
  std::string command;  ///< redacted
};

struct Export {
  std::string path;
  std::string clients;  ///< as written: "10.77.0.0/24(ro,no_subtree_check)"
  bool read_only = false;
  std::string source;  ///< the file that says so
};

struct HostSurvey {
  std::string host;
  std::int64_t taken_at = 0;  ///< nanoseconds since the epoch
  std::string system;         ///< "Debian GNU/Linux 12 (bookworm)"
  std::vector<Interface> interfaces;
  std::vector<Program> programs;  ///< by name
  std::vector<TimedJob> timed_jobs;
  std::vector<Export> exports;
  bool forwards = false;               ///< net.ipv4.ip_forward
  std::vector<std::string> nat_rules;  ///< those that translate addresses, as they are written
  std::vector<std::string> hints;      ///< "warewulf: /etc/warewulf/nodes.conf"
  std::vector<std::string> gaps;       ///< what could not be read, and why

  /// Whose executable, or else unit, has this name.
  const Program* find_program(std::string_view name) const;
  /// Who waits at this port; a socket that everybody reaches goes before one of the loopback.
  const Program* find_listener(std::string_view protocol, std::int64_t port) const;
};

const describe::Structure& description(describe::Tag<Listener>);
const describe::Structure& description(describe::Tag<Need>);
const describe::Structure& description(describe::Tag<Program>);
const describe::Structure& description(describe::Tag<Interface>);
const describe::Structure& description(describe::Tag<TimedJob>);
const describe::Structure& description(describe::Tag<Export>);
const describe::Structure& description(describe::Tag<HostSurvey>);

/// From the JSON of a file. Throws Error(invalid) naming what is wrong, too_large beyond 64 MiB.
HostSurvey parse_host_survey(std::string_view text);

}  // namespace underway::inspection

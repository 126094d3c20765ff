#pragma once
/// @file
/// Unit files of systemd, as far as a survey needs them: who starts what, what is wanted at boot, and who says that it
/// needs whom (systemd.unit(5), systemd.service(5), systemd.timer(5)). They are read as files, so a machine without
/// systemd, and a root directory of one that is not running, are read as well.

#include <map>

#include "inspection/detail/root_view.hpp"

namespace underway::inspection::detail {

struct Unit {
  std::string name;  ///< "slurmctld.service"
  bool enabled = false;
  std::vector<std::string> command;  ///< of ExecStart, words; the executable first
  std::string user;
  std::vector<std::string> needs;              ///< "Requires=munge.service", one entry a unit
  std::vector<std::string> state_directories;  ///< of StateDirectory and LogsDirectory
  std::vector<std::string> environment_files;
  std::vector<std::string> when;  ///< of a timer: "OnCalendar=daily"
};

/// Adds what the text of a unit file, or of a drop-in, says.
void read_unit(std::string_view text, Unit& unit);

/// What the unit really starts: of `sh -c "… exec /usr/sbin/mariadbd …"` the program within. Empty when it is a shell
/// or /bin/true and nothing else.
std::string started_by(const Unit& unit);

/// The units below `root` by name, with aliases left out. What cannot be read goes to `gaps`. Blocks: yes (disk).
std::map<std::string, Unit> read_units(const RootView& root, std::vector<std::string>& gaps);

}  // namespace underway::inspection::detail

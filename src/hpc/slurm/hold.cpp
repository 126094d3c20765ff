#include "slurm/hold.hpp"

#include <fmt/format.h>

#include <set>

#include "base/text.hpp"

namespace underway::slurm {

std::string hold_text(const Hold& hold) {
  std::string out = "# Written by underway: slurmctld waits until its beliefs were compared with the nodes.\n";
  if (hold.timeout) out += "SlurmdTimeout=65533\n";
  if (hold.partitions_down) out += "PartitionName=DEFAULT State=DOWN\n";
  if (hold.first_job > 0) out += fmt::format("FirstJobId={}\n", hold.first_job);
  return out;
}

std::string no_hold_text() { return "# Written by underway: nothing is held.\n"; }

std::vector<Partition> parse_partitions(std::string_view text) {
  std::vector<Partition> out;
  std::set<std::string> known;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 2 || fields[0].empty() || !known.emplace(fields[0]).second) continue;
    out.push_back({std::string(fields[0]), fields[1] == "up"});
  }
  return out;
}

std::string parse_boot_time(std::string_view text) {
  for (const auto& line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals != std::string_view::npos && trim(line.substr(0, equals)) == "BOOT_TIME")
      return std::string(trim(line.substr(equals + 1)));
  }
  return {};
}

}  // namespace underway::slurm

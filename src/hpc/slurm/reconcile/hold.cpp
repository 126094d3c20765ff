#include "slurm/reconcile/hold.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {

std::string setting(std::string_view config, std::string_view key) {
  for (const auto& line : split(config, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != key) continue;
    return std::string(trim(line.substr(equals + 1)));
  }
  return {};
}

std::string hold_text(const Hold& hold) {
  std::string out = "# Written by underway: slurmctld waits until its beliefs were compared with the nodes.\n";
  if (hold.timeout) out += fmt::format("SlurmdTimeout={}\n", *hold.timeout);
  if (hold.partitions_down) out += "PartitionName=DEFAULT State=DOWN\n";
  if (hold.first_job > 0) out += fmt::format("FirstJobId={}\n", hold.first_job);
  return out;
}

std::string no_hold_text() { return "# Written by underway: nothing is held.\n"; }

std::vector<std::string> partitions_command() { return {"sinfo", "-h", "-o", "%R|%a|%T|%N"}; }

std::vector<Partition> parse_partitions(std::string_view text) {
  std::vector<Partition> out;
  std::set<std::string> known;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() < 2 || fields[0].empty() || !known.emplace(fields[0]).second) continue;
    out.push_back({std::string(fields[0]), fields[1] == "up"});
  }
  return out;
}

std::set<std::string> parse_silent(std::string_view text) {
  std::set<std::string> out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 4 || !fields[2].ends_with('*') || fields[2].starts_with("down")) continue;
    try {
      for (auto& name : unfold_hosts(std::string(fields[3]))) out.insert(std::move(name));
    } catch (const Error&) {
      continue;  // no host list: whatever this is, it is not a line of sinfo
    }
  }
  return out;
}

std::vector<std::string> partition_command(const std::string& name, bool up) {
  return {"scontrol", "update", "partitionname=" + name, up ? "state=up" : "state=down"};
}

std::vector<std::string> config_command() { return {"scontrol", "show", "config"}; }

bool is_held(std::string_view config) {
  return setting(config, "SlurmdTimeout") == fmt::format("{} sec", kHeldTimeout);
}

std::string parse_boot_time(std::string_view config) { return setting(config, "BOOT_TIME"); }

bool gives_nodes_up(std::string_view config) {
  return setting(config, "SlurmdTimeout") != fmt::format("{} sec", kNeverTimeout);
}

std::int64_t parse_next_job(std::string_view config) {
  return leading_number_or<std::int64_t>(setting(config, "NEXT_JOB_ID"), 0);
}

std::int64_t parse_first_job(std::string_view config) {
  const auto first = leading_number_or<std::int64_t>(setting(config, "FirstJobId"), 0);
  return first > 1 ? first : 0;
}

namespace {

/// Numbers to a bound, and more than are given out between two looks: a controller takes some hundred jobs in a second.
constexpr std::int64_t kBlock = 1000;

}  // namespace

std::int64_t first_job_after(std::int64_t has, std::int64_t seen, std::int64_t bound) {
  if (seen > 0) return has >= seen ? 0 : seen + kBlock;
  if (bound == 0 || has >= bound) return 0;
  return has >= bound - kBlock ? bound : bound + kBlock;
}

std::optional<TimePoint> parse_state_time(std::string_view hold) {
  constexpr std::string_view kMark = "# state of ";
  for (const auto& line : split(hold, '\n')) {
    if (!line.starts_with(kMark)) continue;
    const auto text = trim(std::string_view(line).substr(kMark.size()));
    constexpr std::int64_t kLatest = 1LL << 33;  // nanoseconds of it still fit
    if (const auto at = parse_number<std::int64_t>(text); at && *at > 0 && *at < kLatest)
      return TimePoint{std::chrono::seconds{*at}};
  }
  return std::nullopt;
}

Duration behind(std::optional<TimePoint> state, std::optional<TimePoint> last_look, TimePoint now, std::int64_t has,
                std::int64_t bound) {
  if (!state) return Duration{0};
  if (last_look) return std::max(Duration{0}, *last_look - *state);
  const bool gave_some_since = bound > kBlock && has < bound - kBlock;
  return gave_some_since ? std::max(Duration{0}, now - *state) : Duration{0};
}

std::int64_t job_bound(std::int64_t seen) { return (seen / kBlock + 1) * kBlock; }

}  // namespace underway::slurm

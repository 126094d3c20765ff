#include "slurm/elastic/look.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::slurm {
namespace {

/// $1: where slurm.conf lies; the rest: names of files beside it. One that is missing has a version of its own.
constexpr const char* kVersion =
    "version() { dir=$1; shift; for f; do printf '%s ' \"$f\"; if [ -r \"$dir/$f\" ]; then sha256sum < \"$dir/$f\"; "
    "else "
    "echo missing; fi; done | sha256sum | cut -c1-16; }; ";

constexpr const char* kLook =
    "echo \"clock $(date +%s.%N)\"; [ -e \"$1\" ] && echo admitted; shift; "
    "echo \"boot $(cat /proc/sys/kernel/random/boot_id)\"; "
    "awk '$1 == \"MemTotal:\" { printf \"memory %d\\n\", $2 / 1024 }' /proc/meminfo; "
    "echo \"cpus $(getconf _NPROCESSORS_ONLN)\"; "
    "files=; while [ \"$1\" != -- ]; do files=\"$files $1\"; shift; done; shift; "
    "[ -z \"$files\" ] || echo \"configuration $(version /etc/slurm $files)\"; "
    "while [ \"$1\" != -- ]; do awk -v at=\"$1\" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo && "
    "echo \"mount $1\"; shift; done; shift; "
    "for f; do [ -f \"$f\" ] && [ -x \"$f\" ] && echo \"program $f\"; done; true";

/// As random(4) has boot_id; what is no such thing is written down nowhere.
bool is_boot_id(std::string_view text) {
  return text.size() == 36 && text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

std::optional<TimePoint> parse_clock(std::string_view text) {
  const auto dot = text.find('.');
  const auto seconds = parse_number<std::int64_t>(text.substr(0, dot));
  // No clock is as wrong as to make a difference overflow.
  if (!seconds || *seconds < 0 || *seconds > 9'000'000'000) return std::nullopt;
  TimePoint at{std::chrono::seconds(*seconds)};
  if (dot != std::string_view::npos) {
    const auto nanos = parse_number<std::int64_t>(text.substr(dot + 1));
    if (nanos && *nanos >= 0 && *nanos < 1'000'000'000) at += std::chrono::nanoseconds(*nanos);
  }
  return at;
}

}  // namespace

std::vector<std::string> look_command(const model::SlurmJoin& wanted) {
  std::vector<std::string> words = {"/bin/sh", "-c", std::string(kVersion) + kLook, "sh", kAdmittedFile};
  words.insert(words.end(), wanted.configuration.begin(), wanted.configuration.end());
  words.emplace_back("--");
  words.insert(words.end(), wanted.mounts.begin(), wanted.mounts.end());
  words.emplace_back("--");
  words.insert(words.end(), wanted.programs.begin(), wanted.programs.end());
  return words;
}

std::vector<std::string> version_command(const model::SlurmJoin& wanted) {
  std::vector<std::string> words = {
      "/bin/sh", "-c", std::string(kVersion) + "version \"$(dirname \"${SLURM_CONF:-/etc/slurm/slurm.conf}\")\" \"$@\"",
      "sh"};
  words.insert(words.end(), wanted.configuration.begin(), wanted.configuration.end());
  return words;
}

std::vector<std::string> open_command() {
  return {"/bin/sh", "-c", "mkdir -p \"${1%/*}\" && : > \"$1\"", "sh", kAdmittedFile};
}

std::vector<std::string> restart_command() { return {"/bin/sh", "-c", "pkill -x 'slurmd(-wlm)?'; true"}; }

HostLook parse_look(std::string_view text, TimePoint asked, TimePoint answered) {
  HostLook out;
  for (const auto& row : split(text, '\n')) {
    const auto line = trim(row);
    const auto blank = line.find(' ');
    const auto key = line.substr(0, blank);
    const auto value = blank == std::string_view::npos ? std::string_view{} : trim(line.substr(blank + 1));
    if (key == "clock") {
      out.report.clock_error = std::chrono::abs(answered - asked) / 2;
      if (const auto clock = parse_clock(value))
        out.report.clock_ahead = std::chrono::duration_cast<Duration>(*clock - (asked + (answered - asked) / 2));
    } else if (key == "admitted") {
      out.admitted = true;
    } else if (key == "boot") {
      if (is_boot_id(value)) out.boot = value;
    } else if (key == "configuration") {
      out.report.configuration = value;
    } else if (key == "memory") {
      out.report.memory_mb = parse_number<std::int64_t>(value).value_or(0);
    } else if (key == "cpus") {
      out.report.cpus = parse_number<std::int64_t>(value).value_or(0);
    } else if (key == "mount") {
      out.report.mounts.emplace_back(value);
    } else if (key == "program") {
      out.report.programs.emplace_back(value);
    }
  }
  return out;
}

}  // namespace underway::slurm

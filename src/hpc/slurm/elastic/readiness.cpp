#include "slurm/elastic/readiness.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

constexpr std::size_t kLongestReason = 200;

std::vector<std::string> missing(const std::vector<std::string>& wanted, const std::vector<std::string>& there) {
  std::vector<std::string> out;
  for (const auto& what : wanted) {
    if (std::find(there.begin(), there.end(), what) == there.end()) out.push_back(what);
  }
  return out;
}

/// What Slurm and its readers take for the end of a text is none of it.
std::string clean(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        c >= ' ' && c != '|' && c != '"' && c != '\'' && c != '\\' && c != '[' && c != ']' && c != '\x7f';
    out += plain ? c : ' ';
  }
  return out;
}

/// Not in the middle of a character.
std::string cut_to(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  text.resize(bytes);
  return text;
}

}  // namespace

std::string configuration_version(const std::map<std::string, std::string>& files) {
  // With their lengths, so that no byte can move from one file to the next unseen.
  std::string all;
  for (const auto& [path, text] : files) all += fmt::format("{}:{}{}:", path.size(), path, text.size()) + text;
  return hex(crypto::sha256(all)).substr(0, 16);
}

std::vector<std::string> judge(const NodeReport& report, const Wanted& wanted) {
  std::vector<std::string> out;
  if (!wanted.configuration.empty() && report.configuration != wanted.configuration)
    out.push_back(
        report.configuration.empty()
            ? fmt::format("it has no configuration, {} is wanted", wanted.configuration)
            : fmt::format("its configuration is {}, {} is wanted", report.configuration, wanted.configuration));
  if (!report.clock_ahead)
    out.emplace_back("it does not say what time it has");
  else if (std::chrono::abs(*report.clock_ahead) > wanted.clock_skew + report.clock_error)
    out.push_back(
        fmt::format("its clock is {} {}, {} are allowed", human_duration(std::chrono::abs(*report.clock_ahead)),
                    *report.clock_ahead < Duration::zero() ? "behind" : "ahead", human_duration(wanted.clock_skew)));
  for (const auto& path : missing(wanted.mounts, report.mounts))
    out.push_back(fmt::format("nothing is mounted at {}", path));
  for (const auto& path : missing(wanted.programs, report.programs)) out.push_back(fmt::format("{} is missing", path));
  if (report.memory_mb < wanted.memory_mb)
    out.push_back(fmt::format("it has {} MiB of memory, {} are declared", report.memory_mb, wanted.memory_mb));
  if (report.cpus < wanted.cpus)
    out.push_back(fmt::format("it has {} processors, {} are declared", report.cpus, wanted.cpus));
  for (const auto& [name, said] : report.failed)
    out.push_back(said.empty() ? fmt::format("the check {} fails", name)
                               : fmt::format("the check {} fails: {}", name, said));
  return out;
}

std::string reason_text(const std::vector<std::string>& reasons) {
  std::string out = kNotReadyPrefix;
  const std::size_t prefix = out.size();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const auto one = (out.size() > prefix ? "; " : "") + clean(trim(reasons[i]));
    const auto rest = reasons.size() - i;
    const auto more = fmt::format("; and {} more", rest);
    const std::size_t room = kLongestReason - (rest > 1 ? more.size() : 0);
    if (out.size() + one.size() <= room) {
      out += one;
      continue;
    }
    if (out.size() == prefix) return cut_to(out + one, kLongestReason);
    return out + more;
  }
  return out;
}

GateVerdict decide_gate(const std::string& node, const NodeRecord* record, bool started,
                        const std::vector<std::string>& reasons) {
  const bool known = record != nullptr && record->state != "FUTURE";
  if (!started) return {reasons.empty() ? GateStep::start : GateStep::keep_off, {}};
  if (!known) return {};
  const bool ours = record->draining() && held_by_us(*record) && record->reason != kLeavingReason;
  if (record->draining() && !ours) return {};
  if (reasons.empty()) {
    // Before it has registered it would be let in, and not be there.
    if (ours && record->responds()) return {GateStep::admit, admit_command({node})};
    return {};
  }
  const auto text = reason_text(reasons);
  if (ours && record->reason == text) return {};
  return {GateStep::hold, drain_command({node}, text)};
}

}  // namespace underway::slurm

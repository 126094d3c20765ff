#include "cli/capsule/protection_text.hpp"

#include <cctype>

#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using model::Protection;

/// "5m", not "5m0s".
std::string span(Duration duration) {
  auto out = human_duration(duration);
  const auto size = out.size();
  if (size > 3 && out[size - 2] == '0' && std::isalpha(static_cast<unsigned char>(out[size - 3])) != 0)
    out.resize(size - 2);
  return out;
}

std::string kept(const model::Retention& keep) {
  std::vector<std::string> parts;
  if (keep.last > 0) parts.push_back(fmt::format("the newest {}", keep.last));
  if (keep.hourly > 0) parts.push_back(fmt::format("{} of hours", keep.hourly));
  if (keep.daily > 0) parts.push_back(fmt::format("{} of days", keep.daily));
  if (keep.weekly > 0) parts.push_back(fmt::format("{} of weeks", keep.weekly));
  return parts.empty() ? "all are kept" : join(parts, ", ") + " are kept";
}

std::string when_its_host_dies(const Protection& one) {
  if (one.keeps_nothing) return "it starts elsewhere, with nothing";
  if (!one.standby || (one.standby_node.empty() && one.others == 0)) return "it waits for that host";
  const auto who = one.standby_node.empty() ? fmt::format("another node of pool '{}', chosen when it runs,", one.pool)
                   : one.standby_chosen     ? one.standby_node + " (chosen by hand)"
                                            : one.standby_node + " (chosen by itself)";
  return who + " has a copy and takes over";
}

std::string copies(const Protection& one) {
  auto out = fmt::format("at once of what is replaced, every {} of the rest", span(one.copies_every));
  if (one.loss > Duration{0}) out += fmt::format("; one that is older than {} is told", span(one.loss));
  return out + fmt::format("; from one older than {} nothing is started", span(one.rpo));
}

std::string snapshots(const Protection& one) {
  if (one.keeps_nothing) return "none: it keeps nothing";
  if (one.snapshots_every <= Duration{0}) return "none by themselves";
  return fmt::format("every {}{}, {}, on its node{}", span(one.snapshots_every),
                     one.snapshots_by_default ? " (by default)" : "", kept(one.snapshots_kept),
                     one.snapshots_by_default ? " while a tenth of its disk is free" : "");
}

std::string backups(const Protection& one) {
  if (one.keeps_nothing) return "none: it keeps nothing";
  if (one.repository.empty()) return "none: no place is named";
  if (one.backups_every <= Duration{0}) return "by hand only, to " + one.repository;
  return fmt::format("every {} to {}, {}; {}", span(one.backups_every), one.repository, kept(one.backups_kept),
                     one.drills_every > Duration{0} ? "tried every " + span(one.drills_every) : "never tried");
}

}  // namespace

std::string protection_text(const std::vector<Protection>& protections) {
  std::string out;
  for (const auto& one : protections) {
    out += fmt::format("  {}\n    its host dies: {}\n", one.capsule, when_its_host_dies(one));
    if (one.standby && (one.others > 0 || !one.standby_node.empty())) out += "    copies:        " + copies(one) + "\n";
    out += fmt::format("    snapshots:     {}\n    backups:       {}\n", snapshots(one), backups(one));
    for (const auto& warning : one.warnings) out += "    " + paint(Colour::yellow, "!") + " " + warning + "\n";
  }
  return out.empty() ? out : "\nHow capsules are protected\n" + out;
}

}  // namespace underway::cli

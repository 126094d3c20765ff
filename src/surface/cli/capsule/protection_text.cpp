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

std::string when_its_host_dies(const Protection& protection) {
  if (protection.keeps_nothing) return "it starts elsewhere, with nothing";
  if (!protection.standby || (protection.standby_node.empty() && protection.others == 0))
    return "it waits for that host";
  const auto who = protection.standby_node.empty()
                       ? fmt::format("another node of pool '{}', chosen when it runs,", protection.pool)
                   : protection.standby_chosen ? protection.standby_node + " (chosen by hand)"
                                               : protection.standby_node + " (chosen by itself)";
  return who + " has a copy and takes over";
}

std::string copies(const Protection& protection) {
  auto out = fmt::format("at once of what is replaced, every {} of the rest", span(protection.copies_every));
  if (protection.loss > Duration{0}) out += fmt::format("; one that is older than {} is told", span(protection.loss));
  return out + fmt::format("; from one older than {} nothing is started", span(protection.rpo));
}

std::string snapshots(const Protection& protection) {
  if (protection.keeps_nothing) return "none: it keeps nothing";
  if (protection.snapshots_every <= Duration{0}) return "none by themselves";
  return fmt::format("every {}{}, {}, on its node{}", span(protection.snapshots_every),
                     protection.snapshots_by_default ? " (by default)" : "", kept(protection.snapshots_kept),
                     protection.snapshots_by_default ? " while a tenth of its disk is free" : "");
}

std::string backups(const Protection& protection) {
  if (protection.keeps_nothing) return "none: it keeps nothing";
  if (protection.repository.empty()) return "none: no place is named";
  if (protection.backups_every <= Duration{0}) return "by hand only, to " + protection.repository;
  return fmt::format(
      "every {} to {}, {}; {}", span(protection.backups_every), protection.repository, kept(protection.backups_kept),
      protection.drills_every > Duration{0} ? "tried every " + span(protection.drills_every) : "never tried");
}

}  // namespace

std::string protection_text(const std::vector<Protection>& protections) {
  std::string out;
  for (const auto& protection : protections) {
    out += fmt::format("  {}\n    its host dies: {}\n", protection.capsule, when_its_host_dies(protection));
    if (protection.standby && (protection.others > 0 || !protection.standby_node.empty()))
      out += "    copies:        " + copies(protection) + "\n";
    out += fmt::format("    snapshots:     {}\n    backups:       {}\n", snapshots(protection), backups(protection));
    for (const auto& warning : protection.warnings) out += "    " + paint(Colour::yellow, "!") + " " + warning + "\n";
  }
  return out.empty() ? out : "\nHow capsules are protected\n" + out;
}

}  // namespace underway::cli

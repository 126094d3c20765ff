#include "slurm/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

/// Major releases came when they came; from 24.05 on in May and November of each year (upgrades.html, "Release Cycle").
constexpr std::array<std::pair<int, int>, 9> kReleases = {
    {{17, 11}, {18, 8}, {19, 5}, {20, 2}, {20, 11}, {21, 8}, {22, 5}, {23, 2}, {23, 11}}};
constexpr std::pair<int, int> kRegular = {24, 5};

int place_of(const Version& version) {
  const std::pair<int, int> major = {version.year, version.month};
  const int before =
      static_cast<int>(std::ranges::count_if(kReleases, [&](const auto& release) { return release < major; }));
  if (major < kRegular) return before;
  return before + 2 * (version.year - kRegular.first) + (version.month > kRegular.second ? 1 : 0);
}

/// Takes a number of at most `most` digits from the front; nothing when there is none or it is longer.
std::optional<int> take_number(std::string_view& text, std::size_t most) {
  std::size_t count = 0;
  int value = 0;
  for (; count < text.size() && is_digit(text[count]); ++count) {
    if (count == most) return std::nullopt;
    value = 10 * value + (text[count] - '0');
  }
  if (count == 0) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

/// At the front of `text`: two digits, a dot, two digits.
std::optional<Version> version_at(std::string_view text) {
  Version out;
  const auto year = take_number(text, 2);
  if (!year || *year < 10 || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  const std::size_t before = text.size();
  const auto month = take_number(text, 2);
  if (!month || before - text.size() != 2 || *month < 1 || *month > 12) return std::nullopt;
  out.year = *year;
  out.month = *month;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    out.maintenance = take_number(text, 4).value_or(0);
  }
  return out;
}

/// "c1, c2, c3 and 17 others".
std::string some_of(const std::vector<std::string>& nodes) {
  constexpr std::size_t kNamed = 3;
  if (nodes.size() <= kNamed + 1) return join(nodes, ", ");
  return fmt::format("{} and {} others", join({nodes.begin(), nodes.begin() + kNamed}, ", "), nodes.size() - kNamed);
}

/// Why the daemon that is to be newer does not understand the other, as a sentence; empty: it does.
std::string obstacle(const std::string& upper, const Version& its, const std::string& lower, const Version& others) {
  const int behind = releases_between(others, its);
  if (behind < 0) return fmt::format("{} is older than {}", upper, lower);
  if (behind <= understood(its)) return {};
  return fmt::format("{} understands the {} major releases before its own, and {} is {} behind", upper, understood(its),
                     lower, behind);
}

}  // namespace

std::string Version::major() const { return fmt::format("{:02}.{:02}", year, month); }

std::string Version::text() const { return fmt::format("{}.{}", major(), maintenance); }

std::optional<Version> find_version(std::string_view text) {
  // Debian's way to go back without a lower number: "20.11.7+really20.11.4-2".
  constexpr std::string_view kReally = "+really";
  if (const auto really = text.find(kReally); really != std::string_view::npos)
    text.remove_prefix(really + kReally.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    // A number begins here, and is not the rest of a longer one.
    if (!is_digit(text[at]) || (at > 0 && (is_digit(text[at - 1]) || text[at - 1] == '.'))) continue;
    if (const auto found = version_at(text.substr(at))) return found;
  }
  return std::nullopt;
}

int releases_between(const Version& older, const Version& newer) { return place_of(newer) - place_of(older); }

int understood(const Version& version) { return version >= Version{24, 11, 0} ? 3 : 2; }

Services services_in(const std::vector<std::pair<std::string, std::string>>& packages) {
  Services out;
  for (const auto& [name, version] : packages) {
    for (const auto& [service, slot] : {std::pair("slurmctld", &out.slurmctld), std::pair("slurmdbd", &out.slurmdbd)}) {
      const std::string spec = fmt::format("slurm-{}", service);
      if (name == service || name == spec || name == spec + "-ohpc") *slot = find_version(version);
    }
  }
  return out;
}

namespace {

/// What the newer one of a capsule finds of the older one's.
void judge_data(const std::string& service, const std::optional<Version>& before, const std::optional<Version>& now,
                std::vector<std::string>& problems) {
  if (!before || !now) return;
  const int ahead = releases_between(*before, *now);
  if (ahead < 0)
    problems.push_back(
        fmt::format("what its {0} {1} has written its {0} {2} does not read", service, before->text(), now->text()));
  if (ahead > understood(*now))
    problems.push_back(
        fmt::format("its {0} {1} reads what the {2} major releases before its own have written, and {0} "
                    "{3} is {4} behind",
                    service, now->text(), understood(*now), before->text(), ahead));
}

void judge_others(const Services& services, const std::vector<ServicesElsewhere>& others, VersionVerdict& verdict,
                  std::vector<std::string>& parts) {
  const auto judge = [&](const std::string& upper, const Version& its, const std::string& lower, const Version& of) {
    if (auto why = obstacle(upper, its, lower, of); !why.empty()) verdict.problems.push_back(std::move(why));
  };
  for (const auto& [capsule, there] : others) {
    const auto name = [&](const char* service, const Version& version) {
      return fmt::format("the {} {} of capsule '{}'", service, version.text(), capsule);
    };
    if (services.slurmctld && there.slurmdbd && !services.slurmdbd) {
      parts.push_back(fmt::format("slurmdbd {} in '{}'", there.slurmdbd->text(), capsule));
      judge(name("slurmdbd", *there.slurmdbd), *there.slurmdbd, "its slurmctld " + services.slurmctld->text(),
            *services.slurmctld);
    }
    if (services.slurmdbd && there.slurmctld && !services.slurmctld) {
      parts.push_back(fmt::format("slurmctld {} in '{}'", there.slurmctld->text(), capsule));
      judge("its slurmdbd " + services.slurmdbd->text(), *services.slurmdbd, name("slurmctld", *there.slurmctld),
            *there.slurmctld);
    }
  }
}

}  // namespace

VersionVerdict judge_slurmd(const Version& slurmd, const std::string& path,
                            const std::vector<ServicesElsewhere>& controllers) {
  VersionVerdict verdict;
  verdict.summary = fmt::format("slurmd {} ({})", slurmd.text(), path);
  for (const auto& [capsule, services] : controllers) {
    if (!services.slurmctld) continue;
    verdict.summary += fmt::format(", slurmctld {} in '{}'", services.slurmctld->text(), capsule);
    auto why = obstacle(fmt::format("the slurmctld {} of capsule '{}'", services.slurmctld->text(), capsule),
                        *services.slurmctld, fmt::format("the slurmd {} in {}", slurmd.text(), path), slurmd);
    if (!why.empty()) verdict.problems.push_back(std::move(why));
  }
  return verdict;
}

VersionVerdict judge_versions(const Services& services, const std::vector<NodeVersions>& nodes,
                              const std::vector<ServicesElsewhere>& others, const Services& before) {
  VersionVerdict verdict;
  std::vector<std::string> parts;
  const auto& [controller, accounting] = services;
  if (controller) parts.push_back("slurmctld " + controller->text());
  if (accounting) parts.push_back("slurmdbd " + accounting->text());
  if (controller && accounting) {
    auto why =
        obstacle("its slurmdbd " + accounting->text(), *accounting, "its slurmctld " + controller->text(), *controller);
    if (!why.empty()) verdict.problems.push_back(std::move(why));
  }
  judge_others(services, others, verdict, parts);
  judge_data("slurmctld", before.slurmctld, services.slurmctld, verdict.problems);
  judge_data("slurmdbd", before.slurmdbd, services.slurmdbd, verdict.problems);
  std::map<Version, std::vector<std::string>> by_version;
  for (const auto& node : nodes) {
    if (node.installed) by_version[*node.installed].push_back(node.node);
    if (node.running && node.running != node.installed) by_version[*node.running].push_back(node.node);
  }
  for (auto& [version, names] : by_version) {
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {  // c2 before c10
      return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
    });
    parts.push_back(fmt::format("slurmd {} on {}", version.text(), some_of(names)));
    if (!controller) continue;
    auto why = obstacle("its slurmctld " + controller->text(), *controller,
                        fmt::format("the slurmd {} of {}", version.text(), some_of(names)), version);
    if (!why.empty()) verdict.problems.push_back(std::move(why));
  }
  verdict.summary = join(parts, ", ");
  return verdict;
}

}  // namespace underway::slurm

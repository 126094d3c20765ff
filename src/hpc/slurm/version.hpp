#pragma once
/// @file
/// Which releases of Slurm work together. slurmdbd may not be older than slurmctld, nor slurmctld than any slurmd; and
/// what is newer understands the two major releases before its own, from 24.11 on the three before.
/// Source: Slurm's upgrade guide, "Compatibility Window" and "Upgrade Procedure", slurm.schedmd.com/upgrades.html.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace underway::slurm {

/// "22.05.8": the major release 22.05, maintained for the eighth time.
struct Version {
  int year = 0, month = 0, maintenance = 0;

  std::string major() const;  ///< "22.05"
  std::string text() const;   ///< "22.05.8"
  auto operator<=>(const Version&) const = default;
};

/// Of a package ("1:22.05.8-4+deb12u3", "23.11.4-300.ohpc.1"), of what `slurmd -V` says ("slurm-wlm 22.05.8"), or
/// plain. Nothing when there is none in it.
std::optional<Version> find_version(std::string_view text);

/// How many major releases `newer` is ahead of `older`; negative: behind.
int releases_between(const Version& older, const Version& newer);
/// How many major releases before its own a daemon of this one understands.
int understood(const Version& version);

/// What a controller and its accounting are; what is not there has no say.
struct Services {
  std::optional<Version> slurmctld, slurmdbd;
};
/// Of packages by name and version, as Debian, Slurm's own spec file and OpenHPC call them.
Services services_in(const std::vector<std::pair<std::string, std::string>>& packages);

/// slurmd on a node: what is installed there and, if that is another, what runs.
struct NodeVersions {
  std::string node;
  std::optional<Version> installed, running;
};

/// Whether they work together.
struct VersionVerdict {
  std::vector<std::string> problems;  ///< as sentences; empty: they do
  std::string summary;                ///< all versions on one line, for people
};
/// What other capsules have, by the name of the capsule.
struct ServicesElsewhere {
  std::string capsule;
  Services services;
};
/// `others` serve the same cluster: what `services` lacks is looked for there. `before` is what the same capsule had,
/// with whose data it is to start; empty: with data of its own.
VersionVerdict judge_versions(const Services& services, const std::vector<NodeVersions>& nodes,
                              const std::vector<ServicesElsewhere>& others = {}, const Services& before = {});
/// Whether a slurmd, which lies at `path`, goes with the controllers.
VersionVerdict judge_slurmd(const Version& slurmd, const std::string& path,
                            const std::vector<ServicesElsewhere>& controllers);

}  // namespace underway::slurm

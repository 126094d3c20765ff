#include "model/slurm_member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

/// What a Slurm feature may be called. Source: slurm.conf(5), Features: no '&', '|', ',', '=' and the like, as jobs ask
/// for features in expressions of these.
bool is_feature(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
                              std::string::npos;
}

}  // namespace

std::vector<std::string> SlurmJoin::problems(const std::string& where, std::int64_t size,
                                             const std::string& hostname) const {
  std::vector<std::string> out;
  const auto say = [&](std::string what) { out.push_back(where + ": " + std::move(what)); };
  if (join != "auto" && join != "dynamic" && join != "cloud")
    say(fmt::format("join '{}' is none of auto, dynamic, cloud", join));
  if (most != 0 && most < size) say(fmt::format("most is {}, and the pool has {} hosts", most, size));
  if (most < 0 || most > 10'000) say(fmt::format("most {} is not between 0 and 10000", most));
  if (!hostname.empty() && hostname.find("%d") == std::string::npos)
    say(fmt::format("the hostname '{}' needs a %d, as the pool may grow", hostname));
  for (const auto& feature : features) {
    if (!is_feature(feature)) say(fmt::format("'{}' is no name of a feature", feature));
  }
  for (const auto& file : configuration) {
    if (file.empty() || file.find('/') != std::string::npos)
      say(fmt::format("configuration '{}' is no name of a file beside slurm.conf", file));
  }
  for (const auto* paths : {&mounts, &programs}) {
    for (const auto& path : *paths) {
      if (!path.starts_with("/")) say(fmt::format("'{}' is no absolute path", path));
    }
  }
  if (clock_skew <= Duration{0} || clock_skew > std::chrono::minutes(5))
    say(fmt::format("clock_skew {} is not between 0 and 5m, from where on munge refuses", human_duration(clock_skew)));
  for (const auto& what : revert) {
    if (std::find(std::begin(kRevertible), std::end(kRevertible), what) == std::end(kRevertible))
      say(fmt::format("revert: '{}' is none of {}", what, fmt::join(kRevertible, ", ")));
  }
  return out;
}

const Enumeration& description(Tag<SlurmMembership>) {
  static const Enumeration e = describe::enumeration<SlurmMembership>("membership of Slurm");
  return e;
}

const Structure& description(Tag<SlurmJoin>) {
  static const Structure s =
      Builder<SlurmJoin>("slurm",
                         "Has the hosts of the pool become nodes of Slurm when they are ready, and leave it, empty, "
                         "before they go.")
          .attribute<&SlurmJoin::join>("join", "Join",
                                       "`dynamic` (`slurmd -Z`), `cloud` (lines with `State=CLOUD`), or `auto`: what "
                                       "the release of Slurm and its topology allow.")
          .attribute<&SlurmJoin::most>("most", "Most",
                                       "How many hosts the pool will ever have, for slurm.conf; 0: as many as it has.")
          .attribute<&SlurmJoin::features>("features", "Features", "Features of its nodes, besides the pool's name.")
          .attribute<&SlurmJoin::configuration>(
              "configuration", "Configuration",
              "Names of files beside slurm.conf that the hosts have themselves, and that have to be as slurmctld's; "
              "none where slurmd fetches them (`--conf-server`).")
          .attribute<&SlurmJoin::mounts>("mounts", "Mounts", "Directories at which something has to be mounted.")
          .attribute<&SlurmJoin::programs>("programs", "Programs", "Paths of what has to be there and executable.")
          .attribute<&SlurmJoin::clock_skew>("clock_skew", "ClockSkew", "How much the clock may be off, either way.")
          .attribute<&SlurmJoin::revert>(
              "revert", "Revert",
              "What is put back when somebody changes it by scontrol, of `address`, `features`, `weight`, `released` "
              "(a node that is held, and was let in), `unknown` (one that was deleted) and `foreign` (one that nobody "
              "declared); the others are adopted. A drain by somebody else always stays.")
          .done();
  return s;
}

const Structure& description(Tag<SlurmMember>) {
  static const Structure s =
      Builder<SlurmMember>("Slurm member", "How far Slurm is with a host of a pool that joins it.")
          .wire<&SlurmMember::cluster>("Cluster", "The host's cluster.")
          .wire<&SlurmMember::host>("Host", "Its name, and that of its node of Slurm.")
          .wire<&SlurmMember::status>("Status",
                                      "`waits`, `admitted`, `resting` (its machine may sleep), `leaving`, `released` "
                                      "(its machine may be stopped) or "
                                      "`gone` (its address may be another's).")
          .wire<&SlurmMember::description>("Description", "Why it is so, for people; empty: there is nothing to say.")
          .wire<&SlurmMember::differences>("Differences", "What somebody changed by scontrol, and stays so.")
          .wire<&SlurmMember::suspended>("Suspended", "Its Slurm jobs that sleep with it, and go on with it.")
          .wire<&SlurmMember::node_id>("NodeID", "ID of the node that was admitted.")
          .wire<&SlurmMember::boot>("Boot", "Boot ID of its machine's kernel when it was admitted.")
          .wire<&SlurmMember::admitted_at>("AdmittedAt", "Unix time in nanoseconds; 0: it never was.")
          .wire<&SlurmMember::updated_at>("UpdatedAt", "Unix time in nanoseconds of the newest change.")
          .done();
  return s;
}

}  // namespace underway::model

#pragma once
/// @file
/// What `releases.hcl` of a cluster's directory declares: where packages come from (mirrors of upstream's repositories,
/// and repositories of the site's own), and the tiers that they flow through.

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"

namespace underway::releasefile {

enum class Format : std::uint8_t { deb, rpm };

/// A copy of an upstream repository. Nothing is taken that upstream's signature does not cover.
struct Mirror {
  std::string name;
  Format format = Format::deb;
  std::string url;                  ///< deb: what has dists/ below it; rpm: what has repodata/
  std::vector<std::string> suites;  ///< deb
  std::vector<std::string> components{"main"};
  std::vector<std::string> architectures{"amd64"};
  std::vector<std::string> keys;   ///< files with OpenPGP keys, one of which has signed what is taken
  std::string filter;              ///< a query (package/query.hpp); empty: everything
  bool with_dependencies = true;   ///< of what the filter lets through
  std::vector<std::string> leave;  ///< queries: never taken
  std::string schedule = "@daily";
  Duration max_age{14 * 86'400'000'000'000};  ///< of upstream's signature where it says no end itself
  std::string proxy;
};

/// Packages of the site's own: what it patches, builds or pins.
struct Repository {
  std::string name;
  Format format = Format::deb;
  std::string description;
  /// Among sources of one tier: its packages go before those of sources with less. Mirrors have 500, as apt's and dnf's
  /// own default is one value for all.
  std::int64_t priority = 600;
};

/// Nodes that get the same releases at the same time, and what they get.
struct Tier {
  std::string name;
  std::string from;  ///< the tier whose releases it takes; empty: it takes mirrors and repositories as they are
  std::vector<std::string> sources;  ///< names of mirrors and repositories; of one with `from`: those of that tier
  std::vector<std::string> pools;    ///< whose hosts follow it
  Duration valid_for{10 *
                     86'400'000'000'000};  ///< of what is published: a client that sees nothing newer refuses it then
  std::int64_t keep = 5;                   ///< releases that can be gone back to
};

struct Releases {
  std::vector<Mirror> mirrors;
  std::vector<Repository> repositories;
  std::vector<Tier> tiers;

  const Mirror* find_mirror(std::string_view name) const;
  const Repository* find_repository(std::string_view name) const;
  const Tier* find_tier(std::string_view name) const;
};

/// What sources without a word of their own have.
constexpr std::int64_t kMirrorPriority = 500;

const describe::Enumeration& description(describe::Tag<Format>);
const describe::Structure& description(describe::Tag<Mirror>);
const describe::Structure& description(describe::Tag<Repository>);
const describe::Structure& description(describe::Tag<Tier>);
const describe::Structure& description(describe::Tag<Releases>);

}  // namespace underway::releasefile

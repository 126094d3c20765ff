#pragma once
/// @file
/// Versions as the `version` and `semver` operators understand them.
/// Source: hashicorp/go-version (syntax, `~>`, ordering of prereleases) and Semantic Versioning 2.0.0, section 11.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::scheduler {

struct Version {
  std::vector<std::int64_t> segments;  ///< at least three; missing ones are 0
  std::size_t given_segments = 0;      ///< as written, for `~>`
  std::string prerelease;

  /// "1.2.3", "v1.2", "1.0.0-rc.1+build", also "1.2beta3". Nothing when it is no version.
  static std::optional<Version> parse_loose(std::string_view text);
  /// As parse_loose, but a prerelease needs its hyphen.
  static std::optional<Version> parse_semver(std::string_view text);

  /// Negative, zero or positive as *this is older than, the same as or newer than `other`. Build metadata is ignored.
  int compare(const Version& other) const;
};

enum class VersionDialect { loose, semver };

/// A comma-separated list of bounds, all of which must hold: ">= 1.2, < 2.0", "~> 1.4.1" (not in semver).
/// In the loose dialect a prerelease meets only bounds that name a prerelease of the same release.
class VersionConstraint {
 public:
  /// Nothing when a bound does not parse.
  static std::optional<VersionConstraint> parse(std::string_view text, VersionDialect dialect);
  bool holds(const Version& version) const;

 private:
  enum class Bound : std::uint8_t { equal, not_equal, greater, less, greater_equal, less_equal, pessimistic };
  struct Clause {
    Bound bound;
    Version version;
  };
  bool clause_holds(const Clause& clause, const Version& version) const;

  VersionDialect dialect_ = VersionDialect::loose;
  std::vector<Clause> clauses_;
};

}  // namespace underway::scheduler

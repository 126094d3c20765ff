#pragma once
/// @file
/// A suite's `Release`: the one file that is signed, and names all others with their sizes and digests. Sources:
/// Debian's wiki "DebianRepository/Format", apt.conf(5) (Check-Valid-Until, Max-FutureTime, Acquire::By-Hash).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace underway::suite {

/// One of those that it names, by its path below `dists/<suite>/`.
struct IndexFile {
  std::string path;  ///< "main/binary-amd64/Packages.xz"
  std::uint64_t size = 0;
  std::string sha256;  ///< 64 hexadecimal digits, lower case
  bool operator==(const IndexFile&) const = default;
};

struct Release {
  std::string origin, label, suite, codename, version, description;
  TimePoint date{};
  std::optional<TimePoint> valid_until;
  bool acquire_by_hash = false;
  bool not_automatic = false;           ///< apt takes from it what it is told to, and nothing else
  bool but_automatic_upgrades = false;  ///< … and what was taken from it before
  std::vector<std::string> components, architectures;
  std::vector<IndexFile> files;  ///< by path

  const IndexFile* find(std::string_view path) const;
};

/// Reads the text that was signed. Files without a SHA-256 are left out: nothing weaker is believed. Errors: invalid,
/// with the line, for what is none, or has no date, no suite and no codename, or a path that leads out of the suite, or
/// twice the same one; too_large beyond 100,000 files.
Release parse_release(std::string_view text);
/// As it is signed and published. Fields that are empty are left out.
std::string write_release(const Release& release);

/// What may be wrong with one whose signature is good.
struct Expectation {
  std::string suite;  ///< as it was asked for: its Suite or Codename
  std::vector<std::string> components, architectures;
  std::optional<TimePoint> before;  ///< the date of the one that is known: what is older is a replay
  Duration max_age{0};              ///< where it has no Valid-Until; 0: whatever its age
  TimePoint now{};
};
/// Everything for which it is not taken, in words; empty: it is. A date up to ten seconds ahead is a clock's (apt's
/// Max-FutureTime).
std::vector<std::string> refusals(const Release& release, const Expectation& expected);

/// "Sat, 22 Nov 2025 10:05:20 UTC" (RFC 5322, as Debian writes it).
std::string format_date(TimePoint time);
/// The same, and with GMT or +0000. Nothing when it is no date, or one of another zone.
std::optional<TimePoint> parse_date(std::string_view text);

}  // namespace underway::suite

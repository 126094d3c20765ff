#pragma once
/// @file
/// Releases in the tables: a record for what a cluster declares, for what each source has, for each release, and for
/// each tier.

#include <optional>

#include "mirror/view.hpp"
#include "releasefile/releases.hpp"
#include "tables/records.hpp"

namespace underway::promotion {

/// What a cluster's `releases.hcl` says.
struct Declared {
  std::string cluster;
  releasefile::Releases releases;
  std::map<std::string, std::string> keys;  ///< texts of the files of keys that mirrors name
};

/// What a mirror or a repository has now.
struct SourceState {
  std::string cluster, source;
  mirror::View view;
  std::int64_t looked = 0;            ///< when upstream was asked last and answered: nanoseconds since the epoch
  std::int64_t changed = 0;           ///< since when the view is this one
  std::int64_t failing_since = 0;     ///< 0: the last look was good
  std::string failure;                ///< the last one, in a line
  std::int64_t files = 0, bytes = 0;  ///< that the last change has fetched
};

/// What a release has of one source.
struct Part {
  std::string source;
  releasefile::Format format = releasefile::Format::deb;
  std::int64_t priority = 0;
  mirror::View view;
};

struct Release {
  std::string cluster, name;  ///< "2026.11.28-1"
  std::string note;
  std::string by;            ///< who made it
  std::int64_t created = 0;  ///< nanoseconds since the epoch
  std::string digest;        ///< of its parts: releases with the same are the same
  std::vector<Part> parts;
  model::Revision create_index = 0, modify_index = 0;  ///< of the row
};

enum class Move : std::uint8_t { promoted, rolled_back };

struct Step {
  std::string release;
  Move move = Move::promoted;
  std::int64_t at = 0;  ///< nanoseconds since the epoch
  std::string by, why;
};

struct TierState {
  std::string cluster, tier;
  std::vector<Step> steps;  ///< the newest last, which is what it has

  /// Empty: none yet.
  std::string release() const { return steps.empty() ? std::string() : steps.back().release; }
  bool had(std::string_view release) const;
};

const describe::Structure& description(describe::Tag<Declared>);
const describe::Structure& description(describe::Tag<SourceState>);
const describe::Structure& description(describe::Tag<Part>);
const describe::Structure& description(describe::Tag<Release>);
const describe::Enumeration& description(describe::Tag<Move>);
const describe::Structure& description(describe::Tag<Step>);
const describe::Structure& description(describe::Tag<TierState>);

}  // namespace underway::promotion

namespace underway::tables {

template <>
struct RecordOf<promotion::Declared> {
  static constexpr std::string_view kind = "releases-declared";
  static std::string name(const promotion::Declared& declared) { return declared.cluster; }
};
template <>
struct RecordOf<promotion::SourceState> {
  static constexpr std::string_view kind = "release-source";
  static std::string name(const promotion::SourceState& state) { return state.cluster + "/" + state.source; }
};
template <>
struct RecordOf<promotion::Release> {
  static constexpr std::string_view kind = "release";
  static std::string name(const promotion::Release& release) { return release.cluster + "/" + release.name; }
};
template <>
struct RecordOf<promotion::TierState> {
  static constexpr std::string_view kind = "release-tier";
  static std::string name(const promotion::TierState& state) { return state.cluster + "/" + state.tier; }
};

}  // namespace underway::tables

namespace underway::promotion {

/// Throws not_found.
Declared get_declared(const tables::Tables& tables, const std::string& cluster);
Release get_release(const tables::Tables& tables, const std::string& cluster, const std::string& name);
/// Of one that has none yet: without steps.
TierState tier_state(const tables::Tables& tables, const std::string& cluster, const std::string& tier);
/// The newest first.
std::vector<Release> releases_of(const tables::Tables& tables, const std::string& cluster);

}  // namespace underway::promotion

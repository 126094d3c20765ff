#pragma once
/// @file
/// The changes that were made, each with its class: a record for each, put in the commit of the change itself. The
/// newest kMostEntries are kept.

#include <fmt/format.h>

#include <map>
#include <optional>

#include "impact/impact.hpp"
#include "tables/records.hpp"

namespace underway::impact {

using model::ChangeEntry;

/// At most 2 KiB each: some ten years of a busy site, or 20 MiB.
constexpr std::int64_t kMostEntries = 10'000;

/// Adds the entry, with its number, to `changes`, and takes the oldest away when there are kMostEntries. Texts are cut.
void keep(const tables::Tables& tables, std::vector<tables::Change>& changes, ChangeEntry entry);

/// Those that are not older than `since`, oldest first; of them at most `limit`, the newest.
std::vector<ChangeEntry> entries_since(const tables::Tables& tables, TimePoint since, std::size_t limit);

/// How many there are of each class.
struct Tally {
  std::int64_t none = 0, brief = 0, drain = 0, outage = 0;

  std::int64_t all() const { return none + brief + drain + outage; }
  /// As the classes are counted: what needs no window is one.
  std::int64_t no_impact() const { return none + brief; }
  bool operator==(const Tally&) const = default;
};

void add(Tally& tally, Impact impact);
Tally tally_of(const std::vector<ChangeEntry>& entries);
/// "41 changes: 32 no-impact (12 brief), 6 drain, 3 outage".
std::string sentence(const Tally& tally);
/// By month in UTC, "2026-11", oldest first; a month without changes between two others is there, too.
std::map<std::string, Tally> by_month(const std::vector<ChangeEntry>& entries);

const describe::Structure& description(describe::Tag<Tally>);

}  // namespace underway::impact

namespace underway::tables {

template <>
struct RecordOf<model::ChangeEntry> {
  static constexpr std::string_view kind = "change";
  /// In the order of numbers.
  static std::string name(const model::ChangeEntry& entry) { return fmt::format("{:012}", entry.number); }
};

}  // namespace underway::tables

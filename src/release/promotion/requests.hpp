#pragma once
/// @file
/// How releases change. Errors of all: not_found for a cluster, a tier or a release that is not there; those that are
/// named.

#include "promotion/records.hpp"
#include "server/request.hpp"

namespace underway::promotion {

/// `releases.hcl` of a cluster, or a new version of it. What a tier has stays, also where it is not declared any more:
/// it can be declared again. Errors: conflict for a source whose format changes: releases have it as it was.
struct DeclareReleases {
  Declared declared;
};
server::Decision<Declared> decide(const tables::Tables& tables, const DeclareReleases& request,
                                  const server::Context& context);

/// A mirror was looked at.
struct NoteSynchronised {
  std::string cluster, source;
  mirror::View view;
  bool changed = false;
  std::int64_t files = 0, bytes = 0;
  std::string failure = {};  ///< not empty: it failed, and has what it had
};
/// Of a mirror that is not declared any more: nothing.
server::Decision<SourceState> decide(const tables::Tables& tables, const NoteSynchronised& request,
                                     const server::Context& context);

/// Freezes what the sources of a tier have now.
struct MakeRelease {
  std::string cluster;
  std::string name = {};  ///< empty: of the day, "2026.11.28-1"
  std::string tier = {};  ///< one that takes its sources as they are; empty: the only one
  std::string note = {}, by = {};
};
struct Made {
  Release release;
  bool made = true;  ///< false: the newest release has the same already, and no other name was asked for
};
/// Errors: conflict for a name that is taken by another, or a source that was never synchronised; invalid.
server::Decision<Made> decide(const tables::Tables& tables, const MakeRelease& request, const server::Context& context);

/// Gives a tier a release.
struct Promote {
  std::string cluster, tier, release;
  std::string by = {}, why = {};
};
/// Errors: denied for one that the tier before it never had: whatever is there was tried there.
server::Decision<TierState> decide(const tables::Tables& tables, const Promote& request,
                                   const server::Context& context);

/// Gives a tier again what it had.
struct RollBack {
  std::string cluster, tier;
  std::string release = {};  ///< empty: the one before
  std::string by = {}, why = {};
};
/// Errors: conflict when it had no other, or never this one.
server::Decision<TierState> decide(const tables::Tables& tables, const RollBack& request,
                                   const server::Context& context);

struct ForgetRelease {
  std::string cluster, release;
};
/// Errors: conflict while a tier has it, or may go back to it.
server::Decision<Release> decide(const tables::Tables& tables, const ForgetRelease& request,
                                 const server::Context& context);

/// Digests of all that sources and releases refer to in the pool, as hexadecimal digits, sorted: lists and what
/// upstream signed. The packages in those lists are in use, too.
std::vector<std::string> lists_in_use(const tables::Tables& tables);

}  // namespace underway::promotion

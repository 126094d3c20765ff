#pragma once
/// @file
/// How a change of a job reaches what runs, and what is true if the new version does not work: known before anything is
/// touched, from the job's `update` with its defaults. Pure.

#include <map>
#include <set>

#include "tables/tables.hpp"

namespace underway::impact {

struct Prospect {
  std::string what;         ///< "slurmd", "group 'api' of 'web'"
  std::string rollout;      ///< "1 of 6 first, then 1 at a time; it goes back by itself when one fails"
  std::string if_it_fails;  ///< "c1 is without slurmd for at most 50s, SlurmdTimeout is 60 s; then it goes back"
  bool operator==(const Prospect&) const = default;
};

/// Nodes by group.
using Places = std::map<std::string, std::set<std::string>>;

/// One for each group of which `proposed` replaces what runs. `first`: where the first step of it would be.
std::vector<Prospect> prospects_of(const tables::Tables& tables, const model::Job& proposed, const Places& first);

const describe::Structure& description(describe::Tag<Prospect>);

}  // namespace underway::impact

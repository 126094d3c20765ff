#pragma once
/// @file
/// How a change of a job reaches what runs, and what is true if the new version does not work: known before anything is
/// touched, from the job's `update` with its defaults. Pure.

#include <map>
#include <set>

#include "model/impact.hpp"
#include "tables/tables.hpp"

namespace underway::impact {

using model::Prospect;

/// Nodes by group.
using Places = std::map<std::string, std::set<std::string>>;

/// One for each group of which `proposed` replaces what runs. `first`: where the first step of it would be.
std::vector<Prospect> prospects_of(const tables::Tables& tables, const model::Job& proposed, const Places& first);

}  // namespace underway::impact

#pragma once
/// @file
/// Why an allocation is where it is: the scores of nodes, term by term.

#include "model/allocation.hpp"

namespace underway::cli {

/// Nomad's table of placement metrics: a line per node, a column per term, the mean last. Empty without scores.
/// `names`: of nodes, by id; one that is missing is told by the beginning of its id.
std::string scores_text(const std::vector<model::NodeScore>& scores, const std::map<std::string, std::string>& names);

}  // namespace underway::cli

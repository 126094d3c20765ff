#pragma once
/// @file
/// What `elastic status` and `elastic explain` print: apart from the commands, so that it can be tried without a
/// server.

#include "base/error.hpp"
#include "growth/status.hpp"

namespace underway::cli {

/// `now`: by which the newest look is so long ago. `width` of the table; 0: as wide as it gets.
std::string growth_text(const growth::Status& status, TimePoint now, std::size_t width);
std::string growth_text(const growth::JobExplanation& job);

/// The cluster that is meant where nobody names one. Throws not_found when no pool of any cluster grows, and invalid,
/// naming them, when those of several do.
std::string only_growing_cluster(const std::vector<growth::Status>& growing);
/// That no pool grows, and what to write so that one does.
Error nothing_grows();

}  // namespace underway::cli

#pragma once
/// @file
/// What a change would do to those who use the cluster, as commands say it before they make the change.

#include "model/impact.hpp"

namespace underway::cli {

/// One line for all parts of a change, by the worst of them: "Impact: drain: node c1 is emptied: its Slurm jobs end
/// first".
std::string impact_line(const std::vector<model::Judgement>& parts);

/// How it is rolled out, and what is true if it does not work: two lines for each. Empty when nothing is replaced.
std::string prospects_text(const std::vector<model::Prospect>& prospects);

}  // namespace underway::cli

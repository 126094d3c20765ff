#pragma once
/// @file
/// How a capsule's record and its moves are told to people.

#include "model/capsule.hpp"

namespace underway::cli {

/// Everything about it, for `capsule status`.
std::string capsule_text(const model::Capsule& capsule);
/// The lines of a move under way; of one that is over, with its end.
std::vector<std::string> move_lines(const model::CapsuleMove& move, const std::string& waits_for);

}  // namespace underway::cli

#pragma once
/// @file
/// Commands that carry what a service keeps from the server into the overlay of its capsule before the first start, and
/// back again. The overlay's upper directory is a plain directory.

#include <string>
#include <vector>

#include "adoption/draft/capsule_draft.hpp"

namespace underway::adoption {

/// Where the plan starts capsules that have something to carry, and its fellow.
inline constexpr const char* kFirstHost = "infra1";
inline constexpr const char* kSecondHost = "infra2";

/// Configuration and state, from `server` (a word of the shell); nothing when there is nothing to carry.
std::vector<std::string> carry_over(const CapsuleDraft& capsule, const std::string& server);
/// State alone: whoever ran last has the newest.
std::vector<std::string> carry_back(const CapsuleDraft& capsule, const std::string& server);
/// Runs the job on kFirstHost, where carry_over has put its state.
std::vector<std::string> run_where_it_was_carried(const CapsuleDraft& capsule);

}  // namespace underway::adoption

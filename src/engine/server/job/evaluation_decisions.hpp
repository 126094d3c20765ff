#pragma once
/// @file
/// Evaluations: those that waited are woken, and people have some of a backlog forgotten.

#include "server/decision.hpp"

namespace underway::server {

/// The blocked evaluation, pending again.
Change awake(const model::Evaluation& blocked, const Context&);

/// At most so many in one request. Source: Nomad's limit of ids in one of its writes.
inline constexpr std::size_t kMostDeletedEvaluations = 7281;

/// Forgets evaluations. Nothing that runs is touched; a job whose evaluation waited for room is not looked at again
/// until something else has it evaluated. Returns how many. Throws not_found naming one that there is not; conflict
/// naming one that still stands behind allocations that run; invalid for too many.
struct DeleteEvaluations {
  std::vector<std::string> ids;
  bool found = false;  ///< by a filter, and not named by whoever asks: one that is gone by now is passed over
};
Decision<std::size_t> decide(const Tables&, const DeleteEvaluations&, const Context&);

}  // namespace underway::server

#pragma once
/// @file
/// When a failed allocation is replaced, and what its replacement remembers of that. All by the server's clock: what a
/// node says about when something ended may be minutes off.

#include "model/allocation.hpp"

namespace underway::scheduler {

/// How long `failed` is waited with. Source: Nomad's documentation of `reschedule`, "delay_function".
Duration reschedule_delay(const model::Allocation& failed, const model::ReschedulePolicy& policy);

/// When a failed allocation may be replaced: ns since the epoch, or nothing when it never is.
std::optional<std::int64_t> replacement_time(const model::Allocation& failed, const model::ReschedulePolicy& policy);

/// What the replacement of `failed` remembers: as much as the next decision needs, not more.
std::vector<model::RescheduleEvent> reschedules_after(const model::Allocation& failed,
                                                      const model::ReschedulePolicy& policy, std::int64_t now);

}  // namespace underway::scheduler

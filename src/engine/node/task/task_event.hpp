#pragma once
/// @file
/// Task events: what `alloc status` shows of a task's life, in Nomad's types and in words for people.

#include <string>
#include <string_view>
#include <vector>

#include "model/allocation.hpp"
#include "node/runtime.hpp"
#include "protocol/task_events.hpp"

namespace underway::node::event {

model::TaskEvent make(std::string_view type, std::string message);
model::TaskEvent terminated(const TaskEnd& end);
/// "Left 3 processes running: bash, slurmstepd (2)"
model::TaskEvent left_running(const std::map<std::string, std::size_t>& programs);
/// "exit code 1", "signal 9 (SIGKILL)", "out of memory"
std::string in_words(const TaskEnd& end);
/// "Sent SIGTERM. Waiting 5s before force killing"
model::TaskEvent killing(std::string_view signal, Duration timeout);
model::TaskEvent restarting(Duration delay, const std::string& reason);
/// A failure that ended an attempt; `type` tells which step failed.
model::TaskEvent failure(std::string_view type, const Error& error);

/// "Missing: variable 'a', …": what templates or secrets wait for; the first three are named.
model::TaskEvent missing(const std::vector<std::string>& what);

/// Appends and keeps the newest ten.
void append(model::TaskState& state, model::TaskEvent event, TimePoint now);

}  // namespace underway::node::event

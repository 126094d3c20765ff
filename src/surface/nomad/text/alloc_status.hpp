#pragma once
/// @file
/// `nomad alloc status`, which `nomad status` is for allocations.

#include "cli/wire.hpp"

namespace underway::nomad {

int alloc_status(const cli::Arguments& arguments);

/// "\nTask "web" is "running"", its resources, volumes, events. `usage`: what its tasks use, by name, or null; with
/// `stats` also each thing that was measured of them.
std::string task_text(const cli::Json& allocation, const std::string& task, const cli::Json& usage, bool stats);
/// Facts of few words and a row for each task, for -short.
std::string short_text(const cli::Json& allocation);
/// Tasks as that client orders them: those with a lifecycle, of them sidecars last, then the main ones.
std::vector<std::string> tasks_in_order(const cli::Json& allocation);

}  // namespace underway::nomad

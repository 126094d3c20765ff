#pragma once
/// @file
/// Starting programs in the capsule, as the capsule's own users.

#include <sys/types.h>

#include "run/init/spec.hpp"

namespace underway::run::init {

/// Forks and runs `command` in a session of its own with `out` and `err` as its output (-1: none). What fails before it
/// runs is said on `err`, and the child ends with 127. -1 when there is no process to be had.
pid_t start_program(const Words& command, const Words& environment, const char* user, int out, int err);

/// Milliseconds of the monotonic clock.
int64_t now_ms();

/// A pipe whose reading end does not block; false when there is none to be had.
bool open_log_pipe(int (&ends)[2]);

}  // namespace underway::run::init

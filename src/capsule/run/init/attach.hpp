#pragma once
/// @file
/// Attaching to a thread (ptrace(2)), and hearing of all that ended or stopped.
///
/// PTRACE_SEIZE waits while the thread's process executes another program (cred_guard_mutex), and that waits until its
/// other threads are gone: of those that are traced, until their tracer has heard of their end. We are that one. So
/// what ends or stops meanwhile is taken down at once, and told later.

#include <sys/types.h>

namespace underway::run::init {

/// PTRACE_SEIZE; false: errno. SIGCHLD must be blocked.
bool seize(pid_t thread, unsigned long options);
/// What has ended or stopped, as waitpid(2) has it, in that order; false: nothing more.
bool next_change(pid_t& pid, int& status);

/// Who traces a thread, as we number it; 0: nobody, -1: it cannot be told.
pid_t tracer_of(pid_t thread);

}  // namespace underway::run::init

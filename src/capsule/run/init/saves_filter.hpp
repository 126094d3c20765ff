#pragma once
/// @file
/// Which system calls are told of.

namespace underway::run::init {

/// Installs the filter in this process, for it and all that it starts; returns the descriptor on which calls are told,
/// or -1 and errno. EBUSY: there is another such filter.
int install_saves_filter();

/// The call's first argument is the file that is saved.
bool names_a_file(unsigned architecture, int call);

}  // namespace underway::run::init

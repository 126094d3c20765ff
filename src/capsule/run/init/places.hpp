#pragma once
/// @file
/// The files by which init is told what to run, and is asked.

#include "run/init/spec.hpp"

namespace underway::run::init {

/// Reads kSpecFile; once. False when it is none.
bool read_spec(Spec& spec);

/// Listens at kControlSocket; the descriptor, or -1 and errno.
int open_control();

}  // namespace underway::run::init

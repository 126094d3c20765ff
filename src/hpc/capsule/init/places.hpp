#pragma once
/// @file
/// The files by which init is told what to run, and is asked.

#include "capsule/init/spec.hpp"

namespace underway::capsule::init {

/// Reads kSpecFile; once. False when it is none.
bool read_spec(Spec& spec);

/// Listens at kControlSocket; the descriptor, or -1 and errno.
int open_control();

}  // namespace underway::capsule::init

#pragma once
/// @file
/// munged and slurmctld of this machine with the libraries that they need, as the root of an image: for tests and
/// benchmarks.

#include <string>
#include <vector>

#include "image/manifest.hpp"

namespace underway::run {

bool has_slurm();
/// Adds them to a root that has a shell.
void fill_slurm_root(const std::string& root);
std::vector<image::Service> slurm_services();

}  // namespace underway::run

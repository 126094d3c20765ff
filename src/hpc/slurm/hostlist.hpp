#pragma once
/// @file
/// Slurm's host lists: "c[1-4,7]" (slurm.conf(5), NodeName).

#include <string>
#include <vector>

namespace underway::slurm {

/// The shortest bracketed form; names that only differ in a trailing number are folded, the order of first
/// appearance of the prefixes is kept. Numbers with leading zeros fold only with those of the same width.
std::string fold_hosts(const std::vector<std::string>& names);

/// The names of a host list. Throws Error(invalid) when it is malformed or names more than 100,000 hosts.
std::vector<std::string> unfold_hosts(const std::string& list);

}  // namespace underway::slurm

#pragma once
/// @file
/// Amounts of memory as Slurm's programs print them.

#include <optional>
#include <string_view>

namespace underway::slurm {

/// "4G", "1500M", "1.50T", "0", in MiB; more than 10^12 is none.
std::optional<double> megabytes_in(std::string_view text);

}  // namespace underway::slurm

#pragma once
/// @file
/// From the words of a job file to an overlay's specification.

#include <cstdint>
#include <optional>
#include <string_view>

#include "run/config/config.hpp"

namespace underway::run {

/// "1G", "512MiB", "10 GB", "4096": powers of 1024. Nothing when it is no size, or zero.
std::optional<std::uint64_t> parse_size(std::string_view text);
overlay::Spec overlay_spec(const OverlayConfig& config);

}  // namespace underway::run

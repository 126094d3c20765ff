#pragma once
/// @file
/// What `status` ends with, for who asks by the clock: a cron line, a monitoring plugin.

#include "wire/cluster/status.hpp"

namespace underway::cli {

/// Beyond kDone and kFailed: something needs somebody, and a service is away.
inline constexpr int kServiceAway = 2;

int code_of(const wire::Status& status);

}  // namespace underway::cli

#pragma once
/// @file
/// What is remembered of a host on disk, as JSON: written before its first process may go on, removed after its last
/// object is gone.

#include <optional>
#include <string>

#include "host/provider.hpp"

namespace underway::host {

std::string encode_record(const HostInfo& host);
/// Nothing when it is not one: a record is ours, but a crash of the machine may leave half of it.
std::optional<HostInfo> decode_record(std::string_view text);

}  // namespace underway::host

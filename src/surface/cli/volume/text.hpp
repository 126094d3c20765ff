#pragma once
/// @file
/// Volume files, and volumes in words: apart from the commands, so that they can be tried without a server.

#include <string>

#include "model/node/host_volume.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// HCL or JSON, as documented for `volume create`. Throws invalid with everything that is wrong, or when it is of a
/// type that is not kept here. `name` is for messages.
model::HostVolume parse_volume(const std::string& text, const std::string& name);

/// "10GiB", "500 MB", "4096": bytes. Throws invalid.
std::int64_t parse_capacity(const std::string& text);
/// "10 GiB", "0 B".
std::string capacity_text(std::int64_t bytes);

/// By the beginning of its id, or its name. Throws not_found, or conflict listing the candidates.
std::string resolve_volume(sdk::Client& client, const std::string& id_or_name);

/// As `volume status` shows one; `whole_ids`: -verbose.
std::string volume_text(const model::HostVolume& volume, bool whole_ids);

}  // namespace underway::cli

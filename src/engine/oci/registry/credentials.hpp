#pragma once
/// @file
/// Credentials for registries in the files that `podman login` and `docker login` write: containers-auth.json(5) and
/// Docker's config.json.

#include <optional>
#include <string>
#include <string_view>

#include "oci/registry/pull_request.hpp"
#include "oci/registry/reference.hpp"

namespace underway::oci {

/// Those of the most specific key that covers `reference`: "host/a/b", "host/a", "host"; for docker.io also
/// "https://index.docker.io/v1/". Nothing when there is none. `name` is for errors.
/// Errors: invalid, naming the key; unsupported when only a credential helper knows them: no program is run.
std::optional<Credentials> parse_auth_file(std::string_view text, const Reference& reference, const std::string& name);
/// Nothing when there is no such file. Blocks: yes (disk).
std::optional<Credentials> find_credentials(const std::string& path, const Reference& reference);

}  // namespace underway::oci

#pragma once
/// @file
/// What a Nomad understands of a job, by the table of its specification that the conformance test measures us against
/// (tests/conformance/attributes.txt): what we describe and it does not have is ours alone.

#include "jobspec/jobspec.hpp"

namespace underway::migrate {

/// Whether a Nomad of the free edition takes `field` in `block`.
bool nomad_knows(const describe::Structure& block, const describe::Field& field);
/// Whether its driver takes the key. Of drivers that come as plugins, nobody knows here: true.
bool nomad_driver_knows(const std::string& driver, std::string_view key);
/// Whether a Nomad has the driver, by itself or as a plugin that is published.
bool nomad_has_driver(const std::string& driver);

}  // namespace underway::migrate

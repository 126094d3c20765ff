#pragma once
/// @file
/// What a job's plan and its validation warn of.

#include "jobspec/template_warnings.hpp"
#include "tables/tables.hpp"

namespace underway::api {

/// As Nomad tells warnings. Where a node says that it reads keys from a Consul, or secrets from a Vault, nothing is
/// said of those. Empty for none.
std::string job_warnings(const std::vector<jobspec::TemplateWarning>& warnings, const tables::Tables& tables);

}  // namespace underway::api

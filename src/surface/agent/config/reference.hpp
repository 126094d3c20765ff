#pragma once
/// @file
/// The reference of the agent's configuration, generated from its descriptions: docs/reference/agent-configuration.md.

#include <string>

namespace underway::agent {

/// Markdown.
std::string configuration_reference();

}  // namespace underway::agent

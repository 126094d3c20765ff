#pragma once
/// @file
/// Under which names this machine is dialled.

#include "agent/config/config.hpp"

namespace underway::agent {

/// As gethostname(2) has it.
std::string hostname();
/// Names and addresses for the server's certificate, beside those that every server's has (localhost and its role's):
/// the host's name, the agent's, and where the API listens; of all interfaces, when it listens everywhere. What cannot
/// stand in a certificate is left out.
std::vector<std::string> server_names(const Config& config);

}  // namespace underway::agent

#pragma once
/// @file
/// Under which names this machine is dialled.

#include "agent/config/config.hpp"
#include "model/cluster.hpp"

namespace underway::agent {

/// As gethostname(2) has it.
std::string hostname();
/// Names and addresses for the server's certificate, beside those that every server's has (localhost and its role's):
/// the host's name, the agent's, and where the API listens; of all interfaces, when it listens everywhere. What cannot
/// stand in a certificate is left out.
std::vector<std::string> server_names(const Config& config);

struct MachineLinks {
  std::string url;                    ///< what machines dial: "https://10.77.0.1:4646"
  std::optional<http::Endpoint> own;  ///< to be listened at for their links alone; nothing: the API does
};
/// Where virtual machines on the networks of a cluster reach this server: where the API listens to others, or else at
/// the address that this machine has on their network. Errors: invalid when there is no such address.
MachineLinks machine_links(const Config& config, const model::Cluster& cluster);

}  // namespace underway::agent

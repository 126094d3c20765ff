#pragma once
/// @file
/// The one daemon: server role, node role, or both; and the hosts of `local` pools. The only place that chooses
/// concrete adapters (which store, which drivers, which host provider) and plugs them together.

#include "agent/config/config.hpp"

namespace underway::agent {

/// Runs until SIGTERM or SIGINT; SIGHUP reads the log level and certificates again from `config_paths`. Tasks go on
/// running. With config.dev they do not; without a data_dir it then has one of its own, which is gone at the end, also
/// when that comes while it starts. Throws what keeps it from starting.
void run(Config config, const std::vector<std::string>& config_paths);

/// Everything that hosts made by an agent with this data directory left on the machine, taken away; no agent may run.
/// Returns problems, in words; empty when nothing is left. Throws conflict while an agent runs there.
std::vector<std::string> clean_hosts(const std::string& data_dir);

}  // namespace underway::agent

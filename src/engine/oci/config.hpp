#pragma once
/// @file
/// What an image says about how it is to be run (OCI image specification, config.md; Docker's differs in nothing that
/// is read here). It comes from anybody: sizes and texts are checked, and nothing in it is a path that was followed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"

namespace underway::oci {

/// Docker's; 0 is its default.
struct Healthcheck {
  std::vector<std::string> test;  ///< {"CMD", …}, {"CMD-SHELL", "…"} or {"NONE"}; empty: inherited
  Duration interval{}, timeout{}, start_period{};
  std::int64_t retries = 0;
};

struct ImageConfig {
  std::vector<std::string> entrypoint, cmd;
  std::vector<std::string> env;            ///< "NAME=value"
  std::string working_dir;                 ///< absolute; empty: "/"
  std::string user;                        ///< "name", "uid", "name:group", …; empty: root. See resolve_user
  std::vector<std::string> volumes;        ///< absolute paths
  std::vector<std::string> exposed_ports;  ///< "80/tcp"
  std::map<std::string, std::string> labels;
  std::string stop_signal;  ///< "SIGTERM", "15"; empty: SIGTERM
  std::optional<Healthcheck> healthcheck;

  std::string architecture, os, created;
  std::vector<std::string> diff_ids;  ///< digests of the unpacked archives, lowest first
};

const describe::Structure& description(describe::Tag<Healthcheck>);

/// Throws Error(invalid) that names the member: "config.Env[2]: …". Errors: too_large beyond 1000 layers.
ImageConfig parse_config(std::string_view text);

}  // namespace underway::oci

#pragma once
/// @file
/// `client { template { compat { … } } }`: what answers Consul's and Vault's functions in the templates of this node.

#include "base/json/describe.hpp"
#include "sources/settings.hpp"

#include <string>
#include <vector>

namespace underway::agent {

/// `key { … }` and `secret { … }`.
struct CompatKeys {
  std::string source;  ///< empty: the site's server where there is one, else variables
  std::string variables = "nomad/jobs/${job}";
};

struct CompatConsul {
  std::string address, token_file, ca_file, cert_file, key_file, tls_server_name;
  std::string datacenter;
  Duration wait = std::chrono::seconds(60);
  Duration timeout = std::chrono::seconds(10);
};

struct CompatVault {
  std::string address, token_file, ca_file, cert_file, key_file, tls_server_name;
  std::string ns;
  std::string jwt_auth_backend_path = "jwt-nomad";
  std::string create_from_role;
  std::vector<std::string> allow;
  Duration default_lease_duration = std::chrono::minutes(5);
  Duration timeout = std::chrono::seconds(10);
};

struct CompatSettings {
  std::string service;  ///< empty: consul where there is one, else catalogue
  CompatKeys key;
  CompatKeys secret;
  CompatConsul consul;
  CompatVault vault;
};

/// All that is wrong with it.
std::vector<std::string> problems(const CompatSettings& compat);
/// Of settings without problems.
sources::Settings source_settings(const CompatSettings& compat);

const describe::Structure& description(describe::Tag<CompatKeys>);
const describe::Structure& description(describe::Tag<CompatConsul>);
const describe::Structure& description(describe::Tag<CompatVault>);
const describe::Structure& description(describe::Tag<CompatSettings>);

}  // namespace underway::agent

#pragma once
/// @file
/// `service` and `check`: under which name a group is found, and what tells that it works. A service is where its
/// allocation runs: the catalogue is derived from the allocations (state/tables), so it cannot go stale.

#include "base/json/describe.hpp"
#include "model/access/identity.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

/// `check_restart`: restarts the task whose check keeps failing.
struct CheckRestart {
  std::int64_t limit = 0;  ///< failures in a row; 0: never
  Duration grace = std::chrono::seconds(1);
  bool ignore_warnings = false;
};

/// One check. Nomad's own provider knows http and tcp; `script` runs a command in the task, as its Consul provider
/// does.
struct Check {
  std::string name;
  std::string type;  ///< http, tcp, script, grpc
  Duration interval{0};
  Duration timeout{0};
  std::string port;  ///< label or number; empty: the service's
  std::string address_mode;
  std::string path;
  std::string method = "GET";
  std::string body;
  std::map<std::string, std::vector<std::string>> headers;
  std::string protocol = "http";  ///< or https
  bool tls_skip_verify = false;
  std::string tls_server_name;
  std::string command;
  std::vector<std::string> args;
  std::string task;  ///< script: in which task; empty: the service's
  std::string initial_status;
  std::string grpc_service;  ///< these three are Consul's: kept
  bool grpc_use_tls = false;
  bool expose = false;
  std::string notes;
  std::int64_t success_before_passing = 0;
  std::int64_t failures_before_critical = 0;
  std::int64_t failures_before_warning = 0;
  std::string on_update;  ///< require_healthy, ignore_warnings, ignore; empty: the service's
  std::optional<CheckRestart> check_restart;
};

/// `weights`: Consul's DNS answers by them. Kept.
struct ServiceWeights {
  std::int64_t passing = 1;
  std::int64_t warning = 1;
};

struct Service {
  std::string name;                ///< empty: "<job>-<group>-<task>"; interpolated per allocation
  std::string provider = "nomad";  ///< or consul, which means the same here: there is one catalogue
  std::string port;                ///< label, or a number
  std::string address;
  std::string address_mode = "auto";  ///< auto, alloc, driver, host
  std::vector<std::string> tags;
  std::vector<std::string> canary_tags;
  std::map<std::string, std::string> meta;
  std::map<std::string, std::string> canary_meta;
  bool enable_tag_override = false;  ///< this and the next five are Consul's: kept
  std::map<std::string, std::string> tagged_addresses;
  std::optional<ServiceWeights> weights;
  std::optional<Identity> identity;
  std::string cluster;
  std::string kind;
  std::string task;  ///< of a group's service: the task that checks and signals are about
  std::string on_update = "require_healthy";
  std::vector<Check> checks;
  std::optional<CheckRestart> check_restart;  ///< for its checks that give none
};

enum class CheckStatus { pending, success, failure };

/// The newest result of one check of an allocation.
struct CheckResult {
  std::string id;  ///< of allocation, service and check
  std::string check;
  std::string service;
  std::string task;
  std::string group;
  std::string mode = "healthiness";
  CheckStatus status = CheckStatus::pending;
  std::int64_t status_code = 0;  ///< http: the response's; script: the exit code
  std::string output;            ///< at most 3 KiB
  std::int64_t timestamp = 0;    ///< seconds since the epoch
};

const describe::Enumeration& description(describe::Tag<CheckStatus>);
const describe::Structure& description(describe::Tag<CheckRestart>);
const describe::Structure& description(describe::Tag<Check>);
const describe::Structure& description(describe::Tag<ServiceWeights>);
const describe::Structure& description(describe::Tag<Service>);
const describe::Structure& description(describe::Tag<CheckResult>);

}  // namespace underway::model

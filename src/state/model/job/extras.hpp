#pragma once
/// @file
/// The rest of a job's blocks: what its page shows, what an administrator may run in its tasks, bounds of scaling, and
/// blocks of systems that are not part of Underway (Vault, Consul), which are kept as they were written so that a job
/// goes through here and back unchanged.

#include "base/json/describe.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

struct UiLink {
  std::string label;
  std::string url;
};

/// `ui`: what the job's page says of it.
struct JobUi {
  std::string description;  ///< at most 1000 characters
  std::vector<UiLink> links;
};

/// A name for a version, which keeps it from being forgotten.
struct VersionTag {
  std::string name;
  std::string description;
  std::int64_t tagged_time = 0;  ///< ns since the epoch
};

/// `action`: a command that people with the right may run in the task.
struct Action {
  std::string name;
  std::string command;
  std::vector<std::string> args;
};

/// `secret`: values that the task's templates and environment see as `${secret.<name>.<key>}`.
struct SecretRequest {
  std::string name;
  std::string provider;
  std::string path;
  boost::json::value config = boost::json::object{};  ///< the provider's own
  std::map<std::string, std::string> env;
};

/// `scaling`: the bounds within which an autoscaler, or a person, sets the count.
struct Scaling {
  std::string id;                   ///< given by the server, and kept from version to version
  std::string type = "horizontal";  ///< of a task: vertical_cpu, vertical_mem
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
  bool enabled = true;
  boost::json::value policy = boost::json::object{};  ///< the autoscaler's own
};

struct TaskScheduleCron {
  std::string start;
  std::string end;
  std::string timezone;
};

/// `schedule`: kept, not acted on.
struct TaskSchedule {
  std::optional<TaskScheduleCron> cron;
};

/// `vault`: kept, not acted on.
struct VaultUse {
  std::vector<std::string> policies;
  std::string role;
  std::string ns;
  std::string cluster = "default";
  bool env = true;
  bool disable_file = false;
  std::string change_mode = "restart";
  std::string change_signal;
  bool allow_token_expiration = false;
};

/// `consul`: kept, not acted on.
struct ConsulUse {
  std::string ns;
  std::string cluster = "default";
  std::string partition;
};

/// `dns` of a group's network: its tasks' /etc/resolv.conf.
struct Dns {
  std::vector<std::string> servers;
  std::vector<std::string> searches;
  std::vector<std::string> options;
};

/// `cni`: arguments of the CNI plugins.
struct CniUse {
  std::map<std::string, std::string> args;
};

const describe::Structure& description(describe::Tag<UiLink>);
const describe::Structure& description(describe::Tag<JobUi>);
const describe::Structure& description(describe::Tag<VersionTag>);
const describe::Structure& description(describe::Tag<Action>);
const describe::Structure& description(describe::Tag<SecretRequest>);
const describe::Structure& description(describe::Tag<Scaling>);
const describe::Structure& description(describe::Tag<TaskScheduleCron>);
const describe::Structure& description(describe::Tag<TaskSchedule>);
const describe::Structure& description(describe::Tag<VaultUse>);
const describe::Structure& description(describe::Tag<ConsulUse>);
const describe::Structure& description(describe::Tag<Dns>);
const describe::Structure& description(describe::Tag<CniUse>);

}  // namespace underway::model

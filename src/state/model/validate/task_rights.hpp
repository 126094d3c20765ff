#pragma once
/// @file
/// What a task may do to the machine that it runs on is a right, and a right is given by its namespace: without, it is
/// refused. One table says which task needs which; it is read when a job is submitted, and again on the node, where no
/// variable is left in the task's user and config. A driver that the table does not know needs everything. Pure.

#include <boost/json/value.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/job/job.hpp"

namespace underway::model {

enum class HostRight : std::uint8_t {
  root,             ///< user 0 of the machine, held by the driver's confinement
  host_namespaces,  ///< process numbers, IPC and name of the machine
  host_paths,       ///< files of the machine, opened by root for the task
  devices,          ///< files of the machine's /dev that no scheduler handed out
  low_ports,        ///< ports below 1024 of the machine's own network: NFS takes who holds one for root
  node,             ///< whatever root may; holds all others
};
using HostRights = std::set<HostRight>;

std::string_view to_string(HostRight right);
/// Of those that a namespace lists in `host_rights`: all but `node`, which is its `raw_exec_as_root`.
const std::vector<HostRight>& listed_rights();
/// As a message has them. Of words that are not known none is made.
HostRights parse_rights(const std::vector<std::string>& words);
std::vector<std::string> to_words(const HostRights& rights);
bool holds(const HostRights& given, HostRight right);

struct RightNeeded {
  HostRight right;
  std::string what;  ///< "runs as root", to follow the task's name
  bool operator==(const RightNeeded&) const = default;
};

/// What the table asks of a task.
struct TaskOnHost {
  std::string driver;
  std::string user;  ///< as the job says it; on the node "root" for whoever has number 0 there
  boost::json::value config;
  /// Whether the ports that its group asks for by number are the machine's and below 1024.
  bool low_ports = false;
  /// Whether a container of its group writes to the same files.
  bool beside_container = false;
  /// Where its artifacts come from.
  std::vector<std::string> artifacts;
};
bool has_container(const TaskGroup& group);
TaskOnHost on_host(const TaskGroup& group, const Task& task);
bool asks_low_ports(const TaskGroup& group);

/// In the order of the table, each right as often as there is a reason for it.
std::vector<RightNeeded> rights_needed(const TaskOnHost& task);

/// Whom a node fills in, nobody knows before.
bool is_computed(const std::string& user);
/// The user whom the driver takes for a task that names nobody.
std::string user_or_default(const std::string& driver, const std::string& user);

}  // namespace underway::model

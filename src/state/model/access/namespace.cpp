#include "model/access/namespace.hpp"

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

/// Nomad's (its structs, validNamespaceName).
constexpr std::size_t kLongestNamespace = 128;
constexpr std::size_t kLongestDescription = 256;
constexpr std::size_t kMostNamespaceEntries = 256;

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool may_use(const std::vector<std::string>& enabled, const std::vector<std::string>& disabled,
             const std::string& item) {
  return (enabled.empty() || contains(enabled, item)) && !contains(disabled, item);
}

/// Whether a task's user is that user of the machine, with his files, and not a number of a container's own.
bool becomes_user(const std::string& driver) {
  return driver == "raw_exec" || driver == "exec" || driver == "charliecloud";
}

class TaskCheck {
 public:
  TaskCheck(const Namespace& ns, const TaskGroup& group, const Task& task, HostRights given)
      : ns_(ns),
        group_(group),
        task_(task),
        given_(std::move(given)),
        where_(group.name + "." + task.name),
        user_(user_or_default(task.driver, task.user)) {}

  std::vector<std::string> run() {
    check_driver();
    check_user();
    for (const auto& needed : rights_needed(on_host(group_, task_))) {
      if (!holds(given_, needed.right)) refuse(needed.what, flags_of(needed.right));
    }
    return std::move(out_);
  }

 private:
  void check_driver() {
    const auto& may = ns_.capabilities;
    if (!may_use(may.enabled_task_drivers, may.disabled_task_drivers, task_.driver))
      refuse(fmt::format("uses driver '{}'", task_.driver), "-allow-driver " + task_.driver);
  }
  /// Without a list nobody is anybody: who may submit a job is not therefore every user of the machines.
  void check_user() {
    const auto matches = [&](const std::string& pattern) { return glob_match(pattern, user_); };
    const auto& allowed = ns_.allowed_users;
    const bool by_default = task_.user.empty() || user_ == "nobody" || user_ == user_or_default(task_.driver, "");
    if (allowed.empty() && (by_default || !becomes_user(task_.driver) || holds(given_, HostRight::root))) return;
    if (contains(allowed, "*")) return;
    if (is_computed(user_)) {
      out_.push_back(
          fmt::format("task '{}' runs as user '{}', who is known on its node only, and namespace '{}' allows "
                      "certain users; write the user's name into the job, or `underway namespace apply -allow-user "
                      "'*' {}` allows everybody but root",
                      where_, user_, ns_.name, ns_.name));
    } else if (std::none_of(allowed.begin(), allowed.end(), matches)) {
      refuse(fmt::format("runs as user '{}'", user_), "-allow-user " + user_);
    }
  }
  static std::string flags_of(HostRight right) {
    return right == HostRight::node ? "-raw-exec-as-root" : fmt::format("-allow-right {}", to_string(right));
  }
  void refuse(const std::string& what, const std::string& flags) {
    out_.push_back(
        fmt::format("task '{}' {}, which namespace '{}' does not allow; `underway namespace apply {} {}` allows it",
                    where_, what, ns_.name, flags, ns_.name));
  }

  const Namespace& ns_;
  const TaskGroup& group_;
  const Task& task_;
  HostRights given_;
  std::string where_, user_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> problems(const Namespace& ns) {
  static constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
  std::vector<std::string> out;
  if (ns.name.empty() || ns.name.size() > kLongestNamespace ||
      ns.name.find_first_not_of(kAllowed) != std::string::npos) {
    out.push_back(fmt::format("invalid name \"{}\". Must match regex ^[a-zA-Z0-9-]{{1,{}}}$",
                              ns.name.substr(0, kLongestNamespace), kLongestNamespace));
  }
  if (ns.description.size() > kLongestDescription)
    out.push_back(
        fmt::format("the description has {} bytes; at most {} are kept", ns.description.size(), kLongestDescription));
  const std::pair<const char*, std::size_t> lists[] = {
      {"enabled_task_drivers", ns.capabilities.enabled_task_drivers.size()},
      {"disabled_task_drivers", ns.capabilities.disabled_task_drivers.size()},
      {"enabled_network_modes", ns.capabilities.enabled_network_modes.size()},
      {"disabled_network_modes", ns.capabilities.disabled_network_modes.size()},
      {"allowed_users", ns.allowed_users.size()},
      {"host_rights", ns.host_rights.size()},
      {"meta", ns.meta.size()}};
  for (const auto& [what, size] : lists) {
    if (size > kMostNamespaceEntries)
      out.push_back(fmt::format("{} has {} entries; at most {} are kept", what, size, kMostNamespaceEntries));
  }
  for (const auto& driver : ns.capabilities.enabled_task_drivers) {
    if (contains(ns.capabilities.disabled_task_drivers, driver))
      out.push_back(fmt::format("driver '{}' is both enabled and disabled", driver));
  }
  for (const auto& mode : ns.capabilities.enabled_network_modes) {
    if (contains(ns.capabilities.disabled_network_modes, mode))
      out.push_back(fmt::format("network mode '{}' is both enabled and disabled", mode));
  }
  std::vector<std::string> known;
  for (const auto right : listed_rights()) known.emplace_back(to_string(right));
  for (const auto& right : ns.host_rights) {
    if (contains(known, right)) continue;
    out.push_back(fmt::format("there is no right '{}': a namespace may give {}{}", right, join(known, ", "),
                              right == to_string(HostRight::node) ? "; raw_exec_as_root gives all" : ""));
  }
  return out;
}

HostRights rights_of(const Namespace& ns, bool root_by_raw_exec) {
  HostRights rights = parse_rights(ns.host_rights);
  rights.erase(HostRight::node);
  if (ns.raw_exec_as_root || root_by_raw_exec) rights.insert(HostRight::node);
  return rights;
}

std::vector<std::string> refusals(const Namespace& ns, const Job& job, bool root_by_raw_exec) {
  std::vector<std::string> out;
  for (const auto& group : job.groups) {
    for (const auto& network : group.networks) {
      if (!may_use(ns.capabilities.enabled_network_modes, ns.capabilities.disabled_network_modes, network.mode))
        out.push_back(fmt::format(
            "group '{}' uses network mode '{}', which namespace '{}' does not allow; change the capabilities of its "
            "file and `underway namespace apply` it",
            group.name, network.mode, ns.name));
    }
    for (const auto& task : group.tasks) {
      for (auto& line : TaskCheck(ns, group, task, rights_of(ns, root_by_raw_exec)).run())
        out.push_back(std::move(line));
    }
  }
  return out;
}

const Structure& description(Tag<NamespaceCapabilities>) {
  static const Structure s =
      Builder<NamespaceCapabilities>("capabilities", "Which drivers and networks may be used.")
          .attribute<&NamespaceCapabilities::enabled_task_drivers>("enabled_task_drivers", "EnabledTaskDrivers",
                                                                   "Only these; empty: all.")
          .attribute<&NamespaceCapabilities::disabled_task_drivers>("disabled_task_drivers", "DisabledTaskDrivers",
                                                                    "Not these.")
          .attribute<&NamespaceCapabilities::enabled_network_modes>("enabled_network_modes", "EnabledNetworkModes",
                                                                    "Only these modes of groups' networks; empty: all.")
          .attribute<&NamespaceCapabilities::disabled_network_modes>("disabled_network_modes", "DisabledNetworkModes",
                                                                     "Not these.")
          .done();
  return s;
}

const Structure& description(Tag<Namespace>) {
  static const Structure s =
      Builder<Namespace>("namespace", "Keeps the jobs of several parties apart.")
          .label<&Namespace::name>("name", "Name", "Letters, digits and '-'.")
          .attribute<&Namespace::description>("description", "Description", "For people.")
          .block_or_attribute<&Namespace::meta>("meta", "Meta", "Anything.")
          .block<&Namespace::capabilities>("capabilities", "Capabilities", "Which drivers and networks may be used.")
          .attribute<&Namespace::allowed_users>(
              "allowed_users", "AllowedUsers",
              "Users that its tasks may run as, with `*`; empty: whom the driver takes by itself "
              "(nobody), and in a container any, unless it gives the right `root`.")
          .attribute<&Namespace::host_rights>("host_rights", "HostRights",
                                              "What its tasks may do to their hosts: `root`, `host_namespaces`, "
                                              "`host_paths`, `devices`, `low_ports`; empty: none of it.")
          .attribute<&Namespace::raw_exec_as_root>("raw_exec_as_root", "RawExecAsRoot",
                                                   "Whether its tasks may run as root by raw_exec, or be capsules; it "
                                                   "holds every right of `host_rights`.")
          .attribute<&Namespace::quota>("quota", "Quota", "Name of the quota that bounds it.")
          .wire<&Namespace::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&Namespace::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model

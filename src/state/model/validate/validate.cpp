#include "model/validate/validate.hpp"

#include "base/text.hpp"
#include "model/detail/place.hpp"

#include <csignal>
#include <set>

namespace underway::model {

using detail::Place;

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Source: Nomad's structs.go: 10 MB, 5 s.
constexpr std::int64_t kMinDiskMb = 10;
constexpr Duration kMinRestartInterval = 5s;

/// Constraints and affinities of a job, and regular expressions among them. Each is asked about each node.
constexpr std::size_t kMostConditions = 10'000;
constexpr std::size_t kMostPatterns = 100;

bool consists_of(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLetters.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  });
}

/// Whether `path`, taken from the task's directory, leaves the allocation's; `../alloc` is inside. Parts that are
/// interpolated at run time are checked there.
bool leaves_allocation(const std::string& path) {
  int depth = 1;
  for (const auto& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

void check_signal(const Place& place, std::string_view field, const std::string& name) {
  if (name.empty() || name.find("${") != std::string::npos || signal_number(name)) return;
  place.say("{}: there is no signal '{}'", field, name);
}

void check_dependencies(const Place& place, const std::vector<Dependency>& dependencies, const Job& job) {
  std::set<std::string> seen;
  for (const auto& dependency : dependencies) {
    place.require(!dependency.job.empty(), "depends_on: job is empty");
    place.require(dependency.job != job.id, "depends_on: the job depends on itself");
    place.require(seen.insert(dependency.job).second, "depends_on: job '{}' is named twice", dependency.job);
  }
}

void check_restart(const Place& place, const RestartPolicy& restart) {
  place.require(restart.attempts >= 0, "restart: attempts {} is negative", restart.attempts);
  place.require(restart.delay >= Duration{0}, "restart: delay {} is negative", format_duration(restart.delay));
  if (restart.attempts <= 0) return;
  if (restart.interval < kMinRestartInterval)
    place.say("restart: interval {} is below {}", format_duration(restart.interval),
              format_duration(kMinRestartInterval));
  else if (restart.delay > restart.interval / restart.attempts)
    place.say("restart: {} attempts, {} apart, do not fit into an interval of {}", restart.attempts,
              format_duration(restart.delay), format_duration(restart.interval));
}

void check_port(const Place& place, const Port& port, std::set<std::string>& labels) {
  place.require(!port.label.empty() && consists_of(port.label, "_-"),
                "port '{}': a label is of letters, digits, '_' and '-'", port.label);
  place.require(labels.insert(port.label).second, "port '{}' is given twice", port.label);
  place.require(port.to >= -1 && port.to <= 65535, "port '{}': to = {} is not between 1 and 65535, nor -1", port.label,
                port.to);
}

/// Labels of letters, digits and '-' (RFC 1123), or nothing; parts that are interpolated are not looked at.
bool is_host_name(const std::string& name) {
  if (name.empty() || name.find("${") != std::string::npos) return true;
  const auto labels = split(name, '.');
  return name.size() <= 64 && std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
           return !label.empty() && label.size() <= 63 && consists_of(label, "-") && label.front() != '-' &&
                  label.back() != '-';
         });
}

void check_networks(const Place& place, const TaskGroup& group) {
  std::set<std::string> labels;
  std::map<std::pair<std::string, std::int64_t>, std::string> taken;
  place.require(group.networks.size() <= 1, "there are {} network blocks; a group has one", group.networks.size());
  for (const auto& network : group.networks) {
    const bool known = network.mode == "host" || network.mode == "bridge" || network.mode == "none" ||
                       network.mode.starts_with("cni/");
    place.require(known, "network: mode '{}' is none of host, bridge, none, cni/<name>", network.mode);
    place.require(network.mode != "cni/" && network.mode.find('/', 4) == std::string::npos,
                  "network: mode '{}' names no CNI network", network.mode);
    place.require(is_host_name(network.hostname), "network: hostname '{}' is no name of a host", network.hostname);
    if (network.mode != "host") {
      for (const auto& task : group.tasks)
        place.require(task.driver != "capsule",
                      "network: mode '{}' is not for task '{}': a capsule has its own networks", network.mode,
                      task.name);
    }
    for (const auto& port : network.reserved_ports) {
      check_port(place, port, labels);
      if (port.value < 1 || port.value > 65535) {
        place.say("port '{}': static = {} is not between 1 and 65535", port.label, port.value);
        continue;
      }
      const auto [it, is_new] = taken.try_emplace({port.host_network, port.value}, port.label);
      place.require(is_new || port.ignore_collision, "port '{}': {} is already taken by port '{}'", port.label,
                    port.value, it->second);
    }
    for (const auto& port : network.dynamic_ports) check_port(place, port, labels);
  }
}

void check_template(const Place& place, const Template& t) {
  place.require(!t.source.empty() || !t.data.empty(), "neither data nor source is given");
  place.require(t.source.empty() || t.data.empty(), "both data and source are given");
  place.require(!t.destination.empty(), "destination is empty");
  place.require(!leaves_allocation(t.destination), "destination leaves the allocation's directory");
  place.require(t.splay >= Duration{0}, "splay {} is negative", format_duration(t.splay));
  const bool octal =
      !t.perms.empty() && t.perms.size() <= 5 && t.perms.find_first_not_of("01234567") == std::string::npos;
  place.require(octal, "perms '{}' is not octal, like \"0644\"", t.perms);
  place.require(t.uid >= -1 && t.gid >= -1, "uid and gid are numbers of accounts, or -1");
  check_signal(place, "change_signal", t.change_signal);
  if (t.wait) {
    place.require(t.wait->min >= Duration{0} && t.wait->max >= Duration{0}, "wait: min and max may not be negative");
    place.require(t.wait->max == Duration{0} || t.wait->min <= t.wait->max, "wait: min {} is above max {}",
                  format_duration(t.wait->min), format_duration(t.wait->max));
  }
  if (t.change_mode == ChangeMode::script) {
    place.require(t.change_script && !t.change_script->command.empty(),
                  "change_mode is script, but change_script gives no command");
  }
}

void check_identity(const Place& place, const Identity& identity) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  place.require(identity.name.size() <= 128 && std::all_of(identity.name.begin(), identity.name.end(), fits),
                "the name may hold letters, digits, '-' and '_' only");
  place.require(identity.ttl >= Duration{0}, "ttl {} is negative", format_duration(identity.ttl));
  place.require(identity.ttl == Duration{0} || identity.ttl >= 10s, "ttl {} is below 10s",
                format_duration(identity.ttl));
  place.require(!leaves_allocation(identity.filepath), "filepath leaves the allocation's directory");
  check_signal(place, "change_signal", identity.change_signal);
  place.require(identity.change_mode != IdentityChange::signal || !identity.change_signal.empty(),
                "change_mode is signal, but change_signal is not given");
}

void check_identities(const Place& place, const Task& task) {
  std::set<std::string> names;
  if (task.identity) check_identity(place.inside("identity", "default"), *task.identity);
  if (task.identity) names.insert("default");
  for (const auto& identity : task.identities) {
    const std::string name = identity.is_default() ? "default" : identity.name;
    check_identity(place.inside("identity", name), identity);
    place.require(names.insert(name).second, "identity '{}' is declared twice", name);
  }
}

/// Source of the names: Nomad's `secret` block, https://developer.hashicorp.com/nomad/docs/job-specification/secret.
void check_secrets(const Place& place, const Task& task) {
  std::set<std::string> names;
  for (const auto& secret : task.secrets) {
    const Place here = place.inside("secret", secret.name);
    here.require(!secret.name.empty() && consists_of(secret.name, "_-"), "a name is of letters, digits, '_' and '-'");
    here.require(names.insert(secret.name).second, "it is declared twice");
    here.require(!secret.path.empty(), "path is empty");
    if (secret.provider != "nomad") {
      here.say("provider '{}' is not supported: values come from variables, which is provider \"nomad\"",
               secret.provider);
      continue;
    }
    here.require(secret.env.empty(), "env is for providers that are programs; \"nomad\" is none");
    const auto* config = secret.config.if_object();
    here.require(config != nullptr, "config is not an object");
    if (config == nullptr) continue;
    for (const auto& [key, value] : *config)
      here.require(key == "namespace" && value.is_string(), "config: '{}' is not the text namespace", key);
  }
}

void check_files(const Place& place, const Task& task) {
  for (const auto& artifact : task.artifacts) {
    const Place here = place.inside("artifact", artifact.source);
    here.require(!artifact.source.empty(), "source is empty");
    here.require(!leaves_allocation(artifact.destination), "destination '{}' leaves the allocation's directory",
                 artifact.destination);
    here.require(artifact.mode == "any" || artifact.mode == "file" || artifact.mode == "dir",
                 "mode '{}' is none of any, file, dir", artifact.mode);
  }
  std::set<std::string> destinations;
  for (const auto& t : task.templates) {
    const Place here = place.inside("template", t.destination);
    check_template(here, t);
    here.require(destinations.insert(t.destination).second, "another template writes the same destination");
  }
}

void check_logs(const Place& place, const LogConfig& logs, std::int64_t disk_mb) {
  place.require(logs.max_files >= 1, "logs: max_files = {} is below 1", logs.max_files);
  place.require(logs.max_file_size_mb >= 1, "logs: max_file_size = {} is below 1 MB", logs.max_file_size_mb);
  if (logs.disabled || logs.max_files < 1 || logs.max_file_size_mb < 1) return;
  place.require(logs.max_files <= disk_mb / logs.max_file_size_mb,
                "logs: {} files of {} MB do not fit on the ephemeral_disk of {} MB", logs.max_files,
                logs.max_file_size_mb, disk_mb);
}

void check_task(const Place& place, const Task& task, std::int64_t disk_mb, const ValidateOptions& options) {
  place.require(!task.name.empty(), "a task has no name");
  place.require(task.name != "alloc", "a task may not be called 'alloc', the name of the shared directory");
  place.require(task.name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos,
                "the name may not hold slashes or NUL");
  place.require(!task.driver.empty(), "driver is missing");
  place.require(task.config.is_object(), "config is not an object");
  if (options.check_config && task.config.is_object()) {
    for (const auto& problem : options.check_config(task)) place.say("{}", problem);
  }
  detail::check_resources(place, task.resources, options);
  place.require(task.kill_timeout >= Duration{0}, "kill_timeout {} is negative", format_duration(task.kill_timeout));
  place.require(task.shutdown_delay >= Duration{0}, "shutdown_delay {} is negative",
                format_duration(task.shutdown_delay));
  check_logs(place, task.logs, disk_mb);
  for (const auto& [key, value] : task.env) {
    place.require(!key.empty() && key.find_first_of(std::string_view("=\0", 2)) == std::string::npos,
                  "env: '{}' is no name of a variable", key);
    place.require(value.find('\0') == std::string::npos, "env: the value of '{}' holds a NUL", key);
  }
  check_signal(place, "kill_signal", task.kill_signal);
  detail::check_constraints(place, task.constraints, options, true);
  detail::check_affinities(place, task.affinities, options);
  if (task.restart) check_restart(place, *task.restart);
  check_files(place, task);
  check_identities(place, task);
  check_secrets(place, task);
}

void check_tasks(const Place& place, const TaskGroup& group, const ValidateOptions& options) {
  if (group.tasks.empty()) return place.say("the group has no task");
  std::set<std::string> names;
  std::vector<std::string> leaders;
  for (const auto& task : group.tasks) {
    place.require(names.insert(task.name).second, "task '{}' is declared twice", task.name);
    if (task.leader) leaders.push_back(task.name);
    check_task(place.inside("task", task.name), task, group.ephemeral_disk.size_mb, options);
  }
  place.require(std::any_of(group.tasks.begin(), group.tasks.end(), [](const Task& t) { return t.is_main(); }),
                "every task has a lifecycle block; one must be a main task without");
  place.require(leaders.size() <= 1, "tasks {} are all leader; only one can be", join(leaders, ", "));
}

void check_group(const Place& place, const TaskGroup& group, const Job& job, const ValidateOptions& options) {
  const bool on_every_node = job.type == JobType::system || job.type == JobType::sysbatch;
  place.require(!group.name.empty(), "a group has no name");
  place.require(group.count >= 0, "count = {} is negative", group.count);
  place.require(!on_every_node || group.count <= 1, "count = {}, but a {} job runs once on every node", group.count,
                describe::spell(job.type));
  place.require(group.shutdown_delay >= Duration{0}, "shutdown_delay {} is negative",
                format_duration(group.shutdown_delay));
  place.require(group.ephemeral_disk.size_mb >= kMinDiskMb, "ephemeral_disk: size = {} is below {} MB",
                group.ephemeral_disk.size_mb, kMinDiskMb);
  detail::check_constraints(place, group.constraints, options, false);
  place.require(!on_every_node || (group.affinities.empty() && group.spreads.empty()),
                "a {} job runs on every node: affinities and spreads have nothing to choose from",
                describe::spell(job.type));
  detail::check_affinities(place, group.affinities, options);
  detail::check_spreads(place, group.spreads, true);
  detail::check_volumes(place, group);
  detail::check_batch_group(place, job, group);
  check_dependencies(place, group.depends_on, job);
  check_networks(place, group);
  if (group.restart) check_restart(place, *group.restart);
  detail::check_policies(place, job, group);
  detail::check_services(place, job, group);
  check_tasks(place, group, options);
}

void check_id(const Place& place, const Job& job) {
  place.require(!job.id.empty(), "the job has no ID");
  place.require(job.id.find(' ') == std::string::npos, "the ID '{}' holds a space", job.id);
  place.require(job.id.find('\0') == std::string::npos, "the ID holds a NUL");
  place.require(job.name.find('\0') == std::string::npos, "the name holds a NUL");
  const bool namespace_ok = !job.ns.empty() && job.ns.size() <= 128 && consists_of(job.ns, "-");
  place.require(namespace_ok, "namespace '{}': 1 to 128 letters, digits and '-'", job.ns);
  const bool pool_ok = !job.node_pool.empty() && job.node_pool.size() <= 128 && consists_of(job.node_pool, "-_");
  place.require(pool_ok, "node_pool '{}': 1 to 128 letters, digits, '-' and '_'", job.node_pool);
  place.require(!job.region.empty(), "region is empty");
}

}  // namespace

namespace {

/// What the scheduler looks at for each node, on everybody's time.
struct Conditions {
  std::size_t all = 0;
  std::set<std::string> patterns;

  void count(const std::vector<Constraint>& constraints, const std::vector<Affinity>& affinities) {
    all += constraints.size() + affinities.size();
    for (const auto& constraint : constraints) count_pattern(constraint.operand, constraint.rtarget);
    for (const auto& affinity : affinities) count_pattern(affinity.operand, affinity.rtarget);
  }
  void count_pattern(const std::string& operand, const std::string& text) {
    if (operand == "regexp") patterns.insert(text);
  }
};

void check_conditions(const Place& place, const Job& job) {
  Conditions found;
  found.count(job.constraints, job.affinities);
  for (const auto& group : job.groups) {
    found.count(group.constraints, group.affinities);
    for (const auto& task : group.tasks) {
      found.count(task.constraints, task.affinities);
      for (const auto& device : task.resources.devices) found.count(device.constraints, device.affinities);
    }
  }
  place.require(found.all <= kMostConditions, "there are {} constraints and affinities, above {}", found.all,
                kMostConditions);
  place.require(found.patterns.size() <= kMostPatterns, "there are {} different regular expressions, above {}",
                found.patterns.size(), kMostPatterns);
}

}  // namespace

std::string Problem::text() const { return path.empty() ? message : path + ": " + message; }

std::vector<Problem> validate(const Job& job, const ValidateOptions& options) {
  std::vector<Problem> out;
  const Place place(out, "");
  check_id(place, job);
  check_conditions(place, job);
  place.require(job.priority >= 1 && job.priority <= options.max_priority, "priority = {} is not between 1 and {}",
                job.priority, options.max_priority);
  place.require(!job.datacenters.empty(), "datacenters is empty");
  for (const auto& datacenter : job.datacenters) place.require(!datacenter.empty(), "datacenters: one is empty");
  detail::check_constraints(place, job.constraints, options, false);
  place.require(!(job.type == JobType::system || job.type == JobType::sysbatch) ||
                    (job.affinities.empty() && job.spreads.empty()),
                "a {} job runs on every node: affinities and spreads have nothing to choose from",
                describe::spell(job.type));
  detail::check_affinities(place, job.affinities, options);
  detail::check_spreads(place, job.spreads, false);
  detail::check_starts(place, job);
  check_dependencies(place, job.depends_on, job);
  place.require(!job.groups.empty(), "the job has no group");
  std::set<std::string> names;
  std::int64_t sum = 0;
  for (const auto& group : job.groups) {
    place.require(names.insert(group.name).second, "group '{}' is declared twice", group.name);
    sum += std::clamp<std::int64_t>(group.count, 0, 1'000'000'000);
    check_group(place.inside("group", group.name), group, job, options);
  }
  place.require(sum <= options.max_count, "the groups' counts are {} together, above {}", sum, options.max_count);
  return out;
}

const std::vector<std::string>& constraint_operators() {
  static const std::vector<std::string> operators{"=",
                                                  "==",
                                                  "is",
                                                  "!=",
                                                  "not",
                                                  "<",
                                                  "<=",
                                                  ">",
                                                  ">=",
                                                  "regexp",
                                                  "set_contains",
                                                  "set_contains_all",
                                                  "set_contains_any",
                                                  "version",
                                                  "semver",
                                                  "is_set",
                                                  "is_not_set",
                                                  "distinct_hosts",
                                                  "distinct_property"};
  return operators;
}

std::optional<int> signal_number(std::string_view name) {
  static const std::map<std::string, int, std::less<>> signals{
      {"SIGABRT", SIGABRT}, {"SIGALRM", SIGALRM},   {"SIGBUS", SIGBUS},   {"SIGCHLD", SIGCHLD}, {"SIGCONT", SIGCONT},
      {"SIGFPE", SIGFPE},   {"SIGHUP", SIGHUP},     {"SIGILL", SIGILL},   {"SIGINT", SIGINT},   {"SIGIO", SIGIO},
      {"SIGIOT", SIGIOT},   {"SIGKILL", SIGKILL},   {"SIGPIPE", SIGPIPE}, {"SIGPROF", SIGPROF}, {"SIGQUIT", SIGQUIT},
      {"SIGSEGV", SIGSEGV}, {"SIGSTOP", SIGSTOP},   {"SIGSYS", SIGSYS},   {"SIGTERM", SIGTERM}, {"SIGTRAP", SIGTRAP},
      {"SIGTSTP", SIGTSTP}, {"SIGTTIN", SIGTTIN},   {"SIGTTOU", SIGTTOU}, {"SIGURG", SIGURG},   {"SIGUSR1", SIGUSR1},
      {"SIGUSR2", SIGUSR2}, {"SIGWINCH", SIGWINCH}, {"SIGXCPU", SIGXCPU}, {"SIGXFSZ", SIGXFSZ}};
  const auto it = signals.find(upper(name));
  return it == signals.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace underway::model

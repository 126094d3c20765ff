#include "base/text.hpp"
#include "model/detail/check_name.hpp"
#include "model/detail/place.hpp"

#include <set>

namespace underway::model::detail {
namespace {

/// Source: Nomad's structs.go: minimum intervals of checks, reschedule delays and intervals.
constexpr Duration kMinCheckInterval = 1s;
constexpr Duration kMinRescheduleDelay = 5s;

void check_update(const Place& place, const UpdatePolicy& update, const Job& job) {
  place.require(update.max_parallel >= 0, "update: max_parallel {} is negative", update.max_parallel);
  place.require(update.canary >= 0, "update: canary {} is negative", update.canary);
  place.require(update.canary == 0 || update.max_parallel > 0, "update: canaries need max_parallel above 0");
  place.require(job.type != JobType::system || update.canary <= 100,
                "update: canary = {}, but in a system job it is percent of the nodes", update.canary);
  place.require(!update.auto_promote || update.canary > 0, "update: auto_promote without canaries promotes nothing");
  place.require(update.min_healthy_time >= Duration{0}, "update: min_healthy_time {} is negative",
                format_duration(update.min_healthy_time));
  place.require(update.progress_deadline >= Duration{0}, "update: progress_deadline {} is negative",
                format_duration(update.progress_deadline));
  if (update.healthy_deadline <= Duration{0})
    return place.say("update: healthy_deadline {} is not above 0", format_duration(update.healthy_deadline));
  place.require(update.min_healthy_time < update.healthy_deadline,
                "update: min_healthy_time {} is not below healthy_deadline {}",
                format_duration(update.min_healthy_time), format_duration(update.healthy_deadline));
  place.require(update.progress_deadline == Duration{0} || update.healthy_deadline < update.progress_deadline,
                "update: healthy_deadline {} is not below progress_deadline {}",
                format_duration(update.healthy_deadline), format_duration(update.progress_deadline));
}

void check_migrate(const Place& place, const MigratePolicy& migrate) {
  place.require(migrate.max_parallel > 0, "migrate: max_parallel {} is not above 0", migrate.max_parallel);
  place.require(migrate.min_healthy_time < migrate.healthy_deadline,
                "migrate: min_healthy_time {} is not below healthy_deadline {}",
                format_duration(migrate.min_healthy_time), format_duration(migrate.healthy_deadline));
}

void check_reschedule(const Place& place, const ReschedulePolicy& policy, const Job& job) {
  if (job.type == JobType::sysbatch)
    return place.require(!policy.enabled(), "reschedule: a sysbatch job runs once on every node");
  if (!policy.enabled()) return;
  place.require(policy.delay >= kMinRescheduleDelay, "reschedule: delay {} is below {}", format_duration(policy.delay),
                format_duration(kMinRescheduleDelay));
  const bool grows = policy.delay_function != DelayFunction::constant;
  place.require(!grows || policy.max_delay >= policy.delay, "reschedule: max_delay {} is below delay {}",
                format_duration(policy.max_delay), format_duration(policy.delay));
  place.require(policy.unlimited || policy.delay * policy.attempts <= policy.interval,
                "reschedule: {} attempts, {} apart, do not fit into an interval of {}", policy.attempts,
                format_duration(policy.delay), format_duration(policy.interval));
}

void check_disconnect(const Place& place, const DisconnectStrategy& disconnect, const Job& job) {
  const auto positive = [&](std::string_view name, const std::optional<Duration>& value) {
    place.require(!value || *value > Duration{0}, "disconnect: {} is not above 0", name);
  };
  positive("lost_after", disconnect.lost_after);
  positive("stop_on_client_after", disconnect.stop_on_client_after);
  place.require(!disconnect.lost_after || !disconnect.stop_on_client_after,
                "disconnect: lost_after and stop_on_client_after exclude each other");
  place.require(!disconnect.stop_on_client_after || job.type == JobType::service || job.type == JobType::batch,
                "disconnect: stop_on_client_after is for service and batch jobs");
}

bool is_port(const TaskGroup& group, const std::string& port) {
  if (!port.empty() && port.find_first_not_of("0123456789") == std::string::npos) return true;
  const auto named = [&](const Port& p) { return p.label == port; };
  return std::any_of(group.networks.begin(), group.networks.end(), [&](const NetworkResource& network) {
    return std::any_of(network.reserved_ports.begin(), network.reserved_ports.end(), named) ||
           std::any_of(network.dynamic_ports.begin(), network.dynamic_ports.end(), named);
  });
}

void check_on_update(const Place& place, const std::string& value) {
  place.require(value.empty() || value == "require_healthy" || value == "ignore_warnings" || value == "ignore",
                "on_update '{}' is none of require_healthy, ignore_warnings, ignore", value);
}

void check_check(const Place& place, const Check& check, const Service& service, const TaskGroup& group) {
  const bool known = check.type == "http" || check.type == "tcp" || check.type == "script";
  if (check.type == "grpc")
    return place.say("grpc checks are Consul's; use tcp, http or a script that asks the service");
  if (!known) return place.say("type '{}' is none of http, tcp, script", check.type);
  place.require(check.interval >= kMinCheckInterval, "interval {} is below 1s", format_duration(check.interval));
  place.require(check.timeout >= kMinCheckInterval, "timeout {} is below 1s", format_duration(check.timeout));
  check_on_update(place, check.on_update);
  if (check.type == "script") {
    place.require(!check.command.empty(), "a script check needs a command");
    const std::string& task = check.task.empty() ? service.task : check.task;
    place.require(!task.empty(), "a script check runs in a task: name it with `task`");
    place.require(task.empty() || group.find_task(task) != nullptr, "there is no task '{}' in the group", task);
    return;
  }
  const std::string& port = check.port.empty() ? service.port : check.port;
  place.require(!port.empty(), "neither the check nor its service has a port");
  place.require(port.empty() || is_port(group, port), "the group has no port '{}'", port);
  if (check.type != "http") return;
  place.require(!check.path.empty(), "an http check needs a path");
  place.require(check.path.find("://") == std::string::npos,
                "path '{}' is an address; it is only the part after the port", check.path);
  place.require(check.protocol == "http" || check.protocol == "https", "protocol '{}' is neither http nor https",
                check.protocol);
}

void check_service(const Place& place, const Service& service, const TaskGroup& group) {
  place.require(service.provider == "nomad" || service.provider == "consul",
                "provider '{}' is neither nomad, the built-in catalogue, nor consul, which means the same here",
                service.provider);
  static constexpr std::string_view kModes[] = {"auto", "host", "alloc", "driver"};
  place.require(std::find(std::begin(kModes), std::end(kModes), service.address_mode) != std::end(kModes),
                "address_mode '{}' is none of auto, host, alloc, driver", service.address_mode);
  place.require(service.port.empty() || is_port(group, service.port), "the group has no port '{}'", service.port);
  place.require(service.task.empty() || group.find_task(service.task) != nullptr, "there is no task '{}' in the group",
                service.task);
  check_on_update(place, service.on_update);
  std::set<std::string> names;
  for (const auto& check : service.checks) {
    const std::string name = check.name.empty() ? check.type : check.name;
    const Place here = place.inside("check", name);
    // Those without a name are given the same, and told apart by their place.
    const bool given = !check.name.empty() && check.name != default_check_name(service.name);
    here.require(!given || names.insert(check.name).second, "another check of the service has this name");
    check_check(here, check, service, group);
  }
}

}  // namespace

void check_policies(const Place& place, const Job& job, const TaskGroup& group) {
  if (job.runs_to_its_end())
    place.require(!group.update && !job.update, "update: a {} job has no rollouts", describe::spell(job.type));
  else
    check_update(place, update_policy(job, group), job);
  if (group.migrate || job.migrate) {
    place.require(job.type == JobType::service, "migrate: a {} job is not moved to other nodes",
                  describe::spell(job.type));
    check_migrate(place, migrate_policy(job, group));
  }
  if (group.reschedule || job.reschedule) check_reschedule(place, reschedule_policy(job, group), job);
  if (group.disconnect) check_disconnect(place, *group.disconnect, job);
}

void check_services(const Place& place, const Job&, const TaskGroup& group) {
  for (const auto& service : group.services) check_service(place.inside("service", service.name), service, group);
  for (const auto& task : group.tasks) {
    const Place inside = place.inside("task", task.name);
    for (const auto& service : task.services) check_service(inside.inside("service", service.name), service, group);
  }
}

}  // namespace underway::model::detail

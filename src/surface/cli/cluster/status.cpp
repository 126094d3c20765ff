#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/cluster/status_code.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/order.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string painted_status(const wire::HostState& host) {
  const std::string state(describe::spell(host.status));
  if (host.asleep) return paint(Colour::yellow, "asleep");
  if (host.status == model::HostStatus::running && host.node_status == model::NodeStatus::ready)
    return paint(Colour::green, "ready");
  if (host.status == model::HostStatus::running && host.node_status == model::NodeStatus::down)
    return paint(Colour::red, "down");
  if (host.status == model::HostStatus::running && host.node_status == model::NodeStatus::disconnected)
    return paint(Colour::red, "disconnected");
  if (host.status == model::HostStatus::running) return paint(Colour::yellow, "joining");
  return host.status == model::HostStatus::failed ? paint(Colour::red, state) : paint(Colour::yellow, state);
}

std::string painted_health(const wire::ServiceStatus& service) {
  const std::string text = fmt::format("{}/{}", service.healthy, service.wanted);
  return paint(service.healthy == service.wanted ? Colour::green : Colour::yellow, text);
}

void print_hosts(const wire::Status& status) {
  if (status.hosts.empty()) return;
  Table table({"HOST", "POOL", "ADDRESS", "STATE", "NODE", "WHY"});
  for (const auto& host : status.hosts)
    table.add(
        {host.name, host.pool, host.address, painted_status(host), short_id(host.node_id), host.status_description});
  table.print();
  print("\n");
}

void print_nodes(const wire::Status& status) {
  Table table({"NODE", "ID", "POOL", "CLUSTER", "STATUS", "ELIGIBILITY"});
  for (const auto& node : status.nodes) {
    if (node.host.empty())
      table.add({node.name, short_id(node.id), node.node_pool, node.cluster, std::string(describe::spell(node.status)),
                 std::string(describe::spell(node.eligibility))});
  }
  if (table.empty()) return;
  table.print();
  print("\n");
}

void print_services(const wire::Status& status) {
  Table table({"SERVICE", "TYPE", "VERSION", "HEALTHY", "WHERE", "AFTER", "WAITS"});
  for (const auto& [row, lines] : draw_order(status.services)) {
    const wire::ServiceStatus& service = *row;
    table.add({paint(Colour::dim, lines) + service.id, std::string(describe::spell(service.type)),
               std::to_string(service.version), painted_health(service), join(service.nodes, ","),
               join(service.depends_on, ","), join(service.waits, "; ")});
  }
  if (!table.empty()) table.print();
}

/// What its node told; nothing while it has told nothing.
model::CapsuleSaving saving_of(sdk::Client& client, const std::string& capsule) {
  try {
    return client.capsule_saving(capsule);
  } catch (const Error&) {
    return {};
  }
}

/// What would be lost with the host of each capsule, and what there is to go back to.
void print_capsules(const Arguments& arguments, const wire::Status& status) {
  if (status.capsules.empty()) return;
  auto client = make_client(arguments);
  Table table({"CAPSULE", "ON", "STANDBY", "WOULD LOSE", "SNAPSHOT", "BACKUP"});
  const auto newest = [](const model::SavedWork& work) {
    if (work.done_at > 0) return ago(work.done_at);
    return std::string(work.every > Duration{0} ? "none yet" : "-");
  };
  for (const auto& capsule : status.capsules) {
    const std::string loses = capsule.keeps_nothing      ? "nothing"
                              : !capsule.standby.empty() ? human_duration(capsule.loses)
                                                         : fmt::format("all: {}", capsule.why);
    const auto saved = saving_of(client, capsule.name);
    table.add({capsule.name, capsule.owner, capsule.standby.empty() ? "-" : capsule.standby, loses,
               newest(saved.snapshot), newest(saved.backup)});
  }
  print("\n");
  table.print();
}

/// Who asks while the server is off wants to know what that means.
wire::Status ask_status(const Arguments& arguments) {
  auto client = make_client(arguments);
  try {
    return client.status(arguments.positional().empty() ? "" : arguments.positional().front()).value;
  } catch (Error& error) {
    if (error.code() == Code::unavailable && std::filesystem::exists(state_directory(arguments) + "/server"))
      error.because("what runs goes on without the server; provisioning, file changes and changes of jobs wait for it");
    throw;
  }
}

int run_status(const Arguments& arguments) {
  const auto status = ask_status(arguments);
  const int code = code_of(status);
  if (arguments.has("json")) {
    print_json(json::to_value(status));
    return code;
  }
  for (const auto& cluster : status.clusters) {
    const std::string state = cluster.stop     ? paint(Colour::yellow, "is being taken down")
                              : status.settled ? paint(Colour::green, "is up")
                                               : paint(Colour::yellow, "is changing");
    print(fmt::format("Cluster {} {}  ({})\n\n", paint(Colour::bold, cluster.name), state, cluster.directory));
  }
  if (status.clusters.empty()) print("No cluster is up.\n\n");
  print_hosts(status);
  print_nodes(status);
  print_services(status);
  print_capsules(arguments, status);
  if (!status.attention.empty()) print("\n" + paint(Colour::bold, "Needs you:") + "\n");
  for (const auto& attention : status.attention) {
    print(paint(Colour::yellow, "! ") + attention.what + "\n");
    if (!attention.why.empty()) print("    why: " + attention.why + "\n");
    if (!attention.advice.empty()) print("    do:  " + attention.advice + "\n");
  }
  return code;
}

}  // namespace

int code_of(const wire::Status& status) {
  if (status.attention.empty()) return status.writable ? kDone : kFailed;
  const bool away = std::any_of(status.services.begin(), status.services.end(),
                                [](const auto& service) { return service.wanted > 0 && service.healthy == 0; });
  return away ? kServiceAway : kFailed;
}

const Command& status_command() {
  static const Command command{
      .name = "status",
      .arguments = "[CLUSTER]",
      .summary = "Shows clusters, hosts, nodes and services, and what needs you, on one screen.",
      .details =
          "Exits with 0 when nothing needs you; with 1 when something does, as the list at the end says: among it that "
          "the server cannot write to its disk, and refuses changes; with 2 when moreover a service is away: "
          "allocations of it are wanted, and none of them works.",
      .examples = {"underway status", "underway status -json"},
      .flags = {{"json", "", "Everything as JSON."}},
      .least = 0,
      .most = 1,
      .run = run_status};
  return command;
}

}  // namespace underway::cli

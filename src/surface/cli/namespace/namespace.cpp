#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"

namespace underway::cli {
namespace {

using model::Namespace;

/// A file of the form `name = "…"  description = "…"  capabilities { … }`, as Nomad's.
Namespace read_file(const std::string& path) {
  hcl::Diagnostics diagnostics;
  Namespace ns;
  const auto [named, rest] =
      hcl::parse_file(path, diagnostics).partial_content({.attributes = {{"name", true}}}, diagnostics, "the file");
  const hcl::Context context;
  if (const auto* name = named.find("name")) {
    if (const auto value = name->expression.evaluate(context, diagnostics); value && value->is_string())
      ns.name = value->as_string();
  }
  jobspec::decode(rest, describe::structure_of<Namespace>(), &ns, context, diagnostics);
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the namespace in '{}'", path));
  return ns;
}

void add(std::vector<std::string>& list_namespaces, const std::string& item) {
  if (std::find(list_namespaces.begin(), list_namespaces.end(), item) == list_namespaces.end())
    list_namespaces.push_back(item);
}

void change(Namespace& ns, const Arguments& arguments) {
  auto& drivers = ns.capabilities;
  if (const auto text = arguments.find("description")) ns.description = *text;
  if (arguments.find("raw-exec-as-root")) ns.raw_exec_as_root = arguments.has("raw-exec-as-root");
  if (const auto only = arguments.find("only-drivers")) drivers.enabled_task_drivers = split_list(*only);
  if (const auto only = arguments.find("only-users")) ns.allowed_users = split_list(*only);
  for (const auto& driver : arguments.all("allow-driver")) {
    std::erase(drivers.disabled_task_drivers, driver);
    if (!drivers.enabled_task_drivers.empty()) add(drivers.enabled_task_drivers, driver);
  }
  for (const auto& driver : arguments.all("deny-driver")) {
    std::erase(drivers.enabled_task_drivers, driver);
    add(drivers.disabled_task_drivers, driver);
  }
  for (const auto& right : arguments.all("allow-right")) add(ns.host_rights, right);
  for (const auto& right : arguments.all("deny-right")) std::erase(ns.host_rights, right);
  // A list is all that there is: whom tasks run as that name nobody stays among them.
  const auto users = arguments.all("allow-user");
  if (!users.empty() && ns.allowed_users.empty()) ns.allowed_users = {"nobody"};
  for (const auto& user : users) add(ns.allowed_users, user);
}

/// What is there stays, unless a flag says something else; a file says everything.
int apply_namespace(const Arguments& arguments) {
  const std::string& argument = arguments.positional().front();
  auto client = make_client(arguments);
  Namespace ns;
  if (std::filesystem::is_regular_file(argument)) {
    ns = read_file(argument);
  } else {
    ns.name = argument;
    for (const auto& known : client.namespaces()) {
      if (known.name == argument) ns = known;
    }
  }
  change(ns, arguments);
  client.put_namespace(ns);
  print(fmt::format("Successfully applied namespace \"{}\"!\n", ns.name));
  return kDone;
}

std::string or_all(const std::vector<std::string>& list_namespaces) {
  return list_namespaces.empty() ? "<all>" : join(list_namespaces, ",");
}

int list_namespaces(const Arguments& arguments) {
  const auto namespaces = make_client(arguments).namespaces();
  if (print_formatted(arguments, json::to_value(namespaces))) return kDone;
  Table table({"Name", "Description"});
  for (const auto& ns : namespaces) table.add({ns.name, ns.description.empty() ? "<none>" : ns.description});
  table.print();
  return kDone;
}

int status_namespace(const Arguments& arguments) {
  const auto ns = make_client(arguments).ns(arguments.positional().front());
  if (print_formatted(arguments, json::to_value(ns))) return kDone;
  const auto& disabled = ns.capabilities.disabled_task_drivers;
  print(key_values({{"Name", ns.name},
                    {"Description", ns.description.empty() ? "<none>" : ns.description},
                    {"Enabled Drivers", or_all(ns.capabilities.enabled_task_drivers)},
                    {"Disabled Drivers", disabled.empty() ? "<none>" : join(disabled, ",")},
                    {"Allowed Users", ns.allowed_users.empty() ? "<the driver's own>" : join(ns.allowed_users, ",")},
                    {"Quota", ns.quota.empty() ? "<none>" : ns.quota},
                    {"Host Rights", ns.host_rights.empty() ? "<none>" : join(ns.host_rights, ",")},
                    {"raw_exec as root", ns.raw_exec_as_root ? "allowed" : "refused"}}));
  if (!ns.meta.empty()) print("\nMetadata\n" + key_values({ns.meta.begin(), ns.meta.end()}));
  return kDone;
}

int inspect_namespace(const Arguments& arguments) {
  const auto ns = json::to_value(make_client(arguments).ns(arguments.positional().front()));
  if (!print_formatted(arguments, ns)) print_json(ns);
  return kDone;
}

int remove_namespace(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  make_client(arguments).delete_namespace(name);
  print(fmt::format("Successfully deleted namespace \"{}\"!\n", name));
  return kDone;
}

}  // namespace

const Command& namespace_apply_command() {
  static const Command command{
      .name = "namespace apply",
      .arguments = "NAME|FILE",
      .summary = "Makes or changes a namespace, and what its tasks may do to the machines.",
      .details =
          "Given a name, only what flags say is changed. Given a file, the namespace becomes what the file says: name, "
          "description, quota, meta, capabilities { enabled_task_drivers, disabled_task_drivers }, allowed_users, "
          "host_rights, raw_exec_as_root. What a job may do to its host is a right that its namespace gives: root (run "
          "as root by exec, or be root of the host in a container), host_namespaces (pid_mode, ipc_mode, uts_mode "
          "\"host\"), host_paths (volumes and images of the host), devices, low_ports (ports below 1024 of the host's "
          "own network). raw_exec_as_root holds them all.",
      .examples = {"underway namespace apply -description 'the visualisation team' viz",
                   "underway namespace apply -only-drivers exec,podman -only-users 'viz-*' viz",
                   "underway namespace apply -allow-right host_paths -allow-right devices viz",
                   "underway namespace apply -raw-exec-as-root default"},
      .flags = {{"description", "TEXT", "For people."},
                {"raw-exec-as-root", "",
                 "Its tasks may run as root by raw_exec, or be capsules: they own the node. =false takes it back."},
                {"allow-right", "RIGHT", "What else its tasks may do to their hosts.", true},
                {"deny-right", "RIGHT", "What they may not do any more.", true},
                {"only-drivers", "LIST", "The drivers that its tasks may use; an empty list: all."},
                {"allow-driver", "NAME", "One driver more.", true},
                {"deny-driver", "NAME", "A driver that its tasks may not use.", true},
                {"only-users", "LIST",
                 "The users that its tasks may run as, with *; an empty list: whom the driver takes by itself."},
                {"allow-user", "NAME", "One user more.", true}},
      .least = 1,
      .most = 1,
      .run = apply_namespace};
  return command;
}

const Command& namespace_list_command() {
  static const Command command{
      .name = "namespace list", .summary = "Lists namespaces.", .flags = with_format_flags(), .run = list_namespaces};
  return command;
}

const Command& namespace_status_command() {
  static const Command command{.name = "namespace status",
                               .arguments = "NAME",
                               .summary = "Shows a namespace.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = status_namespace};
  return command;
}

const Command& namespace_inspect_command() {
  static const Command command{.name = "namespace inspect",
                               .arguments = "NAME",
                               .summary = "Prints a namespace as JSON.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = inspect_namespace};
  return command;
}

const Command& namespace_delete_command() {
  static const Command command{.name = "namespace delete",
                               .arguments = "NAME",
                               .summary = "Deletes a namespace whose jobs are all over.",
                               .least = 1,
                               .most = 1,
                               .run = remove_namespace};
  return command;
}

}  // namespace underway::cli

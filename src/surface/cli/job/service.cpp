// The catalogue: list, info, delete.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int list_services(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto page = client.services(list_query(arguments));
  const auto& services = page.rows;
  tell_next_page(page.next_token);
  if (print_formatted(arguments, json::to_value(services))) return kDone;
  Table table({"Service Name", "Tags"});
  for (const auto& group : services)
    for (const auto& service : group.services) table.add({service.name, "[" + join(service.tags, ",") + "]"});
  table.print();
  return kDone;
}

int info_service(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string name = arguments.positional().front();
  const auto instances = client.service(name, arguments.get("choose"));
  if (print_formatted(arguments, json::to_value(instances))) return kDone;
  if (instances.empty())
    throw Error(Code::not_found, fmt::format("nobody provides the service '{}' now", name))
        .advise("`underway service list` shows what there is");
  Table table({"Job ID", "Address", "Ready", "Tags", "Node ID", "Alloc ID"});
  for (const auto& instance : instances) {
    const std::string address =
        instance.port > 0 ? fmt::format("{}:{}", instance.address, instance.port) : instance.address;
    const bool whole = arguments.has("verbose");
    table.add({instance.job_id, address, instance.ready ? "yes" : "no", "[" + join(instance.tags, ",") + "]",
               whole ? instance.node_id : short_id(instance.node_id),
               whole ? instance.alloc_id : short_id(instance.alloc_id)});
  }
  table.print();
  return kDone;
}

int remove_service(const Arguments& arguments) {
  auto client = make_client(arguments);
  client.delete_service(arguments.positional().front(), arguments.positional().back());
  return kDone;
}

}  // namespace

const Command& service_list_command() {
  static const Command command{.name = "service list",
                               .summary = "Lists the services that somebody provides now.",
                               .flags = with_list_flags(),
                               .run = list_services};
  return command;
}

const Command& service_info_command() {
  static const Command command{
      .name = "service info",
      .arguments = "NAME",
      .summary = "Shows who provides a service, and where.",
      .flags = with_format_flags(
          {{"choose", "N|KEY", "Only the N instances that belong to KEY."}, {"verbose", "", "Whole ids."}}),
      .least = 1,
      .most = 1,
      .run = info_service};
  return command;
}

const Command& service_delete_command() {
  static const Command command{.name = "service delete",
                               .arguments = "NAME ID",
                               .summary = "Refused, and says why: what is listed runs.",
                               .details =
                                   "The catalogue is computed from the allocations that run, so no entry is "
                                   "stale. To take one out of it, stop its allocation.",
                               .least = 2,
                               .most = 2,
                               .run = remove_service};
  return command;
}

}  // namespace underway::cli

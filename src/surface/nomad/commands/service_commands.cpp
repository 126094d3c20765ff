// The catalogue of services.
#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using boost::json::array;
using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::text;

constexpr const char* kNone = "No service registrations found\n";

std::string service_tags(const Json& service) {
  std::vector<std::string> tags;
  for (const auto& tag : elements(service, "Tags")) tags.emplace_back(std::string_view(tag.as_string()));
  return "[" + join(tags, ",") + "]";
}

int list_services(const Arguments& arguments) {
  Api api(arguments);
  const bool everywhere = api.client().address().ns == "*";
  const std::string wanted = arguments.get("name");
  const Json all = api.get("/v1/services", cli::list_query_of(arguments));
  if (cli::print_formatted(arguments, all)) return 0;
  Rows rows;
  for (const auto& ns : elements(all)) {
    for (const auto& service : elements(ns, "Services")) {
      const std::string name = text(service, "ServiceName");
      if (!wanted.empty() && name != wanted) continue;
      if (everywhere)
        rows.push_back({name, text(ns, "Namespace"), service_tags(service)});
      else
        rows.push_back({name, service_tags(service)});
    }
  }
  std::sort(rows.begin(), rows.end());
  if (rows.empty())
    print(kNone);
  else
    print(everywhere ? cli::table_text({"Service Name", "Namespace", "Tags"}, rows)
                     : cli::table_text({"Service Name", "Tags"}, rows));
  cli::tell_next_page(api, arguments, "nomad service list");
  return 0;
}

std::string address_of(const Json& service) {
  const auto port = cli::number(service, "Port");
  return port > 0 ? fmt::format("{}:{}", text(service, "Address"), port) : text(service, "Address");
}

std::string service_facts(const Json& service) {
  return cli::facts_text({{"ID", text(service, "ID")},
                          {"Service Name", text(service, "ServiceName")},
                          {"Namespace", text(service, "Namespace")},
                          {"Job ID", text(service, "JobID")},
                          {"Alloc ID", text(service, "AllocID")},
                          {"Node ID", text(service, "NodeID")},
                          {"Datacenter", text(service, "Datacenter")},
                          {"Address", address_of(service)},
                          {"Tags", service_tags(service)}});
}

int service_info(const Arguments& arguments) {
  Api api(arguments);
  const Json answer =
      api.get("/v1/service/" + cli::part(arguments.positional().front()), cli::list_query_of(arguments));
  if (elements(answer).empty()) {
    print(kNone);
    return 0;
  }
  if (cli::print_formatted(arguments, answer)) return 0;
  array all = elements(answer);
  std::sort(all.begin(), all.end(), [](const Json& a, const Json& b) {
    const auto place = [](const Json& service) { return std::tuple(text(service, "JobID"), text(service, "ID")); };
    return place(a) < place(b);
  });
  if (arguments.has("verbose")) {
    std::string between;
    for (const auto& service : all) {
      print(between + service_facts(service));
      between = "\n";
    }
  } else {
    Rows rows;
    for (const auto& service : all)
      rows.push_back({text(service, "JobID"), address_of(service), service_tags(service),
                      cli::id_text(text(service, "NodeID"), false), cli::id_text(text(service, "AllocID"), false)});
    print(cli::table_text({"Job ID", "Address", "Tags", "Node ID", "Alloc ID"}, rows));
  }
  cli::tell_next_page(api, arguments, "nomad service info");
  return 0;
}

}  // namespace

void add_service_commands(Table& table) {
  table.push_back(
      with_run(shared(cli::service_list_command(), {{"name", "NAME", "Services of this name alone."}}), list_services));
  table.push_back(with_run(shared(cli::service_info_command(), cli::with_list_flags({kVerbose})), service_info));
}

}  // namespace underway::nomad

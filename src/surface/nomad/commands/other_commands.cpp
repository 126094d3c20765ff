// What belongs to no family: status, version, ui, variables, namespaces, services, certificates, the log.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/commands.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/commands/agent_command.hpp"
#include "nomad/find.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::text;

/// Kinds of what an id may be of, and what shows each.
constexpr std::pair<const char*, const char*> kContexts[] = {
    {"jobs", "job status"},     {"allocs", "alloc status"},          {"nodes", "node status"},
    {"evals", "eval status"},   {"deployment", "deployment status"}, {"namespaces", "namespace status"},
    {"quotas", "quota status"}, {"node_pools", "node pool info"},    {"scaling_policy", "scaling policy info"}};

/// The same flags for another command: those that it knows.
std::vector<std::string> words_for(const Command& command, const Arguments& arguments, const std::string& id) {
  std::vector<std::string> words;
  for (const auto& flag : cli::flags_of(command)) {
    for (const auto& value : arguments.all(flag.name)) words.push_back(fmt::format("-{}={}", flag.name, value));
  }
  if (!id.empty()) words.push_back(id);
  return words;
}

int show(const char* name, const Arguments& arguments, const std::string& id) {
  const Command& command = *find_command(name);
  return command.run(cli::parse(command, words_for(command, arguments, id)));
}

/// What the id may be the beginning of; what it is in whole comes before.
std::vector<std::pair<std::string, std::string>> matches_of(const Json& answer, const std::string& id) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [context, command] : kContexts) {
    for (const auto& row : elements(answer, std::string("Matches.") + context)) {
      const std::string match(std::string_view(row.as_string()));
      if (match == id) return {{command, match}};
      found.emplace_back(command, match);
    }
  }
  return found;
}

int status(const Arguments& arguments) {
  if (arguments.positional().empty()) return show("job status", arguments, {});
  const std::string& id = arguments.positional().front();
  Api api(arguments);
  const auto found = matches_of(api.put("/v1/search", object{{"Prefix", id}, {"Context", "all"}}), id);
  if (found.empty()) throw Error(Code::not_found, fmt::format("Unable to resolve ID: \"{}\"", id));
  if (found.size() == 1) return show(found.front().first.c_str(), arguments, found.front().second);
  Error error(Code::conflict, fmt::format("Multiple matches found for id \"{}\"", id));
  for (std::size_t i = 0; i < found.size() && i < 20; ++i)
    error.because(fmt::format("{} {}", found[i].first, found[i].second));
  throw error.advise("give more of the id, or use one of these commands");
}

int version(const Arguments&) {
  print(version_text());
  return 0;
}

int ui(const Arguments& arguments) {
  Api api(arguments);
  const std::string& url = api.client().address().url;
  print(arguments.has("show-url") ? fmt::format("URL for web UI: {}\n", url) : url + "\n");
  cli::say("there is no web page at that address yet; the API is there");
  return arguments.has("show-url") ? 0 : 1;
}

/// -json: the specification is JSON. -quota: the namespace is bounded by it.
int apply_namespace(const Arguments& arguments) {
  if (!arguments.has("json") && !arguments.find("quota")) return cli::namespace_apply_command().run(arguments);
  Api api(arguments);
  const std::string& given = arguments.positional().front();
  Json ns = object{{"Name", given}};
  if (arguments.has("json")) {
    ns = json::parse(cli::read_input(given));
  } else {
    for (const auto& known : elements(api.get("/v1/namespaces"))) {
      if (text(known, "Name") == given) ns = known;
    }
  }
  if (const auto quota = arguments.find("quota")) ns.as_object()["Quota"] = *quota;
  if (const auto words = arguments.find("description")) ns.as_object()["Description"] = *words;
  api.put("/v1/namespace", ns);
  print(fmt::format("Successfully applied namespace \"{}\"!\n", text(ns, "Name")));
  return 0;
}

std::string names_of(const Json& value, std::string_view path, std::string_view none) {
  std::vector<std::string> names;
  for (const auto& name : elements(value, path)) names.emplace_back(std::string_view(name.as_string()));
  return names.empty() ? std::string(none) : join(names, ",");
}

int namespace_status(const Arguments& arguments) {
  Api api(arguments);
  const Json ns = api.get("/v1/namespace/" + cli::part(arguments.positional().front()));
  if (cli::print_formatted(arguments, ns)) return 0;
  print(cli::facts_text({{"Name", text(ns, "Name")},
                         {"Description", text(ns, "Description")},
                         {"Quota", text(ns, "Quota")},
                         {"EnabledDrivers", names_of(ns, "Capabilities.EnabledTaskDrivers", "*")},
                         {"DisabledDrivers", names_of(ns, "Capabilities.DisabledTaskDrivers", "")}}));
  cli::Lines meta;
  for (const auto& [name, value] : cli::members(ns, "Meta"))
    meta.emplace_back(std::string_view(name), std::string(std::string_view(value.as_string())));
  if (!meta.empty()) print("\nMetadata\n" + cli::facts_text(meta));
  if (const Json& pools = cli::member(ns, "NodePoolConfiguration"); pools.is_object()) {
    cli::Lines lines{{"Default", text(pools, "Default")}};
    for (const char* name : {"Allowed", "Denied"}) {
      if (!elements(pools, name).empty()) lines.emplace_back(name, names_of(pools, name, ""));
    }
    print("\nNode Pool Configuration\n" + cli::facts_text(lines));
  }
  return 0;
}

void add_volumes(Table& table) {
  constexpr std::string_view kCsi = "Refused: there are no CSI volumes here.";
  table.push_back(shared(cli::volume_create_command(), {kPolicyOverride}));
  table.push_back(shared(cli::volume_register_command(), {kPolicyOverride}));
  table.push_back(shared(cli::volume_delete_command(), {{"secret", "KEY=VALUE", kCsi}}));
  table.push_back(shared(cli::volume_status_command(), {{"plugin", "ID", kCsi}}));
}

}  // namespace

void add_other_commands(Table& table) {
  table.push_back({.name = "status",
                   .arguments = "[<identifier>]",
                   .summary = "Shows whatever has this id, or begins with it; without one lists jobs.",
                   .flags = cli::with_format_flags({{"short", "", "Briefly."},
                                                    {"evals", "", "Of a job: its evaluations too."},
                                                    {"all-allocs", "", "Of a job: allocations of former ones too."},
                                                    {"stats", "", "Of a node: what each processor and disk does."},
                                                    kVerbose}),
                   .most = 1,
                   .run = status});
  table.push_back({.name = "version",
                   .summary = "Prints what this is, and which Nomad it speaks as.",
                   .talks_to_server = false,
                   .run = version});
  table.push_back(
      {.name = "ui",
       .arguments = "[<identifier>]",
       .summary = "Prints the server's address: there is no web page yet.",
       .flags = {{"show-url", "", "Exits 0."}, {"authenticate", "", "Refused: no page could be logged in to."}},
       .most = 1,
       .run = ui});
  table.push_back(agent_command());
  table.push_back(shared(cli::fmt_command()));
  table.push_back(shared(cli::monitor_command(),
                         {{"log-include-location", "", "Without effect: lines have no places in the source."}}));
  table.push_back(shared(cli::config_validate_command()));
  table.back().talks_to_server = true;
  table.push_back(
      with_run(shared(cli::namespace_apply_command(),
                      {{"quota", "NAME", "The quota that bounds it; empty: none."}, {"json", "", "The file is JSON."}}),
               apply_namespace));
  table.push_back(
      shared(cli::tls_cert_create_command(), {{"cluster-region", "NAME", "The same as -region, and goes before it."}}));
  table.push_back(with_run(cli::namespace_status_command(), namespace_status));
  add_volumes(table);
}

}  // namespace underway::nomad

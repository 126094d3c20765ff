// What belongs to no family: status, version, ui, variables, namespaces, services, certificates, the log.
#include "base/error.hpp"
#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/login_commands.hpp"
#include "cli/operator_commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/agent_command.hpp"
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
    for (const auto& one : elements(answer, std::string("Matches.") + context)) {
      const std::string match(std::string_view(one.as_string()));
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
  if (found.empty()) throw Error(Code::not_found, fmt::format("No matches found for id \"{}\"", id));
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
  print(fmt::format("{}\n", api.client().address().url));
  cli::say("there is no web page at that address yet; the API is there");
  return arguments.has("show-url") ? 0 : 1;
}

/// -out go-template and -template, of what the API says at `path`. False: not asked for.
bool print_by_template(Api& api, const Arguments& arguments, const std::string& path, const http::Query& query) {
  const bool wanted = arguments.get("out") == "go-template";
  if (wanted != arguments.find("template").has_value())
    throw Error(Code::invalid, "-out go-template and -template go together");
  if (!wanted) return false;
  const Command format{.name = "", .flags = {cli::kTemplate}, .talks_to_server = false};
  return cli::print_formatted(cli::parse(format, {"-t=" + arguments.get("template")}), api.get(path, query));
}

std::string variable_path(const std::string& path) {
  std::string out = "/v1/var/";
  for (const char c : path) out += c == '/' ? "/" : http::percent_encode(std::string_view(&c, 1));
  return out;
}

int get_variable(const Arguments& arguments) {
  Api api(arguments);
  if (print_by_template(api, arguments, variable_path(arguments.positional().front()), {})) return 0;
  return cli::var_get_command().run(arguments);
}

/// The list with Nomad's paging; plain lists are ours.
int list_variables(const Arguments& arguments) {
  Api api(arguments);
  auto query = cli::list_query_of(arguments);
  if (!arguments.positional().empty()) query.add("prefix", arguments.positional().front());
  if (print_by_template(api, arguments, "/v1/vars", query)) return 0;
  const Json all = api.get("/v1/vars", query);
  const std::string out = arguments.get("out", cli::is_terminal(1) ? "table" : "json");
  if (out == "json") {
    cli::print_json(all);
    return 0;
  }
  if (out == "terse") {
    for (const auto& one : elements(all)) print(text(one, "Path") + "\n");
    return 0;
  }
  if (out != "table")
    throw Error(Code::invalid, fmt::format("-out '{}' is none of table, json, terse, go-template", out));
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : elements(all))
    rows.push_back({text(one, "Namespace"), text(one, "Path"), cli::moment(cli::number(one, "ModifyTime"))});
  print(rows.empty() ? "No secure variables found\n" : cli::table_text({"Namespace", "Path", "Last Updated"}, rows));
  cli::tell_next_page(api, arguments, "nomad var list");
  return 0;
}

/// Written, and then shown by the template: what was written.
int put_variable(const Arguments& arguments) {
  if (arguments.get("out") != "go-template") return cli::var_put_command().run(arguments);
  const Command& command = cli::var_put_command();
  std::vector<std::string> words;
  for (const auto& flag : cli::flags_of(command)) {
    if (flag.name == "out") continue;
    for (const auto& value : arguments.all(flag.name)) words.push_back(fmt::format("-{}={}", flag.name, value));
  }
  const auto& given = arguments.positional();
  words.insert(words.end(), given.begin(), given.end());
  if (const int code = command.run(cli::parse(command, words)); code != 0) return code;
  Api api(arguments);
  print_by_template(api, arguments, variable_path(given.front()), {});
  return 0;
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

int service_info(const Arguments& arguments) {
  Api api(arguments);
  const std::string& name = arguments.positional().front();
  const Json all = api.get("/v1/service/" + cli::part(name), cli::list_query_of(arguments));
  if (elements(all).empty()) {
    print("No service registrations found\n");
    return 0;
  }
  if (cli::print_formatted(arguments, all)) return 0;
  const bool verbose = arguments.has("verbose");
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : elements(all)) {
    const auto port = cli::number(one, "Port");
    rows.push_back({text(one, "JobID"),
                    port > 0 ? fmt::format("{}:{}", text(one, "Address"), port) : text(one, "Address"),
                    boost::json::serialize(cli::member(one, "Tags")), cli::id_text(text(one, "NodeID"), verbose),
                    cli::id_text(text(one, "AllocID"), verbose)});
  }
  print(cli::table_text({"Job ID", "Address", "Tags", "Node ID", "Alloc ID"}, rows));
  return 0;
}

Command with_run(Command command, int (*run_it)(const Arguments&)) {
  command.run = run_it;
  return command;
}

void add_variables(Table& table) {
  constexpr Flag kGoTemplate{"template", "TEMPLATE", "With -out go-template: what is made of the JSON.", false};
  table.push_back(with_run(shared(cli::var_get_command(), {kGoTemplate, kUi}), get_variable));
  table.push_back(with_run(shared(cli::var_list_command(), {{"filter", "EXPRESSION", "Only what the expression wants."},
                                                            {"per-page", "N", "At most so many."},
                                                            {"page-token", "TOKEN", "From there on."},
                                                            kGoTemplate,
                                                            kUi}),
                           list_variables));
  table.push_back(with_run(
      shared(
          cli::var_put_command(),
          {{"in", "hcl|json", "The form of the specification; it is seen from the text."}, kGoTemplate, kVerbose, kUi}),
      put_variable));
  table.push_back(shared(cli::var_init_command(), {{"quiet", "", "Says no more than where it was written."}}));
  table.push_back(shared(cli::var_lock_command(), {kVerbose}));
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
  table.push_back(shared(cli::login_command()));
  table.push_back(
      shared(cli::monitor_command(), {{"log-include-location", "", "Lines have no places in the source."}}));
  table.push_back(shared(cli::config_validate_command()));
  table.back().talks_to_server = true;
  table.push_back(
      with_run(shared(cli::namespace_apply_command(),
                      {{"quota", "NAME", "The quota that bounds it; empty: none."}, {"json", "", "The file is JSON."}}),
               apply_namespace));
  auto info = shared(cli::service_info_command(), cli::with_list_flags({kVerbose}));
  info.run = service_info;
  table.push_back(std::move(info));
  table.push_back(shared(cli::scaling_policy_info_command(), cli::with_format_flags({kVerbose})));
  table.push_back(shared(cli::scaling_policy_list_command(), {kVerbose}));
  add_variables(table);
  add_volumes(table);
}

}  // namespace underway::nomad

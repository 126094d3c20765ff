// var list, get, init, purge.
#include <fstream>
#include <iostream>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/loss.hpp"
#include "cli/terminal.hpp"
#include "cli/variable/variable_text.hpp"

namespace underway::cli {
namespace {

int list_variables(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto& positional = arguments.positional();
  const auto rows = client.variables(positional.empty() ? std::string() : positional.front());
  const std::string out = arguments.has("json") ? "json" : arguments.get("out", "table");
  if (out == "terse") {
    for (const auto& row : rows) print(row.path + "\n");
    return kDone;
  }
  if (out == "json") {
    boost::json::array all;
    for (const auto& row : rows) all.push_back(json::parse(wire::encode_metadata(row)));
    print_json(all);
    return kDone;
  }
  if (out != "table") throw Error(Code::invalid, fmt::format("-out '{}' is none of table, json, terse", out));
  if (rows.empty()) {
    say("No variables");
    return kDone;
  }
  Table table({"Namespace", "Path", "Last Updated"});
  for (const auto& row : rows) table.add({row.ns, row.path, format_time(from_unix_nanos(row.modify_time))});
  table.print();
  return kDone;
}

int get(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto variable = client.variable(arguments.positional().front());
  if (const auto item = arguments.find("item")) {
    const auto it = variable.items.find(*item);
    if (it == variable.items.end())
      throw Error(Code::not_found, fmt::format("variable '{}' has no item '{}'", variable.row.path, *item));
    print(it->second);
    if (is_terminal(1)) print("\n");  // into a file or pipe go the bytes alone
    return kDone;
  }
  const std::string out = arguments.get("out", is_terminal(1) ? "table" : "json");
  if (out == "table")
    print(variable_as_table(variable));
  else if (out == "hcl")
    print(variable_as_hcl(variable));
  else if (out == "json")
    print_json(json::parse(wire::encode_variable(variable)));
  else if (out != "none")
    throw Error(Code::invalid, fmt::format("-out '{}' is none of table, json, hcl, none", out));
  return kDone;
}

constexpr std::string_view kHclSpec =
    R"(# A variable. Write it with `underway var put @spec.nv.hcl`, and keep this file out of version control.
# The path says who may read it: a task reads "nomad/jobs/<job>", ".../<group>" and ".../<task>" of its own.
path = "nomad/jobs/example"

items {
  user     = "example"
  password = "…"
}
)";
constexpr std::string_view kJsonSpec = R"({
  "Path": "nomad/jobs/example",
  "Items": {
    "user": "example",
    "password": "…"
  }
}
)";

int init_variable_file(const Arguments& arguments) {
  const bool as_json = arguments.has("json") || arguments.get("out") == "json";
  const auto& positional = arguments.positional();
  const std::string path = !positional.empty() ? positional.front() : as_json ? "spec.nv.json" : "spec.nv.hcl";
  if (std::ifstream(path).good())
    throw Error(Code::conflict, fmt::format("'{}' exists already", path)).advise("name another file");
  std::ofstream out(path);
  out << (as_json ? kJsonSpec : kHclSpec);
  if (!out.flush()) throw errno_error(errno, fmt::format("cannot write '{}'", path));
  say(fmt::format("Example variable specification written to {}", path));
  return kDone;
}

int purge_variable(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string& path = arguments.positional().front();
  if (const auto agreed = ask_before({.deed = fmt::format("this deletes variable '{}' for good", path),
                                      .word = path,
                                      .lost = {fmt::format("what variable '{}' holds", path)}},
                                     arguments);
      agreed != kDone)
    return agreed;
  const auto answer = client.delete_variable(path, arguments.number("check-index"));
  if (answer.conflict) {
    throw Error(Code::conflict, fmt::format("variable '{}' was not deleted", path))
        .because(answer.variable.row.lock ? "somebody holds its lock"
                                          : fmt::format("its index is {} now", answer.variable.row.modify_index));
  }
  say(fmt::format("Successfully purged variable \"{}\"", path));
  return kDone;
}

}  // namespace

const Command& var_list_command() {
  static const Command command{
      .name = "var list",
      .arguments = "[PREFIX]",
      .summary = "Lists variables by path.",
      .flags = {{"out", "FORMAT", "table, json or terse (paths alone)."}, {"json", "", "As JSON."}},
      .least = 0,
      .most = 1,
      .run = list_variables};
  return command;
}

const Command& var_get_command() {
  static const Command command{
      .name = "var get",
      .arguments = "PATH",
      .summary = "Shows a variable.",
      .details = "On a terminal as a table, else as JSON. -item prints the value alone, byte for byte.",
      .examples = {"underway var get nomad/jobs/munge",
                   "underway var get -item key nomad/jobs/munge | base64 -d > /etc/munge/munge.key"},
      .flags = {{"item", "KEY", "Only the value of this item."}, {"out", "FORMAT", "table, json, hcl or none."}},
      .least = 1,
      .most = 1,
      .run = get};
  return command;
}

const Command& var_init_command() {
  static const Command command{.name = "var init",
                               .arguments = "[FILE]",
                               .summary = "Writes an example specification of a variable.",
                               .flags = {{"json", "", "In JSON instead of HCL."}, {"out", "FORMAT", "hcl or json."}},
                               .least = 0,
                               .most = 1,
                               .talks_to_server = false,
                               .run = init_variable_file};
  return command;
}

const Command& var_purge_command() {
  static const Command command{.name = "var purge",
                               .arguments = "PATH",
                               .summary = "Deletes a variable.",
                               .details = "It wants the path typed, or -yes.",
                               .flags = {kYes, number_flag("check-index", "INDEX", "Only if its index is still this.")},
                               .least = 1,
                               .most = 1,
                               .run = purge_variable};
  return command;
}

}  // namespace underway::cli

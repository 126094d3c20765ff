// Variables: get, list, put, purge, init, lock.
#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/variable/variable_put.hpp"
#include "cli/variable/variable_text.hpp"
#include "cli/wire.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "wire/variable/variable.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::text;

constexpr Flag kGoTemplate{"template", "TEMPLATE", "With -out go-template: what is made of the JSON.", false};

/// -out: one of `forms`; what is right for a terminal or for a pipe when it is not given.
std::string form_of(const Arguments& arguments, std::string_view on_terminal, std::vector<std::string_view> forms) {
  const std::string out = arguments.get("out", cli::is_terminal(1) ? on_terminal : "json");
  forms.emplace_back("go-template");
  if (std::find(forms.begin(), forms.end(), out) == forms.end())
    throw Error(Code::invalid, fmt::format("Invalid value for \"-out\": '{}'", out))
        .because(fmt::format("valid values are {}", fmt::join(forms, ", ")));
  const bool has_template = !arguments.get("template").empty();
  if (out == "go-template" && !has_template)
    throw Error(Code::invalid, "A template must be supplied using '-template' when using go-template formatting");
  if (out != "go-template" && has_template)
    throw Error(Code::invalid, "The '-template' flag is only valid when using 'go-template' formatting");
  return out;
}

void print_by_template(const Arguments& arguments, const Json& value) {
  const Command format{.name = "", .flags = {cli::kTemplate}, .talks_to_server = false};
  cli::print_formatted(cli::parse(format, {"-t=" + arguments.get("template")}), value);
}

std::string table_of(const model::OpenVariable& variable) {
  const auto& row = variable.row;
  cli::Lines lines{{"Namespace", row.ns}, {"Path", row.path}, {"Create Time", cli::moment(row.create_time)}};
  if (row.create_time != row.modify_time) lines.emplace_back("Modify Time", cli::moment(row.modify_time));
  lines.emplace_back("Check Index", std::to_string(row.modify_index));
  cli::Lines items(variable.items.begin(), variable.items.end());
  return cli::facts_text(lines) + "\n" + cli::paint(cli::Colour::bold, "Items") + "\n" + cli::facts_text(items);
}

void show(const Arguments& arguments, const std::string& form, const model::OpenVariable& variable) {
  const auto value = [&] { return json::parse(wire::encode_variable(variable)); };
  if (form == "json") cli::print_json(value());
  if (form == "hcl") print(cli::variable_as_hcl(variable, true));
  if (form == "table") print(table_of(variable));
  if (form == "go-template") print_by_template(arguments, value());
}

int get(const Arguments& arguments) {
  const std::string form = form_of(arguments, "table", {"hcl", "json", "none", "table"});
  Api api(arguments);
  model::OpenVariable variable;
  try {
    variable = api.client().variable(arguments.positional().front());
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw Error(Code::not_found, "Variable not found");
  }
  if (const auto item = arguments.find("item")) {
    const auto found = variable.items.find(*item);
    if (found == variable.items.end())
      throw Error(Code::not_found, fmt::format("Variable does not contain \"{}\" item", *item));
    print(found->second + "\n");
    return 0;
  }
  show(arguments, form, variable);
  return 0;
}

void sort_by_place(boost::json::array& rows) {
  std::sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return std::pair(text(a, "Namespace"), text(a, "Path")) < std::pair(text(b, "Namespace"), text(b, "Path"));
  });
}

/// Where the next page begins is a member of the answer when pages were asked for, else told beside it.
Json paged(const Api& api, const Arguments& arguments, Json rows) {
  if (!arguments.find("per-page")) return rows;
  return object{{"Data", std::move(rows)}, {"QueryMeta", object{{"NextToken", api.next_token()}}}};
}

std::string rows_text(const boost::json::array& rows) {
  if (rows.empty()) return "No matching variables found\n";
  std::vector<std::vector<std::string>> cells;
  for (const auto& variable : rows)
    cells.push_back(
        {text(variable, "Namespace"), text(variable, "Path"), cli::moment(cli::number(variable, "ModifyTime"))});
  return cli::table_text({"Namespace", "Path", "Last Updated"}, cells);
}

int list_variables(const Arguments& arguments) {
  const std::string form = form_of(arguments, "table", {"json", "table", "terse"});
  Api api(arguments);
  auto query = cli::list_query_of(arguments);
  if (!arguments.positional().empty()) query.add("prefix", arguments.positional().front());
  boost::json::array rows = elements(api.get("/v1/vars", std::move(query)));
  sort_by_place(rows);
  if (form == "json") {
    cli::print_json(paged(api, arguments, rows));
    return 0;
  }
  const bool everywhere = api.client().address().ns == "*";
  if (form == "terse") {
    for (const auto& variable : rows)
      print((everywhere ? text(variable, "Namespace") + "|" : "") + text(variable, "Path") + "\n");
  }
  if (form == "table") print(rows_text(rows));
  if (form == "go-template") print_by_template(arguments, paged(api, arguments, rows));
  if (!api.next_token().empty()) cli::say(fmt::format("Next page token: {}", api.next_token()));
  return 0;
}

int put(const Arguments& arguments) {
  const std::string form = form_of(arguments, "none", {"hcl", "json", "none", "table"});
  if (const std::string in = arguments.get("in", "hcl"); in != "hcl" && in != "json")
    throw Error(Code::invalid, fmt::format("Invalid value for \"-in\": '{}'", in))
        .because("valid values are hcl, json");
  const auto variable = cli::put_variable(arguments);
  const auto words =
      fmt::format("Created variable \"{}\" with modify index {}", variable.row.path, variable.row.modify_index);
  if (form == "none") print(words + "\n");
  if (form != "none" && arguments.has("verbose")) cli::say(words);
  show(arguments, form, variable);
  return 0;
}

int purge(const Arguments& arguments) {
  Api api(arguments);
  const std::string& path = arguments.positional().front();
  const auto answer = api.client().delete_variable(path, arguments.number("check-index"));
  if (answer.conflict)
    throw Error(Code::conflict, fmt::format("Error purging variable: variable '{}' was not deleted", path))
        .because(answer.variable.row.lock ? "somebody holds its lock"
                                          : fmt::format("its index is {} now", answer.variable.row.modify_index));
  print(fmt::format("Successfully purged variable \"{}\"!\n", path));
  return 0;
}

}  // namespace

void add_variable_commands(Table& table) {
  auto getting = with_run(shared(cli::var_get_command(), {kGoTemplate, kUi}), get);
  getting.details = "On a terminal as a table, else as JSON. -item prints the value alone, and a new line.";
  getting.examples = {};
  table.push_back(std::move(getting));
  table.push_back(with_run(shared(cli::var_list_command(), {{"filter", "EXPRESSION", "Only what the expression wants."},
                                                            cli::number_flag("per-page", "N", "At most so many."),
                                                            {"page-token", "TOKEN", "From there on."},
                                                            kGoTemplate,
                                                            kUi}),
                           list_variables));
  table.push_back(with_run(
      shared(
          cli::var_put_command(),
          {{"in", "hcl|json", "The form of the specification; it is seen from the text."}, kGoTemplate, kVerbose, kUi}),
      put));
  table.push_back(with_run(cli::var_purge_command(), purge));
  table.push_back(shared(cli::var_init_command(), {{"quiet", "", "Without a word."}}));
  table.push_back(shared(cli::var_lock_command(), {kVerbose}));
}

}  // namespace underway::nomad

#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "cli/variable/variable_put.hpp"
#include "cli/variable/variable_text.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

std::string read_items() { return {std::istreambuf_iterator<char>(std::cin), {}}; }
std::string read_named(const std::string& path) { return os::read_file(path, 1U << 20); }

bool is_reference(const std::string& word) { return word == "-" || word.starts_with('@'); }

VariableSpec read_spec(const std::string& reference) {
  return reference == "-" ? parse_variable_spec(read_items(), "standard input")
                          : parse_variable_spec(read_named(reference.substr(1)), reference.substr(1));
}

/// [SPEC|PATH [SPEC]] [KEY=VALUE]…
VariableSpec spec_of(const std::vector<std::string>& words) {
  VariableSpec spec;
  std::size_t next = 0;
  std::string path;
  if (!is_reference(words[0])) path = words[next++];
  if (next < words.size() && is_reference(words[next])) spec = read_spec(words[next++]);
  const Readers readers{read_named, read_items};
  for (; next < words.size(); ++next) {
    auto [key, value] = parse_item(words[next], readers);
    spec.items[std::move(key)] = std::move(value);
  }
  if (!path.empty()) spec.path = path;
  if (spec.path.empty()) throw Error(Code::invalid, "neither the arguments nor the specification name a path");
  return spec;
}

std::optional<model::Revision> index_of(const Arguments& arguments, const VariableSpec& spec) {
  if (arguments.has("force")) return std::nullopt;
  const auto given = arguments.number("check-index");
  return given ? given : spec.modify_index;
}

[[noreturn]] void refuse_items(const std::string& path, const model::Variable& standing) {
  Error error(Code::conflict, fmt::format("variable '{}' was not written", path));
  if (standing.lock) throw error.because("somebody holds its lock");
  error.because(standing.modify_index == 0 ? "it does not exist"
                                           : fmt::format("it exists, and its index is {}", standing.modify_index));
  throw error.advise(fmt::format(
      "look at it with `underway var get`, then use -check-index {}; or -force to write over whatever is there",
      standing.modify_index));
}

int put(const Arguments& arguments) {
  const auto variable = put_variable(arguments);
  const std::string out = arguments.get("out", "none");
  if (out == "json")
    print_json(json::parse(wire::encode_variable(variable)));
  else if (out == "hcl")
    print(variable_as_hcl(variable));
  else if (out == "table")
    print(variable_as_table(variable));
  else if (out != "none")
    throw Error(Code::invalid, fmt::format("-out '{}' is none of table, json, hcl, none", out));
  say(fmt::format("Created variable \"{}\" with modify index {}", variable.row.path, variable.row.modify_index));
  return kDone;
}

}  // namespace

model::OpenVariable put_variable(const Arguments& arguments) {
  const auto spec = spec_of(arguments.positional());
  auto client = make_client(arguments);
  if (!spec.ns.empty() && client.address().ns.empty()) client.use_namespace(spec.ns);
  auto answer = client.put_variable(spec.path, spec.items, index_of(arguments, spec));
  if (answer.conflict) refuse_items(spec.path, answer.variable.row);
  return std::move(answer.variable);
}

const Command& var_put_command() {
  static const Command command{
      .name = "var put",
      .arguments = "[PATH] [@FILE|-] [KEY=@FILE|KEY=-|KEY=VALUE…]",
      .summary = "Writes a variable.",
      .details =
          "Items come from a specification (@FILE, or - for standard input; HCL or JSON, see `var init`), and from "
          "words. What stands on a command line is seen by every user of the machine and kept by the shell: give "
          "secrets as KEY=@FILE or KEY=-, and plain values as KEY=VALUE. A value that begins with '@' is written "
          "'\\@…'.\n\nA variable that exists is written only with -check-index (its present index), with a "
          "specification that holds it, or with -force.",
      .examples = {"underway var put @spec.nv.hcl", "underway var put db/main user=slurm password=@/root/password",
                   "openssl rand -base64 32 | underway var put db/main password=-"},
      .flags = {number_flag("check-index", "INDEX", "Only if the variable's index is this; 0: only if there is none."),
                {"force", "", "Writes over whatever is there."},
                {"out", "FORMAT", "Shows what was written: table, json, hcl or none."}},
      .least = 1,
      .most = 1000,
      .run = put};
  return command;
}

}  // namespace underway::cli

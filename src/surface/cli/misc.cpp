// The program itself and its agent: garbage, members, raw requests, completion, man pages, version.
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int collect(const Arguments& arguments) {
  make_client(arguments).collect_garbage();
  return kDone;
}

int server_members(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto answer = client.members();
  if (print_formatted(arguments, answer)) return kDone;
  Table table({"Name", "Address", "Status", "Build", "Datacenter", "Region"});
  for (const auto& member : answer.at("Members").as_array()) {
    const auto text = [&](const boost::json::value& value) { return std::string(std::string_view(value.as_string())); };
    table.add({text(member.at("Name")), text(member.at("Addr")), text(member.at("Status")),
               text(member.at("Tags").at("build")), text(member.at("Tags").at("dc")),
               text(member.at("Tags").at("region"))});
  }
  table.print();
  return kDone;
}

int agent_information(const Arguments& arguments) {
  print_json(make_client(arguments).agent_self());
  return kDone;
}

int raw(const Arguments& arguments) {
  auto client = make_client(arguments);
  std::string body;
  if (arguments.has("in")) body.assign(std::istreambuf_iterator<char>(std::cin), {});
  const auto response =
      client.raw(arguments.get("X", body.empty() ? "GET" : "PUT"), arguments.positional().front(), std::move(body));
  print(response.body);
  if (response.status < 400) return kDone;
  say(fmt::format("error: the server answered {}", response.status));
  return kFailed;
}

int complete(const Arguments& arguments) {
  print(completion(arguments.positional().front()));
  return kDone;
}

void write_page(const std::string& directory, std::string name, const std::string& text) {
  std::replace(name.begin(), name.end(), ' ', '-');
  std::ofstream out(directory + "/" + name + ".1");
  out << text;
  if (!out.flush()) throw Error(Code::internal, fmt::format("cannot write '{}/{}.1'", directory, name));
}

int man(const Arguments& arguments) {
  const std::string& directory = arguments.positional().front();
  write_page(directory, "underway", man_page_of_program());
  for (const auto* command : commands())
    write_page(directory, "underway-" + std::string(command->name), man_page(*command));
  return kDone;
}

int show_version(const Arguments&) {
  print(fmt::format("Underway v{} ({})\n", version(), build_id()));
  return kDone;
}

}  // namespace

const Command& system_gc_command() {
  static const Command command{.name = "system gc",
                               .summary = "Forgets evaluations, allocations, jobs and nodes that are over.",
                               .run = collect};
  return command;
}

const Command& server_members_command() {
  static const Command command{
      .name = "server members", .summary = "Lists the servers.", .flags = with_format_flags(), .run = server_members};
  return command;
}

const Command& agent_info_command() {
  static const Command command{.name = "agent-info",
                               .summary = "Prints what the agent is and how it is configured, as JSON.",
                               .run = agent_information};
  return command;
}

const Command& operator_api_command() {
  static const Command command{
      .name = "operator api",
      .arguments = "PATH",
      .summary = "Sends any request to the API and prints the answer.",
      .examples = {"underway operator api /v1/jobs", "underway operator api -in -X PUT /v1/jobs < job.json"},
      .flags = {{"X", "METHOD", "The method; GET, or PUT with -in."}, {"in", "", "Sends standard input as the body."}},
      .least = 1,
      .most = 1,
      .run = raw};
  return command;
}

const Command& completion_command() {
  static const Command command{.name = "completion",
                               .arguments = "bash|zsh",
                               .summary = "Prints a completion script.",
                               .examples = {"source <(underway completion bash)"},
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = complete};
  return command;
}

const Command& man_command() {
  static const Command command{.name = "man",
                               .arguments = "DIR",
                               .summary = "Writes the man pages into a directory.",
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = man};
  return command;
}

const Command& version_command() {
  static const Command command{
      .name = "version", .summary = "Prints version and build id.", .talks_to_server = false, .run = show_version};
  return command;
}

}  // namespace underway::cli

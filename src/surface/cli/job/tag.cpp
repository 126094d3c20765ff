#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string name_of(const Arguments& arguments) {
  const std::string name = arguments.get("name");
  if (name.empty()) throw Error(Code::invalid, "the tag has no name").advise("give one with -name");
  return name;
}

int apply_tag(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_job(client, arguments.positional().front());
  const auto version = arguments.number("version");
  client.tag_job_version(id, name_of(arguments), version, arguments.get("description"));
  print(fmt::format("Job version {} of \"{}\" tagged with name \"{}\"\n",
                    version ? std::to_string(*version) : "(the current one)", id, name_of(arguments)));
  return kDone;
}

int unset(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_job(client, arguments.positional().front());
  client.untag_job_version(id, name_of(arguments));
  print(fmt::format("Tag \"{}\" removed from job \"{}\"\n", name_of(arguments), id));
  return kDone;
}

}  // namespace

const Command& job_tag_apply_command() {
  static const Command command{
      .name = "job tag apply",
      .arguments = "ID",
      .summary = "Names a version of a job, which keeps it from being forgotten.",
      .examples = {"underway job tag apply -name golden -version 3 slurmd"},
      .flags = {{"name", "NAME", "The name; no other version may have it."},
                number_flag("version", "NUMBER", "The version; the current one when it is absent."),
                {"description", "TEXT", "What is worth knowing of it."}},
      .least = 1,
      .most = 1,
      .run = apply_tag};
  return command;
}

const Command& job_tag_unset_command() {
  static const Command command{.name = "job tag unset",
                               .arguments = "ID",
                               .summary = "Takes a name away from a version of a job.",
                               .flags = {{"name", "NAME", "The name."}},
                               .least = 1,
                               .most = 1,
                               .run = unset};
  return command;
}

}  // namespace underway::cli

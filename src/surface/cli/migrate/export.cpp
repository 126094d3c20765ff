#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/migrate/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

constexpr Duration kLongest = std::chrono::minutes(10);

/// What Nomad has no word for at all. `list` may throw denied: then that is told.
template <class List>
void note_own(std::vector<migrate::Gap>& gaps, std::string_view what, const std::string& why, const List& list) {
  try {
    for (const auto& name : list()) gaps.push_back({migrate::printable(fmt::format("{} '{}'", what, name)), why, ""});
  } catch (const Error& error) {
    if (error.code() != Code::denied) throw;
    gaps.push_back({fmt::format("every {}", what), error.one_line(), "use a management token", true});
  }
}

std::vector<migrate::Gap> own_things(sdk::Client& client) {
  std::vector<migrate::Gap> gaps;
  note_own(gaps, "cluster", "Nomad has no clusters, hosts or networks; keep its directory", [&] {
    std::vector<std::string> names;
    for (const auto& cluster : client.clusters()) names.push_back(cluster.name);
    return names;
  });
  note_own(gaps, "capsule", "Nomad has no capsules: its overlay stays on its node; `underway capsule backup` saves it",
           [&] {
             std::vector<std::string> names;
             for (const auto& capsule : client.capsules()) names.push_back(capsule.name);
             return names;
           });
  note_own(gaps, "synchronised file", "Nomad does not keep files of nodes the same", [&] {
    std::vector<std::string> names;
    for (const auto& file : client.declared_files()) names.push_back(file.name);
    return names;
  });
  return gaps;
}

int run_export(const Arguments& arguments) {
  auto client = make_client(arguments);
  client.use_namespace("");
  migrate::Selection selection;
  selection.namespaces = arguments.all("namespace");
  const auto inventory = migrate::read_inventory(sender(client, kLongest), selection);
  migrate::FilesOptions options;
  options.format = arguments.has("json") ? migrate::Format::json : migrate::Format::hcl;
  options.with_secrets = arguments.has("with-secrets");
  options.gaps = own_things(client);
  const auto files = migrate::make_files(inventory, options);
  const std::string directory = arguments.get("out");
  if (directory.empty()) throw Error(Code::invalid, "where to?").advise("name a new directory with -out DIR");
  migrate::write_files(files, directory);

  bool whole = true;
  for (const auto* gaps : {&inventory.gaps, &std::as_const(options.gaps)}) {
    for (const auto& gap : *gaps) {
      whole = whole && !gap.unread;
      if (gap.unread) say(fmt::format("warning: {} could not be read: {}", gap.what, gap.why));
    }
  }
  print(fmt::format("{} files in '{}'\n", files.files.size(), directory));
  if (!files.inexpressible.empty())
    print(fmt::format("{} things cannot be said to a Nomad: see '{}/README.md'\n", files.inexpressible.size(),
                      directory));
  return whole ? kDone : kFailed;
}

}  // namespace

const Command& export_command() {
  static const Command command{
      .name = "export",
      .summary = "Writes everything as files that a Nomad accepts.",
      .details =
          "Jobs as job files, namespaces, node pools, quotas, policies, roles, auth methods, binding rules and the "
          "scheduler configuration, and `restore.sh`, which makes them on a Nomad. What Nomad does not know is a "
          "comment in its file, and README.md lists it with file and line, and what has to be made anew. Without "
          "-namespace, everything; with it, jobs and variables of these namespaces (`*` stands for any run of "
          "characters).\n\n"
          "Exits 0 when everything could be read, 1 when something could not.",
      .examples = {"underway export -out /root/export", "underway export -out hpc -namespace hpc -with-secrets"},
      .flags = {{"out", "DIR", "Where to; it must not be there yet, or be empty."},
                {"json", "", "Jobs as JSON of the API instead of job files."},
                {"with-secrets", "", "Variables too, in files that only their owner can read."}},
      .run = run_export};
  return command;
}

}  // namespace underway::cli

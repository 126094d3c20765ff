#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using model::TargetState;
using model::TargetStatus;

std::string name_of(const TargetStatus& status) {
  return status.capsule.empty() ? status.node : fmt::format("{} ({})", status.capsule, status.node);
}

std::string painted(const TargetStatus& status) {
  const std::string word(describe::spell(status.state));
  switch (status.state) {
    case TargetState::synced:
      return paint(Colour::green, word);
    case TargetState::pending:
      return paint(Colour::yellow, word);
    case TargetState::drifted:
    case TargetState::failed:
    case TargetState::refused:
      break;
  }
  return paint(Colour::red, word);
}

bool concerns(const TargetStatus& status, const std::string& what) {
  return what.empty() || status.node == what || status.node_id.starts_with(what) || status.capsule == what ||
         what.starts_with('/');
}

void print_summary(const std::vector<TargetStatus>& all) {
  Table table({"Target", "State", "Files", "Revision", "Changed", "Reason"});
  for (const auto& status : all)
    table.add({name_of(status), painted(status), std::to_string(status.files),
               fmt::format("{}.{}", status.epoch, status.revision), ago(status.applied_at), status.reason});
  table.print();
}

/// Of one file: where it is not as its master.
void print_file(const std::vector<TargetStatus>& all, const std::string& path) {
  Table table({"Target", "State", "Since", "Reason"});
  for (const auto& status : all) {
    for (const auto& problem : status.problems) {
      if (problem.path == path)
        table.add({name_of(status), std::string(describe::spell(problem.state)), ago(problem.since), problem.reason});
    }
  }
  if (table.empty())
    say(fmt::format("'{}' is as its master wherever it is", path));
  else
    table.print();
}

void print_details(const TargetStatus& status) {
  print(key_values({{"Target", name_of(status)},
                    {"State", std::string(describe::spell(status.state))},
                    {"Reason", status.reason.empty() ? "-" : status.reason},
                    {"Files", std::to_string(status.files)},
                    {"Revision", fmt::format("{}.{}", status.epoch, status.revision)},
                    {"Linked", status.linked ? "yes" : "no"}}));
  if (!status.problems.empty()) {
    print("\nNot as their masters\n");
    Table table({"Path", "State", "Since", "Reason"});
    for (const auto& problem : status.problems)
      table.add({problem.path, std::string(describe::spell(problem.state)), ago(problem.since), problem.reason});
    table.print();
  }
  if (status.events.empty()) return;
  print("\nWhat happened last\n");
  Table table({"When", "Path", "What", "Detail"});
  for (auto it = status.events.rbegin(); it != status.events.rend(); ++it)
    table.add({ago(it->at), it->path, it->what, it->detail});
  table.print();
}

void tell_rotation(sdk::Client& client) {
  const auto key = client.file_key();
  if (key.next.empty()) return;
  say(fmt::format("the key that signs manifests is being rotated{}; see `underway file key info`",
                  key.waiting.empty() ? "" : ", and waits for " + join(key.waiting, ", ")));
}

int run_file_status(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string what = arguments.positional().empty() ? std::string() : arguments.positional().front();
  auto all = client.file_targets(arguments.get("cluster"));
  std::erase_if(all, [&](const auto& status) { return !concerns(status, what); });
  const bool good = std::all_of(all.begin(), all.end(), [](const auto& s) { return s.state == TargetState::synced; });
  if (arguments.has("json"))
    print_json(json::to_value(all));
  else if (what.starts_with('/'))
    print_file(all, what);
  else if (all.empty())
    say(what.empty() ? "no files are synchronised" : fmt::format("no files are synchronised to '{}'", what));
  else if (!what.empty() && all.size() <= 3)
    for (const auto& status : all) print_details(status);
  else
    print_summary(all);
  if (what.empty() && !arguments.has("json")) tell_rotation(client);
  return good ? kDone : kFailed;
}

}  // namespace

const Command& file_status_command() {
  static const Command command{
      .name = "file status",
      .arguments = "[NODE|CAPSULE|PATH]",
      .summary = "Shows where files are as their masters, and where they are not.",
      .details =
          "synced: all files are as declared. pending: the newest change has not arrived. drifted: a file was changed "
          "by "
          "hand, and its policy is to report it. failed: a file could not be written, or a command beside it failed. "
          "refused: the node does not believe the newest manifest. Exits 1 unless everything is synced.",
      .examples = {"underway file status", "underway file status c1", "underway file status /etc/passwd"},
      .flags = {{"cluster", "NAME", "Of this cluster only."}, {"json", "", "As JSON."}},
      .most = 1,
      .run = run_file_status};
  return command;
}

}  // namespace underway::cli

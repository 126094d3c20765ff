#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string kind_text(const model::FileDeclaration& file) {
  std::string out(describe::spell(file.type));
  if (file.templating == model::FileTemplate::go) out += ", template";
  if (file.secret) out += ", secret";
  return out;
}

int run_file_list(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto files = client.declared_files(arguments.get("cluster"));
  if (arguments.has("json")) {
    print_json(json::to_value(files));
    return kDone;
  }
  Table table({"Path", "Name", "Kind", "Owner", "Mode", "Size", "For", "Changed"});
  for (const auto& file : files)
    table.add({file.type == model::FileType::part ? "-" : file.where(), file.name == file.where() ? "" : file.name,
               kind_text(file), file.owner + ":" + file.group, fmt::format("{:04o}", model::file_mode(file)),
               human_bytes(static_cast<std::uint64_t>(file.size)), targets_text(file.targets), ago(file.modify_time)});
  if (table.empty())
    say("no files are synchronised");
  else
    table.print();
  return kDone;
}

}  // namespace

const Command& file_list_command() {
  static const Command command{.name = "file list",
                               .summary = "Lists the files that are kept the same everywhere.",
                               .examples = {"underway file list"},
                               .flags = {{"cluster", "NAME", "Of this cluster only."}, {"json", "", "As JSON."}},
                               .run = run_file_list};
  return command;
}

}  // namespace underway::cli

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"

namespace underway::cli {
namespace {

int run_file_add(const Arguments& arguments) {
  const auto& words = arguments.positional();
  auto client = make_client(arguments);
  model::FileDeclaration file;
  file.name = words[0];
  apply_flags(file, arguments);
  const bool has_bytes = file.type == model::FileType::file || file.type == model::FileType::part;
  if (has_bytes) {
    file.source = words.size() > 1 ? words[1] : words[0];
    file.content = read_input(file.source);
  } else if (words.size() > 1) {
    throw Error(Code::invalid, fmt::format("a file of type {} has no content", describe::spell(file.type)));
  }
  say_put(client.put_files(file_cluster(client, arguments), {wire::body_of(std::move(file))}));
  return kDone;
}

}  // namespace

const Command& file_add_command() {
  static const Command command{
      .name = "file add",
      .arguments = "PATH [SOURCE]",
      .summary = "Keeps a file the same everywhere, from now on.",
      .details =
          "SOURCE holds its bytes (- is standard input); without it they are those of PATH on this machine. Adding "
          "what "
          "is there already replaces it: its bytes, and all that flags say. Nodes and capsules that it is for get it "
          "at "
          "once; those that are off, when they come back.\n\nBlocks of `file` in a cluster's directory say the same, "
          "and "
          "are kept in git with the rest.",
      .examples = {"underway file add /etc/passwd",
                   "underway file add /etc/slurm/slurm.conf slurm.conf -after 'scontrol reconfigure'",
                   "underway file add /etc/munge/munge.key -secret -owner munge -group munge -reload munge",
                   "underway file add hosts hosts.ww -template -path /etc/hosts -pool compute"},
      .flags = declaration_flags(),
      .least = 1,
      .most = 2,
      .run = run_file_add};
  return command;
}

}  // namespace underway::cli

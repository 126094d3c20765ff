#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::cli {
namespace {

/// A file that only we can read, for as long as the editor runs.
class Draft {
 public:
  Draft(const std::string& name, const std::string& bytes)
      : path_(fmt::format("{}/underway-{}-{}", std::filesystem::temp_directory_path().string(), hex(random_bytes(6)),
                          std::filesystem::path(name).filename().string())) {
    os::write_file(path_, bytes, 0600, {}, os::Durability::cached);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() { ::unlink(path_.c_str()); }

  std::string edited() const {
    const char* visual = std::getenv("VISUAL");
    const char* editor = visual != nullptr && *visual != '\0' ? visual : std::getenv("EDITOR");
    os::SpawnSpec spec;
    spec.argv = {"/bin/sh", "-c", std::string(editor != nullptr && *editor != '\0' ? editor : "editor") + " \"$1\"",
                 "sh", path_};
    for (char** entry = environ; *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
    spec.cwd = std::filesystem::current_path().string();
    spec.in = 0;
    spec.out = 1;
    spec.err = 2;
    if (const auto status = os::spawn(spec).wait(); !status.success())
      throw Error(Code::invalid, "the editor ended with " + os::to_string(status))
          .advise("set EDITOR to one that is installed");
    return os::read_file(path_);
  }

 private:
  std::string path_;
};

int run_file_edit(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto file = find_file(client, arguments, arguments.positional().front());
  const std::string cluster = file.cluster;
  const model::FileDeclaration before = file;
  apply_flags(file, arguments);
  if (!model::same_declaration(before, file)) {
    say_put(client.put_files(cluster, {wire::body_of(std::move(file))}));
    return kDone;
  }
  const std::string bytes = client.file_content(cluster, file.name);
  const Draft draft(file.where(), bytes);
  std::string edited = draft.edited();
  if (edited == bytes) {
    say("nothing was changed");
    return kDone;
  }
  file.content = std::move(edited);
  say_put(client.put_files(cluster, {wire::body_of(std::move(file))}));
  return kDone;
}

}  // namespace

const Command& file_edit_command() {
  static const Command command{
      .name = "file edit",
      .arguments = "PATH",
      .summary = "Changes a synchronised file: its bytes in an editor, or what flags say.",
      .details =
          "Without flags, its master is opened in $VISUAL or $EDITOR, and sent to the server when it was changed. With "
          "flags, these are changed and its bytes stay. Secrets are not shown: give them anew with `file add`.",
      .examples = {"underway file edit /etc/motd", "underway file edit -mode 0600 /etc/security/access.conf"},
      .flags = declaration_flags(),
      .least = 1,
      .most = 1,
      .run = run_file_edit};
  return command;
}

}  // namespace underway::cli

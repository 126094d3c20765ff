// Job files and cluster files in canonical layout.
#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "hcl/format.hpp"
#include "hcl/parse/parser.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  bool check = false;  ///< nothing is written
  bool list = true;
  bool write = true;
  bool recursive = false;
};

struct Outcome {
  bool differs = false;
  bool broken = false;
};

bool is_ours(const fs::path& path) {
  static const std::set<std::string> kExtensions{".hcl", ".nomad"};
  return kExtensions.contains(path.extension().string());
}

/// The file itself, or those of a directory, by name.
std::vector<std::string> files_in(const std::string& path, bool recursive) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return {path};
  std::vector<std::string> found;
  const auto take = [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file() && is_ours(entry.path())) found.push_back(entry.path().string());
  };
  if (recursive)
    for (const auto& entry : fs::recursive_directory_iterator(path)) take(entry);
  else
    for (const auto& entry : fs::directory_iterator(path)) take(entry);
  std::sort(found.begin(), found.end());
  return found;
}

/// Nothing, and what is wrong with it told, when the text does not parse.
std::optional<std::string> layout(const std::string& text, const std::string& name) {
  hcl::Diagnostics diagnostics;
  hcl::parse(text, name, diagnostics);
  if (!diagnostics.has_errors()) return hcl::format(text);
  say(diagnostics.render());
  return std::nullopt;
}

/// Keeps mode and owner.
void replace(const std::string& path, const std::string& text) {
  struct stat now{};
  if (::stat(path.c_str(), &now) != 0) throw Error(Code::not_found, path + " is gone");
  // Behind a link, not in its place.
  os::write_file(fs::canonical(path).string(), text, now.st_mode & 07777, os::Owner{now.st_uid, now.st_gid});
}

Outcome format_file(const std::string& path, const Wanted& wanted) {
  const std::string text = read_input(path);
  const auto formatted = layout(text, path);
  if (!formatted) return {.broken = true};
  if (*formatted == text) return {};
  if (wanted.list) print(path + "\n");
  if (wanted.write && !wanted.check) replace(path, *formatted);
  return {.differs = true};
}

int format_input(const Wanted& wanted) {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto formatted = layout(text, "<stdin>");
  if (!formatted) return kFailed;
  if (!wanted.check) print(*formatted);
  return wanted.check && *formatted != text ? kFailed : kDone;
}

int run_fmt(const Arguments& arguments) {
  const Wanted wanted{.check = arguments.has("check"),
                      .list = arguments.get("list", "true") != "false",
                      .write = arguments.get("write", "true") != "false",
                      .recursive = arguments.has("recursive")};
  auto paths = arguments.positional();
  if (paths.empty()) paths = {"."};
  if (paths == std::vector<std::string>{"-"}) return format_input(wanted);
  Outcome all;
  for (const auto& path : paths) {
    for (const auto& file : files_in(path, wanted.recursive)) {
      const Outcome outcome = format_file(file, wanted);
      all.differs = all.differs || outcome.differs;
      all.broken = all.broken || outcome.broken;
    }
  }
  return all.broken || (wanted.check && all.differs) ? kFailed : kDone;
}

}  // namespace

const Command& fmt_command() {
  static const Command command{
      .name = "fmt",
      .arguments = "[FILE|DIRECTORY…]",
      .summary = "Lays job files and cluster files out in the canonical way.",
      .details =
          "Of directories the files *.hcl and *.nomad; without an argument of the current one; - is standard "
          "input. Only white space changes: comments, blank lines and texts stay. A file that does not parse is "
          "left as it is and makes the command fail.",
      .examples = {"underway fmt -recursive examples", "underway fmt -check -list=false ."},
      .flags = {{"check", "", "Writes nothing; exits 1 when a file is laid out otherwise."},
                {"list", "", "Prints the names of files that are laid out otherwise; -list=false does not."},
                {"write", "", "Writes them; -write=false does not."},
                {"recursive", "", "Directories below as well."}},
      .least = 0,
      .most = 1000,
      .talks_to_server = false,
      .run = run_fmt};
  return command;
}

}  // namespace underway::cli

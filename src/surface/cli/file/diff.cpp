#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::cli {
namespace {

/// diff(1) over two files in a directory of our own.
std::string difference(const std::string& master, const std::string& actual, const std::string& path,
                       const std::string& node) {
  std::string name = (std::filesystem::temp_directory_path() / "underway-diff-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw errno_error(errno, "cannot make a directory for the comparison");
  const std::string a = name + "/a", b = name + "/b";
  std::string out;
  try {
    os::write_file(a, master, 0600, {}, os::Durability::cached);
    os::write_file(b, actual, 0600, {}, os::Durability::cached);
    os::SpawnSpec spec;
    spec.argv = {"diff", "-u", "--label", "master " + path, "--label", fmt::format("{} {}", node, path), a, b};
    spec.env = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"};
    out = os::run_program(std::move(spec), std::chrono::seconds(30)).out;
  } catch (...) {
    os::remove_tree(name);
    throw;
  }
  os::remove_tree(name);
  return out;
}

/// What differs besides the bytes.
std::string metadata(const model::FileDeclaration& file, const model::FoundFile& actual) {
  std::string out;
  const auto compare = [&](const char* what, const std::string& wanted, const std::string& is) {
    if (wanted != is) out += fmt::format("{}: {} instead of {}\n", what, is, wanted);
  };
  compare("owner", file.owner, actual.owner);
  compare("group", file.group, actual.group);
  compare("mode", fmt::format("{:04o}", model::file_mode(file)), actual.mode);
  return out;
}

struct Place {
  std::string node_id, node;
};

/// The nodes asked for; else those where something is wrong with the file, or one where nothing is.
std::vector<Place> places(sdk::Client& client, const Arguments& arguments, const model::FileDeclaration& file) {
  std::vector<Place> out;
  const auto& words = arguments.positional();
  if (words.size() > 1) {
    for (std::size_t i = 1; i < words.size(); ++i) out.push_back({resolve_node(client, words[i]), words[i]});
    return out;
  }
  for (const auto& status : client.file_targets(file.cluster)) {
    const bool wrong = std::any_of(status.problems.begin(), status.problems.end(),
                                   [&](const auto& problem) { return problem.path == file.where(); });
    if (wrong && status.capsule.empty()) out.push_back({status.node_id, status.node});
  }
  return out;
}

int run_file_diff(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto file = find_file(client, arguments, arguments.positional().front());
  if (file.secret) throw Error(Code::denied, fmt::format("file '{}' is secret: it is never shown", file.name));
  const auto where = places(client, arguments, file);
  bool differs = false;
  for (const auto& [node_id, node] : where) {
    const auto master = client.file_content(file.cluster, file.name, node_id);
    const auto actual = client.actual_file(node_id, "", file.where());
    if (!actual.exists) {
      print(fmt::format("{} is not there on {}\n", file.where(), node));
      differs = true;
      continue;
    }
    const std::string text =
        difference(master, base64_decode(actual.data), file.where(), node) + metadata(file, actual);
    if (!text.empty()) print(text);
    differs = differs || !text.empty();
  }
  if (!differs) say(where.empty() ? "no node reports a difference" : "no difference");
  return differs ? kFailed : kDone;
}

}  // namespace

const Command& file_diff_command() {
  static const Command command{
      .name = "file diff",
      .arguments = "PATH [NODE…]",
      .summary = "Shows how a file on nodes differs from its master.",
      .details =
          "Without NODE, of the nodes that report that it is not as its master. Exits 0 when nothing differs, 1 when "
          "something does.",
      .examples = {"underway file diff /etc/security/access.conf", "underway file diff /etc/passwd c1"},
      .flags = {{"cluster", "NAME", "The cluster, when there are several."}},
      .least = 1,
      .most = 10'000,
      .run = run_file_diff};
  return command;
}

}  // namespace underway::cli

// The state of the servers as one file: save, restore, inspect.
#include <map>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/archive.hpp"
#include "cli/operator_commands.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "crypto/hasher.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

std::string default_name() {
  const std::string now = moment(unix_nanos(SystemClock().now()));
  return fmt::format("nomad-state-{}.snap", now.substr(0, 10));
}

int save(const Arguments& arguments) {
  const std::string file = arguments.positional().empty() ? default_name() : arguments.positional().front();
  if (os::exists(file)) throw Error(Code::conflict, fmt::format("Destination file already exists: '{}'", file));
  make_client(arguments).save_snapshot(file);
  inspect_snapshot(file);
  print(fmt::format("State file written to {}\n", file));
  return kDone;
}

int restore(const Arguments& arguments) {
  const std::string& file = arguments.positional().front();
  inspect_snapshot(file);  // nothing is sent that is not whole
  make_client(arguments).restore_snapshot(file, arguments.has("force"));
  print("Snapshot Restored\n");
  return kDone;
}

int inspect(const Arguments& arguments) {
  const auto found = inspect_snapshot(arguments.positional().front());
  if (arguments.has("json")) {
    boost::json::array files;
    for (const auto& [name, size] : found.files) files.push_back(boost::json::object{{"Name", name}, {"Size", size}});
    print_json(boost::json::object{
        {"Created", moment(found.created * 1'000'000'000)}, {"Meta", found.meta}, {"Files", std::move(files)}});
    return kDone;
  }
  std::int64_t all = 0;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, size] : found.files) {
    rows.push_back({name, size_text(size)});
    all += size;
  }
  rows.push_back({"Total", size_text(all)});
  print(facts_text({{"Created", moment(found.created * 1'000'000'000)},
                    {"ID", text(found.meta, "ID")},
                    {"Size", size_text(all)},
                    {"Index", text(found.meta, "Index")},
                    {"Term", text(found.meta, "Term")},
                    {"Version", text(found.meta, "Version")}}) +
        "\n" + table_text({"File", "Size"}, rows));
  return kDone;
}

/// "<hex>  <name>" a line.
std::map<std::string, std::string> sums_of(const std::string& text) {
  std::map<std::string, std::string> sums;
  for (const auto& line : split(text, '\n')) {
    const auto blank = line.find(' ');
    if (blank != std::string::npos) sums[std::string(trim(line.substr(blank)))] = line.substr(0, blank);
  }
  return sums;
}

}  // namespace

SnapshotFile inspect_snapshot(const std::string& path) {
  if (!os::exists(path)) throw Error(Code::not_found, fmt::format("there is no file '{}'", path));
  SnapshotFile found;
  std::map<std::string, std::string> digests, sums;
  constexpr std::size_t kSmall = 1u << 20;
  read_archive(path, [&](const ArchivedFile& file, const std::function<std::string()>& read) {
    crypto::Hasher hasher;
    std::string small;
    for (std::string piece = read(); !piece.empty(); piece = read()) {
      hasher.add(piece);
      if (small.size() < kSmall) small += piece;
    }
    digests[file.name] = hex(hasher.finish());
    found.files.emplace_back(file.name, file.size);
    found.created = std::max(found.created, file.changed);
    if (file.name == "meta.json") found.meta = json::parse(small);
    if (file.name == "SHA256SUMS") sums = sums_of(small);
  });
  for (const auto& [name, sum] : sums) {
    const auto digest = digests.find(name);
    if (digest != digests.end() && digest->second == sum) continue;
    throw Error(Code::invalid, fmt::format("the snapshot '{}' is damaged", path))
        .because(digest == digests.end() ? fmt::format("'{}' is missing in it", name)
                                         : fmt::format("'{}' is not what its sum says", name));
  }
  if (sums.empty())
    throw Error(Code::invalid, fmt::format("'{}' is no snapshot", path)).because("there are no SHA256SUMS in it");
  return found;
}

const Command& operator_snapshot_save_command() {
  static const Command command{
      .name = "operator snapshot save",
      .arguments = "[FILE]",
      .summary = "Saves the state of the servers into one file.",
      .details = "What came is verified before the command says that it is there. The file holds secrets: mode 0600.",
      .examples = {"underway operator snapshot save backup.snap"},
      .flags = {{"stale", "", "For scripts: there is one server."}},
      .most = 1,
      .run = save};
  return command;
}

const Command& operator_snapshot_restore_command() {
  static const Command command{
      .name = "operator snapshot restore",
      .arguments = "FILE",
      .summary = "Puts the state of a file in the place of the servers' state.",
      .details =
          "A file that is damaged is not sent. Jobs that run are taken back as their nodes "
          "report them.",
      .examples = {"underway operator snapshot restore backup.snap"},
      .flags = {{"force", "", "Also the snapshot of another cluster, in the place of what is here."}},
      .least = 1,
      .most = 1,
      .run = restore};
  return command;
}

const Command& operator_snapshot_inspect_command() {
  static const Command command{.name = "operator snapshot inspect",
                               .arguments = "FILE",
                               .summary = "Verifies a snapshot's file, and tells what is in it.",
                               .flags = {{"json", "", "As JSON."}},
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = inspect};
  return command;
}

}  // namespace underway::cli

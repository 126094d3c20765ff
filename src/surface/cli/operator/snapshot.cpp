// The state of the servers as one file: save, restore, inspect.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/loss.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "os/file.hpp"
#include "server/storage/snapshot_losses.hpp"
#include "snapshot/archive.hpp"

namespace underway::cli {
namespace {

std::string default_name() {
  const std::string now = moment(unix_nanos(current_time()));
  return fmt::format("nomad-state-{}.snap", now.substr(0, 10));
}

/// Every byte is verified.
snapshot::Metadata read_snapshot(const std::string& path) {
  if (!os::exists(path)) throw Error(Code::not_found, fmt::format("there is no file '{}'", path));
  try {
    return snapshot::inspect(path);
  } catch (Error& error) {
    error.while_doing(fmt::format("reading '{}'", path));
    throw;
  }
}

int save(const Arguments& arguments) {
  const std::string file = arguments.positional().empty() ? default_name() : arguments.positional().front();
  if (os::exists(file)) throw Error(Code::conflict, fmt::format("Destination file already exists: '{}'", file));
  make_client(arguments).save_snapshot(file);
  read_snapshot(file);
  print(fmt::format("State file written to {}\n", file));
  return kDone;
}

/// What runs that the file's state does not have. A server of before this question knows nothing.
server::SnapshotLosses ask_losses(sdk::Client& client, const std::string& file, bool force) {
  const auto told = client.raw("PUT", fmt::format("/v1/underway/snapshot/losses?force={}", force ? "true" : "false"),
                               os::read_file(file, std::size_t{4} << 30));
  if (told.status == 404) return {};
  if (told.status != 200) throw Error(Code::invalid, "the server does not take this snapshot").because(told.body);
  return json::decode_text<server::SnapshotLosses>(told.body, "what the snapshot does not have");
}

int restore_operator_snapshot(const Arguments& arguments) {
  const std::string& file = arguments.positional().front();
  const auto found = read_snapshot(file);  // nothing is sent that is not whole
  auto client = make_client(arguments);
  if (!arguments.has(kYes.name)) {
    Loss loss{.deed = "this puts an older state in the place of the servers' state",
              .word = "restore",
              .lost = {fmt::format("what was changed since {}", moment(found.time))}};
    if (const auto ends = ask_losses(client, file, arguments.has("force")); ends.allocations > 0)
      loss.lost.push_back(fmt::format("{} allocations that run, and that it does not have, are stopped: of {}",
                                      ends.allocations, join(ends.jobs, ", ")));
    if (const auto agreed = ask_before(loss, arguments); agreed != kDone) return agreed;
  }
  client.restore_snapshot(file, arguments.has("force"));
  print("Snapshot Restored\n");
  return kDone;
}

int inspect_operator_snapshot(const Arguments& arguments) {
  const auto found = read_snapshot(arguments.positional().front());
  if (arguments.has("json")) {
    auto meta = json::to_value(found);
    meta.as_object().erase("Keys");
    print_json(boost::json::object{{"Created", moment(found.time)}, {"Meta", std::move(meta)}});
    return kDone;
  }
  print(facts_text({{"Created", moment(found.time)},
                    {"ID", found.id},
                    {"Size", size_text(found.size)},
                    {"Index", std::to_string(found.index)},
                    {"Term", std::to_string(found.term)},
                    {"Version", std::to_string(found.version)},
                    {"Cluster ID", found.cluster_id},
                    {"Underway", found.program}}));
  return kDone;
}

}  // namespace

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
          "report them. It wants the word restore typed, or -yes.",
      .examples = {"underway operator snapshot restore backup.snap"},
      .flags = {kYes, {"force", "", "Also the snapshot of another cluster, in the place of what is here."}},
      .least = 1,
      .most = 1,
      .run = restore_operator_snapshot};
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
                               .run = inspect_operator_snapshot};
  return command;
}

}  // namespace underway::cli

// What was taken away and lies in the state directory for a while: disks of hosts, and state directories.
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/agent/local_agent.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/loss.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"
#include "os/trash.hpp"

namespace underway::cli {
namespace {

constexpr Flag kState{"state", "DIR", "The state directory; /var/lib/underway, or UNDERWAY_STATE.", false};

os::Trash trash_of(const Arguments& arguments) { return os::Trash(state_directory(arguments) + "/trash"); }

int list_trash(const Arguments& arguments) {
  const auto now = current_time();
  const auto trash = trash_of(arguments);
  trash.collect(now);
  Table table({"NAME", "WHAT", "TAKEN AWAY"});
  for (const auto& item : trash.list()) table.add({item.name, item.what, human_duration(now - item.at) + " ago"});
  if (table.empty())
    say("nothing lies in the trash");
  else
    table.print();
  return kDone;
}

/// Where it was: known of a state directory alone, which all is put back into.
void put_back(const std::string& from, const std::string& state) {
  if (LocalAgent{state}.answers())
    throw Error(Code::conflict, fmt::format("'{}' is in use", state)).advise("first: underway down -all -purge");
  const auto entries = os::list_directory(from);
  for (const auto& entry : entries) {
    if (os::exists(state + "/" + entry.name))
      throw Error(Code::conflict, fmt::format("there is a '{}' in '{}' again", entry.name, state))
          .advise("name another directory: underway trash restore NAME DIRECTORY");
  }
  for (const auto& entry : entries) std::filesystem::rename(from + "/" + entry.name, state + "/" + entry.name);
  os::remove_tree(from);
}

int restore_trash(const Arguments& arguments) {
  const auto& words = arguments.positional();
  const auto trash = trash_of(arguments);
  const std::string from = trash.find(words.front());
  if (words.size() == 1 && words.front().ends_with("-state")) {
    put_back(from, state_directory(arguments));
    say("the state is back: `underway up DIR` goes on with it");
    return kDone;
  }
  if (words.size() == 1)
    throw Error(Code::invalid, fmt::format("'{}' was the disk of a host, which is gone", words.front()))
        .advise("say where to: underway trash restore NAME DIRECTORY");
  if (os::exists(words[1])) throw Error(Code::conflict, fmt::format("'{}' is there already", words[1]));
  std::error_code failure;
  std::filesystem::rename(from, words[1], failure);
  if (failure)
    throw errno_error(failure.value(), fmt::format("cannot move '{}' to '{}'", from, words[1]))
        .advise(fmt::format("to another file system: cp -a {} {}", from, words[1]));
  return kDone;
}

int empty(const Arguments& arguments) {
  const auto trash = trash_of(arguments);
  Loss loss{.deed = "this empties the trash", .word = "empty", .lost = {}};
  for (const auto& item : trash.list()) loss.lost.push_back(item.name);
  if (const auto agreed = ask_before(loss, arguments); agreed != kDone) return agreed;
  for (const auto& name : loss.lost) trash.remove(name);
  return kDone;
}

}  // namespace

const Command& trash_list_command() {
  static const Command command{
      .name = "trash list",
      .summary = "Lists what was taken away on this machine and can still be had back.",
      .details =
          "The state directory of `down -purge`, and the disks of local hosts that were removed. They lie there for a "
          "week, or until less than a tenth of the disk is free.",
      .flags = {kState},
      .talks_to_server = false,
      .run = list_trash};
  return command;
}

const Command& trash_restore_command() {
  static const Command command{
      .name = "trash restore",
      .arguments = "NAME [DIRECTORY]",
      .summary = "Takes something out of the trash.",
      .details =
          "A state directory goes back to its place, which must be free. The disk of a host is put where it is told: "
          "below it are the overlays of its capsules.",
      .examples = {"underway trash restore 20261123T154200Z-state",
                   "underway trash restore 20261123T154200Z-host-demo-infra1 /root/infra1"},
      .flags = {kState},
      .least = 1,
      .most = 2,
      .talks_to_server = false,
      .run = restore_trash};
  return command;
}

const Command& trash_empty_command() {
  static const Command command{.name = "trash empty",
                               .summary = "Removes all that lies in the trash.",
                               .flags = {kYes, kState},
                               .talks_to_server = false,
                               .run = empty};
  return command;
}

}  // namespace underway::cli

#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_file_sync(const Arguments& arguments) {
  auto client = make_client(arguments);
  wire::SyncNowBody request;
  request.accept_restored = arguments.has("accept-restored");
  for (const auto& node : arguments.positional()) request.nodes.push_back(resolve_node(client, node));
  if (request.accept_restored && !arguments.has("yes") &&
      !confirm("Nodes that have files of a newer store go back to those of this one. Do it?")) {
    say("nothing was changed");
    return kFailed;
  }
  const auto told = client.sync_now(arguments.get("cluster"), request);
  say(fmt::format("{} node{} told to look now", told, told == 1 ? " is" : "s are"));
  return told > 0 || request.nodes.empty() ? kDone : kFailed;
}

}  // namespace

const Command& file_sync_command() {
  static const Command command{
      .name = "file sync",
      .arguments = "[NODE…]",
      .summary = "Has nodes look at their files now.",
      .details =
          "Changes of masters are told at once, so that this is seldom needed: after a local edit that shall be "
          "corrected "
          "now, or when a command after a change failed and shall be tried again.\n\nNodes refuse manifests that are "
          "older than what they have: after a store was restored from a backup, -accept-restored makes them follow it.",
      .examples = {"underway file sync", "underway file sync c1 c2", "underway file sync -accept-restored"},
      .flags = {{"accept-restored", "", "Nodes that have files of a newer store follow this one."},
                {"yes", "", "Does not ask."},
                {"cluster", "NAME", "Nodes of this cluster only."}},
      .most = 10'000,
      .run = run_file_sync};
  return command;
}

}  // namespace underway::cli

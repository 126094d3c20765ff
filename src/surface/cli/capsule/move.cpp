#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/capsule/follow_capsule.hpp"
#include "cli/capsule/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/impact_text.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "wire/capsule/capsule.hpp"

namespace underway::cli {
namespace {

/// Draws until the move is over.
model::CapsuleMove watch_move(sdk::Client& client, const std::string& name, const std::string& move_id) {
  const OnInterrupt interrupted(
      fmt::format("The move goes on without being watched.\n"
                  "  see how far it is: underway capsule status {0}\n"
                  "  give it up:        underway capsule move -cancel {0}",
                  name));
  Progress progress;
  const auto capsule = follow_capsule(client, name, [&](const model::Capsule& now) {
    const bool ours = now.move && now.move->id == move_id;
    if (ours) progress.draw(move_lines(*now.move, now.description));
    return ours;
  });
  progress.finish();
  if (capsule.last_move && capsule.last_move->id == move_id) return *capsule.last_move;
  throw overtaken("move", name);
}

int follow_move(sdk::Client& client, const std::string& name, const std::string& move_id) {
  const auto move = watch_move(client, name, move_id);
  for (const auto& line : move_lines(move, "")) say(line);
  if (move.error.empty()) {
    say(fmt::format("==> Capsule \"{}\" runs on {}; it was away for {}", name, move.target_name,
                    human_duration(move.gap)));
    return kDone;
  }
  say(fmt::format("==> Capsule \"{}\" {}", name,
                  move.rolled_back ? fmt::format("is back on {}", move.source_name)
                                   : fmt::format("was not moved to {}", move.target_name)));
  return kFailed;
}

int run_capsule_move(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  auto client = make_client(arguments);
  if (arguments.has("cancel")) {
    client.cancel_capsule_move(name);
    say(fmt::format("The move of capsule \"{}\" is given up; what has stopped goes back", name));
    return kDone;
  }
  const auto to = arguments.find("to");
  if (!to)
    throw Error(Code::invalid, "no target is named").advise(fmt::format("underway capsule move {} -to NODE", name));
  wire::MoveCapsule request;
  request.node = resolve_node(client, *to);
  request.without_overlay = arguments.has("without-overlay");
  request.dry_run = arguments.has("dry-run");
  const std::string impact = impact_line({client.plan_capsule_move(name, request)});
  if (!request.dry_run) say(impact);
  if (request.without_overlay && !request.dry_run && !arguments.has("yes") &&
      !confirm(fmt::format("What capsule \"{}\" wrote is lost unless {} has a copy. Go on?", name, *to)))
    throw Error(Code::conflict, "nothing was changed").advise("-yes answers the question");
  const auto move_id = client.move_capsule(name, request);
  if (request.dry_run) {
    print(fmt::format("Capsule \"{}\" can be moved to {}\n{}\n", name, *to, impact));
    return kDone;
  }
  if (arguments.has("detach")) {
    print(fmt::format("Capsule \"{}\" moves to {}\n", name, *to));
    return kDone;
  }
  say(fmt::format("==> Moving capsule \"{}\" to {}", name, *to));
  return follow_move(client, name, move_id);
}

}  // namespace

const Command& capsule_move_command() {
  static const Command command{
      .name = "capsule move",
      .arguments = "NAME",
      .summary = "Moves a running capsule to another node, with its overlay and its addresses.",
      .details =
          "The target gets ready and the overlay is copied while the capsule runs; then it stops, the last difference "
          "is copied, and it starts there. If anything fails it goes back to where it was. The move is the server's: "
          "it "
          "goes on when this command is interrupted, and when the server is restarted.\n"
          "When its node is not heard of, the capsule is started from the copy that the target has, after the node's "
          "host is known to be off.",
      .examples = {"underway capsule move slurm-services -to sms2",
                   "underway capsule move slurm-services -to sms2 -dry-run",
                   "underway capsule move -cancel slurm-services"},
      .flags = {{"to", "NODE", "The target: a node's name or id."},
                {"dry-run", "", "Finds out whether it could run there and what would be noticed, and does nothing."},
                {"without-overlay", "", "Its node is gone and the target has no copy: start with what there is."},
                {"cancel", "", "Gives the move up; what has stopped goes back."},
                {"detach", "", "Returns at once."},
                {"yes", "", "Does not ask."}},
      .least = 1,
      .most = 1,
      .run = run_capsule_move};
  return command;
}

}  // namespace underway::cli

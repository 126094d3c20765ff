#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "wire/capsule/capsule.hpp"

namespace underway::cli {
namespace {

int fence(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  if (!arguments.has("host-is-off"))
    throw Error(Code::invalid, "say that the host is off: -host-is-off")
        .because("if it is not, the capsule will run twice, and its overlay and its addresses are damaged")
        .advise("pull its plug, or look at its console, before you say so");
  auto client = make_client(arguments);
  const auto capsule = client.capsule(name).value;
  const std::string question =
      fmt::format("Is the host of {} off, so that nothing of capsule \"{}\" runs there?", capsule.owner_name, name);
  if (!arguments.has("yes") && !confirm(question))
    throw Error(Code::conflict, "nothing was changed").advise("-yes answers the question");
  client.vouch_for_fence(name);
  print(fmt::format("The host of {} counts as switched off\n", capsule.owner_name));
  return kDone;
}

Duration duration_of(const Arguments& arguments, const char* flag) {
  const auto given = arguments.find(flag);
  if (!given) return Duration{0};
  const auto parsed = parse_duration(*given);
  if (!parsed || *parsed < Duration{0})
    throw Error(Code::invalid, fmt::format("'{}' is no duration", *given)).advise("write one like 30s or 5m");
  return *parsed;
}

int standby(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  auto client = make_client(arguments);
  wire::CapsuleStandby request;
  const auto node = arguments.find("node");
  if (!node && !arguments.has("none")) throw Error(Code::invalid, "no node is named").advise("-node NODE, or -none");
  if (node) request.node = resolve_node(client, *node);
  request.every = duration_of(arguments, "every");
  request.rpo = duration_of(arguments, "rpo");
  client.set_capsule_standby(name, request);
  print(node ? fmt::format("{} is the standby of capsule \"{}\"\n", *node, name)
             : fmt::format("Capsule \"{}\" has no standby\n", name));
  return kDone;
}

}  // namespace

const Command& capsule_fence_command() {
  static const Command command{
      .name = "capsule fence",
      .arguments = "NAME",
      .summary = "Says that the host of a capsule's owner is off, when nobody else can know.",
      .details =
          "Another node may run a capsule only when its owner's host is known to run nothing. A provider of hosts sees "
          "to that by itself; for a machine that none has made somebody has to look.",
      .examples = {"underway capsule fence slurm-services -host-is-off"},
      .flags = {{"host-is-off", "", "It is off: I have seen it."}, {"yes", "", "Does not ask."}},
      .least = 1,
      .most = 1,
      .run = fence};
  return command;
}

const Command& capsule_standby_command() {
  static const Command command{
      .name = "capsule standby",
      .arguments = "NAME",
      .summary = "Chooses the node that keeps copies of a capsule's overlay and takes over when its owner dies.",
      .details = "Without it the server chooses one, as the job file asks for (`protect` of its config).",
      .examples = {"underway capsule standby slurm-services -node sms2 -every 5s -rpo 2m"},
      .flags = {{"node", "NODE", "The standby: a node's name or id."},
                {"every", "DURATION",
                 "How long what is written in place may wait, as by a database; what is replaced follows at once. "
                 "Without it only "
                 "moves make a copy."},
                {"rpo", "DURATION", "How much may be lost: an older copy is not started from. 5m if never said."},
                {"none", "", "There shall be none."}},
      .least = 1,
      .most = 1,
      .run = standby};
  return command;
}

}  // namespace underway::cli

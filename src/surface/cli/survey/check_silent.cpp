// The proof of a canary: from now on, these nodes and that server have nothing to say to each other.
#include "adoption/plan/silence.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using adoption::Silence;

/// "a,b" and repeated flags.
std::vector<std::string> list_of(const Arguments& arguments, std::string_view flag) {
  std::vector<std::string> out;
  for (const auto& value : arguments.all(flag))
    for (const auto& part : split(value, ','))
      if (!trim(part).empty()) out.emplace_back(trim(part));
  if (out.empty()) throw Error(Code::invalid, fmt::format("-{} is not given", flag));
  return out;
}

TimePoint moment_of(const Arguments& arguments) {
  const auto text = arguments.find("after");
  if (!text) return TimePoint{};
  const auto moment = parse_time(*text);
  if (!moment)
    throw Error(Code::invalid, fmt::format("-after '{}' is no time", *text)).advise("write it as 2026-11-21T11:40:00Z");
  return *moment;
}

boost::json::object to_json(const Silence& silence) {
  boost::json::array broken;
  for (const auto& each : silence.broken_by)
    broken.push_back(boost::json::object{{"Node", each.node},
                                         {"What", each.what},
                                         {"ByNode", each.by_node},
                                         {"Packets", each.packets},
                                         {"First", format_time_exactly(from_unix_nanos(each.first))},
                                         {"Last", format_time_exactly(from_unix_nanos(each.last))}});
  boost::json::array problems;
  for (const auto& problem : silence.problems) problems.push_back(boost::json::string(problem));
  return {{"Proven", silence.proven()},           {"BrokenBy", std::move(broken)}, {"Packets", silence.packets},
          {"SeenOfNodes", silence.seen_of_nodes}, {"Lost", silence.lost},          {"Problems", std::move(problems)}};
}

void print_broken(const Silence& silence) {
  Table table({"NODE", "WHAT", "SENT BY", "PACKETS", "FIRST", "LAST"});
  for (const auto& each : silence.broken_by)
    table.add({each.node, each.what, each.by_node ? "node" : "server", std::to_string(each.packets),
               format_time(from_unix_nanos(each.first)), format_time(from_unix_nanos(each.last))});
  if (!table.empty()) table.print();
}

std::string verdict_of(const Silence& silence) {
  if (!silence.broken_by.empty()) {
    std::int64_t packets = 0;
    for (const auto& each : silence.broken_by) packets += each.packets;
    return fmt::format("not silent: {} packets between the nodes and the server", packets);
  }
  if (silence.seen_of_nodes == 0)
    return "not proven: no packet of the nodes was seen at all; capture where their traffic passes";
  if (silence.lost > 0) return fmt::format("not proven: the capture missed {} packets", silence.lost);
  if (!silence.problems.empty()) return "not proven: a capture could not be read to its end";
  return fmt::format("silent: none of {} packets of the nodes was to or from the server", silence.seen_of_nodes);
}

int run_survey_check_silent(const Arguments& arguments) {
  const auto silence =
      adoption::check_silence(arguments.positional(), adoption::parse_party(list_of(arguments, "nodes")),
                              adoption::parse_party(list_of(arguments, "server")), moment_of(arguments));
  for (const auto& problem : silence.problems) say("warning: " + problem);
  if (arguments.has("json"))
    print_json(to_json(silence));
  else
    print_broken(silence);
  say(verdict_of(silence));
  return silence.proven() ? kDone : kFailed;
}

}  // namespace

const Command& survey_check_silent_command() {
  static const Command command{
      .name = "survey check-silent",
      .arguments = "FILE…",
      .summary = "Proves by captures that nodes no longer talk to a server.",
      .details =
          "Every packet between the nodes and the server counts, also one that the server only routes; that neighbours "
          "know each other's hardware address (ARP) does not. Exits with 0 when there was none and the captures can "
          "tell: they hold traffic of the nodes, nothing was missed, and they are whole. Exits with 1 otherwise.",
      .examples = {"underway survey check-silent -nodes 10.1.1.7,10.1.1.8 -server 10.1.0.1 canary.pcap",
                   "underway survey check-silent -nodes 10.1.1.7 -server 10.1.0.1,02:00:00:00:00:01 -after "
                   "2026-11-21T11:40:00Z "
                   "canary.pcap"},
      .flags = {{"nodes", "LIST", "The nodes: addresses, networks or MACs, with commas between.", true},
                {"server", "LIST", "The server: its addresses and MACs; with a MAC, what it routes counts too.", true},
                {"after", "TIME", "Only packets from then on, as when the nodes had booted."},
                {"json", "", "As JSON."}},
      .least = 1,
      .most = 1000,
      .talks_to_server = false,
      .run = run_survey_check_silent};
  return command;
}

}  // namespace underway::cli

#include "cli/survey/text.hpp"

#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using traffic::Part;
using traffic::ServiceFlow;

std::string door_of(const ServiceFlow& flow) {
  std::string text = traffic::door(flow);
  if (flow.port == 0 && (flow.protocol == traffic::Protocol::tcp || flow.protocol == traffic::Protocol::udp))
    text = std::string(describe::spell(flow.protocol)) + "/many";
  if (flow.vlan != 0) text += fmt::format(" vlan {}", flow.vlan);
  return text;
}

std::string server_of(const ServiceFlow& flow) {
  if (flow.part == Part::routes) return fmt::format("{} outside", flow.destination_count);
  return flow.server.empty() ? "-" : flow.server;
}

std::string pattern_of(const ServiceFlow& flow) {
  std::string text(describe::spell(flow.pattern));
  if (flow.opening == traffic::Opening::inferred) text += " (opening not seen)";
  if (flow.refused > 0) text += fmt::format(", {} refused", flow.refused);
  if (flow.unanswered > 0 && flow.pattern != traffic::Pattern::one_way && flow.pattern != traffic::Pattern::broadcast &&
      flow.pattern != traffic::Pattern::multicast)
    text += fmt::format(", {} unanswered", flow.unanswered);
  return text;
}

std::string clients_of(const ServiceFlow& flow, bool by_address) {
  if (!by_address) return std::to_string(flow.client_count);
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(flow.clients.size(), most); ++i)
    text += (text.empty() ? "" : ",") + flow.clients[i];
  if (flow.client_count > static_cast<std::int64_t>(most)) text += fmt::format(",… {} in all", flow.client_count);
  return text;
}

}  // namespace

std::string rhythm_text(const traffic::Rhythm& rhythm) {
  if (rhythm.intervals == 0) return "-";
  const std::string median = human_duration(rhythm.median);
  if (!rhythm.regular()) return "about " + median;
  return rhythm.jitter == Duration{0} ? median : median + " ±" + human_duration(rhythm.jitter);
}

void print_flows(const traffic::Traffic& traffic, bool all) {
  Table table(
      {"PART", "DOOR", "SERVER", "LOOKS LIKE", "CLIENTS", "OPENS", "EVERY", "ACTIVE EVERY", "IN", "OUT", "HOW"});
  for (const auto& flow : traffic.flows) {
    if (flow.part == Part::between && !all) continue;
    table.add({std::string(describe::spell(flow.part)), door_of(flow), server_of(flow),
               flow.application.empty() ? "-" : flow.application, clients_of(flow, all), std::to_string(flow.opens),
               rhythm_text(flow.opened), rhythm_text(flow.active),
               human_bytes(static_cast<std::uint64_t>(flow.bytes_to_server)),
               human_bytes(static_cast<std::uint64_t>(flow.bytes_to_clients)), pattern_of(flow)});
  }
  table.print();
}

std::string survey_summary(const traffic::Traffic& traffic) {
  std::string text =
      fmt::format("{} packets in {}, ", traffic.packets, human_duration(Duration{traffic.last - traffic.first}));
  text += traffic.lost == 0 ? "none known to be lost" : paint(Colour::red, fmt::format("{} LOST", traffic.lost), 2);
  std::int64_t malformed = 0;
  for (const auto& [kind, times] : traffic.malformed) malformed += times;
  if (malformed > 0) text += fmt::format(", {} malformed", malformed);
  const auto& names = traffic.surveyed_addresses.empty() ? traffic.surveyed_macs : traffic.surveyed_addresses;
  if (names.empty()) return text + "; no machine stands out as the one that others talk to: name it with -server";
  text += "; surveyed: " + join(std::span(names).first(std::min<std::size_t>(names.size(), 4)), ", ");
  if (names.size() > 4) text += fmt::format(" and {} more", names.size() - 4);
  if (traffic.inferred) text += " (found: most others talk to it)";
  return text;
}

}  // namespace underway::cli

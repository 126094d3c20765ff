#include "adoption/division/division.hpp"

#include "base/text.hpp"

namespace underway::adoption {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Service* Division::find(std::string_view name) const {
  for (const auto& service : services)
    if (service.name == name) return &service;
  return nullptr;
}

const Enumeration& description(Tag<Confidence>) {
  static const Enumeration e = describe::enumeration<Confidence>("confidence");
  return e;
}

const Enumeration& description(Tag<OpenedBy>) {
  static const Enumeration e = describe::enumeration<OpenedBy>("opened_by");
  return e;
}

const Structure& description(Tag<Service>) {
  static const Structure s =
      Builder<Service>("service", "One service of the surveyed machine.")
          .wire<&Service::name>("Name", "Its name.")
          .wire<&Service::title>("Title", "For people.")
          .wire<&Service::programs>("Programs", "That do it.")
          .wire<&Service::units>("Units", "Of systemd.")
          .wire<&Service::packages>("Packages", "With their versions.")
          .wire<&Service::doors>("Doors", "Protocol and port; with an arrow those that the server opens.")
          .wire<&Service::opened_by>("OpenedBy", "nobody, nodes, server, both, routed, outsiders, outward.")
          .wire<&Service::nodes>("Nodes", "That took part.")
          .wire<&Service::opens>("Opens", "Connections and exchanges.")
          .wire<&Service::bytes>("Bytes", "Both ways.")
          .wire<&Service::rhythm>("Rhythm", "How often, at one node.")
          .wire<&Service::verdict>("Verdict", "time_critical, deferrable, unknown.")
          .wire<&Service::critical>("Critical", "How it is treated.")
          .wire<&Service::confidence>("Confidence", "low, medium, high.")
          .wire<&Service::rule>("Rule", "That decided.")
          .wire<&Service::reason>("Reason", "In a sentence.")
          .wire<&Service::evidence>("Evidence", "What was seen.")
          .wire<&Service::needs>("Needs", "Services that it cannot do without.")
          .wire<&Service::needed_by>("NeededBy", "Services that cannot do without it.")
          .wire<&Service::advice>("Advice", "What could be better than moving it.")
          .done();
  return s;
}

const Structure& description(Tag<Division>) {
  static const Structure s = Builder<Division>("division", "What of a management server is time-critical.")
                                 .wire<&Division::host>("Host", "The surveyed machine.")
                                 .wire<&Division::sources>("Sources", "Of the traffic.")
                                 .wire<&Division::first>("First", "Start of the traffic.")
                                 .time()
                                 .wire<&Division::last>("Last", "End of the traffic.")
                                 .time()
                                 .wire<&Division::packets>("Packets", "Seen.")
                                 .wire<&Division::lost>("Lost", "Missed by the capture.")
                                 .wire<&Division::services>("Services", "Critical ones first.")
                                 .wire<&Division::left_out>("LeftOut", "What was seen and is no service.")
                                 .wire<&Division::warnings>("Warnings", "What makes it less certain.")
                                 .done();
  return s;
}

inspection::HostSurvey merge(const std::vector<inspection::HostSurvey>& looks) {
  if (looks.empty()) return {};
  inspection::HostSurvey out = looks.back();
  const auto add_new = [](auto& list, const auto& item, auto same) {
    if (std::none_of(list.begin(), list.end(), [&](const auto& other) { return same(other, item); }))
      list.push_back(item);
  };
  for (std::size_t i = 0; i + 1 < looks.size(); ++i) {
    for (const auto& program : looks[i].programs) {
      const auto found = std::find_if(out.programs.begin(), out.programs.end(), [&](const inspection::Program& other) {
        return other.name == program.name && other.unit == program.unit && other.user == program.user;
      });
      if (found == out.programs.end()) {
        out.programs.push_back(program);
        continue;
      }
      for (const auto& listener : program.listens)
        add_new(found->listens, listener, [](const inspection::Listener& a, const inspection::Listener& b) {
          return a.protocol == b.protocol && a.address == b.address && a.port == b.port;
        });
      for (const auto& need : program.needs)
        add_new(found->needs, need, [](const inspection::Need& a, const inspection::Need& b) {
          return a.program == b.program && a.how == b.how && a.detail == b.detail;
        });
    }
    for (const auto& gap : looks[i].gaps) add_new(out.gaps, gap, std::equal_to<>());
  }
  return out;
}

std::string verdict_text(const Service& service) {
  switch (service.verdict) {
    case Verdict::time_critical:
      return "time-critical";
    case Verdict::deferrable:
      return "deferrable";
    case Verdict::unknown:
      break;
  }
  return "unknown (treated as time-critical)";
}

std::string how_often(const traffic::Rhythm& rhythm) {
  if (rhythm.intervals == 0) return "-";
  if (rhythm.regular())
    return fmt::format("every {} ± {}", human_duration(rhythm.median), human_duration(rhythm.jitter));
  return fmt::format("about every {}", human_duration(rhythm.median));
}

std::string opened_by_text(OpenedBy who) {
  switch (who) {
    case OpenedBy::nodes:
      return "nodes";
    case OpenedBy::server:
      return "server";
    case OpenedBy::both:
      return "nodes and server";
    case OpenedBy::routed:
      return "nodes, routed";
    case OpenedBy::outsiders:
      return "outsiders";
    case OpenedBy::outward:
      return "server, outward";
    case OpenedBy::nobody:
      break;
  }
  return "nobody seen";
}

}  // namespace underway::adoption

#include "adoption/division/overrides.hpp"

#include <map>

#include "base/numbers.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "jobspec/reference.hpp"
#include "net/address.hpp"

namespace underway::adoption {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// "tcp/22", "udp/514".
bool is_door(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto protocol = text.substr(0, slash);
  const auto port = parse_number<std::uint16_t>(text.substr(slash + 1));
  return (protocol == "tcp" || protocol == "udp") && port && *port != 0;
}

class OverridesReader {
 public:
  explicit OverridesReader(hcl::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Overrides read(const hcl::Body& body) {
    Overrides out;
    jobspec::decode(body, describe::structure_of<Overrides>(), &out, hcl::Context{}, diagnostics_);
    hcl::Diagnostics said;  // the whole is decoded above, with all its errors
    const auto content = body.partial_content({.blocks = {{"service", {"name"}}}}, said).first;
    const auto blocks = content.blocks_of("service");
    for (std::size_t i = 0; i < out.services.size() && i < blocks.size(); ++i) {
      out.services[i].place = blocks[i]->range;
      check(out.services[i]);
    }
    for (const auto& network : out.nodes)
      if (!net::parse_cidr(network))
        diagnostics_.error(body.range(), fmt::format("'{}' in nodes is no network", network), "",
                           "write it as 10.1.0.0/16");
    return out;
  }

 private:
  void check(const ServiceOverride& service) {
    const auto [it, is_new] = seen_.try_emplace(service.name, service.place);
    if (!is_new)
      diagnostics_.error(service.place, fmt::format("service '{}' is declared twice", service.name),
                         fmt::format("the first is at {}", it->second.where()));
    for (const auto& door : service.doors) {
      if (!is_door(door))
        diagnostics_.error(service.place, fmt::format("service '{}': '{}' is no door", service.name, door), "",
                           "write protocol and port, as in \"tcp/8080\"");
      const auto [other, first] = doors_.try_emplace(door, service.name);
      if (!first)
        diagnostics_.error(service.place, fmt::format("service '{}': {} is a door of '{}' already", service.name, door,
                                                      other->second));
    }
    if (service.verdict && *service.verdict != Verdict::unknown && service.reason.empty())
      diagnostics_.error(service.place, fmt::format("service '{}' has a verdict and no reason", service.name),
                         "the report shows the reason as the evidence", "add reason = \"…\"");
  }

  hcl::Diagnostics& diagnostics_;
  std::map<std::string, hcl::Range> seen_;
  std::map<std::string, std::string> doors_;
};

}  // namespace

const ServiceOverride* Overrides::find(std::string_view service) const {
  for (const auto& each : services)
    if (each.name == service) return &each;
  return nullptr;
}
const ServiceOverride* Overrides::find_door(std::string_view door) const {
  for (const auto& each : services)
    if (contains(each.doors, door)) return &each;
  return nullptr;
}
const ServiceOverride* Overrides::find_program(std::string_view program) const {
  for (const auto& each : services)
    if (contains(each.programs, program)) return &each;
  return nullptr;
}

const Enumeration& description(Tag<Verdict>) {
  static const Enumeration e = describe::enumeration<Verdict>("verdict");
  return e;
}

const Structure& description(Tag<ServiceOverride>) {
  static const Structure s =
      Builder<ServiceOverride>("service", "One service of the surveyed machine.")
          .label<&ServiceOverride::name>("name", "Name",
                                         "As the report has it, or a new one that gathers the doors "
                                         "and programs below.")
          .attribute<&ServiceOverride::verdict>("verdict", "Verdict",
                                                "Decides it, whatever was seen. Absent: the rules decide.")
          .attribute<&ServiceOverride::reason>("reason", "Reason", "Why; required with a verdict. The report shows it.")
          .attribute<&ServiceOverride::doors>("doors", "Doors",
                                              "What belongs to it: protocol/port, as in tcp/8080. "
                                              "They are taken away from whom the book gives them to.")
          .attribute<&ServiceOverride::programs>("programs", "Programs", "Names of executables that belong to it.")
          .attribute<&ServiceOverride::needs>("needs", "Needs",
                                              "Services that it cannot do without, and that neither a "
                                              "packet nor the machine shows.")
          .done();
  return s;
}

const Structure& description(Tag<Overrides>) {
  static const Structure s =
      Builder<Overrides>("overrides", "What the administrator knows better than the rules.")
          .attribute<&Overrides::nodes>("nodes", "Nodes",
                                        "Networks of the nodes. Who opens something from elsewhere "
                                        "is no node. Default: all local networks of the capture.")
          .block<&Overrides::services>("service", "Services", "One per service.")
          .done();
  return s;
}

Overrides parse_overrides(std::string text, std::string name, hcl::Diagnostics& diagnostics) {
  const auto body = hcl::parse(std::move(text), std::move(name), diagnostics);
  if (diagnostics.has_errors()) return {};
  return OverridesReader(diagnostics).read(body);
}

std::string overrides_reference() {
  return jobspec::structure_reference(
      "Overrides of a survey",
      "The file that `underway survey report -overrides FILE` and `survey adopt -overrides FILE` read: HCL. An "
      "override "
      "is the strongest rule; the others are explained in [how the verdict is reached](../explanation/survey.md).",
      describe::structure_of<Overrides>(), "overrides");
}

}  // namespace underway::adoption

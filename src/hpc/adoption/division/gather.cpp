#include "adoption/division/gather.hpp"

#include "base/text.hpp"
#include "net/address.hpp"

namespace underway::adoption {
namespace {

/// Names that talk of finding each other; every machine hears them.
bool is_small_talk(const traffic::ServiceFlow& flow) {
  static constexpr std::string_view kApplications[] = {"mdns", "ssdp", "llmnr", "netbios"};
  return std::find(std::begin(kApplications), std::end(kApplications), flow.application) != std::end(kApplications);
}

/// Parts of the network itself: they come and go with the address.
std::string_view network_itself(const traffic::ServiceFlow& flow) {
  switch (flow.protocol) {
    case traffic::Protocol::arp:
      return "arp: neighbours find each other";
    case traffic::Protocol::icmp:
    case traffic::Protocol::icmp6:
      return "icmp: neighbours, and who is there";
    case traffic::Protocol::other:
      return "protocols beside TCP and UDP";
    default:
      return {};
  }
}

std::string title_of(std::string name) {
  if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

class Gatherer {
 public:
  Gatherer(const traffic::Traffic& traffic, const inspection::HostSurvey* host, const Overrides& overrides,
           const ServiceCatalog& catalog)
      : traffic_(traffic), host_(host), overrides_(overrides), catalog_(catalog) {
    for (const auto& text : overrides.nodes.empty() ? traffic.local_networks : overrides.nodes)
      if (const auto network = net::parse_cidr(text)) networks_.push_back(network->network());
  }

  Gathering run() {
    for (const auto& flow : traffic_.flows) add(flow);
    if (host_ != nullptr) {
      for (const auto& program : host_->programs) add(program);
      add_routing();
    }
    for (const auto& service : overrides_.services)
      if (service.verdict) get(service.name);
    for (auto& [name, gathered] : out_.services) count(gathered);
    return std::move(out_);
  }

 private:
  bool is_node(const std::string& client) const {
    const auto ip = net::parse_ip(client);
    if (!ip) return true;  // a MAC: it is on our wire
    if (networks_.empty()) return true;
    return std::any_of(networks_.begin(), networks_.end(), [&](const net::Cidr& network) {
      return network.ip.family() == ip->family() && network.contains(*ip);
    });
  }
  bool has_node(const traffic::ServiceFlow& flow) const {
    return flow.clients.empty() || std::any_of(flow.clients.begin(), flow.clients.end(),
                                               [&](const std::string& client) { return is_node(client); });
  }

  Gathered& get(const std::string& name) {
    Gathered& gathered = out_.services[name];
    if (!gathered.service.name.empty()) return gathered;
    gathered.service.name = name;
    gathered.known = ServiceCatalog::find(name);
    gathered.service.title = gathered.known != nullptr ? std::string(gathered.known->title) : title_of(name);
    gathered.override_by = overrides_.find(name);
    return gathered;
  }

  void leave_out(std::string_view why, const traffic::ServiceFlow& flow) {
    auto& [flows, packets] = out_.left_out[std::string(why)];
    ++flows;
    packets += flow.packets_to_server + flow.packets_to_clients;
  }

  /// By what was asked. What nodes ask of programs by the clock says more than what they ask for once.
  const KnownService* known_by_hints(const traffic::ServiceFlow& flow) const {
    const KnownService* found = nullptr;
    for (const auto& hint : flow.hints) {
      const auto* known = catalog_.find_hint(hint);
      if (known == nullptr) continue;
      if (found == nullptr || found->discretion == Discretion::provisioning) found = known;
    }
    return found;
  }

  /// Whether a web server was asked for something that the catalog does not know, beside what it knows.
  bool asks_more(const traffic::ServiceFlow& flow) const {
    return flow.application == "http" && overrides_.find_door(traffic::door(flow)) == nullptr &&
           known_by_hints(flow) != nullptr &&
           std::any_of(flow.hints.begin(), flow.hints.end(),
                       [&](const std::string& hint) { return catalog_.find_hint(hint) == nullptr; });
  }

  /// Which service a flow is of, and whether more than its port says so.
  std::pair<std::string, bool> name_of(const traffic::ServiceFlow& flow, const inspection::Program* program) const {
    const std::string where = traffic::door(flow);
    if (const auto* given = overrides_.find_door(where)) return {given->name, true};
    if (program != nullptr)
      if (const auto* given = overrides_.find_program(program->name)) return {given->name, true};
    // A web server does many things; what was asked of it says more than its name.
    if (const auto* known = known_by_hints(flow)) return {std::string(known->name), true};
    if (program != nullptr)
      if (const auto* known = catalog_.find_program(program->name, program->unit))
        return {std::string(known->name), true};
    if (const auto* known = catalog_.find_application(flow.application)) return {std::string(known->name), true};
    if (program != nullptr) return {program->name, true};
    if (const auto* known = catalog_.find_door(where)) return {std::string(known->name), false};
    if (auto name = catalog_.name_of_door(where); !name.empty()) return {std::move(name), false};
    if (!flow.application.empty() && flow.application != "http" && flow.application != "tls")
      return {flow.application, false};
    return {where, false};
  }

  const inspection::Program* listener(const traffic::ServiceFlow& flow) const {
    if (host_ == nullptr || (flow.protocol != traffic::Protocol::tcp && flow.protocol != traffic::Protocol::udp))
      return nullptr;
    return host_->find_listener(describe::spell(flow.protocol), flow.port);
  }

  void add(const traffic::ServiceFlow& flow) {
    if (const auto why = network_itself(flow); !why.empty()) return leave_out(why, flow);
    if (flow.part == traffic::Part::between) return leave_out("between other machines", flow);
    if (flow.part == traffic::Part::routes) {
      get("routing").routed.push_back(&flow);
      return;
    }
    if (is_small_talk(flow)) return leave_out("machines that announce themselves", flow);
    const inspection::Program* program = flow.part == traffic::Part::opens ? nullptr : listener(flow);
    const bool to_a_group = flow.part == traffic::Part::hears;
    const bool known_group = to_a_group && (catalog_.find_application(flow.application) != nullptr ||
                                            catalog_.find_door(traffic::door(flow)) != nullptr);
    if (to_a_group && program == nullptr && (host_ != nullptr || !known_group))
      return leave_out("sent to a group, and no program of the machine listens", flow);
    const auto [name, sure] = name_of(flow, program);
    Gathered& gathered = get(name);
    gathered.named_by_more_than_a_port |= sure;
    place(gathered, flow);
    if (program != nullptr) add(gathered, *program);
    if (!asks_more(flow)) return;
    Gathered& rest = get(program != nullptr ? program->name : "http");
    place(rest, flow);
    if (program != nullptr) add(rest, *program);
  }

  void place(Gathered& gathered, const traffic::ServiceFlow& flow) const {
    if (flow.part == traffic::Part::hears)
      gathered.to_groups.push_back(&flow);
    else if (flow.part == traffic::Part::opens)
      (flow.server.empty() || is_node(flow.server) ? gathered.opened : gathered.outward).push_back(&flow);
    else
      (has_node(flow) ? gathered.served : gathered.outside).push_back(&flow);
  }

  /// A program that no packet was seen of: by what it is, or by its own name.
  void add(const inspection::Program& program) {
    if (is_base_program(program.executable, program.name)) return;
    const bool placed = std::any_of(out_.services.begin(), out_.services.end(), [&](const auto& each) {
      const auto& programs = each.second.programs;
      return std::find(programs.begin(), programs.end(), &program) != programs.end();
    });
    if (placed) return;
    const auto* given = overrides_.find_program(program.name);
    const auto* known = catalog_.find_program(program.name, program.unit);
    const std::string name = given != nullptr   ? given->name
                             : known != nullptr ? std::string(known->name)
                                                : program.name;
    if (program.pids.empty() && program.listens.empty() && known == nullptr && given == nullptr) return;
    Gathered& gathered = get(name);
    gathered.named_by_more_than_a_port = true;
    add(gathered, program);
  }

  static void add(Gathered& gathered, const inspection::Program& program) {
    if (std::find(gathered.programs.begin(), gathered.programs.end(), &program) != gathered.programs.end()) return;
    gathered.programs.push_back(&program);
    for (const auto& listener : program.listens) gathered.listens_outside |= !listener.local();
  }

  /// A machine that translates addresses is there for somebody, whether a packet was seen or not.
  void add_routing() {
    if (host_->nat_rules.empty()) return;
    Gathered& routing = get("routing");
    routing.named_by_more_than_a_port = true;
    routing.listens_outside = true;
  }

  static void add_word(std::vector<std::string>& list, std::string word) {
    if (!word.empty() && std::find(list.begin(), list.end(), word) == list.end()) list.push_back(std::move(word));
  }

  /// Numbers and names of the service, from its flows and programs.
  void count(Gathered& gathered) const {
    Service& service = gathered.service;
    for (const auto* program : gathered.programs) {
      add_word(service.programs, program->name);
      add_word(service.units, program->unit);
      if (!program->package.empty())
        add_word(service.packages,
                 program->version.empty() ? program->package : program->package + " " + program->version);
    }
    std::set<std::string> nodes;
    std::int64_t more = 0;
    const traffic::ServiceFlow* busiest = nullptr;
    const auto look = [&](const std::vector<const traffic::ServiceFlow*>& flows, std::string_view arrow) {
      for (const auto* flow : flows) {
        if (flow->part != traffic::Part::routes) add_word(service.doors, std::string(arrow) + traffic::door(*flow));
        service.opens += flow->opens;
        service.bytes += flow->bytes_to_server + flow->bytes_to_clients;
        if (flow->part == traffic::Part::opens) {
          if (!flow->server.empty()) nodes.insert(flow->server);
        } else {
          nodes.insert(flow->clients.begin(), flow->clients.end());
          more = std::max(more, flow->client_count - static_cast<std::int64_t>(flow->clients.size()));
        }
        const auto beats = [](const traffic::ServiceFlow& f) {
          return std::max(f.opened.intervals, f.active.intervals);
        };
        if (busiest == nullptr || beats(*flow) > beats(*busiest)) busiest = flow;
      }
    };
    look(gathered.served, "");
    look(gathered.to_groups, "");
    look(gathered.routed, "");
    look(gathered.outside, "");
    look(gathered.opened, "→");
    look(gathered.outward, "→");
    service.nodes = static_cast<std::int64_t>(nodes.size()) + more;
    if (busiest != nullptr)
      service.rhythm = busiest->opened.intervals >= busiest->active.intervals ? busiest->opened : busiest->active;
    service.opened_by = opener(gathered);
  }

  static OpenedBy opener(const Gathered& gathered) {
    const bool nodes = !gathered.served.empty() || !gathered.to_groups.empty();
    const bool server =
        std::any_of(gathered.opened.begin(), gathered.opened.end(), [](const traffic::ServiceFlow* flow) {
          return flow->pattern == traffic::Pattern::connection || flow->pattern == traffic::Pattern::request_response ||
                 flow->pattern == traffic::Pattern::one_way;
        });
    if (nodes && server) return OpenedBy::both;
    if (nodes) return OpenedBy::nodes;
    if (!gathered.opened.empty()) return OpenedBy::server;
    if (!gathered.routed.empty()) return OpenedBy::routed;
    if (!gathered.outside.empty()) return OpenedBy::outsiders;
    return gathered.outward.empty() ? OpenedBy::nobody : OpenedBy::outward;
  }

  const traffic::Traffic& traffic_;
  const inspection::HostSurvey* host_;
  const Overrides& overrides_;
  const ServiceCatalog& catalog_;
  std::vector<net::Cidr> networks_;
  Gathering out_;
};

}  // namespace

Gathering gather(const traffic::Traffic& traffic, const inspection::HostSurvey* host, const Overrides& overrides,
                 const ServiceCatalog& catalog) {
  return Gatherer(traffic, host, overrides, catalog).run();
}

}  // namespace underway::adoption

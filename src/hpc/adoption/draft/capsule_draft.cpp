#include "adoption/draft/capsule_draft.hpp"

#include <set>

#include "adoption/draft/recipe.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "net/address.hpp"

namespace underway::adoption {
namespace {

/// A name for jobs and images: a-z, 0-9 and hyphens.
std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : lower(text)) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (fits)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "service" : out.substr(0, 50);
}

/// What may stand in a version of an image.
std::string plain_version(std::string_view text) {
  const auto colon = text.find(':');  // Debian's epoch
  if (colon != std::string_view::npos) text.remove_prefix(colon + 1);
  std::string out;
  for (const char c : text.substr(0, 60))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' || c == '~' || c == '-') out += c;
  return out.empty() ? "1" : out;
}

bool is_to_be_eliminated(const Service& service) {
  return std::any_of(service.advice.begin(), service.advice.end(),
                     [](const std::string& advice) { return advice.starts_with("Eliminate"); });
}

void add_missing(std::vector<std::string>& list, std::string_view word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.emplace_back(word);
}

class Drafter {
 public:
  Drafter(const Division& division, const inspection::HostSurvey& host) : division_(division), host_(host) {}

  Drafts run() {
    for (const auto& service : division_.services) {
      if (!service.critical) continue;
      if (is_to_be_eliminated(service))
        drafts_.without.push_back(fmt::format("{}: eliminate it rather than move it", service.name));
      else
        wanted_.insert(service.name);
    }
    std::set<std::string> done;
    for (const auto& name : wanted_)
      if (!done.contains(name)) draft(together(name, done));
    std::sort(drafts_.capsules.begin(), drafts_.capsules.end(),
              [](const CapsuleDraft& a, const CapsuleDraft& b) { return a.name < b.name; });
    return std::move(drafts_);
  }

 private:
  /// The service and all that it is bound to by needs, in either direction.
  std::vector<const Service*> together(const std::string& name, std::set<std::string>& done) const {
    std::vector<const Service*> out;
    std::vector<std::string> open = {name};
    while (!open.empty()) {
      const std::string next = std::move(open.back());
      open.pop_back();
      const Service* service = division_.find(next);
      if (service == nullptr || !wanted_.contains(next) || !done.insert(next).second) continue;
      out.push_back(service);
      for (const auto* list : {&service->needs, &service->needed_by})
        open.insert(open.end(), list->begin(), list->end());
    }
    return out;
  }

  void draft(const std::vector<const Service*>& services) {
    CapsuleDraft capsule;
    const auto is = [](std::string_view name) { return [name](const Service* s) { return s->name == name; }; };
    const bool slurm = std::any_of(services.begin(), services.end(), is("slurm"));
    capsule.name = slurm ? "slurm-services" : plain_name(services.front()->name);
    capsule.routes = std::any_of(services.begin(), services.end(), is("routing"));
    for (const auto* service : services) {
      capsule.services.push_back(service->name);
      capsule.reasons.push_back(fmt::format("{}: {} (rule {})", service->title, service->reason, service->rule));
      for (const auto& program : running(*service)) add(capsule, program);
    }
    if (capsule.routes) add_router(capsule);
    add_dependencies(capsule);
    if (capsule.programs.empty()) {
      for (const auto& name : capsule.services)
        drafts_.without.push_back(fmt::format("{}: the survey of the host does not tell which program it is", name));
      return;
    }
    if (capsule.version.empty()) capsule.version = "1";
    drafts_.capsules.push_back(std::move(capsule));
  }

  /// Of several programs of a service those that run: a database that is installed and off is not the one in use.
  std::vector<std::string> running(const Service& service) const {
    std::vector<std::string> out;
    for (const auto& name : service.programs) {
      const inspection::Program* program = host_.find_program(name);
      if (program != nullptr && !program->pids.empty()) out.push_back(name);
    }
    return out.empty() ? service.programs : out;
  }

  void add(CapsuleDraft& capsule, const std::string& name) {
    // A machine's own slurmd has no place in a capsule of the controller.
    if (name == "slurmd" || name == "rpcbind" || name == "rpc.statd") return;
    const inspection::Program* program = host_.find_program(name);
    const auto* recipe = find_recipe(name);
    DraftService service;
    service.name = recipe != nullptr ? std::string(recipe->name) : plain_name(name);
    service.program = name;
    for (auto& known : capsule.programs) {
      if (known.name == service.name) return;
    }
    if (recipe != nullptr)
      from_recipe(service, *recipe);
    else
      service.notes.emplace_back("the command is the one of the surveyed machine: see that it stays in the foreground");
    if (program != nullptr) from_program(service, *program, recipe != nullptr);
    if (program != nullptr && (capsule.version.empty() || name == "slurmctld") && !program->version.empty())
      capsule.version = plain_version(program->version);
    if (service.command.empty()) {
      service.command = {"/usr/sbin/" + plain_name(name)};
      service.notes.emplace_back("its command is not known");
    }
    capsule.programs.push_back(std::move(service));
  }

  static void from_recipe(DraftService& service, const Recipe& recipe) {
    service.user = recipe.user;
    service.command.assign(recipe.command.begin(), recipe.command.end());
    service.ready.assign(recipe.ready.begin(), recipe.ready.end());
    service.stop_timeout = recipe.stop_timeout;
    service.packages.assign(recipe.packages.begin(), recipe.packages.end());
    service.configuration.assign(recipe.configuration.begin(), recipe.configuration.end());
    if (!recipe.note.empty()) service.notes.emplace_back(recipe.note);
  }

  static void from_program(DraftService& service, const inspection::Program& program, bool known) {
    if (!known) {
      service.command = program.command;
      if (!service.command.empty() && program.executable.starts_with('/')) service.command[0] = program.executable;
      if (program.user != "root") service.user = program.user;
      if (!program.package.empty()) service.packages = {program.package};
    }
    service.state = program.state_directories;
    for (const auto& file : program.configuration) add_missing(service.configuration, file);
    if (std::any_of(service.command.begin(), service.command.end(), is_redacted))
      service.notes.emplace_back("its command line holds a secret, which was not copied: give it by a file");
  }

  static void add_router(CapsuleDraft& capsule) {
    DraftService router;
    router.name = "nftables";
    router.program = "nft";
    router.command = {"/bin/sh", "-c", "nft -f /etc/nftables.conf && exec sleep infinity"};
    router.packages = {"nftables"};
    router.configuration = {"/etc/nftables.conf"};
    router.notes.emplace_back("rules of iptables: `iptables-restore-translate -f rules.v4` writes them for nftables");
    capsule.programs.insert(capsule.programs.begin(), std::move(router));
  }

  /// Who starts after whom: by the needs of the programs that were surveyed.
  void add_dependencies(CapsuleDraft& capsule) const {
    std::map<std::string, std::string> names;  // program → service of the capsule
    for (const auto& service : capsule.programs) names[service.program] = service.name;
    for (auto& service : capsule.programs) {
      const inspection::Program* program = host_.find_program(service.program);
      if (program == nullptr) continue;
      for (const auto& need : program->needs) {
        const auto found = names.find(need.program);
        if (found == names.end() || found->second == service.name) continue;
        if (!reaches(capsule, found->second, service.name)) add_missing(service.depends_on, found->second);
      }
    }
  }

  /// Whether `from` waits for `to` already: two programs that need each other start side by side.
  static bool reaches(const CapsuleDraft& capsule, const std::string& from, const std::string& to) {
    if (from == to) return true;
    for (const auto& service : capsule.programs) {
      if (service.name != from) continue;
      return std::any_of(service.depends_on.begin(), service.depends_on.end(),
                         [&](const std::string& next) { return reaches(capsule, next, to); });
    }
    return false;
  }

  const Division& division_;
  const inspection::HostSurvey& host_;
  std::set<std::string> wanted_;
  Drafts drafts_;
};

bool holds(const std::vector<std::string>& networks, const net::Ip& ip) {
  return std::any_of(networks.begin(), networks.end(), [&](const std::string& text) {
    const auto network = net::parse_cidr(text);
    return network && network->ip.family() == ip.family() && network->contains(ip);
  });
}

}  // namespace

Drafts draft_capsules(const Division& division, const inspection::HostSurvey& host) {
  return Drafter(division, host).run();
}

DraftPlace place_of(const inspection::HostSurvey& host, const std::vector<std::string>& nodes) {
  DraftPlace place;
  place.distribution = host.system;
  place.hostname = host.host.empty() ? "server" : plain_name(host.host.substr(0, host.host.find('.')));
  for (const auto& interface : host.interfaces) {
    for (const auto& text : interface.addresses) {
      const auto address = net::parse_cidr(text);
      if (!address || address->ip.family() != net::Ip::Family::v4 || text.starts_with("127.")) continue;
      const bool of_nodes = holds(nodes, address->ip);
      DraftNetwork network{of_nodes ? "cluster" : plain_name(interface.name), "", text, "", interface.name};
      network.bridge = "br-" + network.name.substr(0, 12);
      const bool taken = std::any_of(place.networks.begin(), place.networks.end(),
                                     [&](const DraftNetwork& other) { return other.name == network.name; });
      if (taken) continue;
      place.networks.insert(of_nodes ? place.networks.begin() : place.networks.end(), std::move(network));
      break;
    }
  }
  if (place.networks.empty()) place.networks.push_back({"cluster", "br-cluster", "192.0.2.1/24", "", ""});
  if (place.networks.front().name != "cluster") {
    place.networks.front().name = "cluster";
    place.networks.front().bridge = "br-cluster";
  }
  return place;
}

void suggest_addresses(Drafts& drafts, const DraftPlace& place, const std::vector<std::string>& used) {
  for (std::size_t i = 0; i < place.networks.size(); ++i) {
    const auto own = net::parse_cidr(place.networks[i].address);
    if (!own) continue;
    const std::uint64_t hosts = own->usable_hosts();
    std::uint64_t next = hosts;
    for (auto& capsule : drafts.capsules) {
      std::string address;
      while (address.empty() && next > 1) {
        const net::Ip ip = own->network().host(next--);
        if (ip == own->ip || std::find(used.begin(), used.end(), to_string(ip)) != used.end()) continue;
        address = to_string(net::Cidr{ip, own->prefix});
      }
      if (address.empty() || (i == 0 && capsule.name == "slurm-services")) address = place.networks[i].address;
      capsule.addresses.push_back(std::move(address));
    }
  }
}

}  // namespace underway::adoption

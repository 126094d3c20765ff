#include "adoption/plan/adoption.hpp"

#include "adoption/division/division_html.hpp"
#include "adoption/draft/hcl_text.hpp"
#include "adoption/plan/adoption_steps.hpp"
#include "adoption/plan/plan_text.hpp"
#include "adoption/plan/slurm_draft.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "net/address.hpp"
#include "slurm/hostlist.hpp"

namespace underway::adoption {
namespace {

/// Addresses that somebody has, as far as files and the machine tell.
std::vector<std::string> used_addresses(const inspection::HostSurvey& host, const inspection::Site& site) {
  std::vector<std::string> out;
  for (const auto& interface : host.interfaces)
    for (const auto& address : interface.addresses) out.push_back(address.substr(0, address.find('/')));
  for (const auto& node : site.warewulf.nodes) out.insert(out.end(), node.addresses.begin(), node.addresses.end());
  const auto first = net::parse_ip(site.warewulf.dhcp_start);
  const auto last = net::parse_ip(site.warewulf.dhcp_end);
  for (auto ip = first; ip && last && *ip <= *last && out.size() < 100'000; ip = ip->plus(1))
    out.push_back(to_string(*ip));
  return out;
}

constexpr const char* kUnknownInterface = "?";  // no interface has such a name

/// The server as the nodes see it. A root directory tells no interfaces; then Warewulf's configuration does.
DraftPlace find_place(const inspection::HostSurvey& host, const inspection::Site& site,
                      const AdoptionOptions& options) {
  inspection::HostSurvey known = host;
  std::vector<std::string> nodes = options.nodes;
  const auto address = net::parse_ip(site.warewulf.address);
  const auto mask = net::parse_ip(site.warewulf.netmask);
  if (address && mask && address->family() == net::Ip::Family::v4) {
    int prefix = 0;
    for (const auto byte : mask->bytes()) prefix += __builtin_popcount(byte);
    const net::Cidr own{*address, std::min(prefix, 32)};
    if (nodes.empty()) nodes.push_back(to_string(own.network()));
    const bool seen =
        std::any_of(known.interfaces.begin(), known.interfaces.end(), [&](const inspection::Interface& interface) {
          return std::any_of(interface.addresses.begin(), interface.addresses.end(), [&](const std::string& text) {
            return text.substr(0, text.find('/')) == site.warewulf.address;
          });
        });
    if (!seen) known.interfaces.push_back({kUnknownInterface, "", {to_string(own)}});
  }
  DraftPlace place = place_of(known, nodes);
  for (auto& network : place.networks)
    if (network.interface == kUnknownInterface) network.interface.clear();
  return place;
}

std::vector<std::string> first_nodes(const inspection::SlurmSite& slurm, std::size_t most) {
  std::vector<std::string> out;
  for (const auto& line : slurm.node_lines) {
    const auto list = trim(std::string_view(line).substr(line.find('=') + 1));
    const std::string names(list.substr(0, list.find_first_of(" \t")));
    if (lower(names) == "default") continue;
    try {
      for (const auto& name : slurm::unfold_hosts(names))
        if (out.size() < most) out.push_back(name);
    } catch (const Error&) {
      continue;  // a host list that we do not understand names no canary
    }
  }
  return out;
}

std::string cluster_file(const AdoptionFacts& facts) {
  std::string name = lower(facts.site.slurm.cluster);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '-');
  while (!name.empty() && name.back() == '-') name.pop_back();
  while (!name.empty() && name.front() == '-') name.erase(0, 1);
  std::string out = comment("A capsule may do as root on its host: whoever applies this says so here.");
  out += "namespace \"default\" {\n  raw_exec_as_root = true\n}\n\n";
  out +=
      comment(fmt::format("The cluster of {}, as `underway survey adopt` found it. Its hosts exist already and join "
                          "by themselves, so no pool makes any.",
                          facts.place.hostname));
  out += fmt::format("cluster {} {{\n", hcl_string(name.empty() ? "cluster" : name.substr(0, 60)));
  for (const auto& network : facts.place.networks) {
    const auto own = net::parse_cidr(network.address);
    out += fmt::format("  network {} {{\n    cidr = {}\n  }}\n", hcl_string(network.name),
                       hcl_string(own ? to_string(own->network()) : "192.0.2.0/24"));
  }
  return out +
         "\n  # `underway node join-token create -pool infrastructure`: see PLAN.md.\n  pool \"infrastructure\" {\n    "
         "size = 0\n  }\n}\n";
}

std::string synced_files(const inspection::Site& site) {
  std::string out = "# Files that capsules must have as the nodes have them: type these on the management server.\n";
  std::vector<std::string> then;
  for (const auto& file : site.synced_files) {
    out += fmt::format("\n# {}\n{}\n", file.why, synchronise_command(file));
    if (!file.then.empty() && std::find(then.begin(), then.end(), file.then) == then.end()) then.push_back(file.then);
  }
  for (const auto& command : then)
    out += fmt::format("\n# Once, when one of the files above has changed everywhere (`underway file status`):\n# {}\n",
                       command);
  return out;
}

std::string canary_job(const AdoptionFacts& facts) {
  CapsuleDraft draft;
  for (const auto& capsule : facts.drafts.capsules)
    if (capsule.name == "slurm-services") draft = capsule;
  draft.reasons = {"the canary: a controller of its own, with other ports and other state"};
  std::erase_if(draft.programs,
                [](const DraftService& service) { return service.name != "slurmctld" && service.name != "munge"; });
  for (auto& service : draft.programs) {
    if (service.name != "slurmctld") continue;
    service.command = with_directories({"/var/spool/slurmctld-canary", "/var/log/slurm"}, facts.site.slurm.user,
                                       {"/usr/sbin/slurmctld", "-D", "-f", "/etc/slurm/canary.conf"});
    service.ready.clear();
    service.depends_on = {"munge"};
    service.state = {"/var/spool/slurmctld-canary"};
  }
  draft.steps.clear();  // those are about the state and the nodes of the site's own controller
  std::string text = job_file(draft, facts.place);
  // The image is the one of slurm-services; job, group and task are the canary's own.
  for (const char* word : {"job \"slurm-services\"", "group \"slurm-services\"", "task \"slurm-services\""}) {
    const std::string from = word;
    const auto at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), from.substr(0, from.find('"')) + "\"slurm-canary\"");
  }
  const std::string host = fmt::format("hostname = {}", hcl_string(facts.place.hostname));
  if (const auto at = text.find(host); at != std::string::npos) text.replace(at, host.size(), "hostname = \"canary\"");
  return text;
}

}  // namespace

Adoption plan_adoption(const inspection::HostSurvey& host, const inspection::Site& site, const Division& division,
                       const AdoptionOptions& options) {
  AdoptionFacts facts{host, site, division, draft_capsules(division, host), find_place(host, site, options),
                      {},   {},   {}};
  const auto used = used_addresses(host, site);
  suggest_addresses(facts.drafts, facts.place, used);
  facts.canary = options.canary.empty() ? first_nodes(site.slurm, 2) : options.canary;
  facts.canary_address = facts.place.networks.front().address;
  facts.new_server_address = facts.place.networks.front().address;
  if (const auto own = net::parse_cidr(facts.place.networks.front().address)) {
    Drafts more;  // the next free ones behind those of the capsules: the canary's and the server's new one
    more.capsules.resize(facts.drafts.capsules.size() + 2);
    suggest_addresses(more, facts.place, used);
    facts.canary_address = more.capsules[more.capsules.size() - 2].addresses.front();
    facts.new_server_address = more.capsules.back().addresses.front();
  }
  for (auto& capsule : facts.drafts.capsules)
    fit_to_site(capsule, site, facts.new_server_address.substr(0, facts.new_server_address.find('/')));
  Adoption out;
  out.files = skeleton(facts.drafts, facts.place);
  out.files["cluster.hcl"] = cluster_file(facts);
  out.files["synchronised-files.sh"] = synced_files(site);
  out.files["survey/host.json"] = json::pretty(json::to_value(host, json::Encoding::compact)) + "\n";
  out.files["survey/division.json"] = json::pretty(json::to_value(division)) + "\n";
  out.files["survey/division.html"] = division_html(division);
  const auto& capsules = facts.drafts.capsules;
  const bool drafted = std::any_of(capsules.begin(), capsules.end(),
                                   [](const CapsuleDraft& capsule) { return capsule.name == "slurm-services"; });
  if (!drafted) facts.canary.clear();
  if (!site.slurm.file.empty() && !facts.canary.empty()) {
    AdoptionFacts canary = facts;
    for (auto& capsule : canary.drafts.capsules)
      if (!capsule.addresses.empty()) capsule.addresses.front() = facts.canary_address;
    out.files["canary/slurm-canary.hcl"] = canary_job(canary);
    out.files["canary/canary.conf"] =
        canary_slurm_conf(site.slurm, facts.canary,
                          fmt::format("canary({})", facts.canary_address.substr(0, facts.canary_address.find('/'))));
  }
  out.files["PLAN.md"] = write_plan(facts);
  out.notes = open_questions(facts);
  return out;
}

}  // namespace underway::adoption

#include "adoption/division/decide.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

/// What nobody reaches and nobody needs is the machine's own business.
void drop_machine_only(Gathering& gathering) {
  std::int64_t dropped = 0;
  for (auto it = gathering.services.begin(); it != gathering.services.end();) {
    const auto& g = it->second;
    if (g.service.rule == "machine-only" && g.known == nullptr && g.override_by == nullptr) {
      it = gathering.services.erase(it);
      ++dropped;
    } else {
      ++it;
    }
  }
  if (dropped > 0)
    gathering.left_out["programs that nothing from outside reaches and no service needs"].first = dropped;
}

std::vector<std::string> left_out_texts(const Gathering& gathering) {
  std::vector<std::string> out;
  for (const auto& [why, counts] : gathering.left_out)
    out.push_back(counts.second == 0 ? fmt::format("{}: {}", why, counts.first)
                                     : fmt::format("{}: {} flows, {} packets", why, counts.first, counts.second));
  return out;
}

void warn_of_traffic(const traffic::Traffic& traffic, const Surroundings& around, std::vector<std::string>& warnings) {
  if (traffic.packets == 0) {
    warnings.emplace_back("there is no traffic: nothing says what nodes need");
    return;
  }
  if (around.span < std::chrono::hours(24))
    warnings.push_back(
        fmt::format("the traffic covers {}: what happens less often was not seen; a day is the least, a "
                    "week is better",
                    human_duration(around.span)));
  if (traffic.lost > 0)
    warnings.push_back(
        fmt::format("the capture missed {} packets beside the {} that it saw", traffic.lost, traffic.packets));
  std::int64_t malformed = 0;
  for (const auto& [why, n] : traffic.malformed) malformed += n;
  if (malformed > 0) warnings.push_back(fmt::format("{} packets could not be read to their end", malformed));
  if (traffic.inferred)
    warnings.push_back(fmt::format("the surveyed machine was not named: {} is the one that most others talk to",
                                   traffic.surveyed_addresses.empty() ? join(traffic.surveyed_macs, ", ")
                                                                      : join(traffic.surveyed_addresses, ", ")));
  for (const auto& problem : traffic.problems) warnings.push_back(problem);
}

void warn_of_host(const inspection::HostSurvey* host, const Gathering& gathering, std::vector<std::string>& warnings) {
  if (host == nullptr) {
    warnings.emplace_back(
        "there is no survey of the host: what no packet shows (munge, the database, unix sockets) is "
        "missing from the division");
    return;
  }
  for (const auto& gap : host->gaps) warnings.push_back("the survey of the host: " + gap);
  const auto slurm = gathering.services.find("slurm");
  if (slurm != gathering.services.end() && !gathering.services.contains("munge"))
    warnings.emplace_back("Slurm is there, and munge was not found on the machine");
  const auto provisioning = gathering.services.find("provisioning");
  if (provisioning == gathering.services.end() || provisioning->second.served.empty())
    warnings.emplace_back("no node booted while the traffic was recorded: what nodes need to boot was not seen");
}

void warn_of_overrides(const Overrides& overrides, const Gathering& gathering, std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const auto& [name, g] : gathering.services)
    if (overrides.find(name) == nullptr) names.push_back(name);
  const auto where = [](const ServiceOverride& o) { return o.place ? o.place.where() + ": " : std::string{}; };
  for (const auto& service : overrides.services) {
    const auto found = gathering.services.find(service.name);
    const bool idle =
        found == gathering.services.end() || (found->second.flow_count() == 0 && found->second.programs.empty());
    if (idle) {
      const std::string near = nearest(service.name, names);
      warnings.push_back(fmt::format("{}nothing that was seen belongs to service '{}'{}", where(service), service.name,
                                     near.empty() ? "" : fmt::format("; there is '{}'", near)));
    }
    for (const auto& need : service.needs)
      if (!gathering.services.contains(need))
        warnings.push_back(
            fmt::format("{}service '{}' needs '{}', which was not found", where(service), service.name, need));
  }
}

}  // namespace

Division divide(const traffic::Traffic& traffic, const std::vector<inspection::HostSurvey>& hosts,
                const Overrides& overrides, const ServiceCatalog& catalog) {
  const inspection::HostSurvey merged = merge(hosts);
  const inspection::HostSurvey* host = hosts.empty() ? nullptr : &merged;
  Surroundings around;
  around.host_known = host != nullptr;
  around.packets = traffic.packets;
  around.lost = traffic.lost;
  around.span = Duration(std::max<std::int64_t>(traffic.last - traffic.first, 0));

  Gathering gathering = gather(traffic, host, overrides, catalog);
  for (auto& [name, gathered] : gathering.services) decide(gathered, around);
  inherit(gathering);
  drop_machine_only(gathering);
  for (auto& [name, gathered] : gathering.services) advise(gathered, host, around);

  Division out;
  if (host != nullptr) out.host = host->host;
  if (out.host.empty() && !traffic.surveyed_addresses.empty()) out.host = traffic.surveyed_addresses.front();
  out.sources = traffic.sources;
  out.first = traffic.first;
  out.last = traffic.last;
  out.packets = traffic.packets;
  out.lost = traffic.lost;
  warn_of_traffic(traffic, around, out.warnings);
  warn_of_host(host, gathering, out.warnings);
  warn_of_overrides(overrides, gathering, out.warnings);
  out.left_out = left_out_texts(gathering);
  for (auto& [name, gathered] : gathering.services) out.services.push_back(std::move(gathered.service));
  std::sort(out.services.begin(), out.services.end(), [](const Service& a, const Service& b) {
    return std::tie(b.critical, a.name) < std::tie(a.critical, b.name);
  });
  return out;
}

}  // namespace underway::adoption

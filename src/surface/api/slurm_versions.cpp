#include "api/slurm_versions.hpp"

#include "api/routes.hpp"
#include "base/json.hpp"
#include "slurm/installed.hpp"

namespace underway::api {

const describe::Structure& description(describe::Tag<SlurmVersions>) {
  static const describe::Structure s =
      describe::Builder<SlurmVersions>("SlurmVersions", "Whether daemons of Slurm go together.")
          .wire<&SlurmVersions::problems>("Problems", "As sentences; none: they do.")
          .wire<&SlurmVersions::summary>("Summary", "All versions on one line, for people.")
          .done();
  return s;
}

slurm::Services services_of(const image::Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> packages;
  for (const auto& package : manifest.packages) packages.emplace_back(package.name, package.version);
  return slurm::services_in(packages);
}

SlurmVersions slurm_versions(const tables::Tables& tables, const slurm::Services& services) {
  std::vector<slurm::NodeVersions> nodes;
  for (const auto& node : tables.nodes()) nodes.push_back(slurm::versions_of(*node));
  auto verdict = slurm::judge_versions(services, nodes);
  return {std::move(verdict.problems), std::move(verdict.summary)};
}

void check_slurm_versions(const tables::Tables& tables, const image::Manifest& manifest, const std::string& capsule) {
  const auto services = services_of(manifest);
  if (!services.slurmctld && !services.slurmdbd) return;
  const auto found = slurm_versions(tables, services);
  if (found.problems.empty()) return;
  Error error(Code::conflict,
              fmt::format("the Slurm in '{}' does not go with that of the nodes, so capsule '{}' is not "
                          "upgraded to it",
                          manifest.reference(), capsule));
  for (const auto& problem : found.problems) error.because(problem);
  // Clients are told the reasons alone.
  throw error.because(
      "slurmdbd may not be older than slurmctld, nor slurmctld than slurmd (slurm.schedmd.com/upgrades.html); upgrade "
      "in "
      "steps, slurmdbd and slurmctld first, then the nodes, or go on all the same with -any-slurm-version");
}

namespace {

awaitable<Response> read_slurm_versions(Api& api, Request request) {
  const slurm::Services services{slurm::find_version(request.query.find("slurmctld").value_or("")),
                                 slurm::find_version(request.query.find("slurmdbd").value_or(""))};
  std::vector<tables::Scope> scopes{{tables::Topic::nodes, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return json::encode(slurm_versions(tables, services));
  });
}

}  // namespace

void add_slurm_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/slurm/versions", "slurm versions", right::node(acl::Level::read),
             [&api](Request request) { return read_slurm_versions(api, std::move(request)); });
}

}  // namespace underway::api

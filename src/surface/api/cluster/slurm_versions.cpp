#include "api/cluster/slurm_versions.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "imageshare/server_images.hpp"
#include "ownership/capsules.hpp"
#include "slurm/installed.hpp"
#include "wire/cluster/slurm_versions.hpp"

namespace underway::api {
namespace {

wire::SlurmVersions told(slurm::VersionVerdict verdict) {
  return {std::move(verdict.problems), std::move(verdict.summary)};
}

/// Of the image that is asked for; nothing: the store does not have it.
awaitable<slurm::Services> services_in_store(Api& api, std::string image) {
  try {
    const auto stored = co_await api.images->get(image);
    co_return services_of(co_await api.images->manifest(stored.digest));
  } catch (const Error& error) {
    if (error.code() != Code::not_found && error.code() != Code::invalid) throw;
  }
  co_return slurm::Services{};
}

/// What the capsules of a namespace have, each as its job asks for it.
awaitable<std::vector<slurm::ServicesElsewhere>> services_of_capsules(Api& api, std::string ns) {
  std::vector<slurm::ServicesElsewhere> out;
  if (api.images == nullptr) co_return out;
  const auto* tables = co_await api.server.read();
  std::vector<std::pair<std::string, std::string>> asked;
  for (const auto& capsule : tables::records<model::Capsule>(*tables)) {
    const auto job = capsule.ns == ns ? tables->find_job(capsule.ns, capsule.job) : nullptr;
    if (job && !job->stop) asked.emplace_back(capsule.name, ownership::image_of(*job, capsule.group));
  }
  for (const auto& [name, image] : asked) {
    const auto services = co_await services_in_store(api, image);
    if (services.slurmctld || services.slurmdbd) out.push_back({name, services});
  }
  co_return out;
}

/// Takes what `capsule` itself has from the others.
slurm::Services take_own(std::vector<slurm::ServicesElsewhere>& all, const std::string& capsule) {
  const auto own = std::ranges::find(all, capsule, &slurm::ServicesElsewhere::capsule);
  if (own == all.end()) return {};
  const auto services = own->services;
  all.erase(own);
  return services;
}

/// Of a slurmd at that path, wherever it lies on a node.
wire::SlurmVersions judge_path(const tables::Tables& tables, const std::string& path,
                               const std::vector<slurm::ServicesElsewhere>& controllers) {
  std::set<slurm::Version> versions;
  for (const auto& node : tables.nodes()) {
    if (const auto version = slurm::version_at(*node, path)) versions.insert(*version);
  }
  wire::SlurmVersions out;
  for (const auto& version : versions) {
    auto verdict = slurm::judge_slurmd(version, path, controllers);
    out.problems.insert(out.problems.end(), verdict.problems.begin(), verdict.problems.end());
    out.summary += (out.summary.empty() ? "" : "; ") + verdict.summary;
  }
  return out;
}

}  // namespace

slurm::Services services_of(const image::Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> packages;
  for (const auto& package : manifest.packages) packages.emplace_back(package.name, package.version);
  return slurm::services_in(packages);
}

std::string slurmd_in(const model::Job& job) {
  for (const auto& group : job.groups) {
    for (const auto& task : group.tasks) {
      const auto* config = task.config.if_object();
      const auto* command = config != nullptr ? config->if_contains("command") : nullptr;
      if (command == nullptr || !command->is_string()) continue;
      const std::string path(command->get_string());
      if (std::filesystem::path(path).filename() == "slurmd") return path;
    }
  }
  return {};
}

std::vector<slurm::NodeVersions> slurmd_of_nodes(const tables::Tables& tables) {
  std::vector<slurm::NodeVersions> by_jobs, installed;
  // Allocations of one version share it, and it may have thousands of groups.
  std::unordered_map<const model::Job*, std::string> paths;
  for (const auto& node : tables.nodes()) {
    installed.push_back(slurm::versions_of(*node));
    for (const auto& row : tables.allocations_on_node(node->id)) {
      if (row->terminal() || !row->job) continue;
      const auto [known, is_new] = paths.try_emplace(row->job.get());
      if (is_new) known->second = slurmd_in(*row->job);
      const auto& path = known->second;
      if (path.empty()) continue;
      by_jobs.push_back(installed.back());
      if (const auto version = slurm::version_at(*node, path)) by_jobs.back().installed = version;
    }
  }
  return by_jobs.empty() ? installed : by_jobs;
}

async::awaitable<void> check_slurm_versions(Api& api, image::Manifest manifest, std::string ns, std::string capsule,
                                            bool back) {
  const auto services = services_of(manifest);
  if (!services.slurmctld && !services.slurmdbd) co_return;
  auto others = co_await services_of_capsules(api, ns);
  auto before = take_own(others, capsule);
  if (back) before = {};
  const auto nodes = slurmd_of_nodes(*co_await api.server.read());
  const auto found = slurm::judge_versions(services, nodes, others, before);
  if (found.problems.empty()) co_return;
  Error error(
      Code::conflict,
      fmt::format("the Slurm in '{}' does not go with that of the nodes, of other capsules or of its own data, so "
                  "capsule '{}' is not upgraded to it",
                  manifest.reference(), capsule));
  error.because(found.problems);
  // Clients are told the reasons alone.
  throw error.because(
      "slurmdbd may not be older than slurmctld, nor slurmctld than slurmd (slurm.schedmd.com/upgrades.html); upgrade "
      "in "
      "steps, slurmdbd first, then slurmctld, then the nodes, or go on all the same with -any-slurm-version");
}

namespace {

awaitable<Response> read_slurm_versions(Api& api, Request request) {
  const auto asked = [&](const char* name) { return std::string(request.query.find(name).value_or("")); };
  const slurm::Services services{slurm::find_version(asked("slurmctld")), slurm::find_version(asked("slurmdbd"))};
  const auto slurmd = asked("slurmd"), capsule = asked("capsule");
  std::vector<slurm::ServicesElsewhere> others;
  const auto ns = namespace_of(request);
  if (NamespaceFilter shown(request); (!slurmd.empty() || !capsule.empty()) && shown(ns))
    others = co_await services_of_capsules(api, ns);
  const auto before = take_own(others, capsule);
  std::vector<tables::Scope> scopes{{tables::Topic::nodes, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    if (!slurmd.empty()) return json::encode(judge_path(tables, slurmd, others));
    return json::encode(told(slurm::judge_versions(services, slurmd_of_nodes(tables), others, before)));
  });
}

}  // namespace

void add_slurm_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/slurm/versions", "slurm versions", right::node(acl::Level::read),
             [&api](Request request) { return read_slurm_versions(api, std::move(request)); });
}

}  // namespace underway::api

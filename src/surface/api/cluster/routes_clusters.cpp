// Clusters: ours, below /v1/underway.
#include "api/cluster/apply_directory.hpp"
#include "api/cluster/change_note.hpp"
#include "api/job/config_refusal.hpp"
#include "api/job/job_change.hpp"
#include "api/job/shortfall.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "files/masters/service.hpp"
#include "host/provider.hpp"
#include "host/reconcile.hpp"
#include "jobspec/jobspec.hpp"
#include "saving/protection.hpp"
#include "server/access/namespace_decisions.hpp"
#include "wire/cluster/cluster.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;
using tables::Scope;
using tables::Topic;

awaitable<Response> list_clusters(Api& api, Request request) {
  std::vector<Scope> scopes{{Topic::clusters, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [](const tables::Tables& tables) {
    return json_list(tables.clusters(), [](const auto& cluster) { return json::encode(*cluster); });
  });
}

tables::Row<model::Cluster> get_cluster(const tables::Tables& tables, const std::string& name) {
  auto row = tables.find_cluster(name);
  if (!row) throw Error(Code::not_found, fmt::format("cluster '{}' not found", name));
  return row;
}

awaitable<Response> read_cluster(Api& api, Request request) {
  const std::string name = request.param("name");
  std::vector<Scope> scopes{{Topic::clusters, name}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return json::encode(*get_cluster(tables, name));
  });
}

/// What the body of a cluster declares.
struct Declared {
  server::ApplyCluster cluster;
  std::vector<model::FileDeclaration> files;
  std::vector<model::Protection> protections;
};

void refuse_problems(const std::vector<std::string>& wrong, const std::string& what) {
  if (wrong.empty()) return;
  throw Error(Code::invalid, what).because(wrong);
}

/// The files that the directory declares, valid.
std::vector<model::FileDeclaration> valid_files(const wire::ClusterBody& body) {
  auto files = wire::files_of(body.files);
  std::vector<std::string> wrong = model::problems(files);
  for (const auto& file : files) {
    for (auto& problem : model::problems(file)) wrong.push_back(std::move(problem));
  }
  refuse_problems(wrong, "the files of the cluster are not valid");
  return files;
}

/// The jobs of the body, taken out of it: they have a decoder of their own, which reads all that Nomad's clients write.
boost::json::array take_jobs(boost::json::object& body) {
  auto* jobs = body.if_contains("Jobs");
  if (jobs == nullptr || jobs->is_null()) return {};
  if (!jobs->is_array()) throw Error(Code::invalid, "Jobs must be a list");
  return std::exchange(jobs->get_array(), {});
}

server::RegisterJob declared_job(const Request& request, const boost::json::value& entry) {
  if (!entry.is_object()) throw Error(Code::invalid, "each of Jobs must be an object");
  const auto& given = entry.get_object();
  server::RegisterJob out;
  out.job = job_of(request, given);
  if (const auto* submission = given.if_contains("Submission"); submission != nullptr && !submission->is_null())
    out.submission = json::decode<model::JobSubmission>(*submission, "Submission");
  return out;
}

Declared parse_cluster(const Request& request) {
  auto text = parse_body(request);
  const auto declared = take_jobs(text);
  auto body = json::decode<wire::ClusterBody>(boost::json::value(std::move(text)));
  if (body.cluster.name != request.param("name"))
    throw Error(Code::invalid, "the cluster's name does not match the path");
  refuse_problems(host::problems(host::cluster_spec(body.cluster)),
                  fmt::format("cluster '{}' is not valid", body.cluster.name));
  Declared out;
  out.files = valid_files(body);
  out.cluster.cluster = body.cluster;
  out.cluster.namespaces = std::move(body.namespaces);
  for (const auto& entry : declared) out.cluster.jobs.push_back(declared_job(request, entry));
  std::vector<const model::Job*> jobs;
  for (const auto& entry : out.cluster.jobs) jobs.push_back(&entry.job);
  refuse_configs(jobs);
  for (const auto* job : jobs) {
    for (auto& protection : saving::protections_of(*job)) out.protections.push_back(std::move(protection));
  }
  return out;
}

awaitable<Declared> declared_by(Api& api, const Request& request) {
  auto read = [&request] { return parse_cluster(request); };
  co_return co_await computed(api, request, "reading the cluster", read);
}

/// What is declared, as a request. `dry`: it is only planned.
awaitable<ApplyDirectory> wanted_by(Api& api, server::ApplyCluster cluster, std::vector<model::FileDeclaration> files,
                                    bool dry) {
  ApplyDirectory wanted;
  if (api.files != nullptr) {
    wanted.files = co_await api.files->prepare_put(cluster.cluster.name, std::move(files), true, dry);
    wanted.files->coming = true;
  }
  wanted.cluster = co_await api.server.completed(std::move(cluster));
  co_return wanted;
}

std::vector<std::string> file_changes(const model::FilesPut& put) {
  std::vector<std::string> out;
  for (const auto& name : put.added) out.push_back(fmt::format("file {}: added", name));
  for (const auto& name : put.changed) out.push_back(fmt::format("file {}: changed", name));
  for (const auto& name : put.removed) out.push_back(fmt::format("file {}: not synchronised any more", name));
  return out;
}

/// "namespace default: RawExecAsRoot: false -> true", for plans and the audit log.
std::vector<std::string> namespace_changes(const tables::Tables& tables, const std::vector<model::Namespace>& wanted) {
  std::vector<std::string> out;
  for (const auto& ns : wanted) {
    const auto current = server::find_namespace(tables, ns.name);
    if (current && server::same_namespace(*current, ns)) continue;
    const auto before = current ? std::optional(json::to_value(*current)) : std::nullopt;
    for (const auto& line : differences(before, json::to_value(ns)))
      out.push_back(fmt::format("namespace {}: {}", ns.name, line));
  }
  return out;
}

awaitable<Response> apply_cluster(Api& api, Request request) {
  auto declared = co_await declared_by(api, request);
  const auto& cluster = declared.cluster;
  if (!declared.files.empty()) request.require(right::management());
  for (const auto& entry : cluster.jobs) request.require(right::ns(Capability::register_job), entry.job.ns);
  if (!cluster.namespaces.empty()) request.require(right::management());
  for (const auto& line : namespace_changes(api.server.writer().tables(), cluster.namespaces)) request.tell(line);
  auto wanted = co_await wanted_by(api, std::move(declared.cluster), std::move(declared.files), false);
  const auto done = co_await apply(api, request, std::move(wanted));
  for (const auto& line : file_changes(done.files)) request.tell(line);
  boost::json::array registered, stopped;
  for (const auto& id : done.cluster.registered) registered.emplace_back(id);
  for (const auto& id : done.cluster.stopped) stopped.emplace_back(id);
  for (const auto& id : done.cluster.registered) request.tell("registered job " + id);
  for (const auto& id : done.cluster.stopped) request.tell("stopped job " + id);
  co_return http::json(boost::json::serialize(boost::json::object{
      {"Registered", std::move(registered)}, {"Stopped", std::move(stopped)}, {"Index", done.cluster.revision}}));
}

void add_to(std::vector<wire::Shortfall>& list, std::optional<wire::Shortfall> shortfall) {
  if (shortfall) list.push_back(*std::move(shortfall));
}

/// Every job is planned against the cluster as it stands, by itself.
awaitable<Response> plan_cluster(Api& api, Request request) {
  auto body = co_await declared_by(api, request);
  auto& wanted = body.cluster;
  for (const auto& entry : wanted.jobs) request.require(right::ns(Capability::plan_job), entry.job.ns);
  wire::ClusterPlan plan;
  const auto whole = wanted;
  for (auto& entry : wanted.jobs) {
    entry.job.cluster = wanted.cluster.name;
    const std::string id = entry.job.id;
    const auto job_plan = co_await api.server.plan_job(std::move(entry.job), wanted.namespaces);
    if (job_plan.current && server::same_specification(*job_plan.current, job_plan.proposed)) {
      plan.unchanged.push_back(id);
      add_to(plan.shortfalls, shortfall_of(api.server.writer().tables(), *job_plan.current, api.clock.now()));
    } else {
      plan.jobs.push_back(describe_plan(job_plan));
      plan.jobs.back().impact = impact_of(api, job_plan);
      plan.jobs.back().prospects = prospects_of(api.server.writer().tables(), job_plan);
      add_to(plan.shortfalls, failed_before(api.server.writer().tables(), job_plan.proposed));
    }
    entry.job = job_plan.proposed;
  }
  const auto directory = co_await wanted_by(api, whole, std::move(body.files), true);
  const auto* tables = co_await api.server.read();
  const auto current = tables->find_cluster(wanted.cluster.name);
  plan.cluster = model::diff(current && !current->stop ? current.get() : nullptr, &wanted.cluster);
  auto decided = api.server.preview(directory);
  plan.stopped = std::move(decided.result.cluster.stopped);
  plan.namespaces = namespace_changes(*tables, wanted.namespaces);
  plan.files = file_changes(decided.result.files);
  plan.impact = judged(api, *tables, decided.changes);
  plan.protections = std::move(body.protections);
  saving::look_for_nodes(plan.protections, api.server.writer().tables(), &whole.cluster);
  plan.changes = !plan.namespaces.empty() || !plan.files.empty() || !plan.jobs.empty() || !plan.stopped.empty() ||
                 plan.cluster.object.type != model::DiffType::none;
  co_return http::json(json::encode(plan));
}

awaitable<Response> stop_cluster(Api& api, Request request) {
  server::StopCluster wanted{request.param("name")};
  co_await apply(api, request, std::move(wanted));
  co_return http::json("{}");
}

}  // namespace

void add_cluster_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/underway/clusters", "list clusters", right::node(Level::read), with(list_clusters));
  routes.add("GET", "/v1/underway/cluster/:name", "read cluster", right::node(Level::read), with(read_cluster));
  routes.add("PUT|POST", "/v1/underway/cluster/:name", "apply cluster", right::operators(Level::write),
             with(apply_cluster), {.body_limit = kClusterBodyLimit});
  routes.add("DELETE", "/v1/underway/cluster/:name", "take cluster down", right::operators(Level::write),
             with(stop_cluster));
  routes.add("PUT|POST", "/v1/underway/cluster/:name/plan", "plan cluster", right::operators(Level::read),
             with(plan_cluster), {.body_limit = kClusterBodyLimit, .effect = Effect::reads});
}

}  // namespace underway::api

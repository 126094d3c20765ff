#include "server/access/namespace_decisions.hpp"

#include "base/text.hpp"
#include "server/access/quota_decisions.hpp"

namespace underway::server {

using model::Namespace;

namespace {

std::vector<std::string> unfinished_jobs(const Tables& tables, const std::string& ns) {
  std::vector<std::string> out;
  for (const auto& job : tables.jobs(ns)) {
    if (job->status != model::JobStatus::dead) out.push_back(job->id);
  }
  return out;
}

}  // namespace

std::optional<Namespace> find_namespace(const Tables& tables, const std::string& name) {
  if (const auto row = tables.find<Namespace>(name)) return *row;
  if (name != model::kDefaultNamespace) return std::nullopt;
  Namespace ns;
  ns.name = name;
  ns.description = "Default shared namespace";
  ns.create_index = ns.modify_index = 1;
  return ns;
}

std::vector<Namespace> namespaces(const Tables& tables) {
  std::vector<Namespace> out;
  for (const auto& row : tables.rows<Namespace>()) out.push_back(*row);
  if (!tables.find<Namespace>(model::kDefaultNamespace)) {
    auto standard = *find_namespace(tables, model::kDefaultNamespace);
    const auto before = [](const Namespace& a, const Namespace& b) { return a.name < b.name; };
    out.insert(std::lower_bound(out.begin(), out.end(), standard, before), std::move(standard));
  }
  return out;
}

bool same_namespace(const Namespace& a, const Namespace& b) {
  const auto stripped = [](Namespace ns) {
    ns.create_index = ns.modify_index = 0;
    return ns;
  };
  return describe::equal(stripped(a), stripped(b));
}

Decision<Nothing> decide(const Tables& tables, const PutNamespace& request, const Context& context) {
  const auto& ns = request.ns;
  if (const auto problems = model::problems(ns); !problems.empty()) {
    throw Error(Code::invalid, fmt::format("namespace '{}' is not valid", ns.name)).because(problems);
  }
  check_quota_of(tables, ns);
  Decision<Nothing> decision;
  const auto current = tables.find<Namespace>(ns.name);
  if (current && same_namespace(*current, ns)) return decision;
  if (current && current->quota != ns.quota) unblock_quota(decision.changes, tables, current->quota, context);
  decision.changes.push_back(tables::PutNamespace{ns});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteNamespace& request, const Context&) {
  const auto& name = request.name;
  if (name == model::kDefaultNamespace) throw Error(Code::conflict, "default namespace can not be deleted");
  if (!tables.find<Namespace>(name)) throw Error(Code::not_found, "Namespace not found");
  if (const auto jobs = unfinished_jobs(tables, name); !jobs.empty()) {
    throw Error(Code::conflict, fmt::format("namespace '{}' has jobs that are not over", name))
        .because(join(std::span(jobs).first(std::min<std::size_t>(jobs.size(), 10)), ", "))
        .advise(fmt::format("stop them first: `underway job stop -namespace {} {}`", name, jobs.front()));
  }
  Decision<Nothing> decision;
  decision.changes.push_back(tables::DeleteNamespace{name});
  return decision;
}

void refuse_by_namespace(const Tables& tables, const model::Job& job, const std::vector<Namespace>& coming,
                         const Context& context) {
  auto ns = find_namespace(tables, job.ns);
  for (const auto& declared : coming) {
    if (declared.name == job.ns) ns = declared;
  }
  if (!ns) {
    throw Error(Code::invalid, fmt::format("job \"{}\" is in nonexistent namespace \"{}\"", job.id, job.ns))
        .advise(fmt::format("make it with `underway namespace apply {}`", job.ns));
  }
  const auto refusals = model::refusals(*ns, job, context.root_by_raw_exec);
  if (refusals.empty()) return;
  throw Error(Code::denied, fmt::format("namespace '{}' does not allow job '{}'", ns->name, job.id)).because(refusals);
}

void refuse_machines_by_namespace(const Tables& tables, const model::Cluster& cluster,
                                  const std::vector<Namespace>& coming, const Context& context) {
  for (const auto& pool : cluster.pools) {
    if (!pool.machine) continue;
    model::Job job;
    job.id = model::pool_job_id(cluster.name, pool.name);
    job.groups.push_back({.name = pool.name});
    job.groups[0].tasks.push_back({.name = "machine", .driver = "qemu"});
    refuse_by_namespace(tables, job, coming, context);
  }
  for (const auto& set : cluster.machines) {
    model::Job job;
    job.id = model::slurm_machines_job_id(cluster.name, "…");
    job.groups.push_back({.name = set.name});
    job.groups[0].tasks.push_back({.name = "network", .driver = "raw_exec", .user = "root"});
    job.groups[0].tasks.push_back({.name = "m1", .driver = "qemu"});
    refuse_by_namespace(tables, job, coming, context);
  }
}

}  // namespace underway::server

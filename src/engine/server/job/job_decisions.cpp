#include "server/job/job_decisions.hpp"

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/validate/validate.hpp"
#include "scheduler/reconcile/update.hpp"
#include "scheduler/schedule.hpp"
#include "server/access/namespace_decisions.hpp"
#include "server/job/scaling_decisions.hpp"
#include "server/job/start_decisions.hpp"

namespace underway::server {

using model::EvalTrigger;
using model::Job;

void refuse_priority(std::int64_t priority) {
  const std::int64_t most = model::ValidateOptions{}.max_priority;
  if (priority < 1 || priority > most)
    throw Error(Code::invalid, fmt::format("priority {} is not between 1 and {}", priority, most));
}

model::Evaluation new_evaluation(const Job& job, EvalTrigger trigger, const Context& context) {
  model::Evaluation evaluation;
  evaluation.id = context.ids.uuid();
  evaluation.ns = job.ns;
  evaluation.job_id = job.id;
  evaluation.type = job.type;
  evaluation.priority = job.priority;
  evaluation.triggered_by = trigger;
  evaluation.job_modify_index = job.job_modify_index;
  evaluation.create_time = evaluation.modify_time = unix_nanos(context.now);
  return evaluation;
}

bool same_specification(const Job& a, const Job& b) {
  const auto stripped = [](Job job) {
    job.stop = false;
    job.status = {};
    job.status_description.clear();
    job.version = 0;
    job.stable = false;
    job.submit_time = 0;
    job.version_tag.reset();
    for (auto& group : job.groups) {  // ids of policies are computed
      if (group.scaling) group.scaling->id.clear();
      for (auto& task : group.tasks) {
        for (auto& scaling : task.scaling) scaling.id.clear();
      }
    }
    job.create_index = job.modify_index = job.job_modify_index = 0;
    return job;
  };
  return describe::equal(stripped(a), stripped(b));
}

model::JobStatus job_status(const Tables& tables, const Job& job) {
  const auto& allocations = tables.allocations_of_job(job.ns, job.id);
  const bool live =
      std::any_of(allocations.begin(), allocations.end(), [](const auto& a) { return !a->client_terminal(); });
  const auto evaluations = tables.evaluations_of_job(job.ns, job.id);
  const bool open = std::any_of(evaluations.begin(), evaluations.end(), [](const auto& e) { return !e->terminal(); });
  return scheduler::status_of(&job, live, open, !allocations.empty());
}

namespace {

/// Depth first from `at`; when it is true, `path` ends in the job that it has met before.
bool find_cycle(const std::function<const Job*(const std::string&)>& find, const std::string& at,
                std::vector<std::string>& path, std::set<std::string>& done) {
  const bool met = std::find(path.begin(), path.end(), at) != path.end();
  path.push_back(at);
  if (met) return true;
  const Job* job = done.contains(at) ? nullptr : find(at);
  const auto follow = [&](const std::vector<model::Dependency>& dependencies) {
    return std::any_of(dependencies.begin(), dependencies.end(),
                       [&](const auto& dependency) { return find_cycle(find, dependency.job, path, done); });
  };
  if (job != nullptr) {
    if (follow(job->depends_on)) return true;
    for (const auto& group : job->groups) {
      if (follow(group.depends_on)) return true;
    }
  }
  done.insert(at);
  path.pop_back();
  return false;
}

void refuse_problems(const Job& job) {
  const auto problems = model::validate(job);
  if (problems.empty()) return;
  Error error(Code::invalid, fmt::format("job '{}' is not valid", job.id));
  for (const auto& problem : problems) error.because(problem.text());
  throw error;
}

void refuse_cycle(const Tables& tables, const std::vector<const Job*>& coming) {
  std::set<std::string> namespaces;
  for (const Job* job : coming) namespaces.insert(job->ns);
  for (const auto& ns : namespaces) {
    if (const auto cycle = dependency_cycle(tables, coming, ns)) {
      throw Error(Code::invalid, "the dependencies of the jobs form a cycle")
          .because(*cycle)
          .advise("remove one of the depends_on blocks");
    }
  }
}

/// PreserveCounts and PreserveResources.
void keep_what_stands(RegisterJob& request, const Job& current) {
  for (auto& group : request.job.groups) {
    const auto* before = current.find_group(group.name);
    if (before == nullptr) continue;
    if (request.preserve_counts) group.count = before->count;
    for (auto& task : group.tasks) {
      const auto* known = before->find_task(task.name);
      if (request.preserve_resources && known != nullptr) task.resources = known->resources;
    }
  }
}

/// In Nomad's words: its clients look for them.
void refuse_other_index(const Job* current, model::Revision wanted) {
  const model::Revision have = current != nullptr ? current->job_modify_index : 0;
  if (have == wanted) return;
  throw Error(Code::conflict, fmt::format("Enforcing job modify index {}", wanted))
      .because(wanted == 0 ? "job already exists"
               : have == 0 ? "job does not exist"
                           : fmt::format("job exists with conflicting job modify index: {}", have));
}

/// In Nomad's words.
void refuse_other_start(const Job& current, const Job& job) {
  const auto refuse = [&](bool is, bool shall_be, std::string_view what) {
    if (is == shall_be) return;
    throw Error(Code::invalid, shall_be ? fmt::format("cannot update non-{0} job to being {0}", what)
                                        : fmt::format("cannot update {0} job to being non-{0}", what))
        .advise(fmt::format("stop it first with `underway job stop {}`", job.id));
  };
  refuse(current.periodic.has_value(), job.periodic.has_value(), "periodic");
  refuse(current.parameterized.has_value(), job.parameterized.has_value(), "parameterized");
}

}  // namespace

std::optional<Job> next_version(const Tables& tables, Job job, const Context& context, bool stopped) {
  const auto current = tables.find_job(job.ns, job.id);
  job.stop = stopped;
  job.stable = false;
  job.status = stopped ? model::JobStatus::dead : model::JobStatus::pending;
  job.status_description.clear();
  job.version = 0;
  job.version_tag.reset();  // it names one version
  job.submit_time = unix_nanos(context.now);
  job.job_modify_index = context.revision;
  if (current) {
    if (current->stop == stopped && same_specification(*current, job)) return std::nullopt;
    if (current->type != job.type && !current->stop) {
      throw Error(Code::invalid, fmt::format("job '{}' cannot change its type from {} to {}", job.id,
                                             describe::spell(current->type), describe::spell(job.type)))
          .advise(fmt::format("stop it first with `underway job stop {}`", job.id));
    }
    if (!current->stop) refuse_other_start(*current, job);
    job.version = current->version + 1;
    if (!stopped || !current->stop) job.status = current->status;
  }
  return job;
}

Registered register_into(std::vector<Change>& changes, const Tables& tables, const RegisterJob& request,
                         const Context& context) {
  Registered result;
  auto job = next_version(tables, request.job, context, request.stopped);
  const auto current = tables.find_job(request.job.ns, request.job.id);
  const Job& standing = job ? *job : *current;
  result.job_modify_index = standing.job_modify_index;
  std::optional<model::Evaluation> evaluation;
  if (!standing.starts_others()) evaluation = new_evaluation(standing, EvalTrigger::job_register, context);
  if (evaluation) {
    result.eval_id = evaluation->id;
    evaluation->priority = request.eval_priority.value_or(evaluation->priority);
  }
  if (job) {
    note_clock(changes, tables, *job, context);
    changes.push_back(tables::PutJob{std::move(*job), request.submission});
  }
  if (evaluation) changes.push_back(tables::PutEvaluation{std::move(*evaluation)});
  return result;
}

namespace {

void stop_into(std::vector<Change>& changes, const Tables& tables, const Job& current, EvalTrigger trigger,
               const Context& context, std::string* eval_id) {
  Job job = current;
  job.stop = true;
  job.submit_time = unix_nanos(context.now);  // from here on it counts how long a job that is over is kept
  job.job_modify_index = context.revision;
  note_clock(changes, tables, job, context);
  auto evaluation = new_evaluation(job, trigger, context);
  if (eval_id != nullptr) *eval_id = evaluation.id;
  changes.push_back(tables::PutJob{std::move(job), std::nullopt});
  changes.push_back(tables::PutEvaluation{std::move(evaluation)});
}

}  // namespace

void forget_job(std::vector<Change>& changes, const std::string& ns, const std::string& id) {
  changes.push_back(tables::DeleteJob{ns, id});
  changes.push_back(tables::delete_record<model::ScalingEvents>(ns + "/" + id));
}

namespace {

tables::Row<Job> get_job(const Tables& tables, const std::string& ns, const std::string& id) {
  auto job = tables.find_job(ns, id);
  if (!job) throw Error(Code::not_found, "job not found").because(fmt::format("no job '{}' in namespace '{}'", id, ns));
  return job;
}

/// Who declared it: itself, or the job that started it, or that one's.
std::pair<std::string, std::string> origin_of(const Tables& tables, const Job& job) {
  const auto parent =
      job.parent_id.empty() || job.parent_id == job.id ? nullptr : tables.find_job(job.ns, job.parent_id);
  const bool older = parent && parent->id.size() < job.id.size();  // whatever a client wrote there: it ends
  return older ? origin_of(tables, *parent) : std::pair(job.ns, job.id);
}

}  // namespace

std::optional<std::string> dependency_cycle(const Tables& tables, const std::vector<const Job*>& coming,
                                            const std::string& ns) {
  const auto find = [&](const std::string& id) -> const Job* {
    for (const Job* job : coming) {
      if (job->ns == ns && job->id == id) return job;
    }
    const auto row = tables.find_job(ns, id);
    return row && !row->stop ? row.get() : nullptr;  // alive: the tables hold it while a decision runs
  };
  std::set<std::string> done;
  for (const Job* job : coming) {
    std::vector<std::string> path;
    if (job->ns != ns || !find_cycle(find, job->id, path, done)) continue;
    const auto start = std::find(path.begin(), path.end() - 1, path.back());
    return join(std::vector<std::string>(start, path.end()), " → ");
  }
  return std::nullopt;
}

Decision<Registered> decide(const Tables& tables, const RegisterJob& request, const Context& context) {
  refuse_problems(request.job);
  refuse_by_namespace(tables, request.job, request.coming, context);
  refuse_cycle(tables, {&request.job});
  const auto current = tables.find_job(request.job.ns, request.job.id);
  if (request.eval_priority) refuse_priority(*request.eval_priority);
  if (request.enforce_index) refuse_other_index(current.get(), *request.enforce_index);
  // Only the cluster's directory makes a job its own, or lets it go.
  RegisterJob standing = request;
  if (current && !current->stop) keep_what_stands(standing, *current);
  standing.job.cluster = current && !current->stop ? current->cluster : std::string();
  Decision<Registered> decision;
  decision.result = register_into(decision.changes, tables, standing, context);
  return decision;
}

namespace {

void skip_shutdown_delays(std::vector<Change>& changes, const Tables& tables, const Job& job, const Context& context) {
  for (const auto& allocation : tables.allocations_of_job(job.ns, job.id)) {
    if (allocation->client_terminal() || allocation->transition.no_shutdown_delay) continue;
    model::Allocation row = *allocation;
    row.transition.no_shutdown_delay = true;
    row.modify_time = unix_nanos(context.now);
    row.alloc_modify_index = context.revision;
    changes.push_back(tables::PutAllocation{std::move(row)});
  }
}

}  // namespace

Decision<Registered> decide(const Tables& tables, const DeregisterJob& request, const Context& context) {
  if (request.eval_priority) refuse_priority(*request.eval_priority);
  Decision<Registered> decision;
  const auto current = tables.find_job(request.ns, request.id);
  if (!current) return decision;
  stop_into(decision.changes, tables, *current, EvalTrigger::job_deregister, context, &decision.result.eval_id);
  if (request.eval_priority)
    std::get<tables::PutEvaluation>(decision.changes.back()).evaluation.priority = *request.eval_priority;
  decision.result.job_modify_index = context.revision;
  if (request.no_shutdown_delay) skip_shutdown_delays(decision.changes, tables, *current, context);
  if (request.purge) forget_job(decision.changes, request.ns, request.id);
  return decision;
}

namespace {

/// Its end is left as it is: delays of those that follow it are counted from there.
void force_rescheduling(std::vector<Change>& changes, const Tables& tables, const Job& job, const Context& context) {
  for (const auto& allocation : tables.allocations_of_job(job.ns, job.id)) {
    const bool waits = allocation->client_status == model::ClientStatus::failed && !allocation->server_terminal() &&
                       allocation->next_allocation.empty();
    if (!waits || allocation->transition.reschedule) continue;
    model::Allocation row = *allocation;
    row.transition.reschedule = true;
    row.alloc_modify_index = context.revision;
    changes.push_back(tables::PutAllocation{std::move(row)});
  }
}

}  // namespace

Decision<Registered> decide(const Tables& tables, const EvaluateJob& request, const Context& context) {
  const auto job = get_job(tables, request.ns, request.id);
  if (job->starts_others())
    throw Error(Code::invalid, fmt::format("can't evaluate {} job", job->periodic ? "periodic" : "parameterized"));
  auto evaluation = new_evaluation(*job, EvalTrigger::job_register, context);
  Decision<Registered> decision;
  decision.result = {evaluation.id, job->job_modify_index, {}};
  if (request.force_reschedule) force_rescheduling(decision.changes, tables, *job, context);
  decision.changes.push_back(tables::PutEvaluation{std::move(evaluation)});
  return decision;
}

Decision<AppliedCluster> decide(const Tables& tables, const ApplyCluster& request, const Context& context) {
  Error error(Code::invalid, fmt::format("cluster '{}' cannot be applied", request.cluster.name));
  error.because(model::problems(request.cluster));
  std::vector<const Job*> coming;
  std::set<std::pair<std::string, std::string>> declared;
  for (const auto& entry : request.jobs) {
    coming.push_back(&entry.job);
    if (!declared.emplace(entry.job.ns, entry.job.id).second)
      error.because(fmt::format("job '{}' is declared twice", entry.job.id));
    for (const auto& problem : model::validate(entry.job))
      error.because(fmt::format("job '{}': {}", entry.job.id, problem.text()));
    const auto current = tables.find_job(entry.job.ns, entry.job.id);
    if (current && !current->stop && !current->cluster.empty() && current->cluster != request.cluster.name) {
      error.because(fmt::format("job '{}' belongs to cluster '{}'", entry.job.id, current->cluster));
    }
  }
  for (const auto& ns : request.namespaces) error.because(model::problems(ns));
  if (!error.reasons().empty()) throw error;
  for (const Job* job : coming) refuse_by_namespace(tables, *job, request.namespaces, context);
  refuse_machines_by_namespace(tables, request.cluster, request.namespaces, context);
  refuse_cycle(tables, coming);

  Decision<AppliedCluster> decision;
  for (const auto& ns : request.namespaces) {
    for (auto& change : decide(tables, PutNamespace{ns}, context).changes)
      decision.changes.push_back(std::move(change));
  }
  model::Cluster cluster = request.cluster;
  cluster.stop = false;
  cluster.jobs.clear();
  for (auto entry : request.jobs) {
    entry.job.cluster = cluster.name;
    cluster.jobs.push_back(entry.job.id);
    const auto current = tables.find_job(entry.job.ns, entry.job.id);
    if (current && !current->stop && same_specification(*current, entry.job)) continue;
    register_into(decision.changes, tables, entry, context);
    decision.result.registered.push_back(entry.job.id);
  }
  for (const auto& job : tables.jobs()) {
    if (job->cluster != cluster.name || job->stop || declared.contains(origin_of(tables, *job))) continue;
    stop_into(decision.changes, tables, *job, EvalTrigger::job_deregister, context, nullptr);
    decision.result.stopped.push_back(job->id);
  }
  for (const auto& secret : request.secrets) {
    auto made = decide(tables, secret, context);
    std::move(made.changes.begin(), made.changes.end(), std::back_inserter(decision.changes));
  }
  decision.changes.insert(decision.changes.begin(), tables::PutCluster{std::move(cluster)});
  decision.result.revision = context.revision;
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const StopCluster& request, const Context& context) {
  const auto& name = request.name;
  const auto current = tables.find_cluster(name);
  if (!current) throw Error(Code::not_found, fmt::format("cluster '{}' does not exist", name));
  Decision<Nothing> decision;
  model::Cluster cluster = *current;
  cluster.stop = true;
  decision.changes.push_back(tables::PutCluster{std::move(cluster)});
  for (const auto& job : tables.jobs()) {
    if (job->cluster == name && !job->stop)
      stop_into(decision.changes, tables, *job, EvalTrigger::job_deregister, context, nullptr);
  }
  return decision;
}

}  // namespace underway::server

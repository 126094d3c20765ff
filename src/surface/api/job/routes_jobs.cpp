// Jobs: list, register, parse, validate, read, stop, submission, allocations, evaluations, summary.
#include "api/cluster/change_note.hpp"
#include "api/job/config_refusal.hpp"
#include "api/job/job_warnings.hpp"
#include "api/job/service_provider.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "drivers/config_problems.hpp"
#include "jobspec/jobspec.hpp"
#include "model/job/spelled_policies.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

Scope job_scope(const Request& request) { return {Topic::jobs, namespace_of(request) + "/" + request.param("id")}; }
Scope scope_of_job(Topic topic, const Request& request) {
  return {topic, "job:" + namespace_of(request) + "/" + request.param("id")};
}

std::int64_t integer_member(const boost::json::object& object, const char* key, std::int64_t otherwise) {
  const auto* value = json::find_member(object, key);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

/// A filter looks at the whole job, as far as its caller may: what a job holds may be secret, and an expression that
/// matches tells of it.
awaitable<Response> list_jobs(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  const bool meta = request.query.flag("meta");
  const std::string ns = namespace_of(request);
  std::vector<Scope> scopes{{Topic::jobs, ""}, {Topic::allocations, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (const auto& job : tables.jobs(ns, prefix)) {
      if (!shown(job->ns)) continue;
      const bool whole = request.may(job->ns, Capability::read_job);
      items.push_back({job->ns + "." + job->id,
                       [&tables, job, meta] {
                         auto row = stub(tables, *job);
                         if (meta) row.meta = job->meta;
                         return nomad_json(row);
                       },
                       whole ? filter::datum_of(*job) : filter::Datum{}});
    }
    return items;
  });
}

/// Nomad's JobRegisterResponse.
std::string registered_json(const server::Registered& registered, model::Revision index) {
  return boost::json::serialize(boost::json::object{{"EvalID", registered.eval_id},
                                                    {"EvalCreateIndex", registered.eval_id.empty() ? 0 : index},
                                                    {"JobModifyIndex", registered.job_modify_index},
                                                    {"Warnings", join(registered.warnings, "\n")},
                                                    {"Index", index},
                                                    {"LastContact", 0},
                                                    {"KnownLeader", true},
                                                    {"NextToken", ""}});
}

awaitable<Response> registered(Api& api, const server::Registered& done) {
  const auto* tables = co_await api.server.read();
  const auto evaluation = tables->find_evaluation(done.eval_id);
  const model::Revision index = evaluation ? evaluation->create_index : tables->revision();
  co_return written(registered_json(done, index), index);
}

const boost::json::value& job_in(const boost::json::object& body) {
  const auto* job = json::find_member(body, "Job");
  if (job == nullptr || !job->is_object()) throw Error(Code::invalid, "Job must be specified");
  return *job;
}

server::RegisterJob registration_of(const Request& request, const boost::json::object& body) {
  server::RegisterJob out;
  out.job = job_of(request, body);
  out.stopped = out.job.stop;
  if (const auto* submission = json::find_member(body, "Submission");
      submission != nullptr && submission->is_object()) {
    out.submission = json::decode<model::JobSubmission>(*submission, "Submission");
  }
  if (json::flag_member(body, "EnforceIndex")) out.enforce_index = integer_member(body, "JobModifyIndex", 0);
  out.preserve_counts = json::flag_member(body, "PreserveCounts");
  out.preserve_resources = json::flag_member(body, "PreserveResources");
  if (const auto priority = integer_member(body, "EvalPriority", 0); priority != 0) out.eval_priority = priority;
  return out;
}

awaitable<Response> register_job(Api& api, Request request) {
  auto read = [&request] { return registration_of(request, parse_body(request)); };
  auto registration = co_await computed(api, request, "reading the job", read);
  if (const auto& params = request.params; !params.empty() && request.param("id") != registration.job.id) {
    throw Error(Code::invalid, "Job ID does not match name");
  }
  request.require(right::ns(Capability::register_job), registration.job.ns);
  if (!registration.stopped) refuse_configs({&registration.job});
  Scope subject{Topic::jobs, registration.job.ns + "/" + registration.job.id};
  co_await request.about(std::move(subject));
  const auto done = co_await apply(api, request, std::move(registration));
  co_return co_await registered(api, done);
}

Response parsed_job(const Request& request) {
  const auto body = parse_body(request);
  const auto* source = json::find_member(body, "JobHCL");
  if (source == nullptr || !source->is_string() || source->get_string().empty())
    throw Error(Code::invalid, "Job spec is empty");
  jobspec::Inputs inputs;
  if (const auto* variables = json::find_member(body, "Variables");
      variables != nullptr && variables->is_string() && !variables->get_string().empty()) {
    inputs.variable_files.push_back({"Variables", std::string(std::string_view(variables->get_string()))});
  }
  const auto* wanted = json::find_member(body, "Canonicalize");
  const bool canonicalize = wanted != nullptr && wanted->is_bool() && wanted->get_bool();
  inputs.canonicalize = canonicalize;
  inputs.validate = false;  // a job may be read before it is whole: registering and validating look at what it means
  auto result = jobspec::parse_job(std::string(std::string_view(source->get_string())), "job.hcl", inputs);
  if (result.job && result.job->name.empty()) result.job->name = result.job->id;  // clients read it unasked
  if (!result.job) throw result.diagnostics.to_error("the job file cannot be read");
  // What the file does not say is not told: whoever registers it may say it, by the namespace of his request, say. What
  // it says is, even where it says the default.
  return http::json(canonicalize ? json::encode(model::with_policies(*result.job))
                                 : jobspec::encode_given(*result.job, result.given));
}

awaitable<Response> parse_job(Api& api, Request request) {
  auto parse = [&request] { return parsed_job(request); };
  co_return co_await computed(api, request, "parsing the job", parse);
}

/// What is wrong with a job; its namespace when it could be read so far.
struct Validated {
  std::optional<std::string> ns;
  std::vector<std::string> problems;
  std::vector<jobspec::TemplateWarning> warnings;
};

/// A name may be a megabyte, and stands in each of its problems.
std::string brief(std::string problem) {
  std::size_t cut = 1024;
  if (problem.size() <= cut) return problem;
  while (cut > 0 && (static_cast<unsigned char>(problem[cut]) & 0xc0) == 0x80) --cut;  // not within a character
  return problem.substr(0, cut) + "…";
}

Validated validated_job(const Request& request) {
  Validated out;
  const auto body = parse_body(request);
  job_in(body);
  try {
    const auto registration = registration_of(request, body);
    out.ns = registration.job.ns;
    const model::ValidateOptions options{.check_constraint = {}, .check_config = &drivers::config_problems};
    for (const auto& problem : model::validate(registration.job, options)) out.problems.push_back(problem.text());
    out.warnings = jobspec::template_warnings(registration.job);
  } catch (const Error& error) {
    if (error.code() == Code::too_large) throw;
    out.problems = error.reasons();
    if (out.problems.empty()) out.problems.push_back(error.one_line());
  }
  for (auto& problem : out.problems) problem = brief(std::move(problem));
  return out;
}

awaitable<Response> validate_job(Api& api, Request request) {
  auto validate = [&request] { return validated_job(request); };
  const auto validated = co_await computed(api, request, "validating the job", validate);
  if (validated.ns) request.require(right::ns(Capability::read_job), *validated.ns);
  const std::string warnings = job_warnings(validated.warnings, api.server.writer().tables());
  boost::json::value problems;  // null when there are none
  if (!validated.problems.empty()) problems = boost::json::array(validated.problems.begin(), validated.problems.end());
  co_return http::json(boost::json::serialize(boost::json::object{{"DriverConfigValidated", true},
                                                                  {"ValidationErrors", std::move(problems)},
                                                                  {"Error", join(validated.problems, "\n")},
                                                                  {"Warnings", warnings}}));
}

awaitable<Response> read_job(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{job_scope(request)};
  const Gathering gather = [&](const tables::Tables& tables) {
    return [job = get_job(tables, request, id)] { return nomad_json(model::with_policies(*job)); };
  };
  co_return co_await answer_made(api, request, std::move(scopes), gather);
}

awaitable<Response> stop_job(Api& api, Request request) {
  server::DeregisterJob stop{namespace_of(request), request.param("id"), request.query.flag("purge"),
                             request.query.flag("no_shutdown_delay")};
  if (const auto priority = integer_parameter(request, "eval_priority", 0); priority != 0)
    stop.eval_priority = priority;
  if (stop.purge) request.require(right::ns(Capability::purge_job), stop.ns);
  const auto stopped = co_await apply(api, request, std::move(stop));
  Response response = co_await registered(api, stopped);
  auto body = json::parse(response.body).as_object();
  body.erase("Warnings");
  body["VolumeEvalID"] = "";  // of CSI's volumes, which are let go of then
  body["VolumeEvalIndex"] = 0;
  response.body = boost::json::serialize(body);
  co_return response;
}

awaitable<Response> job_submission(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id"),
                    wanted = request.query.find("version").value_or("");
  std::vector<Scope> scopes{job_scope(request)};
  const Gathering gather = [&](const tables::Tables& tables) -> std::function<std::string()> {
    for (const auto& version : tables.job_versions(ns, id)) {
      if (!wanted.empty() && std::to_string(version->job.version) != wanted) continue;
      if (version->submission.source.empty()) break;  // it was registered without one
      return [version] { return nomad_json(version->submission); };
    }
    throw Error(Code::not_found, "job source not found");
  };
  co_return co_await answer_made(api, request, std::move(scopes), gather);
}

/// `all`: also those of a job of that name that was there before, and purged.
awaitable<Response> job_allocations(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  const bool all = request.query.flag("all");
  std::vector<Scope> scopes{scope_of_job(Topic::allocations, request)};
  const auto list = [&](const tables::Tables& tables) {
    const auto job = tables.find_job(ns, id);
    std::vector<Item> items;
    for (const auto& row : tables.allocations_of_job(ns, id)) {
      if (!all && job && row->create_index < job->create_index) continue;
      items.push_back({row->id, [&tables, row] { return nomad_json(stub(tables, *row)); }, {}, row->create_index});
    }
    return items;
  };
  co_return co_await answer_list(api, request, std::move(scopes), list, kNothingYet);
}

awaitable<Response> job_evaluations(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  std::vector<Scope> scopes{scope_of_job(Topic::evaluations, request)};
  const auto list = [&](const tables::Tables& tables) {
    return json_list(tables.evaluations_of_job(ns, id), [](const auto& evaluation) { return nomad_json(*evaluation); });
  };
  co_return co_await answer_read(api, request, std::move(scopes), list, kNothingYet);
}

awaitable<Response> job_summary(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{job_scope(request), scope_of_job(Topic::allocations, request)};
  // Of one that starts others its children are the news.
  const auto* before = co_await api.server.read();
  if (const auto job = before->find_job(namespace_of(request), id); job && job->starts_others())
    scopes.push_back({Topic::jobs, ""});
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return nomad_json(summarize(tables, *get_job(tables, request, id)));
  });
}

/// An empty body is fine.
awaitable<Response> evaluate_job(Api& api, Request request) {
  server::EvaluateJob evaluate{namespace_of(request), request.param("id")};
  if (!request.body.empty()) {
    const auto body = parse_body(request);
    const auto* options = json::find_member(body, "EvalOptions");
    evaluate.force_reschedule =
        options != nullptr && options->is_object() && json::flag_member(options->get_object(), "ForceReschedule");
  }
  request.tell(evaluate.force_reschedule ? "evaluated again, and what has failed rescheduled" : "evaluated again");
  const auto evaluated = co_await apply(api, request, std::move(evaluate));
  co_return co_await registered(api, evaluated);
}

}  // namespace

model::Job job_of(const Request& request, const boost::json::object& body) {
  const auto& given = job_in(body);
  auto job = jobspec::job_from_json(given);
  if (request.service_provider != model::Service{}.provider) name_providers(given, job, request.service_provider);
  const auto* own = json::find_member(given.get_object(), "Namespace");
  const bool names_its_own = own != nullptr && own->is_string() && !own->get_string().empty();
  if (!names_its_own) job.ns = namespace_of(request);
  return job;
}

void add_job_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/jobs", "list jobs", right::ns(Capability::list_jobs), with(list_jobs));
  routes.add("PUT|POST", "/v1/jobs", "register job", right::ns(Capability::register_job, in_body), with(register_job),
             {.body_limit = kJobBodyLimit});
  routes.add("PUT|POST", "/v1/jobs/parse", "parse job", right::ns(Capability::parse_job), with(parse_job),
             {.body_limit = kJobBodyLimit, .effect = Effect::reads});
  routes.add("PUT|POST", "/v1/validate/job", "validate job", right::ns(Capability::read_job, in_body),
             with(validate_job), {.body_limit = kJobBodyLimit, .effect = Effect::reads});
  routes.add("GET", "/v1/job/*id", "read job", right::ns(Capability::read_job), with(read_job));
  routes.add("PUT|POST", "/v1/job/*id", "update job", right::ns(Capability::register_job, in_body), with(register_job),
             {.body_limit = kJobBodyLimit});
  routes.add("DELETE", "/v1/job/*id", "stop job", right::ns(Capability::deregister_job), with(stop_job));
  routes.add("GET", "/v1/job/*id/submission", "job submission", right::ns(Capability::read_job), with(job_submission));
  routes.add("GET", "/v1/job/*id/allocations", "job allocations", right::ns(Capability::read_job),
             with(job_allocations));
  routes.add("GET", "/v1/job/*id/evaluations", "job evaluations", right::ns(Capability::read_job),
             with(job_evaluations));
  routes.add("GET", "/v1/job/*id/summary", "job summary", right::ns(Capability::read_job), with(job_summary));
  routes.add("PUT|POST", "/v1/job/*id/evaluate", "evaluate job", right::ns(Capability::evaluate_job),
             with(evaluate_job));
}

}  // namespace underway::api

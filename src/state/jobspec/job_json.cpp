#include <span>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/json/json_place.hpp"
#include "base/text.hpp"
#include "jobspec/detail/job_dialect.hpp"
#include "jobspec/detail/parse.hpp"
#include "model/job/spelled_policies.hpp"

namespace underway::jobspec {
namespace {

using describe::Kind;
using describe::Structure;
using describe::Type;

/// Groups, tasks, services, templates, … of one job. Each takes a kilobyte or more from then on.
constexpr std::size_t kMostParts = 50'000;
/// So many names that are not supported are told.
constexpr std::size_t kMostRefusals = 100;

/// What a job's JSON holds that it may not.
struct Findings {
  std::vector<std::string> refused;
  std::size_t parts = 0;
};

void find_refused(const boost::json::value& json, const Type& type, const json::Place& at, Findings& out);

void find_refused(const boost::json::object& object, const Structure& structure, const json::Place& at, Findings& out) {
  if (++out.parts > kMostParts) {
    throw Error(Code::too_large, "the job has too many parts")
        .because(fmt::format("it has more than {} groups, tasks, services and other blocks; the {} is at {}",
                             kMostParts, structure.name, at.text()))
        .advise("make several jobs of it, or give groups a `count`");
  }
  std::vector<const detail::Refused*> refused;
  for (const auto& name : detail::refused_names()) {
    if (name.structure == structure.name) refused.push_back(&name);
  }
  for (const auto& [key, value] : object) {
    const std::string_view name(key.data(), key.size());
    for (const auto* refused_field : refused) {
      if (out.refused.size() < kMostRefusals && json::names_field(name, refused_field->json) && !json::is_empty(value))
        out.refused.push_back(fmt::format("{}.{}: {}", at.text(), refused_field->json, refused_field->why));
    }
    const describe::Field* field = structure.find_json(name);
    if (field != nullptr && field->type->kind != Kind::any)
      find_refused(value, *field->type, at.field(field->json), out);
  }
}

void find_refused(const boost::json::value& json, const Type& type, const json::Place& at, Findings& out) {
  if (type.kind == Kind::structure) {
    if (const auto* object = json.if_object()) find_refused(*object, type.structure(), at, out);
  } else if (type.kind == Kind::optional) {
    find_refused(json, *type.element, at, out);
  } else if (const auto* array = json.if_array(); array != nullptr && type.kind == Kind::list) {
    std::size_t index = 0;
    for (const auto& element : *array) find_refused(element, *type.element, at.element(index++), out);
  }
}

template <class T>
void fill(T& value, const T& otherwise) {
  if (value.empty()) value = otherwise;
}

void fill_in(std::vector<model::Constraint>& constraints, std::vector<model::Affinity>& affinities) {
  for (auto& constraint : constraints) fill(constraint.operand, model::Constraint{}.operand);
  for (auto& affinity : affinities) fill(affinity.operand, model::Affinity{}.operand);
}

void fill_in(std::vector<model::Service>& services) {
  static const model::Service kDefault;
  for (auto& service : services) {
    fill(service.provider, kDefault.provider);
    fill(service.address_mode, kDefault.address_mode);
    for (auto& check : service.checks) fill(check.protocol, model::Check{}.protocol);
  }
}

void fill_in(model::Task& task) {
  fill_in(task.constraints, task.affinities);
  fill_in(task.services);
  for (auto& written : task.templates) fill(written.perms, model::Template{}.perms);
  for (auto& artifact : task.artifacts) fill(artifact.mode, model::Artifact{}.mode);
  for (auto& network : task.resources.networks) fill(network.mode, model::NetworkResource{}.mode);
}

/// Go's structs write every field: an empty word there means what Nomad's server makes of a missing one. In a file of
/// HCL it was written by somebody, and is wrong.
void fill_in(model::Job& job) {
  static const model::Job kDefault;
  fill(job.region, kDefault.region);
  fill(job.node_pool, kDefault.node_pool);
  fill(job.datacenters, kDefault.datacenters);
  fill_in(job.constraints, job.affinities);
  for (auto& group : job.groups) {
    fill_in(group.constraints, group.affinities);
    fill_in(group.services);
    for (auto& network : group.networks) fill(network.mode, model::NetworkResource{}.mode);
    for (auto& task : group.tasks) fill_in(task);
  }
}

const boost::json::value* member(const boost::json::value& from, std::string_view name) {
  const auto* object = from.if_object();
  return object == nullptr ? nullptr : json::find_member(*object, name);
}

/// What stands in the list `name`; nothing when there is none.
std::span<const boost::json::value> elements(const boost::json::value& from, std::string_view name) {
  const auto* found = member(from, name);
  if (found == nullptr || !found->is_array()) return {};
  return {found->get_array().data(), found->get_array().size()};
}

bool is_empty_lifecycle(const boost::json::value& task) {
  const auto* lifecycle = member(task, "Lifecycle");
  const auto* hook = lifecycle == nullptr ? nullptr : member(*lifecycle, "Hook");
  return lifecycle != nullptr && (hook == nullptr || json::is_empty(*hook));
}

/// A lifecycle without a hook is none, and its task a main task.
void drop_empty_lifecycles(const boost::json::value& json, model::Job& job) {
  const auto groups = elements(json, "TaskGroups");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto tasks = elements(groups[g], "Tasks");
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      if (is_empty_lifecycle(tasks[t])) job.groups.at(g).tasks.at(t).lifecycle.reset();
    }
  }
}

/// A group without a word about its count has as many as its scaling has at least.
void settle_counts(const boost::json::value& json, model::Job& job) {
  const auto groups = elements(json, "TaskGroups");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto* count = member(groups[g], "Count");
    auto& group = job.groups.at(g);
    if ((count == nullptr || count->is_null()) && group.scaling && group.scaling->min)
      group.count = *group.scaling->min;
  }
}

/// An `update` of which nothing is said: Nomad's servers write one of every job, since it is a struct there, and of a
/// batch job everything in it is 0.
bool is_empty_block(const boost::json::value& of, std::string_view name) {
  const auto* block = member(of, name);
  if (block == nullptr || !block->is_object()) return false;
  // null is not "": who says `max_parallel = 0` and nothing else means that.
  return std::ranges::all_of(
      block->get_object(), [](const auto& entry) { return json::is_empty(entry.value()) && !entry.value().is_null(); });
}

/// Theirs says all of it; a person's `max_parallel = 0`, alone, is meant.
bool is_empty_update(const boost::json::value& of) {
  const auto* update = member(of, "Update");
  return is_empty_block(of, "Update") && member(*update, "HealthCheck") != nullptr;
}

/// Likewise `consul`, which they write of every group.
void drop_empty_blocks(const boost::json::value& json, model::Job& job) {
  if (is_empty_update(json)) job.update.reset();
  const auto groups = elements(json, "TaskGroups");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto& group = job.groups.at(g);
    if (is_empty_update(groups[g])) group.update.reset();
    if (is_empty_block(groups[g], "Consul")) group.consul.reset();
  }
}

/// On the wire cpu is 100 MHz when not given, unless cores are asked for: then it is theirs.
void settle_cpu(model::Job& job) {
  static const model::Resources kDefaults;
  for (auto& group : job.groups) {
    for (auto& task : group.tasks) {
      if (task.resources.cores > 0 && task.resources.cpu == kDefaults.cpu) task.resources.cpu = 0;
    }
  }
}

/// Whether it is the API's, whose ID is a word: in HCL written as JSON the names of a job's block are those of jobs.
bool is_job(const boost::json::object& object) {
  const auto* id = json::find_member(object, "ID");
  const auto* groups = json::find_member(object, "TaskGroups");
  return (id != nullptr && !id->is_object()) || (groups != nullptr && !groups->is_object());
}

/// {"Job": {…}} or the job itself; null when the document is neither.
const boost::json::value* job_in(const boost::json::value& document) {
  const auto* object = document.if_object();
  if (object == nullptr) return nullptr;
  if (const auto* job = object->if_contains("Job"); job != nullptr && job->is_object()) return job;
  const auto* job = json::find_member(*object, "Job");
  if (job != nullptr && job->is_object() && is_job(job->get_object())) return job;
  return is_job(*object) ? &document : nullptr;
}

}  // namespace

model::Job job_from_json(const boost::json::value& json) {
  Findings findings;
  find_refused(json, describe::kType<model::Job>, json::Place("Job"), findings);
  if (!findings.refused.empty()) {
    throw Error(Code::invalid, "the job asks for what is not supported").because(findings.refused);
  }
  auto job = json::decode<model::Job>(json, "Job");
  settle_cpu(job);
  settle_counts(json, job);
  fill_in(job);
  drop_empty_lifecycles(json, job);
  drop_empty_blocks(json, job);
  model::take_back_policies(job);
  job.canonicalize();
  return job;
}

namespace detail {

std::optional<ParseResult> parse_api_json(const std::string& text, const Inputs& inputs) {
  boost::json::value document;
  try {
    document = json::parse(text);
  } catch (const Error&) {
    return std::nullopt;  // HCL's own JSON reader says what is wrong, and where
  }
  const boost::json::value* found = job_in(document);
  if (found == nullptr) return std::nullopt;
  ParseResult result;
  guard(result.diagnostics, {}, [&] {
    auto job = job_from_json(*found);
    if (!inputs.canonicalize) result.given = given_by(found->as_object(), describe::structure_of<model::Job>());
    check_job(job, inputs, {}, result.diagnostics);
    if (!result.diagnostics.has_errors()) result.job = std::move(job);
  });
  return result;
}

}  // namespace detail
}  // namespace underway::jobspec

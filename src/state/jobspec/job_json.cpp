#include "base/json.hpp"
#include "base/json_place.hpp"
#include "base/text.hpp"
#include "jobspec/detail/job_dialect.hpp"
#include "jobspec/detail/parse.hpp"

namespace underway::jobspec {
namespace {

using describe::Kind;
using describe::Structure;
using describe::Type;

/// What Go clients send for "not given".
bool is_empty(const boost::json::value& value) {
  if (const auto* object = value.if_object()) return object->empty();
  if (const auto* array = value.if_array()) return array->empty();
  if (const auto* text = value.if_string()) return text->empty();
  if (const auto* number = value.if_int64()) return *number == 0;
  return value.is_null() || (value.is_bool() && !value.get_bool());
}

void find_refused(const boost::json::value& json, const Type& type, const json::Place& at,
                  std::vector<std::string>& out);

void find_refused(const boost::json::object& object, const Structure& structure, const json::Place& at,
                  std::vector<std::string>& out) {
  std::vector<const detail::Refused*> refused;
  for (const auto& name : detail::refused_names()) {
    if (name.structure == structure.name) refused.push_back(&name);
  }
  for (const auto& [key, value] : object) {
    const std::string_view name(key.data(), key.size());
    for (const auto* one : refused) {
      if (lower(one->json) == lower(name) && !is_empty(value))
        out.push_back(fmt::format("{}.{}: {}", at.text(), one->json, one->why));
    }
    const describe::Field* field = structure.find_json(name);
    if (field != nullptr && field->type->kind != Kind::any)
      find_refused(value, *field->type, at.field(field->json), out);
  }
}

void find_refused(const boost::json::value& json, const Type& type, const json::Place& at,
                  std::vector<std::string>& out) {
  if (type.kind == Kind::structure) {
    if (const auto* object = json.if_object()) find_refused(*object, type.structure(), at, out);
  } else if (type.kind == Kind::optional) {
    find_refused(json, *type.element, at, out);
  } else if (const auto* array = json.if_array(); array != nullptr && type.kind == Kind::list) {
    std::size_t index = 0;
    for (const auto& element : *array) find_refused(element, *type.element, at.element(index++), out);
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

/// {"Job": {…}} or the job itself; null when the document is neither.
const boost::json::value* job_in(const boost::json::value& document) {
  const auto* object = document.if_object();
  if (object == nullptr) return nullptr;
  if (const auto* job = object->if_contains("Job"); job != nullptr && job->is_object()) return job;
  return object->contains("ID") || object->contains("TaskGroups") ? &document : nullptr;
}

}  // namespace

model::Job job_from_json(const boost::json::value& json) {
  std::vector<std::string> refused;
  find_refused(json, describe::kType<model::Job>, json::Place("Job"), refused);
  if (!refused.empty()) {
    Error error(Code::invalid, "the job asks for what is not supported");
    for (auto& name : refused) error.because(std::move(name));
    throw error;
  }
  auto job = json::decode<model::Job>(json, "Job");
  settle_cpu(job);
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
    check_job(job, inputs, {}, result.diagnostics);
    if (!result.diagnostics.has_errors()) result.job = std::move(job);
  });
  return result;
}

}  // namespace detail
}  // namespace underway::jobspec

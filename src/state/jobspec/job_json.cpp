#include "base/json.hpp"
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

/// Whether logs say `Enabled: true`, which is what they do anyway.
bool is_harmless(const detail::Unsupported& name, const boost::json::value& value) {
  return is_empty(value) || (name.json == "Enabled" && value.is_bool());
}

void find_unsupported(const boost::json::value& json, const Type& type, const std::string& path,
                      std::vector<std::string>& out);

void find_unsupported(const boost::json::object& object, const Structure& structure, const std::string& path,
                      std::vector<std::string>& out) {
  for (const auto& [key, value] : object) {
    const std::string name(key.data(), key.size());
    for (const auto& unsupported : detail::unsupported_names()) {
      if (unsupported.structure == structure.name && !unsupported.json.empty() &&
          lower(unsupported.json) == lower(name) && !is_harmless(unsupported, value))
        out.push_back(fmt::format("{}.{} is not yet supported", path, unsupported.json));
    }
    const describe::Field* field = structure.find_json(name);
    if (field != nullptr && field->type->kind != Kind::any)
      find_unsupported(value, *field->type, fmt::format("{}.{}", path, field->json), out);
  }
}

void find_unsupported(const boost::json::value& json, const Type& type, const std::string& path,
                      std::vector<std::string>& out) {
  if (type.kind == Kind::structure) {
    if (const auto* object = json.if_object()) find_unsupported(*object, type.structure(), path, out);
  } else if (type.kind == Kind::optional) {
    find_unsupported(json, *type.element, path, out);
  } else if (const auto* array = json.if_array(); array != nullptr && type.kind == Kind::list) {
    std::size_t index = 0;
    for (const auto& element : *array)
      find_unsupported(element, *type.element, fmt::format("{}[{}]", path, index++), out);
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
  std::vector<std::string> unsupported;
  find_unsupported(json, describe::kType<model::Job>, "Job", unsupported);
  if (!unsupported.empty()) {
    Error error(Code::invalid, "the job asks for what is not yet supported");
    for (auto& name : unsupported) error.because(std::move(name));
    throw error;
  }
  auto job = json::decode<model::Job>(json, "Job");
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

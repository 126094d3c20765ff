#include "nomad/find.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nomad/text/rows.hpp"

namespace underway::nomad {

using cli::Api;
using cli::elements;
using cli::Json;
using cli::text;

namespace {

using boost::json::array;

struct Kind {
  const char* path;
  const char* none;     ///< {} is the prefix
  const char* several;  ///< what the list of those that match stands behind
  const char* too_short;
};

constexpr const char* kTooShort = "Identifier must contain at least two characters.";

/// Ids only: a job may well have a name of one letter.
void refuse_one_letter(const Kind& kind, const std::string& prefix) {
  if (kind.too_short != nullptr && prefix.size() == 1) throw Error(Code::invalid, kind.too_short);
}

array matching(Api& api, const Kind& kind, const std::string& prefix, const char* wanted = nullptr) {
  refuse_one_letter(kind, prefix);
  array found;
  for (const auto& row : elements(api.get(kind.path, {{"prefix", prefix}}))) {
    if (wanted != nullptr && !cli::truth(row, wanted)) continue;
    if (text(row, "ID") == prefix) {
      found = {row};
      break;
    }
    found.push_back(row);
  }
  if (found.empty()) throw Error(Code::not_found, fmt::format(fmt::runtime(kind.none), prefix));
  return found;
}

/// The only one; several are told as `list` shows them.
template <class List>
std::string only(Api& api, const Kind& kind, const std::string& prefix, array found, const List& list) {
  if (found.size() > 1)
    throw Error(Code::conflict,
                fmt::format("{}\n\n{}", fmt::format(fmt::runtime(kind.several), prefix), trim(list(std::move(found)))));
  const std::string ns = text(found.front(), "Namespace");
  if (!ns.empty() && api.client().address().ns == "*") api.use_namespace(ns);
  return text(found.front(), "ID");
}

constexpr Kind kAllocations{"/v1/allocations", "No allocation(s) with prefix or id \"{}\" found",
                            "Prefix matched multiple allocations", kTooShort};

}  // namespace

std::string job_path(const std::string& id, std::string_view what) {
  return "/v1/job/" + cli::part(id) + std::string(what);
}

std::string find_job(Api& api, const std::string& prefix, JobKind wanted) {
  static const Kind kind{"/v1/jobs", "No job(s) with prefix or ID \"{}\" found", "Prefix \"{}\" matched multiple jobs",
                         nullptr};
  static const Kind periodic{"/v1/jobs", "No periodic job(s) with prefix or ID \"{}\" found", kind.several, nullptr};
  const char* must = wanted == JobKind::periodic        ? "Periodic"
                     : wanted == JobKind::parameterized ? "ParameterizedJob"
                                                        : nullptr;
  const Kind& used = wanted == JobKind::periodic ? periodic : kind;
  const bool everywhere = api.client().address().ns == "*";
  return only(api, used, prefix, matching(api, used, prefix, must),
              [&](array jobs) { return jobs_text(jobs, everywhere); });
}

array matching_allocations(Api& api, const std::string& prefix) { return matching(api, kAllocations, prefix); }

std::string find_allocation(Api& api, const std::string& prefix, bool verbose) {
  return only(api, kAllocations, prefix, matching_allocations(api, prefix),
              [&](array found) { return allocations_text(std::move(found), verbose); });
}

std::string find_node(Api& api, const std::string& prefix) {
  static const Kind kind{"/v1/nodes", "No node(s) with prefix or id \"{}\" found", "Prefix matched multiple nodes",
                         kTooShort};
  return only(api, kind, prefix, matching(api, kind, prefix), [](array nodes) { return node_stubs_text(nodes, true); });
}

std::string find_evaluation(Api& api, const std::string& prefix, bool verbose) {
  static const Kind kind{"/v1/evaluations", "No evaluation(s) with prefix or id \"{}\" found",
                         "Prefix matched multiple evaluations", kTooShort};
  return only(api, kind, prefix, matching(api, kind, prefix),
              [&](array found) { return evaluations_text(found, verbose); });
}

std::string find_deployment(Api& api, const std::string& prefix, bool verbose) {
  static const Kind kind{"/v1/deployments", "Deployment ID \"{}\" matched no deployments",
                         "Prefix matched multiple deployments", kTooShort};
  return only(api, kind, prefix, matching(api, kind, prefix),
              [&](array found) { return deployments_text(std::move(found), verbose); });
}

namespace {

std::string allocation_of_job(Api& api, const std::string& job, const std::string& group) {
  std::string found;
  for (const auto& allocation : elements(api.get("/v1/job/" + cli::part(job) + "/allocations"))) {
    if (!group.empty() && text(allocation, "TaskGroup") != group) continue;
    if (text(allocation, "ClientStatus") == "running") return text(allocation, "ID");
    if (found.empty()) found = text(allocation, "ID");
  }
  if (!found.empty()) return found;
  throw Error(Code::not_found, fmt::format("job \"{}\" doesn't exist or it has no allocations{}", job,
                                           group.empty() ? "" : fmt::format(" of group \"{}\"", group)));
}

}  // namespace

Chosen chosen_allocation(Api& api, const cli::Arguments& arguments) {
  std::vector<std::string> words = arguments.positional();
  // A switch with the job as the first argument; `-job=ID` says the same.
  std::string job = arguments.has("job") ? arguments.get("job") : std::string();
  const bool of_job = !job.empty();
  std::string named = of_job && job != "true" ? job : std::string();
  if (named.empty()) {
    if (words.empty()) throw Error(Code::invalid, "This command takes an allocation ID, or a job ID with -job");
    named = words.front();
    words.erase(words.begin());
  }
  if (!of_job) return {find_allocation(api, named, arguments.has("verbose")), std::move(words)};
  return {allocation_of_job(api, find_job(api, named), arguments.get("group")), std::move(words)};
}

std::string chosen_task(Api& api, const std::string& allocation, const std::string& given) {
  if (!given.empty()) return given;
  const Json value = api.get("/v1/allocation/" + cli::part(allocation));
  std::vector<std::string> names;
  for (const auto& group : elements(value, "Job.TaskGroups")) {
    if (text(group, "Name") != text(value, "TaskGroup")) continue;
    for (const auto& task : elements(group, "Tasks")) names.push_back(text(task, "Name"));
  }
  if (names.size() == 1) return names.front();
  throw Error(Code::invalid, fmt::format("Allocation \"{}\" is running the following tasks:\n  * {}",
                                         allocation.substr(0, 8), join(names, "\n  * ")))
      .advise("name one of them");
}

}  // namespace underway::nomad

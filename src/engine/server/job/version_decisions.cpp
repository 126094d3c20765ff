#include "server/job/version_decisions.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace underway::server {
namespace {

constexpr std::size_t kMostName = 128;
constexpr std::size_t kMostDescription = 1000;

/// To be put with another tag: the current version as it is now, an earlier one as it was registered.
model::Job version_of(const Tables& tables, const std::string& ns, const std::string& id,
                      std::optional<std::int64_t> version) {
  const auto current = tables.find_job(ns, id);
  if (!current)
    throw Error(Code::not_found, "job not found").because(fmt::format("no job '{}' in namespace '{}'", id, ns));
  if (!version || *version == current->version) return *current;
  for (const auto& known : tables.job_versions(ns, id)) {
    if (known->job.version == *version) return known->job;
  }
  throw Error(Code::not_found, fmt::format("job '{}' has no version {}", id, *version))
      .advise(fmt::format("`underway job history {}` lists the versions that are kept", id));
}

}  // namespace

tables::Row<tables::JobVersion> find_tagged(const Tables& tables, const std::string& ns, const std::string& id,
                                            const std::string& name) {
  for (const auto& version : tables.job_versions(ns, id)) {
    if (version->job.version_tag && version->job.version_tag->name == name) return version;
  }
  return nullptr;
}

Decision<Nothing> decide(const Tables& tables, const TagVersion& request, const Context& context) {
  if (request.name.empty() || request.name.size() > kMostName)
    throw Error(Code::invalid, fmt::format("a tag's name has 1 to {} bytes", kMostName));
  if (request.description.size() > kMostDescription)
    throw Error(Code::invalid, fmt::format("a tag's description has {} bytes at most", kMostDescription));
  model::Job job = version_of(tables, request.ns, request.id, request.version);
  const auto other = find_tagged(tables, request.ns, request.id, request.name);
  if (other && other->job.version != job.version) {
    throw Error(Code::invalid,
                fmt::format("tag \"{}\" already exists on a different version of job \"{}\"", request.name, request.id))
        .because(fmt::format("version {} has it", other->job.version))
        .advise(fmt::format("`underway job tag unset -name {} {}` frees it", request.name, request.id));
  }
  job.version_tag = model::VersionTag{request.name, request.description, unix_nanos(context.now)};
  Decision<Nothing> decision;
  decision.changes.push_back(tables::PutJob{std::move(job), std::nullopt});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const UntagVersion& request, const Context&) {
  const auto& [ns, id, name] = request;
  const auto tagged = find_tagged(tables, ns, id, name);
  if (!tagged) throw Error(Code::not_found, fmt::format("tag \"{}\" not found on job \"{}\"", name, id));
  model::Job job = version_of(tables, ns, id, tagged->job.version);
  job.version_tag.reset();
  Decision<Nothing> decision;
  decision.changes.push_back(tables::PutJob{std::move(job), std::nullopt});
  return decision;
}

}  // namespace underway::server

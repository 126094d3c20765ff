#include "tables/detail/codec.hpp"
#include "tables/detail/state.hpp"
#include "tables/keys.hpp"

namespace underway::tables {

using model::Allocation;
using model::Job;

void Tables::Impl::apply(PutJob change) {
  Job& job = change.job;
  JobEntry& entry = job_entry(job.ns, job.id);
  unsettle(entry);
  if (entry.current && job.version < entry.current->version) {
    // Of an earlier version it changes what is kept of that version: its tag.
    const auto known = entry.versions.find(job.version);
    if (known == entry.versions.end() || !known->second.record) return;
    write_version(entry, job, known->second.record->submission);
    prune_versions(entry);
    return apply(PutJob{*entry.current, std::nullopt});  // who watches the job is told
  }
  const Row<Job> before = entry.current;
  if (job.job_modify_index == kThisRevision || (!before && job.job_modify_index == 0)) job.job_modify_index = stamp;
  job.create_index = job.modify_index = 0;
  write(job_key(job.ns, job.id), detail::encode_row(job));
  job.create_index = before ? before->create_index : stamp;
  job.modify_index = stamp;
  job.index_groups();
  const auto after = std::make_shared<const Job>(std::move(job));

  entry.current = after;
  jobs[{after->ns, after->id}] = after;
  for (auto* observer : observers) observer->job_changed(before, after);
  // A version is written once: what changes with a job's life (its status) is not worth a second copy of it.
  const auto known = entry.versions.find(after->version);
  const bool unknown = !before || known == entry.versions.end() || !known->second.record;
  if (unknown || change.submission || known->second.job->stable != after->stable ||
      !describe::equal(known->second.job->version_tag, after->version_tag)) {
    if (!unknown && !change.submission) change.submission = known->second.record->submission;
    write_version(entry, *after, std::move(change.submission));
    prune_versions(entry);
  }
  note_change(Topic::jobs, entry.key);
}

void Tables::Impl::apply(DeleteJob change) {
  const auto it = jobs.find({change.ns, change.id});
  if (it == jobs.end()) return;
  jobs.erase(it);
  JobEntry& entry = job_entry(change.ns, change.id);
  unsettle(entry);
  const Row<Job> before = std::exchange(entry.current, nullptr);
  for (auto* observer : observers) observer->job_changed(before, nullptr);
  erase(job_key(change.ns, change.id));
  prune_versions(entry);
  note_deletion(Topic::jobs);
  note_change(Topic::jobs, entry.key);
}

void Tables::Impl::write_version(JobEntry& entry, const Job& job, std::optional<model::JobSubmission> submission) {
  JobVersion version{job, std::move(submission).value_or(model::JobSubmission{})};
  version.job.modify_index = 0;
  write(job_version_key(job.ns, job.id, job.version), detail::encode_version(version));
  version.job.modify_index = stamp;
  index_version(entry, job.version, std::make_shared<const JobVersion>(std::move(version)));
  relink(entry, job.version);
}

/// Allocations of a version whose record was written after them (a job that was purged and came back) point to it.
void Tables::Impl::relink(JobEntry& entry, std::int64_t version) {
  const VersionEntry& slot = entry.versions[version];
  if (slot.references == 0) return;
  settle();
  const auto rows = entry.allocations.rows();
  for (const auto& before : rows) {
    if (before->job_version != version) continue;
    Allocation relinked = *before;
    relinked.job = slot.job;
    const auto after = std::make_shared<const Allocation>(std::move(relinked));
    index_allocation(before, after);
    for (auto* follower : followers) follower->allocation_changed(before, after);
  }
}

std::vector<std::int64_t> Tables::Impl::superfluous_versions(const JobEntry& entry) const {
  std::vector<std::int64_t> superfluous;
  std::size_t kept = 0;
  for (auto it = entry.versions.rbegin(); it != entry.versions.rend(); ++it) {
    const VersionEntry& version = it->second;
    // Versions left from before a purge have another create index; they count for nothing but their allocations.
    const bool own = entry.current && version.record && version.job->create_index == entry.current->create_index;
    if (own && (version.job->version_tag || ++kept <= kJobVersions)) continue;
    if (version.references == 0) superfluous.push_back(it->first);
  }
  return superfluous;
}

void Tables::Impl::prune_versions(JobEntry& entry) {
  for (const std::int64_t version : superfluous_versions(entry)) {
    const auto it = entry.versions.find(version);
    if (it->second.record) {
      const Job& old = *it->second.job;
      erase(job_version_key(old.ns, old.id, version));
    }
    entry.versions.erase(it);
  }
}

}  // namespace underway::tables

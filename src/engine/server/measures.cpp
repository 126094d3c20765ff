#include "server/measures.hpp"

namespace underway::server {
namespace {

std::int64_t& counter(GroupCounts& counts, model::ClientStatus status) {
  switch (status) {
    case model::ClientStatus::pending:
      return counts.starting;
    case model::ClientStatus::running:
      return counts.running;
    case model::ClientStatus::complete:
      return counts.complete;
    case model::ClientStatus::failed:
      return counts.failed;
    case model::ClientStatus::lost:
      return counts.lost;
    case model::ClientStatus::unknown:
      return counts.unknown;
  }
  return counts.unknown;
}

bool wanted_and_pending(const model::Allocation& allocation) {
  return allocation.client_status == model::ClientStatus::pending && !allocation.server_terminal();
}

}  // namespace

std::string Measures::group_key(std::string_view ns, std::string_view job, std::string_view group) {
  std::string key;
  key.reserve(ns.size() + job.size() + group.size() + 2);
  key.append(ns).append(1, '\0').append(job).append(1, '\0').append(group);
  return key;
}

void Measures::reset() { *this = Measures(*tables_); }

/// Nodes and allocations came anew one by one, jobs did not.
void Measures::loaded() {
  jobs_ = 0;
  by_status_ = {};
  for (const auto& job : tables_->jobs()) job_changed(nullptr, job);
}

void Measures::node_changed(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) {
  if (before) --nodes_, ready_ -= before->ready() ? 1 : 0;
  if (after) ++nodes_, ready_ += after->ready() ? 1 : 0;
}

void Measures::count(const model::Allocation& allocation, int by) {
  running_ += allocation.client_status == model::ClientStatus::running ? by : 0;
  pending_ += wanted_and_pending(allocation) ? by : 0;
  const auto [it, made] = groups_.try_emplace(group_key(allocation.ns, allocation.job_id, allocation.group));
  GroupCounts& counts = it->second;
  counter(counts, allocation.client_status) += by;
  const bool none = counts.starting == 0 && counts.running == 0 && counts.complete == 0 && counts.failed == 0 &&
                    counts.lost == 0 && counts.unknown == 0;
  if (none) groups_.erase(it);
}

void Measures::allocation_changed(const tables::Row<model::Allocation>& before,
                                  const tables::Row<model::Allocation>& after) {
  // Most changes are of something else: this is on the way of every placement and every report.
  const bool same = before && after && before->client_status == after->client_status &&
                    wanted_and_pending(*before) == wanted_and_pending(*after);
  if (same) return;
  if (after) count(*after, 1);
  if (before) count(*before, -1);
}

void Measures::job_changed(const tables::Row<model::Job>& before, const tables::Row<model::Job>& after) {
  if (before) --jobs_, --by_status_[static_cast<std::size_t>(before->status)];
  if (after) ++jobs_, ++by_status_[static_cast<std::size_t>(after->status)];
}

}  // namespace underway::server

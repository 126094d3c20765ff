#include "growth/notices.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::growth {
namespace {

class Following {
 public:
  Following(const NoticeBook& book, const ClusterFacts& facts, const SlurmLook& slurm,
            const std::map<std::string, std::int64_t>& redone, TimePoint now)
      : book_(book), redone_(redone), now_(now) {
    for (const auto& job : slurm.queue) queue_[job.id] = &job;
    for (const auto& job : slurm.redo) redo_[job.id] = &job;
    for (const auto& record : slurm.records) records_[record.name] = &record;
    for (const auto& host : facts.hosts) there_.insert(host.name);
    for (const auto& pool : facts.pools) {
      if (!pool.type.opportunistic) continue;
      for (const auto& name : pool.all_names) {
        if (records_.contains(name)) opportunistic_.insert(name);
      }
    }
  }

  NoticeSteps run() {
    out_.book.cluster = book_.cluster;
    for (const auto& host : book_.hosts) {
      if (there_.contains(host.host)) out_.book.hosts.push_back(host);
    }
    for (const auto& job : book_.jobs) {
      if (follow(job)) out_.book.jobs.push_back(job);
    }
    for (const auto& [id, times] : redone_) keep_off(id);
    out_.settled = out_.book.empty() && out_.keep_off.empty();
    return std::move(out_);
  }

 private:
  template <class T>
  static const T* find(const std::map<std::string, const T*>& all, const std::string& name) {
    const auto at = all.find(name);
    return at == all.end() ? nullptr : at->second;
  }

  /// Whether it stays in the book.
  bool follow(const NoticedJob& job) {
    const auto* now = find(queue_, job.id);
    const auto* facts = find(redo_, job.id);
    if (now == nullptr) {
      if (facts == nullptr) return false;
      // In between it may have been queued again.
      if (facts->state == "PENDING" || facts->state == "RUNNING" || facts->state == "COMPLETING") return true;
      if (facts->state != "FAILED" || !job.told) return false;
      redo(job, *facts);
      return true;
    }
    if (now->state == "COMPLETING") return true;
    if (now->waits()) return facts == nullptr || !is_kept_off(*facts);
    const bool goes = std::any_of(now->nodes.begin(), now->nodes.end(),
                                  [&](const auto& node) { return book_.find_host(node) != nullptr; });
    if (!goes) return false;  // it was queued again, and runs elsewhere
    if (unix_nanos(now_) >= job.until) {
      if (facts != nullptr && slurm::why_not_redone(job.id, facts).empty()) redo(job, *facts);
    } else if (!job.asked && facts != nullptr && takes_no_job(job.host)) {
      out_.listens[facts->batch_host].push_back(job.id);
    }
    return true;
  }

  /// Told before that, it may end, and another one would have its place.
  bool takes_no_job(const std::string& host) const {
    const auto* record = find(records_, host);
    return record == nullptr || record->draining();
  }

  bool is_kept_off(const slurm::RedoFacts& facts) const {
    return std::includes(facts.kept_off.begin(), facts.kept_off.end(), opportunistic_.begin(), opportunistic_.end());
  }
  std::set<std::string> kept_off(const slurm::RedoFacts& facts) const {
    auto out = facts.kept_off;
    out.insert(opportunistic_.begin(), opportunistic_.end());
    return out;
  }

  void redo(const NoticedJob& job, const slurm::RedoFacts& facts) {
    if (out_.redo.size() < kMostAtOnce) out_.redo[job.id] = slurm::redo_command(job.id, kept_off(facts));
  }

  /// Also later: there may be new nodes of the pools.
  void keep_off(const std::string& id) {
    const auto* facts = find(redo_, id);
    if (facts == nullptr || facts->state != "PENDING" || is_kept_off(*facts)) return;
    if (out_.keep_off.size() < kMostAtOnce) out_.keep_off[id] = slurm::keep_off_command(id, kept_off(*facts));
  }

  const NoticeBook& book_;
  const std::map<std::string, std::int64_t>& redone_;
  TimePoint now_;
  std::map<std::string, const slurm::QueuedJob*> queue_;
  std::map<std::string, const slurm::RedoFacts*> redo_;
  std::map<std::string, const slurm::NodeRecord*> records_;
  std::set<std::string> there_;
  std::set<std::string> opportunistic_;  ///< nodes that Slurm knows, whether they are there or not
  NoticeSteps out_;
};

}  // namespace

NoticeSteps next_notices(const NoticeBook& book, const ClusterFacts& facts, const SlurmLook& slurm,
                         const std::map<std::string, std::int64_t>& redone, TimePoint now) {
  return Following(book, facts, slurm, redone, now).run();
}

std::vector<std::string> tell(NoticeBook& book, const NoticeSteps& steps, const SlurmLook& slurm,
                              const std::map<std::string, std::optional<std::set<std::string>>>& listeners) {
  std::map<std::string, std::string> numbers;
  for (const auto& facts : slurm.redo) numbers[facts.id] = facts.number;
  std::vector<std::string> out;
  for (const auto& [host, ids] : steps.listens) {
    const auto heard = listeners.find(host);
    if (heard == listeners.end() || !heard->second) continue;
    for (const auto& id : ids) {
      const auto at = std::find_if(book.jobs.begin(), book.jobs.end(), [&](const auto& job) { return job.id == id; });
      if (at == book.jobs.end()) continue;
      at->asked = true;
      at->told = heard->second->contains(numbers[id]);
      if (at->told) out.push_back(id);
    }
  }
  return out;
}

std::vector<std::string> asked_about(const ClusterFacts& facts, const std::vector<slurm::QueuedJob>& queue) {
  std::set<std::string> out, hosts;
  for (const auto& job : facts.notices.jobs) out.insert(job.id);
  for (const auto& [id, times] : facts.memory.state.redone) out.insert(id);
  if (facts.takes()) {
    for (const auto& pool : facts.pools) {
      if (pool.type.opportunistic) hosts.insert(pool.all_names.begin(), pool.all_names.end());
    }
  }
  for (const auto& host : facts.notices.hosts) hosts.insert(host.host);
  for (const auto& job : queue) {
    if (job.id.find('+') != std::string::npos) continue;  // a part of a heterogeneous job is never done again
    if (std::any_of(job.nodes.begin(), job.nodes.end(), [&](const auto& node) { return hosts.contains(node); }))
      out.insert(job.id);
  }
  return {out.begin(), out.end()};
}

std::string notice_text(const NoticeBook& book, const NoticedHost& host) {
  std::map<std::int64_t, std::vector<std::string>> by_end;
  for (const auto& job : book.jobs) {
    if (job.host == host.host) by_end[job.until].push_back(job.id);
  }
  std::string out = "is taken back";
  for (const auto& [until, ids] : by_end)
    out += fmt::format("{} Slurm job{} {} {} until {}", out.ends_with("back") ? ":" : ",", ids.size() == 1 ? "" : "s",
                       join_some(ids, 5), ids.size() == 1 ? "has" : "have", format_time(from_unix_nanos(until)));
  return out;
}

void put_notices(std::vector<server::Change>& changes, const tables::Tables& tables, const NoticeBook& book) {
  const auto written = tables::find_record<NoticeBook>(tables, book.cluster);
  if (written ? describe::equal(*written, book) : book.empty()) return;
  if (book.empty())
    changes.push_back(tables::delete_record<NoticeBook>(book.cluster));
  else
    changes.push_back(tables::put_record(book));
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteNotices& request,
                                         const server::Context&) {
  server::Decision<server::Nothing> decision;
  put_notices(decision.changes, tables, request.book);
  for (const auto& noticed : request.book.hosts) {
    const auto host = tables.find_host(request.book.cluster, noticed.host);
    if (!host || host->status != model::HostStatus::stopping) continue;
    auto text = notice_text(request.book, noticed);
    if (host->status_description == text) continue;
    model::Host changed = *host;
    changed.status_description = std::move(text);
    decision.changes.push_back(tables::PutHost{std::move(changed)});
  }
  return decision;
}

}  // namespace underway::growth

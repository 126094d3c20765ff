#pragma once
/// @file
/// Where metrics come from: what is taken of the tables on the loop, and what a node says of itself, as lines of an
/// Exposition. Who may see which labels is decided when they are taken; all that is written is made beside the loop.

#include <unordered_set>

#include "api/operator/meter.hpp"
#include "api/operator/metrics.hpp"
#include "growth/status.hpp"
#include "protocol/client_messages.hpp"
#include "server/server.hpp"

namespace underway::api {

/// What a caller may see beside counts.
struct MetricsView {
  bool nodes = false;                               ///< names of nodes, and what they measure
  bool all_jobs = false;                            ///< names of jobs, of every namespace
  std::unordered_set<std::string> namespaces = {};  ///< else of these
  bool eligibility = true;                          ///< whether what is known of the node says if it is eligible
  bool dispatched = true;                           ///< a summary of each job that another one started, too

  bool job(const std::string& ns) const { return all_jobs || namespaces.contains(ns); }
  bool jobs() const { return all_jobs || !namespaces.empty(); }
};

/// Taken on the loop. Rows are shared, counts are copied.
struct ServerSnapshot {
  std::string host;  ///< name of the agent
  TimePoint now{};
  model::Revision revision = 0;
  std::int64_t nodes = 0, ready = 0, linked = 0, jobs = 0, running = 0, pending = 0;
  std::array<std::int64_t, 3> by_status{};  ///< by model::JobStatus
  bool writable = true;
  std::int64_t longest_hold_ms = 0, holds = 0;
  std::vector<protocol::LoopMetrics> loops;
  std::int64_t troubled_loops = 0;
  Meter meter;
  server::WriterMeasures writer;
  std::vector<tables::Row<model::Evaluation>> evaluations, blocked;            ///< pending; that wait for room
  std::vector<tables::Row<model::Job>> rows = {};                              ///< when jobs are seen
  std::unordered_map<std::string, server::GroupCounts> groups = {};            ///< likewise
  std::unordered_map<std::string, tables::Row<model::Job>> blocked_jobs = {};  ///< by evaluation
  std::vector<growth::Status> growing = {};                                    ///< when nodes are seen
  std::optional<growth::Counters> growth = {};                                 ///< nothing: no pool grows here
};

/// Between read() and the next co_await; `writer` as it was before read(), which waits for what is under way.
ServerSnapshot take_snapshot(const server::Server& server, const tables::Tables& tables, server::WriterMeasures writer,
                             const MetricsView& view);

void add_server_metrics(Exposition& to, const ServerSnapshot& from, const MetricsView& view);

/// Of loops of the server, or of a node with `base`, its labels.
void add_loop_metrics(Exposition& to, const std::vector<protocol::LoopMetrics>& loops, const Labels& base = {});

/// `node` as the server knows it, or as it knows itself.
void add_client_metrics(Exposition& to, const protocol::ClientMetrics& from, const model::Node& node,
                        const MetricsView& view);
/// Of this process. Blocks: yes (reads files).
void add_process_metrics(Exposition& to);

}  // namespace underway::api

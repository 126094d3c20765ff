#include "api/cluster/troubles.hpp"

#include "base/text.hpp"
#include "node/fingerprint/loop_metrics.hpp"

namespace underway::api {
namespace {

constexpr std::size_t kMostNodesNamed = 5;

wire::Attention attention_for(std::string_view what, std::string_view meaning, const server::Trouble& trouble) {
  return {fmt::format("the server cannot write its {} since {}: {}", what, format_time(trouble.since), meaning),
          trouble.error.one_line(), trouble.error.advice()};
}

/// `where`: "" of the server itself, " on n1, n2".
wire::Attention attention_for(const protocol::LoopTrouble& loop, const std::string& where) {
  wire::Attention out;
  out.what = fmt::format("the control loop '{}'{} {} since {}: {}", loop.name, where, loop.stuck ? "is stuck" : "fails",
                         format_time(from_unix_nanos(loop.since)), loop.trouble);
  out.why = loop.why;
  out.advice =
      loop.stuck
          ? "collect what support needs with `underway operator debug`, then restart the agent: tasks go on meanwhile"
          : "mend what it says; it tries again by itself (journalctl -u underway has the first failure)";
  return out;
}

}  // namespace

std::vector<wire::Attention> attention_for(const async::LoopRegistry& loops) {
  std::vector<wire::Attention> out;
  for (const auto& loop : node::troubles_of(loops)) out.push_back(attention_for(loop, ""));
  return out;
}

std::vector<wire::Attention> attention_for(const std::map<std::string, std::vector<protocol::LoopTrouble>>& nodes) {
  struct Shared {
    protocol::LoopTrouble first;
    std::vector<std::string> nodes;
  };
  std::map<std::pair<std::string, bool>, Shared> by_loop;
  for (const auto& [node, loops] : nodes) {
    for (const auto& loop : loops) {
      auto& shared = by_loop[{loop.name, loop.stuck}];
      if (shared.nodes.empty() || loop.since < shared.first.since) shared.first = loop;
      shared.nodes.push_back(node);
    }
  }
  std::vector<wire::Attention> out;
  for (const auto& [key, shared] : by_loop)
    out.push_back(attention_for(shared.first, " on " + join_some(shared.nodes, kMostNodesNamed)));
  return out;
}

std::vector<wire::Attention> attention_for(const std::vector<growth::Status>& growing, TimePoint now) {
  constexpr auto kLasts = std::chrono::minutes(1);
  std::vector<wire::Attention> out;
  for (const auto& cluster : growing) {
    if (!cluster.trouble.empty() && now - from_unix_nanos(cluster.trouble_since) >= kLasts) {
      const std::string since = cluster.at == 0 ? std::string() : " since " + format_time(from_unix_nanos(cluster.at));
      out.push_back({fmt::format("cluster '{}' neither grows nor shrinks{}: Slurm does not tell its queue",
                                 cluster.cluster, since),
                     cluster.trouble, "try `squeue` beside slurmctld; it is asked again by itself"});
    }
    for (const auto& pool : cluster.pools) {
      if (pool.trouble.empty()) continue;
      out.push_back({fmt::format("pool '{}' of cluster '{}' should grow and does not", pool.pool, cluster.cluster),
                     pool.trouble, fmt::format("underway elastic status {}", cluster.cluster)});
    }
  }
  return out;
}

Troubles troubles_of(Api& api) {
  Troubles out;
  if (const auto& trouble = api.server.writer().trouble()) {
    out.writable = false;
    out.attention.push_back(attention_for("state", "changes are refused, what runs goes on", *trouble));
  }
  if (const auto trouble = api.audit == nullptr ? std::nullopt : api.audit->trouble()) {
    const bool refuses = api.audit->refuses();
    out.writable = out.writable && !refuses;
    out.attention.push_back(attention_for(
        "audit log", refuses ? "changes are refused, what runs goes on" : "changes are made without a line", *trouble));
  }
  return out;
}

}  // namespace underway::api

#include "api/cluster/troubles.hpp"

namespace underway::api {
namespace {

wire::Attention attention_for(std::string_view what, std::string_view meaning, const server::Trouble& trouble) {
  return {fmt::format("the server cannot write its {} since {}: {}", what, format_time(trouble.since), meaning),
          trouble.error.one_line(), trouble.error.advice()};
}

/// Until then it is as likely as not that the next look succeeds.
constexpr Duration kFailingLong = std::chrono::minutes(1);

wire::Attention attention_for_stuck(const async::LoopHealth& loop) {
  return {
      fmt::format("the control loop '{}' is stuck since {}: {}", loop.name, format_time(loop.looked_at), loop.trouble),
      fmt::format("its look takes {} already, and should take less than {}", human_duration(loop.looking_for()),
                  human_duration(loop.patience)),
      "collect what support needs with `underway operator debug`, then restart the agent: tasks go on meanwhile"};
}

wire::Attention attention_for_failing(const async::LoopHealth& loop) {
  return {
      fmt::format("the control loop '{}' fails since {}: {}", loop.name, format_time(loop.failing_since), loop.trouble),
      fmt::format("{} ({} times in a row)", loop.failure, loop.failures),
      "mend what it says; it tries again by itself (journalctl -u underway has the first failure)"};
}

}  // namespace

bool needs_somebody(const async::LoopHealth& loop) { return loop.is_stuck() || loop.failing_for() > kFailingLong; }

std::vector<wire::Attention> attention_for(const async::LoopRegistry& loops) {
  std::vector<wire::Attention> out;
  for (const auto& loop : loops.health()) {
    if (needs_somebody(loop)) out.push_back(loop.is_stuck() ? attention_for_stuck(loop) : attention_for_failing(loop));
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

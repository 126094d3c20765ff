#include "api/cluster/change_note.hpp"

#include "server/storage/operator_decisions.hpp"

namespace underway::api {

impact::View impact_view(const Api& api, const tables::Tables& tables) {
  return {tables, [&server = api.server](const tables::Row<model::Job>& job, const model::TaskGroup& group) {
            return server.judge_nodes(job, group);
          }};
}

server::CommitHook noted(const Api& api, const Request& request, ChangeWords words, std::vector<impact::Finding> also) {
  model::ChangeEntry entry;
  entry.who = request.caller().name.empty() ? request.caller().accessor : request.caller().name;
  entry.request_id = request.id;
  entry.what = std::move(words.what);
  entry.ns = std::move(words.ns);
  return [&api, entry = std::move(entry), also = std::move(also)](
             const tables::Tables& tables, const server::Context& context, std::vector<server::Change>& changes) {
    auto findings = impact::findings_of(impact_view(api, tables), changes);
    findings.insert(findings.end(), also.begin(), also.end());
    if (findings.empty()) return;
    auto judgement = impact::judgement_of(findings);
    model::ChangeEntry made = entry;
    made.at = unix_nanos(context.now);
    made.impact = judgement.impact;
    made.why = std::move(judgement.why);
    impact::keep(tables, changes, std::move(made));
  };
}

server::CommitHook registering(const Request& request, server::CommitHook hook) {
  const bool manages = request.rights().is_management() && request.caller().kind != acl::Identity::Kind::unrestricted;
  return server::unless_registration_is_disabled(manages, std::move(hook));
}

model::Judgement judged(const Api& api, const tables::Tables& tables, const std::vector<server::Change>& changes) {
  return impact::judgement_of(impact::findings_of(impact_view(api, tables), changes));
}

model::Judgement impact_of(const Api& api, const server::JobPlan& plan) {
  std::vector<server::Change> changes;
  changes.push_back(tables::PutJob{plan.proposed, std::nullopt});
  for (const auto& evicted : plan.plan.preempted) changes.push_back(tables::PutAllocation{evicted});
  return judged(api, api.server.writer().tables(), changes);
}

asio::awaitable<void> note_change(Api& api, Request request, ChangeWords words, impact::Finding finding) {
  std::vector<impact::Finding> also{std::move(finding)};
  auto hook = noted(api, request, std::move(words), std::move(also));
  co_await api.server.apply(server::ChangeNothing{}, std::move(hook));
}

}  // namespace underway::api

#include "server/storage/operator_decisions.hpp"

#include "base/error.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::server {

Decision<bool> decide(const Tables& tables, const PutSchedulerConfiguration& request, const Context&) {
  Decision<bool> decision;
  if (request.cas && *request.cas != tables::scheduler_configuration(tables).modify_index) return decision;
  auto row = request.configuration;
  if (row.node_limit < 0)
    throw Error(Code::invalid, fmt::format("NodeLimitForFeasibilityChecks is {}: it counts nodes", row.node_limit));
  row.create_index = row.modify_index = 0;
  decision.changes.push_back(tables::put_record(row));
  decision.result = true;
  return decision;
}

model::AutopilotConfiguration autopilot_configuration(const Tables& tables) {
  return tables::find_record<model::AutopilotConfiguration>(tables, "cluster")
      .value_or(model::AutopilotConfiguration{});
}

Decision<bool> decide(const Tables& tables, const PutAutopilotConfiguration& request, const Context&) {
  Decision<bool> decision;
  if (request.cas && *request.cas != autopilot_configuration(tables).modify_index) return decision;
  auto row = request.configuration;
  row.create_index = row.modify_index = 0;
  decision.changes.push_back(tables::put_record(row));
  decision.result = true;
  return decision;
}

void refuse_registration(const Tables& tables, bool is_management) {
  if (is_management || !tables::scheduler_configuration(tables).reject_job_registration) return;
  throw Error(Code::denied, kRegistrationDisabled)
      .advise("an operator sets it: underway operator scheduler set-config -reject-job-registration=false");
}

CommitHook unless_registration_is_disabled(bool is_management, CommitHook hook) {
  return [is_management, hook = std::move(hook)](const Tables& tables, const Context& context,
                                                 std::vector<Change>& changes) {
    refuse_registration(tables, is_management);
    if (hook) hook(tables, context, changes);
  };
}

}  // namespace underway::server

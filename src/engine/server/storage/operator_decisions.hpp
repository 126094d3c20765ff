#pragma once
/// @file
/// Decisions about what operators set for the whole cluster.

#include "model/scheduler_configuration.hpp"
#include "server/commit_hook.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::AutopilotConfiguration> {
  static constexpr std::string_view kind = "autopilot-configuration";
  static std::string name(const model::AutopilotConfiguration&) { return "cluster"; }
};

}  // namespace underway::tables

namespace underway::server {

struct PutSchedulerConfiguration {
  model::SchedulerConfiguration configuration;
  std::optional<model::Revision> cas;  ///< only if it was last changed then; 0: if it was never written
};
/// False when `cas` does not fit: then nothing is changed. Throws invalid.
Decision<bool> decide(const Tables&, const PutSchedulerConfiguration&, const Context&);

model::AutopilotConfiguration autopilot_configuration(const Tables&);
struct PutAutopilotConfiguration {
  model::AutopilotConfiguration configuration;
  std::optional<model::Revision> cas;  ///< as above
};
Decision<bool> decide(const Tables&, const PutAutopilotConfiguration&, const Context&);

/// Nomad's text, which its clients know.
inline constexpr const char* kRegistrationDisabled =
    "Job registration, dispatch, and scale are disabled by the scheduler configuration";
/// Throws Error(denied): kRegistrationDisabled, when jobs are not to be registered by those who do not manage.
void refuse_registration(const Tables&, bool is_management);
/// `hook`, and refuse_registration before it.
CommitHook unless_registration_is_disabled(bool is_management, CommitHook hook);

}  // namespace underway::server

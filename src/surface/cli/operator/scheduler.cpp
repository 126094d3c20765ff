#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "model/scheduler_configuration.hpp"

namespace underway::cli {
namespace {

using Configuration = model::SchedulerConfiguration;

constexpr const char* kPath = "/v1/operator/scheduler/configuration";

int get_config(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto answer = ask(client, "GET", kPath);
  if (print_formatted(arguments, answer)) return kDone;
  const auto found = json::decode<Configuration>(answer.at("SchedulerConfig"), "answer");
  print(key_values({{"Scheduler Algorithm", std::string(describe::spell(found.algorithm))},
                    {"Memory Oversubscription", fmt::format("{}", found.memory_oversubscription)},
                    {"Reject Job Registration", fmt::format("{}", found.reject_job_registration)},
                    {"Pause Eval Broker", fmt::format("{}", found.pause_eval_broker)},
                    {"Preemption System Scheduler", fmt::format("{}", found.preemption.system)},
                    {"Preemption Service Scheduler", fmt::format("{}", found.preemption.service)},
                    {"Preemption Batch Scheduler", fmt::format("{}", found.preemption.batch)},
                    {"Preemption SysBatch Scheduler", fmt::format("{}", found.preemption.sysbatch)},
                    {"Modify Index", std::to_string(found.modify_index)}}));
  return kDone;
}

void set_flag(const Arguments& arguments, const char* flag, bool& into) {
  const auto text = arguments.find(flag);
  if (!text) return;
  if (*text != "true" && *text != "false")
    throw Error(Code::invalid, fmt::format("-{} is true or false, not '{}'", flag, *text));
  into = *text == "true";
}

int set_config(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto wanted = json::decode<Configuration>(ask(client, "GET", kPath).at("SchedulerConfig"), "answer");
  const auto seen = wanted.modify_index;
  if (const auto algorithm = arguments.find("scheduler-algorithm")) {
    json::decode(boost::json::value(*algorithm), describe::kType<model::SchedulerAlgorithm>, &wanted.algorithm,
                 "-scheduler-algorithm");
  }
  set_flag(arguments, "memory-oversubscription", wanted.memory_oversubscription);
  set_flag(arguments, "reject-job-registration", wanted.reject_job_registration);
  set_flag(arguments, "pause-eval-broker", wanted.pause_eval_broker);
  set_flag(arguments, "preempt-system-scheduler", wanted.preemption.system);
  set_flag(arguments, "preempt-service-scheduler", wanted.preemption.service);
  set_flag(arguments, "preempt-batch-scheduler", wanted.preemption.batch);
  set_flag(arguments, "preempt-sysbatch-scheduler", wanted.preemption.sysbatch);
  // What was not said is written as it was seen: another's change in between is not undone.
  const auto index = arguments.number("check-index").value_or(seen);
  const auto answer = ask(client, "PUT", fmt::format("{}?cas={}", kPath, index), json::to_value(wanted));
  if (!answer.at("Updated").as_bool()) {
    say("Scheduler configuration could not be atomically updated, please try again");
    return kFailed;
  }
  print("Scheduler configuration updated!\n");
  return kDone;
}

}  // namespace

const Command& operator_scheduler_get_config_command() {
  static const Command command{.name = "operator scheduler get-config",
                               .summary = "Shows what is set of scheduling.",
                               .flags = with_format_flags(),
                               .run = get_config};
  return command;
}

const Command& operator_scheduler_set_config_command() {
  static const Command command{
      .name = "operator scheduler set-config",
      .summary = "Sets what is said of scheduling; the rest stays.",
      .examples = {"underway operator scheduler set-config -scheduler-algorithm spread",
                   "underway operator scheduler set-config -pause-eval-broker true"},
      .flags = {number_flag("check-index", "INDEX", "Only if it was last changed then."),
                {"scheduler-algorithm", "binpack|spread", "How nodes are preferred: filled up, or evenly."},
                {"memory-oversubscription", "true|false", "Tasks may have up to memory_max."},
                {"reject-job-registration", "true|false", "Only management tokens register jobs."},
                {"pause-eval-broker", "true|false", "Evaluations are kept, and none is scheduled."},
                {"preempt-batch-scheduler", "true|false", "Batch jobs may push others off their nodes."},
                {"preempt-service-scheduler", "true|false", "So may service jobs."},
                {"preempt-sysbatch-scheduler", "true|false", "So may sysbatch jobs."},
                {"preempt-system-scheduler", "true|false", "So may system jobs."}},
      .run = set_config};
  return command;
}

}  // namespace underway::cli

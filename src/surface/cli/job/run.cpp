#include "base/error.hpp"
#include "cli/cluster/slurm_versions.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/interrupt.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/terminal.hpp"
#include "model/job/cron.hpp"

namespace underway::cli {
namespace {

int run_job(const Arguments& arguments) {
  const auto loaded = load_job(arguments.positional().front(), arguments);
  auto client = make_client(arguments);
  warn_of_slurm(client, loaded.job);
  sdk::Registration registration{arguments.has("preserve-counts"), arguments.has("preserve-resources")};
  if (const auto priority = arguments.number("eval-priority")) registration.eval_priority = *priority;
  const auto registered =
      client.register_job(loaded.job, loaded.submission, arguments.number("check-index"), registration);
  if (!registered.warnings.empty()) say("Job Warnings:\n" + registered.warnings);
  if (loaded.job.starts_others()) {
    print("Job registration successful\n");
    if (loaded.job.periodic && loaded.job.periodic->enabled && !loaded.job.parameterized) {
      const auto next =
          model::next_time(loaded.job.periodic->expressions(), loaded.job.periodic->time_zone, current_time());
      print(fmt::format("Approximate next launch time: {}\n", next ? format_time(*next) : "none"));
    }
    return kDone;
  }
  if (arguments.has("detach")) {
    print(fmt::format("Job registration successful\nEvaluation ID: {}\n", registered.eval_id));
    return kDone;
  }
  const OnInterrupt interrupted(
      fmt::format("The job is registered, and goes on without being watched.\n  look at it: underway job status {0}\n"
                  "  take it away: underway job stop {0}",
                  loaded.job.id));
  return follow_registration(client, registered.eval_id, std::chrono::minutes(5));
}

}  // namespace

const Command& job_run_command() {
  static const Command command{
      .name = "job run",
      .arguments = "FILE",
      .summary = "Registers a job from a file, a URL, or `-` for standard input, and follows it.",
      .details =
          "A rollout is watched to its end, with a bar for each group, who is in trouble and why, and the last line "
          "that "
          "a failing task wrote; when the job goes back, that too. Ctrl-C ends the watching, not the rollout. Exits 0 "
          "when everything runs (or its canaries wait for promotion), 1 when an allocation or the rollout failed or "
          "the "
          "job was refused, 2 when something could not be placed.",
      .examples = {"underway job run munge.hcl", "underway job run -var datacenter=dc1 -detach slurmctld.hcl"},
      .flags =
          with_variable_flags({{"detach", "", "Returns once the job is registered."},
                               {"preserve-counts", "", "Groups that are there already keep their counts."},
                               {"preserve-resources", "", "Tasks that are there already keep what they ask of a node."},
                               number_flag("eval-priority", "NUMBER", "The priority of the evaluation alone."),
                               number_flag("check-index", "INDEX",
                                           "Refuses when the job has changed since `job plan` printed this index.")}),
      .least = 1,
      .most = 1,
      .run = run_job};
  return command;
}

}  // namespace underway::cli

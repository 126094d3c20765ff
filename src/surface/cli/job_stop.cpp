#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/follow_evaluation.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_job(client, arguments.positional().front());
  const auto stopped = client.stop_job(id, arguments.has("purge"));
  if (arguments.has("detach")) {
    print(stopped.eval_id + "\n");
    return kDone;
  }
  return follow_evaluation(client, stopped.eval_id, std::chrono::minutes(1));
}

}  // namespace

const Command& job_stop_command() {
  static const Command command{.name = "job stop",
                               .arguments = "ID",
                               .summary = "Stops a job and all of its allocations.",
                               .flags = {{"purge", "", "Forgets the job at once instead of after a while."},
                                         {"detach", "", "Returns once it is registered; prints the evaluation's id."},
                                         {"yes", "", "Accepted for Nomad's sake; nothing is asked."}},
                               .least = 1,
                               .most = 1,
                               .run = run};
  return command;
}

}  // namespace underway::cli

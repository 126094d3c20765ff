#include "base/error.hpp"
#include "base/numbers.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/job/version.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

std::int64_t resolve_version(sdk::Client& client, const std::string& job, const std::string& version_or_tag) {
  if (const auto number = parse_number<std::uint32_t>(version_or_tag)) return *number;
  for (const auto& version : client.job_versions(job)) {
    if (version.version_tag && version.version_tag->name == version_or_tag) return version.version;
  }
  throw Error(Code::not_found, fmt::format("no version of job '{}' has the tag '{}'", job, version_or_tag))
      .advise(fmt::format("`underway job history {}` lists versions and tags", job));
}

namespace {

int revert(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string job = resolve_job(client, arguments.positional().front());
  const auto reverted = client.revert_job(job, resolve_version(client, job, arguments.positional().back()));
  if (arguments.has("detach")) {
    print(fmt::format("Evaluation ID: {}\n", short_id(reverted.eval_id)));
    return kDone;
  }
  return follow_registration(client, reverted.eval_id, std::chrono::minutes(1));
}

}  // namespace

const Command& job_revert_command() {
  static const Command command{.name = "job revert",
                               .arguments = "ID VERSION|TAG",
                               .summary = "Takes a job back to an earlier version.",
                               .examples = {"underway job history -p slurmd", "underway job revert slurmd 3"},
                               .flags = {{"detach", "", "Returns at once."}},
                               .least = 2,
                               .most = 2,
                               .run = revert};
  return command;
}

}  // namespace underway::cli

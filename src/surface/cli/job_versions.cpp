#include <charconv>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/follow_evaluation.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::int64_t parse_version(const std::string& text) {
  std::int64_t version = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (failed != std::errc{} || end != text.data() + text.size() || version < 0)
    throw Error(Code::invalid, fmt::format("'{}' is not a version of a job", text))
        .advise("`underway job history` lists the versions");
  return version;
}

int revert(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string job = resolve_job(client, arguments.positional().front());
  const auto reverted = client.revert_job(job, parse_version(arguments.positional().back()));
  if (arguments.has("detach")) {
    print(fmt::format("Evaluation ID: {}\n", short_id(reverted.eval_id)));
    return kDone;
  }
  return follow_registration(client, reverted.eval_id, std::chrono::minutes(1));
}

}  // namespace

const Command& job_revert_command() {
  static const Command command{.name = "job revert",
                               .arguments = "ID VERSION",
                               .summary = "Takes a job back to an earlier version.",
                               .examples = {"underway job history -p slurmd", "underway job revert slurmd 3"},
                               .flags = {{"detach", "", "Returns at once."}},
                               .least = 2,
                               .most = 2,
                               .run = revert};
  return command;
}

}  // namespace underway::cli

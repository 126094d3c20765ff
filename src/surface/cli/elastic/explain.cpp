// Why a Slurm job waits where pools grow.
#include "base/json/json.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/commands.hpp"
#include "cli/elastic/text.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "http/message.hpp"

namespace underway::cli {
namespace {

std::string cluster_of(sdk::Client& client, const Arguments& arguments) {
  if (const auto named = arguments.find("cluster")) return *named;
  return only_growing_cluster(
      json::decode<std::vector<growth::Status>>(ask(client, "GET", "/v1/underway/elastic"), "answer"));
}

int run_elastic_explain(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string cluster = cluster_of(client, arguments);
  const auto answer = ask(client, "GET",
                          fmt::format("/v1/underway/elastic/{}/job/{}", http::percent_encode(cluster),
                                      http::percent_encode(arguments.positional().front())));
  if (print_formatted(arguments, answer)) return kDone;
  print(growth_text(json::decode<growth::JobExplanation>(answer, "answer")));
  return kDone;
}

}  // namespace

const Command& elastic_explain_command() {
  static const Command command{
      .name = "elastic explain",
      .arguments = "JOB",
      .summary = "Tells why a Slurm job waits, and whether hosts are made for it.",
      .details =
          "JOB is Slurm's number of the job, a task of an array (17_3) or a part of a heterogeneous job (17+1). It "
          "says "
          "what Slurm says of the job, and of each pool that grows whether hosts of it are made for the job, and if "
          "not, "
          "what stands in the way: its limits, the budget, a partition, processors, memory or features. It is as of "
          "the "
          "newest look at Slurm, which is a few seconds old.",
      .examples = {"underway elastic explain 4711", "underway elastic explain -cluster hpc 17_3"},
      .flags = with_format_flags(
          {{"cluster", "NAME", "The cluster whose Slurm has the job; else the one that has pools which grow."}}),
      .least = 1,
      .most = 1,
      .run = run_elastic_explain};
  return command;
}

}  // namespace underway::cli

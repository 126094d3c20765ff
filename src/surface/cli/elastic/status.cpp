// Pools that grow and shrink: what they have, and what they wait for.
#include "base/json/json.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/elastic/text.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "http/message.hpp"

namespace underway::cli {
namespace {

std::size_t table_width() { return is_terminal(1) ? static_cast<std::size_t>(terminal_width(1)) : 0; }

int show_cluster(sdk::Client& client, const Arguments& arguments) {
  const auto answer =
      ask(client, "GET", "/v1/underway/elastic/" + http::percent_encode(arguments.positional().front()));
  if (print_formatted(arguments, answer)) return kDone;
  print(growth_text(json::decode<growth::Status>(answer, "answer"), current_time(), table_width()));
  return kDone;
}

int run_elastic_status(const Arguments& arguments) {
  auto client = make_client(arguments);
  if (!arguments.positional().empty()) return show_cluster(client, arguments);
  const auto answer = ask(client, "GET", "/v1/underway/elastic");
  if (print_formatted(arguments, answer)) return kDone;
  const auto growing = json::decode<std::vector<growth::Status>>(answer, "answer");
  if (growing.empty()) {
    const auto nothing = nothing_grows();
    say(fmt::format("{}; {}", nothing.message(), nothing.advice()));
  }
  for (const auto& status : growing) {
    if (&status != &growing.front()) print("\n");
    print(growth_text(status, current_time(), table_width()));
  }
  return kDone;
}

}  // namespace

const Command& elastic_status_command() {
  static const Command command{
      .name = "elastic status",
      .arguments = "[CLUSTER]",
      .summary = "Shows pools that grow and shrink as Slurm's queue asks: what they have, and why no more.",
      .details =
          "Of each cluster that has a pool with a block `elastic`: how many Slurm jobs wait and run, what its hosts "
          "have "
          "cost, what keeps it from growing, each pool with its hosts, and then, line by line, what was decided last "
          "and "
          "why. ALWAYS is the pool's size and MOST how many hosts it may have. BOOTING hosts are asked for and not yet "
          "nodes of Slurm, LEAVING ones are being emptied and ended, ASLEEP ones are suspended. It is as of the newest "
          "look at Slurm, which is a few seconds old.",
      .examples = {"underway elastic status", "underway elastic status -json hpc"},
      .flags = with_format_flags(),
      .most = 1,
      .run = run_elastic_status};
  return command;
}

}  // namespace underway::cli

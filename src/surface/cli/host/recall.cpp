// Hosts of opportunistic pools are taken back.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/elastic/text.hpp"
#include "cli/host/find_host.hpp"
#include "cli/interrupt.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

constexpr Duration kUntilDecided = std::chrono::seconds(30);

std::string recalling_cluster(sdk::Client& client, const Arguments& arguments) {
  if (const auto named = arguments.find("cluster")) return *named;
  return only_growing_cluster(
      json::decode<std::vector<growth::Status>>(ask(client, "GET", "/v1/underway/elastic"), "answer"));
}

/// Slurm has to be looked at first, which takes a second or two.
model::Recall once_decided(sdk::Client& client, model::Recall recall) {
  const OnInterrupt interrupted("It goes on without being watched: underway elastic status");
  sdk::Wait wait{.longest = std::chrono::seconds(2)};
  const auto until = std::chrono::steady_clock::now() + kUntilDecided;
  while (!recall.decided() && std::chrono::steady_clock::now() < until) {
    auto read = client.recall_at(recall.cluster, recall.number, wait);
    wait.index = read.index;
    recall = std::move(read.value);
  }
  return recall;
}

std::string end_words(const model::Recall& recall) {
  return fmt::format("underway host recall -cluster {} -end {}", recall.cluster, recall.number);
}

int show_recall(const model::Recall& recall) {
  if (!recall.decided()) {
    print(
        fmt::format("Recall {} is not decided yet: Slurm does not answer. It is carried out when it does: "
                    "underway elastic status {}\n",
                    recall.number, recall.cluster));
    return kDone;
  }
  print(fmt::format("Recall {}: {} of {} host{} of pool '{}' go{}\n", recall.number, recall.goes.size(), recall.count,
                    recall.count == 1 ? "" : "s", recall.pool, recall.goes.size() == 1 ? "es" : ""));
  Table table({"HOST", "GOES", "DONE AGAIN, IF THEY STILL RUN"});
  for (const auto& it : recall.goes)
    table.add({it.host, it.until == 0 ? "now" : "by " + format_time(from_unix_nanos(it.until)), join(it.jobs, ", ")});
  for (const auto& it : recall.stays) table.add({it.host, "stays", it.why});
  if (!table.empty()) table.print();
  print(fmt::format("The pool has at most {} host{} until: {}\n", recall.ceiling, recall.ceiling == 1 ? "" : "s",
                    end_words(recall)));
  return kDone;
}

int end_recalls(sdk::Client& client, const Arguments& arguments) {
  const auto which = arguments.get("end");
  const auto number = which == "all" ? std::optional<std::int64_t>(0) : parse_number<std::int64_t>(which);
  if (!number || (which != "all" && *number < 1) || !arguments.positional().empty() || arguments.has("n"))
    throw Error(Code::invalid, "which recall is to be ended?")
        .advise("underway host recall -end 3, or -end all [-pool POOL]");
  for (const auto& recall : client.end_recalls(recalling_cluster(client, arguments), *number, arguments.get("pool")))
    print(fmt::format("Recall {} is over: pool '{}' may have more hosts again\n", recall.number, recall.pool));
  return kDone;
}

int run_recall(const Arguments& arguments) {
  auto client = make_client(arguments);
  if (arguments.has("end")) return end_recalls(client, arguments);
  wire::RecallBody body{.pool = arguments.get("pool"), .reason = arguments.get("reason")};
  std::string cluster;
  for (const auto& name : arguments.positional()) {
    const auto host = find_host(client, name);
    if (!cluster.empty() && cluster != host.cluster)
      throw Error(Code::invalid, "these hosts are of several clusters").advise("recall those of each by themselves");
    cluster = host.cluster;
    body.hosts.push_back(host.name);
  }
  if (body.hosts.empty() && !arguments.has("pool") && !arguments.has("n"))
    throw Error(Code::invalid, "which hosts are to be taken back?")
        .advise("underway host recall HOST…, or -n N -pool POOL");
  if (body.hosts.empty()) {
    cluster = recalling_cluster(client, arguments);
    body.count = arguments.number("n").value_or(1);
  }
  auto recall = client.recall_hosts(cluster, body);
  if (!arguments.has("detach")) recall = once_decided(client, std::move(recall));
  if (print_formatted(arguments, json::to_value(recall))) return kDone;
  if (!arguments.has("detach")) return show_recall(recall);
  print(fmt::format("Recall {} is asked for: underway elastic status {}\n", recall.number, recall.cluster));
  return kDone;
}

}  // namespace

const Command& host_recall_command() {
  static const Command command{
      .name = "host recall",
      .arguments = "[[CLUSTER/]HOST…]",
      .summary = "Takes hosts of an opportunistic pool back, with notice to their Slurm jobs.",
      .details =
          "The hosts that are named, or -n of -pool: idle ones first, then those that lose the least work. No job "
          "comes "
          "to them any more; their jobs have the `notice` of the cluster's `promises` to end, those whose script "
          "catches SIGTERM get it, and who still runs then is queued again, once, and kept off opportunistic hosts "
          "from "
          "then on. A host stays, and it is told why, when a job there may not be requeued or was taken back before. "
          "Until the recall is ended by -end the pool has no more hosts than were left.",
      .examples = {"underway host recall -n 2 -pool spot", "underway host recall s1 s4", "underway host recall -end 3",
                   "underway host recall -end all -pool spot"},
      .flags = with_format_flags(
          {number_flag("n", "N", "So many hosts of the pool; else 1.", {.least = 1, .most = 10'000}),
           {"pool", "POOL", "Of which pool; else of the only one that is opportunistic."},
           {"cluster", "NAME", "The cluster; else the one that has pools which grow."},
           {"reason", "TEXT", "Why, for who looks at it later."},
           {"end", "RECALL",
            "That recall, by its number, is over: the pool may have more hosts again. `all`: each that is in force."},
           {"detach", "", "Returns when it is asked for, before it is decided which hosts go."}}),
      .most = 10'000,
      .run = run_recall};
  return command;
}

}  // namespace underway::cli

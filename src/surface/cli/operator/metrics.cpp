#include "base/error.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"

namespace underway::cli {
namespace {

int metrics(const Arguments& arguments) {
  Api api(arguments);
  const std::string form = arguments.get("format");
  if (form.empty()) {
    const Json value = api.get("/v1/metrics");
    if (!print_formatted(arguments, value)) print_json(value);
    return kDone;
  }
  if (form != "prometheus") throw Error(Code::invalid, fmt::format("-format '{}' is not prometheus", form));
  print(api.get_text("/v1/metrics", {{"format", form}}));
  return kDone;
}

int reconcile(const Arguments& arguments) {
  Api api(arguments);
  api.put("/v1/system/reconcile/summaries");
  return kDone;
}

}  // namespace

const Command& operator_metrics_command() {
  static const Command command{.name = "operator metrics",
                               .summary = "Prints the agent's metrics, as JSON or for Prometheus.",
                               .flags = with_format_flags({{"pretty", "", "JSON over several lines, as it always is."},
                                                           {"format", "prometheus", "Prometheus' text."}}),
                               .run = metrics};
  return command;
}

const Command& system_reconcile_summaries_command() {
  static const Command command{.name = "system reconcile summaries",
                               .summary = "Without effect: summaries are counted when they are asked for.",
                               .run = reconcile};
  return command;
}

}  // namespace underway::cli

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

model::StringMap parse_meta(const std::vector<std::string>& given) {
  model::StringMap meta;
  for (const auto& text : given) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(Code::invalid, fmt::format("-meta '{}' is not of the form KEY=VALUE", text))
          .advise("give one -meta for each key");
    }
    meta[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return meta;
}

int dispatch(const Arguments& arguments) {
  auto client = make_client(arguments);
  sdk::Dispatch wanted;
  wanted.job = resolve_job(client, arguments.positional().front());
  if (arguments.positional().size() > 1) wanted.payload = read_input(arguments.positional().back());
  wanted.meta = parse_meta(arguments.all("meta"));
  wanted.id_prefix_template = arguments.get("id-prefix-template");
  wanted.idempotency_token = arguments.get("idempotency-token");
  wanted.priority = arguments.number("priority").value_or(0);
  const auto started = client.dispatch_job(wanted);
  print(key_values({{"Dispatched Job ID", started.job_id},
                    {"Evaluation ID", started.eval_id.empty() ? "<none>" : short_id(started.eval_id)}}));
  if (arguments.has("detach") || started.eval_id.empty()) return kDone;
  return follow_evaluation(client, started.eval_id, std::chrono::minutes(5));
}

int force(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto started = client.force_periodic(resolve_job(client, arguments.positional().front()));
  if (arguments.has("detach") || started.eval_id.empty()) {
    print(fmt::format("Force periodic successful\nEvaluation ID: {}\n", started.eval_id));
    return kDone;
  }
  return follow_evaluation(client, started.eval_id, std::chrono::minutes(5));
}

}  // namespace

const Command& job_dispatch_command() {
  static const Command command{
      .name = "job dispatch",
      .arguments = "ID [FILE]",
      .summary = "Starts a child of a parameterized job, with a payload from a file, or `-` for standard input.",
      .details = "The payload has 16 KiB at most. Exits 2 when something could not be placed.",
      .examples = {"underway job dispatch -meta user=ada report input.json",
                   "echo 42 | underway job dispatch -detach -idempotency-token run-7 report -"},
      .flags = {{"meta", "KEY=VALUE", "Meta of the child, among what the job allows.", true},
                {"id-prefix-template", "TEXT", "Comes in front of the time in the child's id."},
                {"idempotency-token", "TEXT", "When a child was started with this token, it is the answer."},
                number_flag("priority", "NUMBER", "The child's priority; the job's when it is absent."),
                {"detach", "", "Returns once the child is registered."}},
      .least = 1,
      .most = 2,
      .run = dispatch};
  return command;
}

const Command& job_periodic_force_command() {
  static const Command command{.name = "job periodic force",
                               .arguments = "ID",
                               .summary = "Starts a child of a periodic job at once.",
                               .flags = {{"detach", "", "Returns once the child is registered."}},
                               .least = 1,
                               .most = 1,
                               .run = force};
  return command;
}

}  // namespace underway::cli

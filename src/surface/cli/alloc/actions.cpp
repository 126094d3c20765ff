#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "cli/alloc/exec_terminal.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// The task that was named, or the only main one.
std::string task_of(sdk::Client& client, const std::string& allocation_id, const std::string& given) {
  if (!given.empty()) return given;
  const auto allocation = client.allocation(allocation_id);
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  std::vector<std::string> mains, all;
  for (const auto& task : group != nullptr ? group->tasks : std::vector<model::Task>{}) {
    all.push_back(task.name);
    if (task.is_main()) mains.push_back(task.name);
  }
  if (mains.size() == 1) return mains.front();
  throw Error(Code::invalid, fmt::format("allocation {} has more than one task", short_id(allocation_id)))
      .because("its tasks are " + join(all, ", "))
      .advise("name one");
}

/// The allocation that was named, or with -job the newest of a job, one that runs before others.
std::string allocation_of(sdk::Client& client, const Arguments& arguments) {
  const std::string& given = arguments.positional().front();
  if (!arguments.has("job")) return resolve_allocation(client, given);
  const std::string job = resolve_job(client, given);
  const auto rows = client.job_allocations(job);
  const auto rank = [](const wire::AllocationStub& row) {
    return std::make_pair(row.client_status == model::ClientStatus::running, row.create_index);
  };
  const auto newest =
      std::max_element(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (newest != rows.end()) return newest->id;
  throw Error(Code::not_found, fmt::format("job '{}' has no allocation", job))
      .advise(fmt::format("underway job status {}", job));
}

bool print_piece(std::string_view piece) {
  print(piece);
  return true;
}

int logs(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = allocation_of(client, arguments);
  const std::string given = arguments.positional().size() > 1 ? arguments.positional()[1] : arguments.get("task");
  const std::string task = task_of(client, id, given);
  const std::string type = arguments.has("stderr") ? "stderr" : "stdout";
  const bool follow = arguments.has("f");
  if (!arguments.has("tail") && !arguments.find("n")) {
    client.logs(id, task, type, follow, "start", 0, print_piece);
    return kDone;
  }
  const auto lines = static_cast<std::size_t>(std::max<std::int64_t>(1, arguments.number("n").value_or(10)));
  // Nomad's estimate of a line, 120 bytes, is where following begins; without it, exactly the last lines are shown.
  const auto estimate = static_cast<std::int64_t>(120 * lines);
  if (follow) {
    client.logs(id, task, type, true, "end", estimate, print_piece);
    return kDone;
  }
  std::string end;
  client.logs(id, task, type, false, "end", std::max<std::int64_t>(10 * estimate, 64 * 1024),
              [&](std::string_view piece) {
                end += piece;
                return true;
              });
  std::size_t start = end.size();
  for (std::size_t found = 0; start > 0; --start) {
    if (end[start - 1] == '\n' && start != end.size() && ++found == lines) break;
  }
  print(std::string_view(end).substr(start));
  return kDone;
}

int exec(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = allocation_of(client, arguments);
  sdk::ExecSession session;
  session.command.assign(arguments.positional().begin() + 1, arguments.positional().end());
  if (session.command.empty())
    throw Error(Code::invalid, "no command was given").advise("underway alloc exec ID COMMAND…");
  session.task = task_of(client, id, arguments.get("task"));
  session.tty = arguments.find("t") ? arguments.has("t") : is_terminal(0) && is_terminal(1);
  return run_in_terminal(std::move(session), arguments.get("i", "true") != "false", escape_of(arguments),
                         [&](const sdk::ExecSession& ready) { return client.exec_in_allocation(id, ready); });
}

int restart_allocation(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string task = arguments.positional().size() > 1 ? arguments.positional()[1] : arguments.get("task");
  if (arguments.has("all-tasks") && !task.empty())
    throw Error(Code::invalid, fmt::format("-all-tasks goes without a task, and '{}' is one", task));
  const std::string id = resolve_allocation(client, arguments.positional()[0]);
  if (arguments.has("all-tasks"))
    client.restart_all_tasks(id);
  else
    client.restart_allocation(id, task);
  return kDone;
}

int send_signal(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_allocation(client, arguments.positional()[0]);
  client.signal_allocation(id, arguments.positional().size() > 1 ? arguments.positional()[1] : arguments.get("task"),
                           arguments.get("s", "SIGKILL"));
  return kDone;
}

int stop(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string eval =
      client.stop_allocation(resolve_allocation(client, arguments.positional()[0]), arguments.has("no-shutdown-delay"));
  if (!arguments.has("detach") && !eval.empty()) return follow_evaluation(client, eval, std::chrono::minutes(1));
  print(eval + "\n");
  return kDone;
}

int files(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = allocation_of(client, arguments);
  const std::string path = arguments.positional().size() > 1 ? arguments.positional()[1] : "/";
  const auto status = client.file_status(id, path);
  const auto* directory = status.as_object().if_contains("IsDir");
  if (directory != nullptr && directory->is_bool() && !directory->get_bool()) {
    client.read_file(id, path, [](std::string_view piece) {
      print(piece);
      return true;
    });
    return kDone;
  }
  const auto list = client.list_files(id, path);
  if (arguments.has("json")) {
    print_json(list);
    return kDone;
  }
  Table table({"Mode", "Size", "Modified Time", "Name"});
  for (const auto& entry : list.as_array()) {
    const auto& object = entry.as_object();
    const auto* dir = object.if_contains("IsDir");
    const bool is_dir = dir != nullptr && dir->is_bool() && dir->get_bool();
    const auto* size = object.if_contains("Size");
    table.add(
        {json::text_at(object, "FileMode"),
         is_dir || size == nullptr ? "" : human_bytes(static_cast<std::uint64_t>(size->to_number<std::int64_t>())),
         json::text_at(object, "ModTime"), json::text_at(object, "Name") + (is_dir ? "/" : "")});
  }
  table.print();
  return kDone;
}

constexpr Flag kTask{"task", "NAME", "The task; the only main one when not given.", false};
constexpr Flag kJob{"job", "", "ID is a job's: its newest allocation, one that runs before others.", false};

}  // namespace

const Command& alloc_logs_command() {
  static const Command command{
      .name = "alloc logs",
      .arguments = "ID [TASK]",
      .summary = "Prints what a task wrote.",
      .examples = {"underway alloc logs -f 3b1c slurmctld", "underway alloc logs -f -job slurmctld",
                   "underway alloc logs -stderr -tail -n 20 3b1c"},
      .flags = {{"f", "", "Follows."},
                {"stderr", "", "Standard error instead of standard output."},
                {"tail", "", "Only the end."},
                number_flag("n", "LINES", "How much of the end; 10 lines.", {0, 1'000'000}),
                kJob,
                kTask},
      .least = 1,
      .most = 2,
      .run = logs};
  return command;
}

const Command& alloc_exec_command() {
  static const Command command{
      .name = "alloc exec",
      .arguments = "ID COMMAND…",
      .summary = "Runs a command beside a task, in its namespaces and as its user.",
      .flags = {kJob,
                kTask,
                {"t", "BOOL", "A terminal; by default when standard input and output are one."},
                {"i", "BOOL", "Whether standard input is handed through; true."},
                kEscape},
      .least = 1,
      .most = 1000,
      .passes_on = true,
      .run = exec};
  return command;
}

const Command& alloc_restart_command() {
  static const Command command{
      .name = "alloc restart",
      .arguments = "ID [TASK]",
      .summary = "Restarts a task, or all that run.",
      .flags = {kTask, {"all-tasks", "", "Also those that have ended, in the order of their lifecycle."}},
      .least = 1,
      .most = 2,
      .run = restart_allocation};
  return command;
}

const Command& alloc_signal_command() {
  static const Command command{.name = "alloc signal",
                               .arguments = "ID [TASK]",
                               .summary = "Signals a task, or all that run.",
                               .flags = {{"s", "SIGNAL", "The signal; SIGKILL."}, kTask},
                               .least = 1,
                               .most = 2,
                               .run = send_signal};
  return command;
}

const Command& alloc_stop_command() {
  static const Command command{.name = "alloc stop",
                               .arguments = "ID",
                               .summary = "Stops an allocation; a replacement is placed.",
                               .flags = {{"no-shutdown-delay", "", "Does not wait for shutdown_delay."},
                                         {"detach", "", "Returns at once; prints the evaluation's id."}},
                               .least = 1,
                               .most = 1,
                               .run = stop};
  return command;
}

const Command& alloc_fs_command() {
  static const Command command{.name = "alloc fs",
                               .arguments = "ID [PATH]",
                               .summary = "Lists a directory of an allocation, or prints a file.",
                               .flags = {kJob, {"json", "", "The list as JSON."}},
                               .least = 1,
                               .most = 2,
                               .run = files};
  return command;
}

}  // namespace underway::cli

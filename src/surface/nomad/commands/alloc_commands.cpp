// Allocations: logs, fs, exec, restart, signal, stop, checks, pause.
#include <thread>

#include "base/error.hpp"
#include "cli/alloc/exec_terminal.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/commands/monitor.hpp"
#include "nomad/find.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/alloc_status.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::elements;
using cli::print;
using cli::text;

/// Nomad's estimate of a line.
constexpr std::int64_t kLineBytes = 120;

bool print_piece(std::string_view piece) {
  print(piece);
  return true;
}

/// What -tail, -n and -c ask for. Lines are exact, but for what is followed.
struct Tail {
  bool wanted = false;
  std::optional<std::int64_t> bytes;
  std::int64_t lines = 10;

  std::int64_t from_end() const { return bytes.value_or(lines * kLineBytes); }
};

Tail tail_of(const Arguments& arguments) {
  Tail tail;
  tail.wanted = arguments.has("tail") || arguments.find("n") || arguments.find("c");
  tail.lines = arguments.number("n").value_or(tail.lines);
  tail.bytes = arguments.number("c");
  return tail;
}

/// The last `lines` lines of what was read.
std::string_view last_lines(std::string_view all, std::int64_t lines) {
  if (lines == 0) return {};
  std::size_t start = all.size();
  for (std::int64_t found = 0; start > 0; --start) {
    if (all[start - 1] == '\n' && start != all.size() && ++found == lines) break;
  }
  return all.substr(start);
}

void print_end(const Tail& tail,
               const std::function<void(std::int64_t, const std::function<bool(std::string_view)>&)>& read) {
  if (tail.bytes) return read(*tail.bytes, print_piece);
  std::string end;
  read(std::max<std::int64_t>(tail.from_end() * 10, 64 * 1024), [&](std::string_view piece) {
    end += piece;
    return true;
  });
  print(last_lines(end, tail.lines));
}

/// Follows both streams at once, each by a client of its own.
int follow_both(const Arguments& arguments, const std::string& id, const std::string& task, const Tail& tail) {
  const auto follow = [&](sdk::Client& client, const char* type, FILE* out) {
    client.logs(id, task, type, true, tail.wanted ? "end" : "start", tail.wanted ? tail.from_end() : 0,
                [&](std::string_view piece) {
                  std::fwrite(piece.data(), 1, piece.size(), out);
                  return std::fflush(out) == 0;
                });
  };
  auto errors = cli::make_client(arguments);
  auto output = cli::make_client(arguments);
  std::optional<Error> failed;
  std::thread other([&] {
    try {
      follow(errors, "stderr", stderr);
    } catch (const Error& error) {
      failed = error;
    }
  });
  try {
    follow(output, "stdout", stdout);
  } catch (const Error& error) {
    cli::say(error.text());
    other.join();
    return 1;
  }
  other.join();
  if (failed) throw Error(*failed);
  return 0;
}

int logs(const Arguments& arguments) {
  Api api(arguments);
  const auto [id, rest] = chosen_allocation(api, arguments);
  const std::string task =
      chosen_task(api, id, arguments.get("task", rest.empty() ? std::string_view() : rest.front()));
  const bool follow = arguments.has("f"), errors = arguments.has("stderr"), output = arguments.has("stdout");
  if (errors && output && !follow) throw Error(Code::invalid, "Unable to support both stdout and stderr");
  const Tail tail = tail_of(arguments);
  if (follow && errors == output) return follow_both(arguments, id, task, tail);
  const char* type = errors ? "stderr" : "stdout";
  auto& client = api.client();
  if (follow || !tail.wanted) {
    client.logs(id, task, type, follow, tail.wanted ? "end" : "start", tail.wanted ? tail.from_end() : 0, print_piece);
    return 0;
  }
  print_end(tail,
            [&](std::int64_t bytes, const auto& piece) { client.logs(id, task, type, false, "end", bytes, piece); });
  return 0;
}

/// Of one entry, with -stat, its type too.
std::string list_text(const boost::json::array& entries, bool for_machines, bool with_type) {
  Rows rows;
  for (const auto& entry : entries) {
    const bool directory = cli::truth(entry, "IsDir");
    const auto size = cli::number(entry, "Size");
    std::vector<std::string> row{text(entry, "FileMode"), for_machines ? std::to_string(size) : cli::size_text(size),
                                 cli::moment_of(cli::member(entry, "ModTime"))};
    if (with_type) row.push_back(text(entry, "ContentType"));
    row.push_back(text(entry, "Name") + (directory ? "/" : ""));
    rows.push_back(std::move(row));
  }
  return with_type ? cli::table_text({"Mode", "Size", "Modified Time", "Content Type", "Name"}, rows)
                   : cli::table_text({"Mode", "Size", "Modified Time", "Name"}, rows);
}

/// A file by its end, or as it grows, piece by piece.
void stream_file(Api& api, const std::string& id, const std::string& path, const Tail& tail, bool follow,
                 std::int64_t size) {
  std::int64_t offset = tail.wanted ? std::max<std::int64_t>(0, size - tail.from_end()) : 0;
  const std::string target = "/v1/client/fs/readat/" + cli::part(id);
  while (true) {
    const std::string piece =
        api.get_text(target, {{"path", path}, {"offset", std::to_string(offset)}, {"limit", std::to_string(1 << 20)}});
    print(piece);
    offset += static_cast<std::int64_t>(piece.size());
    if (!piece.empty()) continue;
    if (!follow) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

int files(const Arguments& arguments) {
  Api api(arguments);
  const auto [id, rest] = chosen_allocation(api, arguments);
  const std::string path = rest.empty() ? "/" : rest.front();
  const Json status = api.get("/v1/client/fs/stat/" + cli::part(id), {{"path", path}});
  if (arguments.has("stat")) {
    print(list_text({status}, arguments.has("H"), true));
    return 0;
  }
  if (cli::truth(status, "IsDir")) {
    const Json list = api.get("/v1/client/fs/ls/" + cli::part(id), {{"path", path}});
    if (!arguments.has("json")) print(list_text(elements(list), arguments.has("H"), false));
    if (arguments.has("json")) cli::print_json(list);
    return 0;
  }
  const Tail tail = tail_of(arguments);
  const bool follow = arguments.has("f");
  if (tail.wanted && !tail.bytes && !follow) {
    print_end(tail, [&](std::int64_t bytes, const auto& piece) {
      const auto size = cli::number(status, "Size"), from = std::max<std::int64_t>(0, size - bytes);
      piece(api.get_text("/v1/client/fs/readat/" + cli::part(id),
                         {{"path", path}, {"offset", std::to_string(from)}, {"limit", std::to_string(size - from)}}));
    });
    return 0;
  }
  if (follow || tail.wanted)
    stream_file(api, id, path, tail, follow, cli::number(status, "Size"));
  else
    api.client().read_file(id, path, print_piece);
  return 0;
}

int exec(const Arguments& arguments) {
  Api api(arguments);
  const auto [id, rest] = chosen_allocation(api, arguments);
  sdk::ExecSession session;
  session.command = rest;
  if (session.command.empty()) throw Error(Code::invalid, "A command is required");
  session.task = chosen_task(api, id, arguments.get("task"));
  session.tty = arguments.find("t") ? arguments.has("t") : cli::is_terminal(0) && cli::is_terminal(1);
  auto& client = api.client();
  return cli::run_in_terminal(std::move(session), arguments.get("i", "true") != "false", cli::escape_of(arguments),
                              [&](const sdk::ExecSession& ready) { return client.exec_in_allocation(id, ready); });
}

/// The task that was named, if one was: without one all are meant.
std::string any_task(const Arguments& arguments) {
  return arguments.get("task", arguments.positional().size() > 1 ? std::string_view(arguments.positional()[1]) : "");
}

int restart(const Arguments& arguments) {
  const std::string task = any_task(arguments);
  if (arguments.has("all-tasks") && !task.empty())
    throw Error(Code::invalid, "The -all-tasks option is not allowed when restarting a specific task.");
  Api api(arguments);
  const std::string id = find_allocation(api, arguments.positional().front(), arguments.has("verbose"));
  if (arguments.has("all-tasks"))
    api.client().restart_all_tasks(id);
  else
    api.client().restart_allocation(id, task);
  return 0;
}

int send_signal(const Arguments& arguments) {
  Api api(arguments);
  api.client().signal_allocation(find_allocation(api, arguments.positional().front(), arguments.has("verbose")),
                                 any_task(arguments), arguments.get("s", "SIGKILL"));
  return 0;
}

int stop_allocation(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = find_allocation(api, arguments.positional().front(), arguments.has("verbose"));
  const std::string eval = api.client().stop_allocation(id, arguments.has("no-shutdown-delay"));
  if (arguments.has("detach")) print(eval + "\n");
  return watch_unless_detached(api, arguments, eval);
}

int checks(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = find_allocation(api, arguments.positional().front(), arguments.has("verbose"));
  const Json results = api.get("/v1/client/allocation/" + cli::part(id) + "/checks");
  if (cli::print_formatted(arguments, results)) return 0;
  const object all = results.is_object() ? results.get_object() : object();
  print(fmt::format("Status of {} Nomad Service Checks\n\n", all.size()));
  for (const auto& [key, check] : all) {
    const std::string task = text(check, "Task");
    Rows rows{{"ID", "=", text(check, "ID")},           {"Name", "=", text(check, "Check")},
              {"Group", "=", text(check, "Group")},     {"Task", "=", task.empty() ? "(group)" : task},
              {"Service", "=", text(check, "Service")}, {"Status", "=", text(check, "Status")}};
    if (cli::number(check, "StatusCode") > 0) rows.push_back({"StatusCode", "=", text(check, "StatusCode")});
    rows.insert(rows.end(), {{"Mode", "=", text(check, "Mode")},
                             {"Timestamp", "=", cli::moment(cli::number(check, "Timestamp") * 1'000'000'000)},
                             {"Output", "=", text(check, "Output")}});
    print(columns_text(rows) + "\n");
  }
  return 0;
}

constexpr Flag kGroup{"group", "NAME", "With -job: an allocation of this group.", false};
constexpr Flag kTail{"tail", "", "Only the end; 10 lines.", false};
constexpr Flag kLines = cli::number_flag("n", "LINES", "How many lines of the end.");
constexpr Flag kBytes = cli::number_flag("c", "BYTES", "How many bytes of the end.");

}  // namespace

void add_alloc_commands(Table& table) {
  table.push_back({.name = "alloc status",
                   .arguments = "<allocation>",
                   .summary = "Shows an allocation, its tasks and what happened to them.",
                   .flags = cli::with_format_flags({{"short", "", "The newest event of each task."},
                                                    {"stats", "", "Everything that is measured of its tasks."},
                                                    kVerbose,
                                                    kUi}),
                   .most = 1,
                   .run = alloc_status});
  auto reading =
      with_run(shared(cli::alloc_logs_command(),
                      {{"stdout", "", "Standard output; what is shown without a word."}, kBytes, kGroup, kVerbose}),
               logs);
  reading.least = 0;
  reading.details = "-f without -stdout and -stderr follows both.";
  reading.examples = {};
  table.push_back(std::move(reading));
  auto looking = with_run(shared(cli::alloc_fs_command(), {{"H", "", "Sizes as plain numbers."},
                                                           {"stat", "", "What it is, instead of what is in it."},
                                                           {"f", "", "Follows a file as it grows."},
                                                           kTail,
                                                           kLines,
                                                           kBytes,
                                                           kGroup,
                                                           kVerbose}),
                          files);
  looking.least = 0;
  table.push_back(std::move(looking));
  table.push_back(with_run(shared(cli::alloc_exec_command(), {kGroup}), exec));
  table.push_back(with_run(shared(cli::alloc_restart_command(), {kVerbose}), restart));
  table.push_back(with_run(shared(cli::alloc_signal_command(), {kVerbose}), send_signal));
  table.push_back(with_run(shared(cli::alloc_stop_command(), {kVerbose}), stop_allocation));
  table.push_back(with_run(shared(cli::alloc_checks_command(), {kVerbose}), checks));
}

}  // namespace underway::nomad

// What the API tells, gathered into one archive for whoever helps.
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/cluster/archive.hpp"
#include "cli/current_time.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

/// Of each log; the archive stays small enough to be mailed.
constexpr std::size_t kMostLog = 8u << 20;

/// Where it goes: an archive, or with -output a directory.
class Capture {
 public:
  Capture(std::string name, const std::optional<std::string>& output) : name_(std::move(name)) {
    if (output)
      directory_ = *output + "/" + name_;
    else
      archive_.emplace(name_ + ".tar.gz");
  }

  std::string where() const { return archive_ ? name_ + ".tar.gz" : directory_; }

  void add(const std::string& file, std::string_view bytes) {
    manifest_ += file + "\n";
    if (archive_) return archive_->add(name_ + "/" + file, bytes);
    const std::filesystem::path path = directory_ + "/" + file;
    os::make_directories(path.parent_path().string(), 0700);
    os::write_file(path.string(), bytes, 0600);
  }

  /// The files, a line each.
  const std::string& manifest() const { return manifest_; }

  void close() {
    add("index.txt", manifest_);
    if (archive_) archive_->close();
  }

 private:
  std::string name_, directory_, manifest_;
  std::optional<ArchiveWriter> archive_;
};

class Gathering {
 public:
  Gathering(Api& api, Capture& capture) : api_(api), capture_(capture) {}

  /// What cannot be had is told in the archive, and stops nothing.
  void take(const std::string& file, const std::string& path, http::Query query = {}) {
    std::string body;
    try {
      body = api_.get_text(path, std::move(query));
    } catch (const Error& error) {
      body = error.text() + "\n";
      ++failures_;
    }
    capture_.add(file, body);
  }

  int failures() const { return failures_; }

 private:
  Api& api_;
  Capture& capture_;
  int failures_ = 0;
};

void take_cluster(Gathering& gathering) {
  for (const auto& [file, path] : {std::pair("agent-self", "/v1/agent/self"), std::pair("agent-host", "/v1/agent/host"),
                                   std::pair("members", "/v1/agent/members"), std::pair("namespaces", "/v1/namespaces"),
                                   std::pair("operator-raft", "/v1/operator/raft/configuration"),
                                   std::pair("regions", "/v1/regions"), std::pair("status-leader", "/v1/status/leader"),
                                   std::pair("operator-autopilot-health", "/v1/operator/autopilot/health"),
                                   std::pair("operator-scheduler", "/v1/operator/scheduler/configuration"),
                                   std::pair("operator-keyring", "/v1/operator/keyring/keys")})
    gathering.take(fmt::format("cluster/{}.json", file), path);
}

/// One look at what changes.
void take_state(Gathering& gathering, std::size_t round, const std::vector<std::string>& nodes) {
  const std::string place = fmt::format("nomad/{:04}/", round);
  for (const auto& [file, path] :
       {std::pair("allocations", "/v1/allocations"), std::pair("deployments", "/v1/deployments"),
        std::pair("evaluations", "/v1/evaluations"), std::pair("jobs", "/v1/jobs"), std::pair("nodes", "/v1/nodes"),
        std::pair("node-pools", "/v1/node/pools"), std::pair("metrics", "/v1/metrics")})
    gathering.take(place + file + ".json", path, {{"namespace", "*"}});
  for (const auto& node : nodes)
    gathering.take(fmt::format("client/{}/{:04}-stats.json", node, round), "/v1/client/stats", {{"node_id", node}});
}

std::vector<std::string> chosen_nodes(Api& api, const Arguments& arguments) {
  const auto wanted = split_list(arguments.get("node-id", "all"));
  const std::string node_class = arguments.get("node-class");
  const auto most = static_cast<std::size_t>(arguments.number("max-nodes").value_or(10));
  std::vector<std::string> out;
  for (const auto& node : elements(api.get("/v1/nodes"))) {
    const std::string id = text(node, "ID");
    const bool named = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const auto& prefix) { return prefix == "all" || id.starts_with(prefix); });
    if (!named || (!node_class.empty() && text(node, "NodeClass") != node_class)) continue;
    if (most > 0 && out.size() == most) break;
    out.push_back(id);
  }
  return out;
}

Duration span_of(const Arguments& arguments, const char* flag, const char* otherwise) {
  const std::string given = arguments.get(flag, otherwise);
  const auto parsed = parse_duration(given);
  if (!parsed || *parsed < Duration{0})
    throw Error(Code::invalid, fmt::format("-{} '{}' is no span of time", flag, given));
  return *parsed;
}

/// The server's log while the capture goes on, by a client of its own: a blocking read is ended by its own clock.
class LogReader {
 public:
  LogReader(const Arguments& arguments, std::string level, std::chrono::steady_clock::time_point until)
      : client_(make_client(arguments)), thread_([this, level = std::move(level), until] { read(level, until); }) {}
  ~LogReader() {
    if (thread_.joinable()) thread_.join();
  }
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  std::string finish() {
    thread_.join();
    return std::move(log_);
  }

 private:
  void read(const std::string& level, std::chrono::steady_clock::time_point until) {
    try {
      client_.monitor({}, level, false, [&](std::string_view piece) {
        log_ += piece;
        return log_.size() < kMostLog && std::chrono::steady_clock::now() < until;
      });
    } catch (const Error& error) {
      log_ += error.text() + "\n";
    }
  }

  sdk::Client client_;
  std::string log_;
  std::thread thread_;
};

/// Events of what changes, until the capture ends, by a client of its own.
class EventReader {
 public:
  EventReader(const Arguments& arguments, sdk::EventQuery query, std::chrono::steady_clock::time_point until)
      : client_(make_client(arguments)), thread_([this, query = std::move(query), until] { read(query, until); }) {}
  ~EventReader() {
    if (thread_.joinable()) thread_.join();
  }
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// A line of JSON each.
  std::string finish() {
    thread_.join();
    return std::move(events_);
  }

 private:
  void read(const sdk::EventQuery& query, std::chrono::steady_clock::time_point until) {
    const auto goes_on = [&] { return events_.size() < kMostLog && std::chrono::steady_clock::now() < until; };
    try {
      client_.events(
          query, [](const sdk::EventStart&) {},
          [&](const boost::json::value& event) {
            events_ += boost::json::serialize(event) + "\n";
            return goes_on();
          },
          goes_on);
    } catch (const Error& error) {
      events_ += error.text() + "\n";
    }
  }

  sdk::Client client_;
  std::string events_;
  std::thread thread_;
};

/// -event-topic: none, all, or "Job,Node:ID"; absent for none.
std::optional<sdk::EventQuery> events_wanted(const Arguments& arguments) {
  sdk::EventQuery query{split_list(arguments.get("event-topic", "none")), arguments.number("event-index").value_or(0)};
  const auto is = [&](const char* word) { return query.topics.size() == 1 && lower(query.topics.front()) == word; };
  if (query.topics.empty() || is("none")) return std::nullopt;
  if (is("all") || is("*")) query.topics.clear();
  return query;
}

/// There is one server: another name is a mistake.
void check_servers(Api& api, const Arguments& arguments) {
  const std::string name = text(api.get("/v1/agent/self"), "member.Name");
  for (const auto& wanted : split_list(arguments.get("server-id", "all"))) {
    if (wanted != "all" && wanted != "leader" && !name.starts_with(wanted))
      throw Error(Code::not_found, fmt::format("no server is named '{}'", wanted))
          .because(name.empty() ? "there is one server" : fmt::format("the server is {}", name));
  }
}

int debug(const Arguments& arguments) {
  Api api(arguments);
  check_servers(api, arguments);
  const auto topics = events_wanted(arguments);
  const Duration lasting = span_of(arguments, "duration", "5m"), every = span_of(arguments, "interval", "30s");
  const auto nodes = chosen_nodes(api, arguments);
  std::string stamp = format_time(current_time());
  std::erase_if(stamp, [](char c) { return c == ':'; });
  Capture capture("nomad-debug-" + stamp, arguments.find("output"));
  say(fmt::format("Gathering for {}, every {}, of {} nodes into {}", format_duration(lasting), format_duration(every),
                  nodes.size(), capture.where()));
  const auto until = std::chrono::steady_clock::now() + lasting;
  Gathering gathering(api, capture);
  take_cluster(gathering);
  std::optional<EventReader> events;
  if (topics) events.emplace(arguments, *topics, until);
  LogReader log(arguments, lower(arguments.get("log-level", "TRACE")), until);
  std::size_t round = 0;
  take_state(gathering, round, nodes);
  while (every > Duration{0} && std::chrono::steady_clock::now() + every <= until) {
    std::this_thread::sleep_for(every);
    take_state(gathering, ++round, nodes);
  }
  std::this_thread::sleep_until(until);
  capture.add("server/leader/monitor.log", log.finish());
  if (events) capture.add("cluster/eventstream.json", events->finish());
  capture.close();
  if (arguments.has("verbose")) say(capture.manifest());
  if (gathering.failures() > 0)
    say(fmt::format("{} things could not be had; the archive says why", gathering.failures()));
  print(fmt::format("Created debug {}: {}\n", arguments.find("output") ? "directory" : "archive", capture.where()));
  return kDone;
}

}  // namespace

const Command& operator_debug_command() {
  static const Command command{
      .name = "operator debug",
      .summary = "Gathers what the API tells, and the server's log meanwhile, into one archive.",
      .details =
          "Secrets are not in what the API tells of configuration and variables; look through it all the same before "
          "you "
          "hand it on. Of the log 8 MiB are kept.",
      .examples = {"underway operator debug -duration 30s -interval 10s"},
      .flags = {{"duration", "SPAN", "How long; 5m."},
                {"interval", "SPAN", "How often the state is looked at; 30s."},
                {"log-level", "LEVEL", "Of the log; TRACE."},
                number_flag("max-nodes", "N", "How many nodes at most; 10, and 0 for all."),
                {"node-id", "ID,…", "These nodes only; all."},
                {"node-class", "CLASS", "Nodes of this class only."},
                {"server-id", "NAME,…", "The server: there is one; all."},
                {"stale", "BOOL", "From any server."},
                {"output", "DIR", "Into a directory in there instead of an archive."},
                {"event-topic", "TOPIC,…", "Events of these meanwhile, as TOPIC or TOPIC:KEY; none, and all."},
                number_flag("event-index", "INDEX", "With -event-topic: from that index on; else all that are kept."),
                {"verbose", "", "Lists the files that were gathered."}},
      .run = debug};
  return command;
}

}  // namespace underway::cli

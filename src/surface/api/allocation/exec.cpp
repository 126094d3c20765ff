// Sessions: a command beside a task or on a host, over a WebSocket with Nomad's frames on the client's side and a
// stream of the link on the node's. Frames (api/allocations_exec.go): {"stdin":{"data":base64,"close":true}},
// {"tty_size":{"height":24,"width":80}} in; {"stdout":{"data":…}}, {"stderr":…},
// {"exited":true,"result":{"exit_code":0}} out.
#include "api/routes.hpp"
#include "async/group.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "http/plain_error.hpp"
#include "http/websocket.hpp"
#include "protocol/messages.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;
using link::Channel;
using link::Stream;

std::int64_t integer_at(const boost::json::object& object, const char* key, std::int64_t otherwise) {
  const auto* value = json::find_member(object, key);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

/// What the client types, on its way to the node.
struct Input {
  std::shared_ptr<Stream> stream;
  bool terminal = false;  ///< it has no end: a closed standard input leaves the terminal as it is
  bool ended = false;
};

/// One frame of the client's.
awaitable<void> forward_frame(std::string text, Input& to) {
  const auto frame = json::parse(text);
  if (!frame.is_object() || to.ended) co_return;
  const auto stream = to.stream;
  if (const auto* size = json::find_member(frame.get_object(), "tty_size"); size != nullptr && size->is_object()) {
    const auto& object = size->get_object();
    const boost::json::value resize =
        boost::json::object{{"Width", integer_at(object, "width", 80)}, {"Height", integer_at(object, "height", 24)}};
    co_await stream->write_control(resize);
  }
  const auto* input = json::find_member(frame.get_object(), "stdin");
  if (input == nullptr || !input->is_object()) co_return;
  const auto& object = input->get_object();
  if (const auto* data = json::find_member(object, "data"); data != nullptr && data->is_string()) {
    std::string bytes = base64_decode(std::string_view(data->get_string()));
    co_await stream->write(std::move(bytes));
  }
  if (const auto* close = json::find_member(object, "close");
      close != nullptr && close->is_bool() && close->get_bool()) {
    if (to.terminal) co_return;
    to.ended = true;
    stream->end();
  }
}

/// From the client to the node, until the client is gone: then the command has nobody left, and is ended.
awaitable<void> forward_input(std::shared_ptr<http::WebSocket> socket, std::shared_ptr<Stream> stream, bool terminal) {
  Input to{stream, terminal};
  try {
    while (auto message = co_await socket->read()) co_await forward_frame(std::move(message->data), to);
    stream->reset(Error(Code::unavailable, "the client has gone"));
  } catch (const Error& error) {
    stream->reset(error);
  }
}

http::Message frame(boost::json::object object) { return {boost::json::serialize(object), true}; }

/// From the node to the client, until the command has ended.
awaitable<void> forward_output(std::shared_ptr<http::WebSocket> socket, std::shared_ptr<Stream> stream) {
  while (auto chunk = co_await stream->read()) {
    if (chunk->channel == Channel::control) {
      const auto control = json::parse(chunk->bytes);
      if (!control.is_object() || !control.get_object().contains("ExitCode")) continue;
      http::Message exited = frame(
          {{"exited", true}, {"result", boost::json::object{{"exit_code", control.get_object().at("ExitCode")}}}});
      co_await socket->write(std::move(exited));
      co_return;
    }
    const char* name = chunk->channel == Channel::error ? "stderr" : "stdout";
    http::Message output = frame({{name, boost::json::object{{"data", base64_encode(chunk->bytes)}}}});
    co_await socket->write(std::move(output));
  }
}

awaitable<void> run_session(Api& api, std::string node_id, std::string method, protocol::ExecRequest request,
                            std::shared_ptr<http::WebSocket> socket) {
  std::optional<Error> failure;
  try {
    auto header = json::to_value(request);
    const auto stream = co_await api.server.open_stream(std::move(node_id), std::move(method), std::move(header));
    async::TaskGroup input(co_await asio::this_coro::executor, "exec");
    input.spawn("input", forward_input(socket, stream, request.tty));
    std::exception_ptr escaped;
    try {
      co_await forward_output(socket, stream);
    } catch (const Error& error) {
      failure = error;
    } catch (...) {
      escaped = std::current_exception();
    }
    input.cancel();
    co_await input.wait();
    if (escaped) std::rethrow_exception(escaped);
  } catch (const Error& error) {
    failure = error;
  }
  // A close frame's reason is at most 123 bytes (RFC 6455, section 5.5): the rest of a long text goes as stderr.
  if (failure && socket->is_open())
    socket->try_write(
        frame({{"stderr", boost::json::object{{"data", base64_encode(http::plain_text(*failure) + "\n")}}}}));
  const auto code = failure ? http::CloseCode::internal : http::CloseCode::normal;
  co_await socket->close(code, failure ? failure->one_line().substr(0, 120) : std::string());
}

/// Those of each caller: a link carries 256 streams, and whoever took them all would keep out everybody who reads a log
/// there or has to look after the node. Thread: loop only.
class Sessions {
 public:
  /// Held as long as the session runs. Throws unavailable when the caller has too many.
  std::shared_ptr<void> begin(const Request& request) {
    if (request.remote.uid && request.caller().is_permanent()) return nullptr;
    const std::string& address = request.remote.address;
    auto& count = running_[request.caller().accessor + "|" + address.substr(0, address.rfind(':'))];
    if (!count) count = std::make_shared<int>(0);
    if (*count >= kMost) {
      throw Error(Code::unavailable, "too many sessions are under way for this caller")
          .because(fmt::format("it has {}, and that is the limit", kMost))
          .advise("end some, or wait for their commands");
    }
    std::erase_if(running_, [&](const auto& entry) { return *entry.second == 0 && entry.second != count; });
    ++*count;
    return std::shared_ptr<void>(count.get(), [count](void*) { --*count; });
  }

 private:
  static constexpr int kMost = 64;
  std::map<std::string, std::shared_ptr<int>> running_;
};

/// `command` is a JSON list, as Nomad's clients send it.
std::vector<std::string> command_of(const Request& request) {
  const auto text = request.query.find("command");
  if (!text) throw Error(Code::invalid, "missing command");
  const auto value = json::parse(*text);
  auto command = json::decode<std::vector<std::string>>(value, "command");
  if (command.empty()) throw Error(Code::invalid, "missing command");
  return command;
}

protocol::ExecRequest exec_request(const Request& request) {
  protocol::ExecRequest exec;
  exec.command = command_of(request);
  exec.tty = request.query.flag("tty");
  exec.task = request.query.find("task").value_or("");
  return exec;
}

/// For the audit log. Its words are on the command line of a process anyway.
std::string command_text(const protocol::ExecRequest& exec) {
  const std::string who = exec.user.empty() ? "" : fmt::format(" as {}", exec.user);
  return fmt::format("session{}{}: {}", exec.task.empty() ? "" : " in task " + exec.task, who, join(exec.command, " "));
}

Response session(Api& api, std::shared_ptr<void> slot, std::string node_id, const char* method,
                 protocol::ExecRequest exec) {
  Response response;
  response.upgrade = [&api, slot = std::move(slot), node_id = std::move(node_id), method,
                      exec = std::move(exec)](std::shared_ptr<http::WebSocket> socket) {
    return run_session(api, node_id, method, exec, std::move(socket));
  };
  return response;
}

awaitable<void> close_session(std::string why, std::shared_ptr<http::WebSocket> socket) {
  co_await socket->close(http::CloseCode::internal, std::move(why));
}

/// Nomad's clients print the text with which a session is closed; of a refused handshake they print its status.
/// The id is told as it was asked for, also where it is hidden from the caller.
Response unknown_allocation(const Request& request) {
  const std::string id = split(request.path, '/').at(4);  // /v1/client/allocation/:id/exec
  if (!request.headers.find("Upgrade")) throw Error(Code::not_found, "alloc not found");
  Response response;
  response.upgrade = [why = fmt::format("Unknown allocation \"{}\"", id.substr(0, 80))](auto socket) {
    return close_session(why, std::move(socket));
  };
  return response;
}

/// Unknown tasks count as not isolated: the node will not know them either.
bool is_isolated(const model::Allocation& allocation, const std::string& task) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return false;
  const auto it = std::find_if(group->tasks.begin(), group->tasks.end(), [&](const auto& t) { return t.name == task; });
  return it != group->tasks.end() && it->driver != "raw_exec";
}

/// Of its task, or of the only one.
std::string task_of(const model::Allocation& allocation, std::string named) {
  if (!named.empty()) return named;
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr || group->tasks.size() != 1)
    throw Error(Code::invalid, "missing task: the allocation has more than one");
  return group->tasks.front().name;
}

awaitable<Response> console_of_allocation(Api& api, Sessions& sessions, Request request) {
  const auto* tables = co_await api.server.read();
  const auto allocation = tables->find_allocation(request.param("id"));
  if (!allocation) throw Error(Code::not_found, "alloc not found");
  protocol::ExecRequest exec;
  exec.alloc = allocation->id;
  exec.tty = true;
  exec.task = task_of(*allocation, request.query.find("task").value_or(""));
  request.tell(fmt::format("console of task {}", exec.task));
  co_return session(api, sessions.begin(request), allocation->node_id, "console", std::move(exec));
}

awaitable<Response> exec_in_allocation(Api& api, Sessions& sessions, Request request) {
  const auto* tables = co_await api.server.read();
  const auto allocation = tables->find_allocation(request.param("id"));
  if (!allocation) co_return unknown_allocation(request);
  auto exec = exec_request(request);
  exec.alloc = allocation->id;
  exec.task = task_of(*allocation, std::move(exec.task));
  request.tell(command_text(exec));
  // A session in a task that its driver does not isolate is a shell on the node.
  if (!is_isolated(*allocation, exec.task)) request.require(right::ns(Capability::alloc_node_exec), allocation->ns);
  co_return session(api, sessions.begin(request), allocation->node_id, "exec", std::move(exec));
}

/// The allocation that was asked for, else one of the job that runs and has the task.
tables::Row<model::Allocation> allocation_of_action(const tables::Tables& tables, const Request& request,
                                                    const std::string& ns, const std::string& job) {
  const std::string id = request.query.find("allocID").value_or(""), group = request.query.find("group").value_or("");
  for (const auto& allocation : tables.allocations_of_job(ns, job)) {
    const bool meant = id.empty() ? allocation->client_status == model::ClientStatus::running : allocation->id == id;
    if (meant && (group.empty() || allocation->group == group)) return allocation;
  }
  throw Error(Code::not_found, "alloc not found")
      .because(id.empty() ? fmt::format("no allocation of job '{}' runs", job)
                          : fmt::format("job '{}' has no allocation '{}'", job, id));
}

/// Nomad's job action: the command is the job's, whatever the client says.
awaitable<Response> run_action(Api& api, Sessions& sessions, Request request) {
  const auto* tables = co_await api.server.read();
  const std::string ns = namespace_of(request), job = request.param("id");
  if (!tables->find_job(ns, job)) throw Error(Code::not_found, "job not found");
  const auto allocation = allocation_of_action(*tables, request, ns, job);
  const std::string name = request.query.find("action").value_or(""),
                    task_name = request.query.find("task").value_or("");
  const auto* group = allocation->job ? allocation->job->find_group(allocation->group) : nullptr;
  protocol::ExecRequest exec;
  exec.alloc = allocation->id;
  exec.tty = request.query.flag("tty");
  for (std::size_t i = 0; group != nullptr && i < group->tasks.size(); ++i) {
    const auto& task = group->tasks[i];
    if (!task_name.empty() && task.name != task_name) continue;
    for (const auto& action : task.actions) {
      if (action.name != name || !exec.command.empty()) continue;
      exec.task = task.name;
      exec.command.push_back(action.command);
      exec.command.insert(exec.command.end(), action.args.begin(), action.args.end());
    }
  }
  if (exec.command.empty()) throw Error(Code::not_found, fmt::format("action '{}' of job '{}' not found", name, job));
  request.tell(fmt::format("action {}, {}", name, command_text(exec)));
  if (!is_isolated(*allocation, exec.task)) request.require(right::ns(Capability::alloc_node_exec), ns);
  co_return session(api, sessions.begin(request), allocation->node_id, "exec", std::move(exec));
}

awaitable<Response> exec_on_host(Api& api, Sessions& sessions, Request request) {
  const auto* tables = co_await api.server.read();
  const auto host = tables->find_host(request.param("cluster"), request.param("name"));
  if (!host) throw Error(Code::not_found, "host not found");
  if (host->node_id.empty()) {
    throw Error(Code::unavailable, fmt::format("the agent of host '{}' has not joined yet", host->name))
        .because(fmt::format("the host is {}", describe::spell(host->status)));
  }
  auto exec = exec_request(request);
  exec.user = request.query.find("user").value_or("");
  exec.cwd = request.query.find("cwd").value_or("");
  request.tell(command_text(exec));
  co_return session(api, sessions.begin(request), host->node_id, "host.exec", std::move(exec));
}

}  // namespace

void add_exec_routes(Routes& routes, Api& api) {
  const auto with = [&api, sessions = std::make_shared<Sessions>()](auto handler) {
    return [&api, sessions, handler](Request request) { return handler(api, *sessions, std::move(request)); };
  };
  routes.add("GET", "/v1/client/allocation/:id/exec", "exec in allocation",
             right::ns(Capability::alloc_exec, of_allocation), with(exec_in_allocation), {.effect = Effect::changes});
  routes.add("GET", "/v1/underway/allocation/:id/console", "console of allocation",
             right::ns(Capability::alloc_exec, of_allocation), with(console_of_allocation),
             {.effect = Effect::changes});
  routes.add("GET", "/v1/job/*id/action", "job action", right::ns(Capability::alloc_exec), with(run_action),
             {.effect = Effect::changes});
  routes.add("GET", "/v1/underway/host/:cluster/:name/exec", "exec on host", right::operators(Level::write),
             with(exec_on_host), {.effect = Effect::changes});
}

}  // namespace underway::api

// A command's session from the terminal's side: bytes of the descriptors in, Nomad's frames out, and back.
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/json/serialize.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>

#include "async/group.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

using async::awaitable;
using Descriptor = asio::posix::stream_descriptor;

http::Message frame(boost::json::object object) { return {boost::json::serialize(object), true}; }

awaitable<void> send_window(std::shared_ptr<http::WebSocket> socket, const ExecSession& session) {
  const auto [width, height] = session.window();
  http::Message size = frame({{"tty_size", boost::json::object{{"width", width}, {"height", height}}}});
  co_await socket->write(std::move(size));
}

/// Waits until the descriptor can be read. Regular files and /dev/null cannot be waited for (epoll_ctl(2), EPERM): they
/// always can.
awaitable<void> readable(Descriptor& descriptor) {
  boost::system::error_code not_waitable;
  co_await descriptor.async_wait(Descriptor::wait_read, asio::redirect_error(asio::use_awaitable, not_waitable));
  if (not_waitable == asio::error::operation_aborted) throw boost::system::system_error(not_waitable);
}

/// Until the end of the input.
awaitable<void> send_input(std::shared_ptr<http::WebSocket> socket, const ExecSession& session) {
  const int fd = session.in;
  std::array<char, 16 * 1024> buffer;
  const auto executor = co_await asio::this_coro::executor;
  std::optional<Descriptor> descriptor;
  const int copy = ::dup(fd);
  try {
    descriptor.emplace(executor, copy);
  } catch (const boost::system::system_error&) {
    ::close(copy);
  }
  while (true) {
    if (descriptor) co_await readable(*descriptor);
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    const std::string_view typed(buffer.data(), static_cast<std::size_t>(got));
    const auto bytes = session.filter ? session.filter(typed) : std::optional<std::string>(typed);
    if (!bytes) {
      socket->abort();
      co_return;
    }
    http::Message input = frame({{"stdin", boost::json::object{{"data", base64_encode(*bytes)}}}});
    co_await socket->write(std::move(input));
  }
  http::Message end = frame({{"stdin", boost::json::object{{"close", true}}}});
  co_await socket->write(std::move(end));
}

awaitable<void> send_resizes(std::shared_ptr<http::WebSocket> socket, const ExecSession& session) {
  Descriptor resized(co_await asio::this_coro::executor, ::dup(session.resized));
  std::array<char, 256> ignored;
  while (true) {
    co_await resized.async_wait(Descriptor::wait_read, asio::use_awaitable);
    if (::read(session.resized, ignored.data(), ignored.size()) <= 0) co_return;
    co_await send_window(socket, session);
  }
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote <= 0) return;  // nobody reads our output any more: the command goes on
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

/// Until the command has ended; its exit code.
awaitable<int> receive_output(std::shared_ptr<http::WebSocket> socket, const ExecSession& session) {
  while (auto message = co_await socket->read()) {
    const auto value = json::parse(message->data);
    if (!value.is_object()) continue;
    const auto& object = value.get_object();
    for (const auto& [name, fd] : {std::pair{"stdout", session.out}, std::pair{"stderr", session.err}}) {
      const auto* part = object.if_contains(name);
      const auto* data = part != nullptr && part->is_object() ? part->get_object().if_contains("data") : nullptr;
      if (data != nullptr && data->is_string()) write_all(fd, base64_decode(std::string_view(data->get_string())));
    }
    const auto* result = object.if_contains("result");
    const auto* code =
        result != nullptr && result->is_object() ? result->get_object().if_contains("exit_code") : nullptr;
    if (code != nullptr && code->is_int64()) co_return static_cast<int>(code->get_int64());
  }
  throw Error(Code::unavailable, "the session ended before the command did")
      .because(socket->close_reason().empty() ? "the connection was closed" : socket->close_reason());
}

awaitable<int> run(http::Client& client, http::Request request, const ExecSession& session) {
  const auto socket = co_await client.dial(std::move(request));
  async::TaskGroup beside(co_await asio::this_coro::executor, "session");
  if (session.tty && session.window) co_await send_window(socket, session);
  if (session.in >= 0) {
    beside.spawn("input", send_input(socket, session));
  } else {
    http::Message end = frame({{"stdin", boost::json::object{{"close", true}}}});
    co_await socket->write(std::move(end));
  }
  if (session.resized >= 0) beside.spawn("window", send_resizes(socket, session));
  int code = -1;
  std::exception_ptr failure;
  try {
    code = co_await receive_output(socket, session);
  } catch (...) {
    failure = std::current_exception();
  }
  socket->abort();
  co_await beside.stop();
  if (failure) std::rethrow_exception(failure);
  co_return code;
}

}  // namespace

int Client::run_session(std::string_view path, const ExecSession& session, http::Query query) {
  boost::json::array command;
  for (const auto& word : session.command) command.emplace_back(word);
  if (!command.empty()) query.add("command", boost::json::serialize(command));
  query.add("tty", session.tty ? "true" : "false");
  if (!session.task.empty()) query.add("task", session.task);
  if (!session.user.empty()) query.add("user", session.user);
  if (!session.cwd.empty()) query.add("cwd", session.cwd);
  auto request = http::request("GET", path, query);
  if (!address_.token.empty()) request.headers.set("X-Nomad-Token", address_.token);
  return client_.loop().run_until_done(run(client_.client(), std::move(request), session));
}

int Client::exec_in_allocation(const std::string& allocation, const ExecSession& session) {
  return run_session("/v1/client/allocation/" + http::percent_encode(allocation) + "/exec", session);
}

int Client::console_of_allocation(const std::string& allocation, const ExecSession& session) {
  return run_session("/v1/underway/allocation/" + http::percent_encode(allocation) + "/console", session);
}

int Client::run_action(const ActionRun& action, const ExecSession& session) {
  http::Query query{{"action", action.action},
                    {"allocID", action.allocation},
                    {"group", action.group},
                    {"task", action.task},
                    {"namespace", address_.ns.empty() ? "default" : address_.ns}};
  return run_session("/v1/job/" + http::percent_encode(action.job) + "/action", session, std::move(query));
}

int Client::exec_on_host(const std::string& cluster, const std::string& host, const ExecSession& session) {
  return run_session("/v1/underway/host/" + http::percent_encode(cluster) + "/" + http::percent_encode(host) + "/exec",
                     session);
}

}  // namespace underway::sdk

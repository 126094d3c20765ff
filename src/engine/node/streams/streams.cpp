// Byte streams that the server opens: logs, files, commands.
#include <sys/inotify.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "node/detail/node_impl.hpp"
#include "node/streams/file_access.hpp"

namespace underway::node {

namespace {

constexpr std::size_t kPiece = 64U << 10;

/// Whether the peer still listens. It writes nothing in these streams, so whatever comes is its end.
struct Listener {
  bool gone = false;
  async::Event changed;
};

awaitable<void> watch_peer(std::shared_ptr<link::Stream> stream, std::shared_ptr<Listener> listener) {
  try {
    while (co_await stream->read()) {
    }
  } catch (const Error&) {
    listener->gone = true;
  }
  // An end without a reset means only that the peer has nothing to say.
  listener->changed.notify_all();
}

/// Wakes `listener` when something happens to what `inotify` watches.
awaitable<void> watch_changes(std::shared_ptr<os::Fd> inotify, std::shared_ptr<Listener> listener) {
  while (!listener->gone) {
    const std::string events = co_await read_some(inotify->get());
    if (events.empty()) co_return;
    listener->changed.notify_all();
  }
}

awaitable<void> pass_on(async::Event& from, std::shared_ptr<Listener> listener) {
  while (!listener->gone) {
    co_await from.wait();
    listener->changed.notify_all();
  }
}

std::shared_ptr<os::Fd> watch_path(const std::string& path, std::uint32_t mask) {
  auto inotify = std::make_shared<os::Fd>(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!*inotify) throw errno_error(errno, "cannot watch files").advise("raise fs.inotify.max_user_instances");
  if (::inotify_add_watch(inotify->get(), path.c_str(), mask) < 0)
    throw errno_error(errno, fmt::format("cannot watch '{}'", path));
  return inotify;
}

}  // namespace

awaitable<void> Node::Impl::serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
  if (auto* extension = extension_for(method)) {
    co_await extension->serve(std::move(method), std::move(header), std::move(stream));
  } else if (method == "logs") {
    co_await serve_log(json::decode<protocol::LogRequest>(header), std::move(stream));
  } else if (method == "fs.cat" || method == "fs.readat" || method == "fs.stream") {
    co_await serve_file(method, json::decode<protocol::FileRequest>(header), std::move(stream));
  } else if (method == "disk.read") {
    co_await serve_disk(json::decode<protocol::FileRequest>(header), std::move(stream));
  } else if (method == "machines.read") {
    co_await serve_machine(json::decode<protocol::FileRequest>(header), std::move(stream));
  } else if (method == "machines.send") {
    co_await serve_departure(json::decode<protocol::MachineStream>(header), std::move(stream));
  } else if (method == "machines.take") {
    co_await serve_entrance(json::decode<protocol::MachineStream>(header), std::move(stream));
  } else if (method == "console") {
    const auto request = json::decode<protocol::ExecRequest>(header);
    std::shared_ptr<ExecSession> session = co_await get(request.alloc).running_task(request.task)->console();
    co_await serve_exec(std::move(session), std::move(stream));
  } else if (method == "node.monitor") {
    co_await serve_monitor(json::decode<protocol::MonitorRequest>(header), std::move(stream));
  } else if (method == "exec" || method == "host.exec") {
    const auto request = json::decode<protocol::ExecRequest>(header);
    if (request.command.empty()) throw Error(Code::invalid, "no command is given");
    const auto width = static_cast<int>(std::clamp<std::int64_t>(request.width, 0, 10000));
    const auto height = static_cast<int>(std::clamp<std::int64_t>(request.height, 0, 10000));
    std::shared_ptr<ExecSession> session;
    if (method == "host.exec") {
      session = start_host_command(runtime_, request.command, request.tty, width, height, request.user, request.cwd);
    } else {
      const auto process = get(request.alloc).running_task(request.task);
      session = co_await process->exec(request.command, request.tty, width, height);
    }
    co_await serve_exec(std::move(session), std::move(stream));
  } else {
    throw Error(Code::unsupported, fmt::format("this node has no stream '{}'", method));
  }
}

namespace {

/// Whether it was ever started: one that is to begin anew is as if it never had been, and what it wrote is there.
awaitable<bool> has_log(Runtime& runtime, std::string directory, protocol::LogRequest request) {
  bool any = false;
  co_await blocking(runtime, [&] { any = LogReader::any(directory, request.task, request.type); });
  co_return any;
}

}  // namespace

awaitable<void> Node::Impl::serve_log(protocol::LogRequest request, std::shared_ptr<link::Stream> stream) {
  AllocationRunner& runner = get(request.alloc);
  const auto task = runner.tasks().find(request.task);
  if (task == runner.tasks().end()) throw Error(Code::invalid, fmt::format("unknown task name \"{}\"", request.task));
  const std::string directory = runner.directory().logs();
  const bool may_have_one = task->second->state().started_at != 0;
  if (!may_have_one && !co_await has_log(runtime_, directory, request)) {
    // In Nomad's words: clients tell by them that it is too early.
    throw Error(Code::not_found, fmt::format("task \"{}\" not started yet. No logs available", request.task));
  }
  if (request.follow) os::make_directories(directory);
  const auto ended = [this, &request] {
    const auto it = runners_.find(request.alloc);
    return it == runners_.end() || it->second->tasks().at(request.task)->dead();
  };

  const auto listener = std::make_shared<Listener>();
  async::TaskGroup watchers(loop_.executor(), "log");
  if (request.follow) {
    watchers.spawn("peer", watch_peer(stream, listener));
    watchers.spawn("files", watch_changes(watch_path(directory, IN_MODIFY | IN_CREATE | IN_MOVED_TO), listener));
    watchers.spawn("task", pass_on(tasks_changed_, listener));
  }
  std::optional<LogReader> reader;
  std::exception_ptr failure;
  try {
    co_await blocking(runtime_,
                      [&] { reader.emplace(directory, request.task, request.type, request.origin, request.offset); });
    while (!listener->gone) {
      // Asked before reading: what a task wrote before its end is there when its end is known.
      const bool over = !request.follow || ended();
      std::string bytes = reader->read(kPiece);
      if (!bytes.empty()) {
        co_await stream->write(std::move(bytes));
        continue;
      }
      if (over) break;
      co_await listener->changed.wait();
    }
    stream->end();
  } catch (...) {
    failure = std::current_exception();
  }
  listener->gone = true;
  co_await watchers.stop();
  if (failure) std::rethrow_exception(failure);
}

namespace {

/// As Nomad tells it of one that is not there, but for the host's path: in a stream that is a wrong request.
os::Fd open_named(const FileAccess& files, const std::string& path) {
  try {
    return files.open(path);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw Error(Code::invalid, fmt::format("stat {}: no such file or directory", path))
        .advise("list what is there with `underway alloc fs`");
  }
}

}  // namespace

awaitable<void> Node::Impl::serve_file(std::string method, protocol::FileRequest request,
                                       std::shared_ptr<link::Stream> stream) {
  const FileAccess files(get(request.alloc).directory().root());
  os::Fd file;
  co_await blocking(runtime_, [&] { file = open_named(files, request.path); });
  const bool follow = method == "fs.stream" && request.follow;
  std::int64_t position = 0;
  if (method != "fs.cat") {
    const std::int64_t size = ::lseek(file.get(), 0, SEEK_END);
    position = std::clamp<std::int64_t>(request.origin == "end" ? size - request.offset : request.offset, 0, size);
  }
  std::int64_t left = method == "fs.readat" && request.limit > 0 ? request.limit : INT64_MAX;

  const auto listener = std::make_shared<Listener>();
  async::TaskGroup watchers(loop_.executor(), "file");
  if (follow) {
    watchers.spawn("peer", watch_peer(stream, listener));
    watchers.spawn("changes",
                   watch_changes(watch_path(fmt::format("/proc/self/fd/{}", file.get()), IN_MODIFY), listener));
  }
  std::exception_ptr failure;
  try {
    while (left > 0 && !listener->gone) {
      std::string bytes(std::min<std::size_t>(kPiece, static_cast<std::size_t>(left)), '\0');
      const auto got = ::pread(file.get(), bytes.data(), bytes.size(), position);
      if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", request.path));
      if (got == 0) {
        if (!follow) break;
        co_await listener->changed.wait();
        continue;
      }
      bytes.resize(static_cast<std::size_t>(got));
      position += got;
      left -= got;
      co_await stream->write(std::move(bytes));
    }
    stream->end();
  } catch (...) {
    failure = std::current_exception();
  }
  listener->gone = true;
  co_await watchers.stop();
  if (failure) std::rethrow_exception(failure);
}

namespace {

/// Broken off, the command dies: also one that reads nothing, for which its input waits.
awaitable<void> end_with_peer(std::shared_ptr<ExecSession> session, std::shared_ptr<link::Stream> stream) {
  co_await stream->broken_off();
  session->kill();
}

/// From the peer to the command: input, size of the terminal, end of input.
awaitable<void> feed(std::shared_ptr<ExecSession> session, std::shared_ptr<link::Stream> stream) {
  try {
    while (auto chunk = co_await stream->read()) {
      if (chunk->channel == link::Channel::data) {
        co_await session->write(std::move(chunk->bytes));
      } else if (chunk->channel == link::Channel::control) {
        const auto message = json::parse(chunk->bytes);
        if (!message.is_object()) continue;
        const auto* width = message.get_object().if_contains("Width");
        const auto* height = message.get_object().if_contains("Height");
        if (width != nullptr && height != nullptr && width->is_number() && height->is_number())
          session->resize(static_cast<int>(width->to_number<double>()), static_cast<int>(height->to_number<double>()));
      }
    }
    session->end_input();
  } catch (const Error&) {  // broken off before the end of the input, or nobody takes it any more
    session->kill();
  }
}

}  // namespace

awaitable<void> Node::Impl::serve_exec(std::shared_ptr<ExecSession> session, std::shared_ptr<link::Stream> stream) {
  async::TaskGroup input(loop_.executor(), "exec input");
  input.spawn("input", feed(session, stream));
  input.spawn("end", end_with_peer(session, stream));
  std::exception_ptr failure;
  try {
    while (auto output = co_await session->read())
      co_await stream->write(output->error ? link::Channel::error : link::Channel::data, std::move(output->bytes));
    const TaskEnd end = co_await session->wait();
    const boost::json::object message{{"ExitCode", end.exit_code}};
    co_await stream->write_control(message);
    stream->end();
  } catch (...) {
    failure = std::current_exception();
    session->kill();
  }
  co_await input.stop();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace underway::node

// Disks, and virtual machines, that follow their allocation: from another one of this node, or over the link from
// another node's.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "node/detail/node_impl.hpp"

namespace underway::node {
namespace {

constexpr Duration kLookForLink = std::chrono::milliseconds{250};
/// A link that breaks while a disk is under way is dialled again, and the disk sent anew.
constexpr int kDiskTries = 3;

/// Reads what is left and how it ended; throws what it said when it failed.
awaitable<void> finish(std::shared_ptr<ExecSession> session, std::string said, std::string what) {
  while (auto output = co_await session->read())
    if (output->error) said += output->bytes;
  const TaskEnd end = co_await session->wait();
  if (!end.success()) throw Error(Code::unavailable, std::move(what)).because(std::string(trim(said)));
}

awaitable<void> unpack_stream(std::shared_ptr<link::Stream> stream, std::shared_ptr<ExecSession> session) {
  bool refused = false;
  while (auto chunk = co_await stream->read()) {
    try {
      co_await session->write(std::move(chunk->bytes));
    } catch (const Error&) {
      refused = true;  // its last words say why
    }
    if (refused) break;
  }
  session->end_input();
  co_await finish(std::move(session), "", "the disk cannot be unpacked");
}

}  // namespace

awaitable<std::optional<std::string>> Node::Impl::wait_for_directory(std::string allocation) {
  while (true) {
    const auto it = runners_.find(allocation);
    if (it == runners_.end() || removing_.contains(allocation)) co_return std::nullopt;
    if (it->second->dead()) co_return it->second->directory().root();
    co_await tasks_changed_.wait();
  }
}

awaitable<std::shared_ptr<link::Connection>> Node::Impl::linked() {
  std::shared_ptr<link::Connection> connection;
  while (!(connection = connection_.lock()) || !connection->is_open()) co_await async::sleep_for(kLookForLink);
  co_return connection;
}

awaitable<void> Node::Impl::unpack_from(std::shared_ptr<link::Stream> stream, const std::string& to) {
  const auto session = start_host_command(runtime_, unpack_command(options_.fetch_program, to), false, 0, 0, "", "/");
  std::exception_ptr failure;
  try {
    co_await unpack_stream(std::move(stream), session);
  } catch (...) {
    failure = std::current_exception();
    session->kill();
  }
  if (failure) std::rethrow_exception(failure);
}

awaitable<void> Node::Impl::pack_into(std::vector<std::string> command, std::shared_ptr<link::Stream> stream) {
  const auto session = start_host_command(runtime_, command, false, 0, 0, "", "/");
  session->end_input();
  std::exception_ptr failure;
  try {
    std::string said;
    while (auto output = co_await session->read()) {
      if (output->error)
        said += output->bytes;
      else
        co_await stream->write(std::move(output->bytes));
    }
    co_await finish(session, std::move(said), "the disk cannot be read");
    stream->end();
  } catch (...) {
    failure = std::current_exception();
    session->kill();
  }
  if (failure) std::rethrow_exception(failure);
}

awaitable<void> Node::Impl::fetch_disk(std::string allocation, std::string to) {
  for (int attempt = 1;; ++attempt) {
    const auto connection = co_await linked();
    std::optional<Error> failed;
    try {
      boost::json::value header = json::to_value(protocol::FileRequest{.alloc = allocation, .path = "/"});
      auto stream = co_await connection->open("disk.read", std::move(header));
      co_await unpack_from(std::move(stream), to);
      co_return;
    } catch (const Error& error) {
      failed = error;
    }
    if (connection->is_open() || attempt == kDiskTries) throw *failed;
    const auto again = [&] {
      os::remove_tree(to);
      os::make_directories(to, 0700);
    };
    co_await blocking(runtime_, again);
  }
}

awaitable<void> Node::Impl::serve_disk(protocol::FileRequest request, std::shared_ptr<link::Stream> stream) {
  get(request.alloc);  // that we never had it is told at once
  const auto directory = co_await wait_for_directory(request.alloc);
  if (!directory)
    throw Error(Code::not_found, fmt::format("the files of allocation {} are gone", request.alloc.substr(0, 8)));
  const auto parts = disk_parts(group_of(get(request.alloc).allocation()));
  co_await pack_into(pack_command(options_.fetch_program, *directory, parts), std::move(stream));
}

// --- virtual machines

awaitable<std::vector<protocol::KeptMachine>> Node::Impl::describe_machines(std::string allocation) {
  const auto connection = co_await linked();
  boost::json::value body = json::to_value(protocol::TaskRequest{.id = allocation});
  const auto answer = co_await connection->call("machines.describe", std::move(body), std::nullopt);
  co_return json::decode<std::vector<protocol::KeptMachine>>(answer);
}

awaitable<void> Node::Impl::fetch_machine(std::string allocation, std::string task, std::string to) {
  const auto connection = co_await linked();
  co_await blocking(runtime_, [&] { os::make_directories(to, 0700); });
  boost::json::value header = json::to_value(protocol::FileRequest{.alloc = allocation, .path = task});
  auto stream = co_await connection->open("machines.read", std::move(header));
  co_await unpack_from(std::move(stream), to);
}

bool Node::Impl::has_namesake(const std::string& allocation) const {
  const auto& asked = get(allocation).allocation();
  return std::ranges::any_of(runners_, [&](const auto& entry) {
    const auto& other = entry.second->allocation();
    return other.id != allocation && other.name == asked.name && other.ns == asked.ns && !entry.second->dead();
  });
}

awaitable<void> Node::Impl::serve_machine(protocol::FileRequest request, std::shared_ptr<link::Stream> stream) {
  get(request.alloc);
  const auto directory = co_await wait_for_directory(request.alloc);
  const Error gone(Code::not_found, fmt::format("the machines of allocation {} are gone", request.alloc.substr(0, 8)));
  if (!directory) throw gone;
  const std::string kept = get(request.alloc).kept_in(request.path);
  if (kept.empty()) throw gone;
  std::vector<std::string> parts;
  const auto list = [&] {
    for (auto& entry : os::list_directory(kept)) parts.push_back(std::move(entry.name));
  };
  co_await blocking(runtime_, list);
  co_await pack_into(pack_command(options_.fetch_program, kept, parts), std::move(stream));
}

}  // namespace underway::node

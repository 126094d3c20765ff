#pragma once
/// @file
/// The Task API: a unix socket in the secrets directory of each task, by which the task reaches the HTTP API of the
/// server. Each connection is a stream of the node's link; its bytes go through unchanged, and the server demands a
/// token of every request. Without a link the answer is 503. Source: Nomad's documentation, "Task API".

#include <functional>
#include <memory>
#include <string>

#include "link/connection.hpp"
#include "os/fd.hpp"
#include "protocol/task_api.hpp"

namespace underway::node {

using async::awaitable;

/// Makes `api.sock` in the secrets directory of the task and listens there; what has that name, a socket of an agent
/// that was killed for instance, is replaced. The directory belongs to the task's user: no link in it is followed.
/// Blocks: yes (disk).
os::Fd listen_for_task(const std::string& allocation_root, const std::string& task);

/// The sockets of one node's tasks. Thread: one loop.
class TaskApi {
 public:
  /// How streams to the server are opened; throws Error without a link.
  using Open = std::function<awaitable<std::shared_ptr<link::Stream>>(std::string method, boost::json::value header)>;

  /// Connections at once. Of one task, so that none takes what the others need; of the node, so that logs, files and
  /// sessions find room among the streams of the link (link::ConnectionOptions::streams_limit).
  static constexpr std::size_t kPerTask = 32, kPerNode = 128;

  /// One task's socket, served until stop() or destruction.
  class Listener {
   public:
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    /// Hangs up on everybody and listens no more. The file stays: it goes with the allocation.
    void close();
    /// close(), and waits until all is over.
    awaitable<void> stop();

   private:
    friend class TaskApi;
    struct State;
    explicit Listener(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
  };

  TaskApi(async::Executor executor, Open open);
  /// Serves what listen_for_task() made.
  std::unique_ptr<Listener> serve(os::Fd listening, protocol::TaskApiRequest who);

 private:
  struct Node;
  std::shared_ptr<Node> node_;
};

}  // namespace underway::node

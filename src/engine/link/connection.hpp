#pragma once
/// @file
/// The one connection between a node and a server, over a WebSocket. Both sides may call, notify and open byte streams.
/// Streams have windows, so that one which nobody reads holds up neither the others nor heartbeats. Whether the socket
/// is plain or mutually authenticated is the WebSocket's business. Thread: one loop.

#include <deque>

#include "async/event.hpp"
#include "async/group.hpp"
#include "http/websocket.hpp"
#include "link/frame.hpp"

namespace underway::link {

using async::awaitable;

enum class Side : std::uint8_t { dialler, acceptor };

struct ConnectionOptions {
  std::uint32_t window = 256u << 10;      ///< unacknowledged bytes of one stream in one direction
  std::size_t streams_limit = 256;        ///< open at once; further ones are refused
  std::size_t calls_limit = 1024;         ///< of the peer's, running at once
  std::size_t message_limit = 16u << 20;  ///< bytes of one message; the peer would hang up on a larger one
  Duration call_timeout = std::chrono::seconds(30);
};

struct Chunk {
  Channel channel = Channel::data;
  std::string bytes;
};

class Connection;

/// One stream, seen from one side. Each side may write until it ends its writing; both may break it off.
class Stream {
 public:
  /// The next piece; nothing once the peer has ended. Throws the Error with which the peer or the link broke it off.
  awaitable<std::optional<Chunk>> read();
  /// Returns once the peer or the link has broken it off, also after the peer has ended.
  awaitable<void> broken_off();
  /// Waits while the window is full. Throws as read does; and unavailable once it is over.
  awaitable<void> write(Channel channel, std::string bytes);
  awaitable<void> write(std::string bytes) { return write(Channel::data, std::move(bytes)); }
  awaitable<void> write_control(const boost::json::value& message);
  /// Nothing more will be written from here. Without effect when it is over.
  void end();
  /// Breaks it off: the peer's reads and writes throw `error`.
  void reset(Error error);

  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

 private:
  friend class Connection;
  Stream(std::shared_ptr<Connection> connection, std::uint32_t id, std::uint32_t window);
  void fail(const Error& error);

  std::shared_ptr<Connection> connection_;
  std::uint32_t id_;
  std::deque<Chunk> received_;
  std::size_t unread_ = 0;      ///< bytes in received_
  std::int64_t window_;         ///< bytes that we may still send
  std::uint32_t consumed_ = 0;  ///< read here and not yet acknowledged
  bool peer_ended_ = false;
  bool ended_ = false;
  std::optional<Error> failure_;
  async::Event changed_;
};

/// What the owner does when the peer asks. Errors that escape `call` are its answer; those of `stream` reset the
/// stream.
struct Handlers {
  std::function<awaitable<boost::json::value>(std::string method, boost::json::value body)> call;
  std::function<void(std::string method, boost::json::value body)>
      notify;  ///< in the order of the wire; must not block
  std::function<awaitable<void>(std::string method, boost::json::value header, std::shared_ptr<Stream> stream)> stream;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static std::shared_ptr<Connection> make(async::Executor executor, std::shared_ptr<http::WebSocket> socket, Side side,
                                          Handlers handlers, ConnectionOptions options = {});
  ~Connection();

  /// Reads until the link ends; then everything open fails with unavailable and the handlers' coroutines are cancelled.
  /// Returns after an orderly close; throws the Error that broke it: what the peer sent was malformed, it fell silent,
  /// …
  awaitable<void> run();

  /// Throws the peer's Error, timeout, too_large, or unavailable when the link ends first.
  awaitable<boost::json::value> call(std::string method, boost::json::value body, std::optional<Duration> timeout = {});
  awaitable<void> notify(std::string method, boost::json::value body);
  awaitable<std::shared_ptr<Stream>> open(std::string method, boost::json::value header);

  awaitable<void> close(std::string reason);
  void abort() { socket_->abort(); }
  bool is_open() const { return !over_ && socket_->is_open(); }

 private:
  friend class Stream;
  struct Waiting {
    std::optional<Reply> reply;
    async::Event arrived;
  };
  Connection(async::Executor executor, std::shared_ptr<http::WebSocket> socket, Side side, Handlers handlers,
             ConnectionOptions options);
  awaitable<void> send(const Frame& frame);
  void send_soon(const Frame& frame);
  void queue(Encoded encoded);
  awaitable<void> send_backlog();
  void dispatch(Frame frame);
  void on(Call call);
  void on(Reply reply);
  void on(Notification notification);
  void on(Open open);
  void on(Data data);
  void on(Acknowledge acknowledge);
  void on(End end);
  void on(Reset reset);
  awaitable<void> answer(Call call);
  awaitable<void> serve(Open open, std::shared_ptr<Stream> stream);
  void finish(const Error& error);
  void forget(std::uint32_t stream);

  async::Executor executor_;
  std::shared_ptr<http::WebSocket> socket_;
  Side side_;
  Handlers handlers_;
  ConnectionOptions options_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Waiting>> waiting_;
  std::unordered_map<std::uint32_t, std::weak_ptr<Stream>> streams_;
  std::uint64_t next_call_ = 1;
  std::uint32_t next_stream_;
  std::size_t calls_running_ = 0;
  bool over_ = false;
  std::deque<http::Message> backlog_;  ///< of send_soon, while the socket's queue is full
  async::TaskGroup tasks_;
};

}  // namespace underway::link

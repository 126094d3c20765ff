#pragma once
/// @file
/// One client of the server, from its accept to its end.

#include "http/detail/server_state.hpp"
#include "http/detail/transport.hpp"

namespace underway::http::detail {

/// Serves requests one after the other. While a handler works, the socket is watched: data that comes is kept for the
/// next request, and the end of the stream cancels the handler.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerState> server, std::shared_ptr<Transport> transport, Budget::Share place)
      : server_(std::move(server)), transport_(std::move(transport)), place_(std::move(place)) {}

  /// Runs until the connection has ended, then calls `done`.
  void start(std::function<void()> done);
  /// Ends it: at once when idle, after the running request otherwise; a WebSocket is told that we go away.
  void finish();
  /// Cancels whatever it does.
  void cancel() { signal_.emit(asio::cancellation_type::terminal); }

 private:
  class Watch;
  class ChunkWriter;
  class Body;
  /// What the answer depends on, kept while the handler owns the request.
  struct Facts {
    bool head_only = false;
    bool keep_alive = false;
    bool http_1_0 = false;
    bool gzip = false;
    std::string websocket_key;  ///< empty: no valid handshake was asked for
  };

  awaitable<void> serve();
  awaitable<bool> serve_one();
  awaitable<std::unique_ptr<RequestParser>> read_head();
  awaitable<Sender> sender_of(const Request& head) const;
  awaitable<void> read_body(RequestParser& parser, const Sender& sender, Budget::Share& share);
  awaitable<bool> serve_streamed(RequestParser& parser, Request request, Facts facts);
  awaitable<bool> answer_unread(RequestParser& parser, Response response, Facts facts);
  awaitable<void> begin_body(const RequestParser& parser);
  awaitable<std::string> next_of_body(RequestParser& parser);
  std::optional<Response> refusal_of(const Request& request) const;
  awaitable<bool> answer(Request request, Facts facts);
  awaitable<bool> send(Response& response, const Facts& facts);
  awaitable<void> send_stream(Response& response, const Facts& facts);
  awaitable<void> compress(Response& response) const;
  awaitable<bool> upgrade(Response& response, const Facts& facts);
  awaitable<void> refuse(Refused why);
  awaitable<void> linger();
  void consume(std::size_t used);
  static void complete(Facts& facts, const Request& request);

  void watch();
  void unwatch();
  void arm_watch(unsigned generation);
  void on_readable(unsigned generation);

  std::shared_ptr<ServerState> server_;
  std::shared_ptr<Transport> transport_;
  Budget::Share place_;
  std::string inbox_;  ///< received and not yet parsed
  asio::cancellation_signal signal_;
  std::weak_ptr<WebSocket> websocket_;
  unsigned generation_ = 0;  ///< of the watch: late callbacks of an earlier one are ignored
  bool watch_armed_ = false;
  bool idle_ = true;
  bool first_ = true;
};

}  // namespace underway::http::detail

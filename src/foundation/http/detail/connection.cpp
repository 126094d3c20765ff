#include "http/detail/connection.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "http/detail/gzip.hpp"
#include "http/detail/socket.hpp"

namespace underway::http::detail {
namespace {

/// A body's deadline is set anew after so many bytes: one byte a minute is not progress.
constexpr std::size_t kBodyProgress = 64 << 10;
/// More than this of later requests is not read ahead while a handler works.
constexpr std::size_t kReadAhead = 16 << 10;
/// A head that is not whole is counted once it is longer than heads are.
constexpr std::size_t kUsualHead = 8 << 10;
/// A refused body up to this size is read and thrown away, so that the connection can go on.
constexpr std::size_t kThrownAway = 64 << 10;
/// Bodies up to this size travel with their head in one call.
constexpr std::size_t kOneCall = 64 << 10;
constexpr std::size_t kCompressOnPool = 64 << 10;
constexpr Duration kLinger = std::chrono::seconds{2};
/// What is still coming is read so far, and thrown away: a client that is reset while it sends does not see its answer.
constexpr std::size_t kLingerBytes = 128 << 20;

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

/// Media types that shrink: everything but what is compressed already.
bool compressible(const Headers& headers) {
  if (headers.has("Content-Encoding")) return false;
  const auto type = headers.find("Content-Type");
  if (!type) return false;
  return type->starts_with("text/") || type->starts_with("application/json") ||
         type->starts_with("application/javascript") || type->starts_with("image/svg") ||
         type->starts_with("application/yaml") || type->starts_with("application/openapi");
}

awaitable<void> say_farewell(std::shared_ptr<WebSocket> socket) {
  co_await socket->close(CloseCode::going_away, "the server stops");
}

}  // namespace

/// Watches the client while a handler works.
class Connection::Watch {
 public:
  explicit Watch(Connection& connection) : connection_(connection) { connection_.watch(); }
  ~Watch() { connection_.unwatch(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Connection& connection_;
};

class Connection::ChunkWriter final : public BodyWriter {
 public:
  ChunkWriter(Transport& transport, bool chunked, Duration send_timeout)
      : transport_(transport), chunked_(chunked), send_timeout_(send_timeout) {}
  awaitable<void> write(std::string data) override {
    if (data.empty()) co_return;
    const std::string wire = chunked_ ? chunk(std::move(data)) : std::move(data);
    co_await transport_.write_all(wire, send_timeout_);
  }

 private:
  Transport& transport_;
  bool chunked_;
  Duration send_timeout_;
};

void Connection::start(std::function<void()> done) {
  auto ended = [self = shared_from_this(), done = std::move(done)](const std::exception_ptr& failure) {
    if (failure != nullptr && !async::is_cancellation(failure)) {
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        // A certificate that is refused, here or there, keeps somebody out who expects to get in.
        if (error.code() == Code::denied)
          log::warn("http: {}", error.one_line());
        else
          log::debug("http: {}: {}", self->transport_->peer().address, error.one_line());
      } catch (const std::exception& error) {
        log::error("http: {}: {}", self->transport_->peer().address, error.what());
      }
    }
    self->transport_->close();
    done();
  };
  asio::co_spawn(server_->executor, serve(), asio::bind_cancellation_slot(signal_.slot(), std::move(ended)));
}

void Connection::finish() {
  if (const auto socket = websocket_.lock()) {
    server_->farewells.spawn("closing a WebSocket", say_farewell(socket));
  } else if (idle_) {
    cancel();
  }
}

awaitable<void> Connection::serve() {
  const auto self = shared_from_this();
  transport_->expires_at(async::deadline_in(server_->options.header_timeout));
  co_await transport_->handshake(&server_->turns);
  while (co_await serve_one()) {
  }
}

awaitable<bool> Connection::serve_one() {
  std::optional<Refused> refused;
  Request request;
  Facts facts;
  Budget::Share share;  // until the answer is there
  try {
    const auto parser = co_await read_head();
    if (parser == nullptr) co_return false;
    facts.keep_alive = parser->keep_alive();
    facts.http_1_0 = parser->is_http_1_0();
    request = parser->head();
    request.headers.remove(kUnreadBody);
    complete(facts, request);
    parse_target(request.target, request.path, request.query);
    request.remote = transport_->peer();
    if (auto refusal = refusal_of(request))
      co_return co_await answer_unread(*parser, *std::move(refusal), std::move(facts));
    if (server_->router.streams_body(request.method, request.target))
      co_return co_await serve_streamed(*parser, std::move(request), std::move(facts));
    if (!parser->done()) {
      const Sender sender = co_await sender_of(request);
      if (sender.kind == Sender::Kind::refused) {
        request.headers.set(kUnreadBody, "1");
        Response refusal = co_await server_->router.handle(std::move(request));
        co_return co_await answer_unread(*parser, std::move(refusal), std::move(facts));
      }
      share = server_->share_of(sender, transport_->peer());
      co_await read_body(*parser, sender, share);
      request.body = parser->take_body();
    }
  } catch (const Refused& refusal) {
    refused = refusal;
  } catch (const Error& error) {
    // A bad target is answered; a lost or slow client is not there to read an answer.
    if (error.code() != Code::invalid) throw;
    refused = Refused{400, error.one_line()};
  }
  if (refused) {
    share.reset();
    co_await refuse(std::move(*refused));
    co_return false;
  }
  co_return co_await answer(std::move(request), std::move(facts));
}

/// Reads until the head is whole; nothing when the client ends in between requests.
awaitable<std::unique_ptr<RequestParser>> Connection::read_head() {
  const auto& options = server_->options;
  if (inbox_.empty()) {
    idle_ = true;
    if (server_->stopping) co_return nullptr;
    transport_->expires_at(async::deadline_in(first_ ? options.header_timeout : options.idle_timeout));
    if (!co_await transport_->read_into(inbox_)) co_return nullptr;
  }
  idle_ = false;
  first_ = false;
  transport_->expires_at(async::deadline_in(options.header_timeout));
  auto parser = std::make_unique<RequestParser>(options.header_limit);
  const Sender nobody{Sender::Kind::stranger};
  auto share = server_->share_of(nobody, transport_->peer());
  std::size_t parsed = 0;
  while (true) {
    const std::size_t used = parser->put(inbox_);
    parsed += used;
    consume(used);
    if (parser->head_done()) co_return parser;
    const std::size_t length = parsed + inbox_.size();
    if (length > kUsualHead && !share.hold(length)) throw Refused{503, "too many requests are on their way, try again"};
    if (!co_await transport_->read_into(inbox_)) co_return nullptr;
  }
}

/// The body of a streamed route, as its handler asks for it.
class Connection::Body final : public BodyReader {
 public:
  Body(Connection& connection, RequestParser& parser) : connection_(connection), parser_(parser) {}

  awaitable<std::string> read() override {
    if (!std::exchange(begun_, true)) co_await connection_.begin_body(parser_);
    try {
      co_return co_await connection_.next_of_body(parser_);
    } catch (const Refused& refusal) {
      throw Error(refusal.status == 413 ? Code::too_large : Code::invalid, refusal.text);
    }
  }

 private:
  Connection& connection_;
  RequestParser& parser_;
  bool begun_ = false;
};

/// The handler runs while the body comes. What it did not want is not read: the connection ends.
awaitable<bool> Connection::serve_streamed(RequestParser& parser, Request request, Facts facts) {
  if (!parser.done())
    parser.body_limit(server_->router.body_limit(parser.method(), parser.target(), server_->options.body_limit));
  Body body(*this, parser);
  Response response = co_await server_->router.handle(std::move(request), &body);
  facts.keep_alive = parser.done() && parser.keep_alive() && !server_->stopping;
  const bool more = co_await send(response, facts);
  if (!parser.done()) co_await linger();
  co_return more;
}

/// A small body that nobody wanted is thrown away after the answer, a large one goes with the connection; and so does
/// one whose sender waits to be asked for it: he may send it, or not.
awaitable<bool> Connection::answer_unread(RequestParser& parser, Response response, Facts facts) {
  const auto left = parser.done() ? std::optional<std::size_t>(0) : parser.declared_length();
  const bool expected = !parser.done() && parser.expects_continue();
  const bool thrown_away = left && *left <= kThrownAway && !expected;
  facts.keep_alive = facts.keep_alive && thrown_away && !server_->stopping;
  const bool more = co_await send(response, facts);
  if (!thrown_away) co_await linger();
  if (!more) co_return false;
  transport_->expires_at(async::deadline_in(server_->options.body_timeout));
  while (!parser.done()) {
    consume(inbox_.empty() ? 0 : parser.put(inbox_));
    parser.take_body();
    if (!parser.done() && !co_await transport_->read_into(inbox_)) co_return false;
  }
  co_return true;
}

awaitable<Sender> Connection::sender_of(const Request& head) const {
  Sender sender;
  if (server_->options.admit) sender = co_await server_->options.admit(head);
  co_return sender;
}

awaitable<std::string> Connection::next_of_body(RequestParser& parser) {
  transport_->expires_at(async::deadline_in(server_->options.body_timeout));
  while (true) {
    consume(inbox_.empty() || parser.done() ? 0 : parser.put(inbox_));
    std::string piece = parser.take_body();
    if (!piece.empty() || parser.done()) {
      transport_->expires_at(async::kNever);
      co_return piece;
    }
    if (!co_await transport_->read_into(inbox_)) throw transport_->lost("it ended within a request");
  }
}

awaitable<void> Connection::begin_body(const RequestParser& parser) {
  if (parser.done() || !parser.expects_continue() || !inbox_.empty()) co_return;
  co_await transport_->write_all("HTTP/1.1 100 Continue\r\n\r\n", server_->options.send_timeout);
}

awaitable<void> Connection::read_body(RequestParser& parser, const Sender& sender, Budget::Share& share) {
  const auto& options = server_->options;
  parser.body_limit(server_->router.body_limit(parser.method(), parser.target(), options.body_limit));
  if (const auto declared = parser.declared_length()) server_->check_room(sender, transport_->peer(), *declared);
  co_await begin_body(parser);
  const auto latest =
      async::deadline_in(sender.kind == Sender::Kind::stranger ? options.stranger_deadline : options.body_deadline);
  transport_->expires_at(std::min(async::deadline_in(options.body_timeout), latest));
  std::size_t progress = 0, taken = 0;
  while (true) {
    const std::size_t used = inbox_.empty() ? 0 : parser.put(inbox_);
    consume(used);
    progress += used;
    taken += used;
    if (!share.hold(taken)) throw server_->no_room(sender);
    if (parser.done()) co_return;
    if (progress >= kBodyProgress) {
      transport_->expires_at(std::min(async::deadline_in(options.body_timeout), latest));
      progress = 0;
    }
    if (!co_await transport_->read_into(inbox_)) throw transport_->lost("it ended within a request");
  }
}

void Connection::consume(std::size_t used) {
  inbox_.erase(0, used);
  if (inbox_.empty()) inbox_ = std::string();
}

void Connection::complete(Facts& facts, const Request& request) {
  facts.head_only = request.method == "HEAD";
  facts.gzip = request.headers.has_token("Accept-Encoding", "gzip");
  const bool handshake = request.method == "GET" && request.headers.has_token("Upgrade", "websocket") &&
                         request.headers.has_token("Connection", "upgrade") &&
                         request.headers.find("Sec-WebSocket-Version") == "13";
  if (handshake) facts.websocket_key = std::string(request.headers.find("Sec-WebSocket-Key").value_or(""));
}

std::optional<Response> Connection::refusal_of(const Request& request) const {
  return server_->options.refuse ? server_->options.refuse(request) : std::nullopt;
}

awaitable<bool> Connection::answer(Request request, Facts facts) {
  transport_->expires_at(async::kNever);
  Response response;
  {
    const Watch watch(*this);
    response = co_await server_->router.handle(std::move(request));
  }
  if (server_->stopping) facts.keep_alive = false;
  if (response.upgrade) co_return co_await upgrade(response, facts);
  co_return co_await send(response, facts);
}

awaitable<bool> Connection::send(Response& response, const Facts& facts) {
  const auto& options = server_->options;
  if (response.stream && !facts.head_only && has_body(response.status)) {
    co_await send_stream(response, facts);
    co_return facts.keep_alive && !facts.http_1_0;
  }
  Framing framing = has_body(response.status) ? Framing::length : Framing::none;
  if (response.stream) framing = Framing::none;
  if (facts.gzip && framing == Framing::length && response.body.size() >= options.gzip_from &&
      compressible(response.headers)) {
    co_await compress(response);
  }
  std::string head =
      response_head(response, framing, response.body.size(), facts.keep_alive, options.server_name, server_->date());
  if (facts.head_only || framing == Framing::none) response.body.clear();
  if (response.body.size() <= kOneCall) {
    head += response.body;
    response.body.clear();
  }
  co_await transport_->write_all(head, options.send_timeout);
  co_await transport_->write_all(response.body, options.send_timeout);
  if (!facts.keep_alive) transport_->finish_sending();
  co_return facts.keep_alive;
}

awaitable<void> Connection::send_stream(Response& response, const Facts& facts) {
  const auto& options = server_->options;
  const bool chunked = !facts.http_1_0;
  const std::string head = response_head(response, chunked ? Framing::chunked : Framing::until_close, 0,
                                         facts.keep_alive && chunked, options.server_name, server_->date());
  co_await transport_->write_all(head, options.send_timeout);
  ChunkWriter writer(*transport_, chunked, options.send_timeout);
  {
    const Watch watch(*this);
    co_await response.stream(writer);
  }
  if (chunked) co_await transport_->write_all(kLastChunk, options.send_timeout);
  if (!chunked || !facts.keep_alive) transport_->finish_sending();
}

awaitable<void> Connection::compress(Response& response) const {
  auto job = [&response] { return gzip(response.body); };
  const bool on_pool = server_->options.pool != nullptr && response.body.size() >= kCompressOnPool;
  response.body = on_pool ? co_await async::on_pool(*server_->options.pool, job) : job();
  response.headers.set("Content-Encoding", "gzip");
  response.headers.add("Vary", "Accept-Encoding");
}

awaitable<bool> Connection::upgrade(Response& response, const Facts& facts) {
  const auto& options = server_->options;
  if (facts.websocket_key.empty()) {
    Response demand = text(426, "this is a WebSocket endpoint");
    demand.headers.set("Upgrade", "websocket");
    demand.headers.set("Sec-WebSocket-Version", "13");
    co_return co_await send(demand, facts);
  }
  Response switching;
  switching.status = 101;
  switching.headers = response.headers;
  switching.headers.set("Upgrade", "websocket");
  switching.headers.set("Connection", "Upgrade");
  switching.headers.set("Sec-WebSocket-Accept", websocket_accept(facts.websocket_key));
  const std::string head = response_head(switching, Framing::none, 0, true, options.server_name, server_->date());
  co_await transport_->write_all(head, options.send_timeout);
  WebSocketOptions bounded = options.websocket;
  if (transport_->peer().certificate_names.empty())
    bounded.message_limit = std::min(bounded.message_limit, options.uncertified_message_limit);
  const auto socket = make_websocket(transport_, Side::server, bounded, std::exchange(inbox_, {}));
  websocket_ = socket;
  if (server_->stopping) finish();
  std::exception_ptr escaped;
  try {
    co_await response.upgrade(socket);
  } catch (...) {
    escaped = std::current_exception();
  }
  if (escaped != nullptr) std::rethrow_exception(escaped);
  co_await socket->close();
  co_return false;
}

/// Answers a request that could not be read, and lets the client read the answer before the connection ends.
awaitable<void> Connection::refuse(Refused why) {
  const auto& options = server_->options;
  Response response = text(why.status, why.text);
  if (why.status == 503) response.headers.set("Retry-After", "1");
  const std::string head =
      response_head(response, Framing::length, response.body.size(), false, options.server_name, server_->date());
  co_await transport_->write_all(head + response.body, options.send_timeout);
  transport_->finish_sending();
  co_await linger();
}

/// Closing with unread data would reset the connection and destroy the answer on its way.
awaitable<void> Connection::linger() {
  transport_->expires_at(async::deadline_in(kLinger));
  inbox_.clear();
  std::size_t drained = 0;
  while (drained < kLingerBytes && co_await transport_->read_into(inbox_)) {
    drained += inbox_.size();
    inbox_.clear();
  }
}

void Connection::watch() {
  const unsigned generation = ++generation_;
  // Armed from the loop: a handler that answers at once costs no system call.
  asio::post(server_->executor, [self = shared_from_this(), generation] {
    if (generation == self->generation_) self->arm_watch(generation);
  });
}

void Connection::unwatch() {
  ++generation_;
  if (watch_armed_ && transport_->is_open()) transport_->cancel_waits();
  watch_armed_ = false;
}

void Connection::arm_watch(unsigned generation) {
  if (!transport_->is_open()) return;
  watch_armed_ = true;
  transport_->socket().async_wait(asio::socket_base::wait_read,
                                  [self = shared_from_this(), generation](boost::system::error_code failed) {
                                    if (!failed && generation == self->generation_) self->on_readable(generation);
                                  });
}

void Connection::on_readable(unsigned generation) {
  watch_armed_ = false;
  std::array<char, 4096> piece{};
  while (inbox_.size() < kReadAhead) {
    const Attempt attempt = transport_->try_read(piece.data(), piece.size());
    if (attempt.bytes > 0) {
      inbox_.append(piece.data(), attempt.bytes);
      continue;
    }
    if (attempt.blocked != Want::nothing) return arm_watch(generation);
    return cancel();
  }
}

}  // namespace underway::http::detail

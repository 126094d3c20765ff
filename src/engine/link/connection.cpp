#include "link/connection.hpp"

#include <boost/json/serialize.hpp>

#include "base/log.hpp"

namespace underway::link {
namespace {

/// Small neighbours of one channel are joined up to this size, so that a drip of bytes costs little memory.
constexpr std::size_t kJoinUpTo = 4096;

/// Answers that wait for a peer to read: who asks and asks and reads nothing is hung up on.
constexpr std::size_t kMostWaiting = 4096;
constexpr std::size_t kMostWaitingBytes = 64U << 20;

bool too_much(const std::deque<http::Message>& backlog) {
  std::size_t bytes = 0;
  for (const auto& message : backlog) bytes += message.data.size();
  return backlog.size() > kMostWaiting || bytes > kMostWaitingBytes;
}

/// One more running call for as long as it lives.
class Running {
 public:
  explicit Running(std::size_t& count) : count_(count) { ++count_; }
  ~Running() { --count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::size_t& count_;
};

Error unexpected(const std::string& method, const std::string& what) {
  log::error("link: '{}' failed unexpectedly: {}", method, what);
  return Error(Code::internal, fmt::format("'{}' failed unexpectedly", method));
}

}  // namespace

// --- Stream

Stream::Stream(std::shared_ptr<Connection> connection, std::uint32_t id, std::uint32_t window)
    : connection_(std::move(connection)), id_(id), window_(window) {}

Stream::~Stream() {
  // Dropped before both sides were done: the peer must not wait for us.
  if (!failure_ && (!ended_ || !peer_ended_))
    connection_->send_soon(Reset{id_, Error(Code::unavailable, "the stream was abandoned")});
  connection_->forget(id_);
}

awaitable<std::optional<Chunk>> Stream::read() {
  while (received_.empty()) {
    // The end comes first: a peer that has said everything may break the other direction off.
    if (peer_ended_) co_return std::nullopt;
    if (failure_) throw *failure_;
    co_await changed_.wait();
  }
  Chunk chunk = std::move(received_.front());
  received_.pop_front();
  unread_ -= chunk.bytes.size();
  consumed_ += static_cast<std::uint32_t>(chunk.bytes.size());
  // Acknowledging in halves of the window keeps the peer writing without a frame for every read.
  if (consumed_ >= connection_->options_.window / 2)
    connection_->send_soon(Acknowledge{id_, std::exchange(consumed_, 0)});
  co_return chunk;
}

awaitable<void> Stream::broken_off() {
  while (!failure_) co_await changed_.wait();
}

awaitable<void> Stream::write(Channel channel, std::string bytes) {
  // Pieces of at most a quarter of the window: a large write cannot take the connection for itself.
  const std::size_t piece = connection_->options_.window / 4;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    while (window_ <= 0 && !failure_) co_await changed_.wait();
    if (failure_) throw *failure_;
    if (ended_) throw Error(Code::internal, "written to a stream after its end");
    const std::size_t size = std::min(piece, bytes.size() - sent);
    window_ -= static_cast<std::int64_t>(size);
    co_await connection_->send(Data{id_, channel, bytes.substr(sent, size)});
    sent += size;
  }
}

awaitable<void> Stream::write_control(const boost::json::value& message) {
  std::string text = boost::json::serialize(message);
  co_await write(Channel::control, std::move(text));
}

void Stream::end() {
  if (ended_ || failure_) return;
  ended_ = true;
  connection_->send_soon(End{id_});
}

void Stream::reset(Error error) {
  if (failure_) return;
  connection_->send_soon(Reset{id_, error});
  fail(error);
}

void Stream::fail(const Error& error) {
  if (!failure_) failure_ = error;
  changed_.notify_all();
}

// --- Connection

std::shared_ptr<Connection> Connection::make(async::Executor executor, std::shared_ptr<http::WebSocket> socket,
                                             Side side, Handlers handlers, ConnectionOptions options) {
  return std::shared_ptr<Connection>(
      new Connection(std::move(executor), std::move(socket), side, std::move(handlers), options));
}

Connection::Connection(async::Executor executor, std::shared_ptr<http::WebSocket> socket, Side side, Handlers handlers,
                       ConnectionOptions options)
    : executor_(executor),
      socket_(std::move(socket)),
      side_(side),
      handlers_(std::move(handlers)),
      options_(options),
      next_stream_(side == Side::dialler ? 1 : 2),
      tasks_(executor, "link") {}

Connection::~Connection() = default;

awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  Error end(Code::unavailable, "the link has ended");
  std::exception_ptr failure;
  try {
    while (auto message = co_await socket_->read()) dispatch(decode(message->data, message->text));
  } catch (const Error& error) {
    end.because(error.one_line());
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  finish(end);
  if (failure) socket_->abort();
  // Cancelled or not, what the peer started here is waited for.
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await tasks_.stop();
  if (failure) std::rethrow_exception(failure);
}

void Connection::finish(const Error& error) {
  over_ = true;
  for (auto& [id, waiting] : std::exchange(waiting_, {})) {
    waiting->reply = Reply{id, {}, error};
    waiting->arrived.notify_all();
  }
  for (auto& [id, weak] : std::exchange(streams_, {})) {
    if (const auto stream = weak.lock()) stream->fail(error);
  }
}

awaitable<void> Connection::send(const Frame& frame) {
  auto encoded = encode(frame);
  if (encoded.data.size() > options_.message_limit) {
    throw Error(Code::too_large, "a message is too large for the link")
        .because(fmt::format("it has {} bytes, {} are allowed", encoded.data.size(), options_.message_limit));
  }
  http::Message message{std::move(encoded.data), encoded.text};
  co_await socket_->write(std::move(message));
}

void Connection::send_soon(const Frame& frame) {
  if (!over_) queue(encode(frame));
}

void Connection::queue(Encoded encoded) {
  if (over_ || !socket_->is_open()) return;
  http::Message message{std::move(encoded.data), encoded.text};
  if (backlog_.empty() && socket_->try_write(message)) return;
  // The queue is full: one coroutine waits for it, and keeps the order, as the caller cannot.
  backlog_.push_back(std::move(message));
  if (backlog_.size() == 1) tasks_.spawn("sending", send_backlog());
  if (too_much(backlog_)) socket_->abort();
}

awaitable<void> Connection::send_backlog() {
  const auto self = shared_from_this();
  try {
    while (!backlog_.empty()) {
      co_await socket_->write(backlog_.front());
      backlog_.pop_front();
    }
  } catch (const Error&) {
    // The link is over; run() tells why.
    backlog_.clear();
  }
}

awaitable<boost::json::value> Connection::call(std::string method, boost::json::value body,
                                               std::optional<Duration> timeout) {
  const auto self = shared_from_this();
  if (over_) throw Error(Code::unavailable, "the link has ended");
  const std::uint64_t id = next_call_++;
  const auto waiting = std::make_shared<Waiting>();
  waiting_.emplace(id, waiting);
  const auto deadline = async::deadline_in(timeout.value_or(options_.call_timeout));
  try {
    co_await send(Call{id, method, std::move(body)});
    while (!waiting->reply && co_await waiting->arrived.wait_until(deadline)) {
    }
  } catch (...) {
    waiting_.erase(id);
    throw;
  }
  waiting_.erase(id);
  if (!waiting->reply)
    throw Error(Code::timeout, fmt::format("'{}' was not answered within {}", method,
                                           human_duration(timeout.value_or(options_.call_timeout))));
  if (waiting->reply->error) throw *waiting->reply->error;
  co_return std::move(waiting->reply->body);
}

awaitable<void> Connection::notify(std::string method, boost::json::value body) {
  const auto self = shared_from_this();
  const Frame frame = Notification{std::move(method), std::move(body)};
  co_await send(frame);
}

awaitable<std::shared_ptr<Stream>> Connection::open(std::string method, boost::json::value header) {
  const auto self = shared_from_this();
  if (over_) throw Error(Code::unavailable, "the link has ended");
  if (streams_.size() >= options_.streams_limit) {
    throw Error(Code::exhausted, "too many streams are open on the link")
        .because(fmt::format("the limit is {}", options_.streams_limit));
  }
  const std::uint32_t id = std::exchange(next_stream_, next_stream_ + 2);
  const auto stream = std::shared_ptr<Stream>(new Stream(self, id, options_.window));
  streams_.emplace(id, stream);
  const Frame frame = Open{id, std::move(method), std::move(header)};
  co_await send(frame);
  co_return stream;
}

awaitable<void> Connection::close(std::string reason) {
  const auto self = shared_from_this();
  co_await socket_->close(http::CloseCode::normal, std::move(reason));
}

void Connection::forget(std::uint32_t stream) { streams_.erase(stream); }

void Connection::dispatch(Frame frame) {
  std::visit([this](auto& received) { on(std::move(received)); }, frame);
}

void Connection::on(Call call) {
  if (calls_running_ >= options_.calls_limit) {
    send_soon(Reply{call.id, {}, Error(Code::exhausted, "too many calls are running on the link")});
    return;
  }
  std::string what = call.method;
  tasks_.spawn(std::move(what), answer(std::move(call)));
}

awaitable<void> Connection::answer(Call call) {
  const auto self = shared_from_this();
  const Running running(calls_running_);
  Reply reply{call.id, {}, std::nullopt};
  try {
    if (!handlers_.call) throw Error(Code::unsupported, fmt::format("'{}' is not answered here", call.method));
    reply.body = co_await handlers_.call(call.method, std::move(call.body));
  } catch (const Error& error) {
    reply.error = error;
  } catch (const std::exception& failure) {
    if (async::is_cancellation(std::current_exception())) throw;
    reply.error = unexpected(call.method, failure.what());
  }
  auto encoded = encode(reply);
  if (encoded.data.size() > options_.message_limit) {
    const Error error(Code::too_large, fmt::format("the answer to '{}' is too large for the link", call.method));
    encoded = encode(Reply{call.id, {}, error});
  }
  queue(std::move(encoded));
}

void Connection::on(Reply reply) {
  const auto it = waiting_.find(reply.id);
  if (it == waiting_.end()) return;  // its caller has given up
  it->second->reply = std::move(reply);
  it->second->arrived.notify_all();
}

void Connection::on(Notification notification) {
  if (handlers_.notify) handlers_.notify(std::move(notification.method), std::move(notification.body));
}

void Connection::on(Open open) {
  const bool theirs = (open.stream % 2 == 1) == (side_ == Side::acceptor);
  if (!theirs || streams_.contains(open.stream))
    throw Error(Code::invalid, "malformed message on the link")
        .because(fmt::format("stream {} cannot be opened", open.stream));
  if (streams_.size() >= options_.streams_limit || !handlers_.stream) {
    send_soon(
        Reset{open.stream,
              Error(Code::exhausted, "the stream was refused").because(fmt::format("{} are open", streams_.size()))});
    return;
  }
  const auto stream = std::shared_ptr<Stream>(new Stream(shared_from_this(), open.stream, options_.window));
  streams_.emplace(open.stream, stream);
  std::string what = open.method;
  tasks_.spawn(std::move(what), serve(std::move(open), stream));
}

awaitable<void> Connection::serve(Open open, std::shared_ptr<Stream> stream) {
  const auto self = shared_from_this();
  try {
    co_await handlers_.stream(open.method, std::move(open.header), stream);
    stream->end();
  } catch (const Error& error) {
    stream->reset(error);
  } catch (const std::exception& failure) {
    if (async::is_cancellation(std::current_exception())) throw;
    stream->reset(unexpected(open.method, failure.what()));
  }
}

void Connection::on(Data data) {
  const auto it = streams_.find(data.stream);
  const auto stream = it == streams_.end() ? nullptr : it->second.lock();
  if (!stream || data.bytes.empty()) return;  // broken off here while this was on its way
  stream->unread_ += data.bytes.size();
  if (stream->unread_ > std::size_t{2} * options_.window)
    throw Error(Code::too_large, "the peer sends more than a stream's window");
  auto& received = stream->received_;
  const bool joins = !received.empty() && data.channel != Channel::control && received.back().channel == data.channel &&
                     received.back().bytes.size() + data.bytes.size() <= kJoinUpTo;
  if (joins)
    received.back().bytes += data.bytes;
  else
    received.push_back({data.channel, std::move(data.bytes)});
  stream->changed_.notify_all();
}

void Connection::on(Acknowledge acknowledge) {
  const auto it = streams_.find(acknowledge.stream);
  const auto stream = it == streams_.end() ? nullptr : it->second.lock();
  if (!stream) return;
  if (stream->window_ + acknowledge.bytes > options_.window)
    throw Error(Code::invalid, "malformed message on the link").because("the peer acknowledges more than it was sent");
  stream->window_ += acknowledge.bytes;
  stream->changed_.notify_all();
}

void Connection::on(End end) {
  const auto it = streams_.find(end.stream);
  const auto stream = it == streams_.end() ? nullptr : it->second.lock();
  if (!stream) return;
  stream->peer_ended_ = true;
  stream->changed_.notify_all();
}

void Connection::on(Reset reset) {
  const auto it = streams_.find(reset.stream);
  const auto stream = it == streams_.end() ? nullptr : it->second.lock();
  if (stream) stream->fail(reset.error);
}

}  // namespace underway::link

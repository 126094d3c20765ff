#include "http/websocket.hpp"

#include <fmt/format.h>

#include <random>

#include "async/event.hpp"
#include "http/detail/socket.hpp"

namespace underway::http::detail {
namespace {

enum class State { open, closing, closed };

/// A reader that the ping timer may judge: only while somebody reads does silence mean anything.
class Socket final : public WebSocket, public std::enable_shared_from_this<Socket> {
 public:
  Socket(std::shared_ptr<Transport> transport, Side self, WebSocketOptions options, std::string early)
      : transport_(std::move(transport)),
        self_(self),
        options_(options),
        decoder_(self, options.message_limit),
        assembler_(options.message_limit),
        random_(std::random_device{}()),
        ticker_(transport_->socket().get_executor()) {
    decoder_.put(early);
    transport_->expires_at(async::kNever);
  }
  ~Socket() override { transport_->close(); }

  void start() { schedule_tick(); }

  awaitable<std::optional<Message>> read() override;
  awaitable<void> write(Message message) override;
  bool try_write(Message message) override;
  awaitable<void> close(CloseCode code, std::string reason) override;
  void abort() override { fail(Error(Code::unavailable, "the connection was closed here")); }

  bool is_open() const override { return state_ == State::open && !failure_; }
  CloseCode close_code() const override { return close_code_; }
  const std::string& close_reason() const override { return close_reason_; }
  const Peer& peer() const override { return transport_->peer(); }
  std::size_t queued_bytes() const override { return out_.size() - sent_; }

 private:
  using Clock = std::chrono::steady_clock;
  class Reading {
   public:
    explicit Reading(Socket& socket) : socket_(socket) {
      socket_.reading_since_ = Clock::now();
      socket_.reading_ = true;
    }
    ~Reading() {
      socket_.reading_ = false;
      socket_.changed_.notify_all();
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    Socket& socket_;
  };

  std::optional<Message> take_message();
  std::optional<Message> on_frame(Frame frame);
  void enqueue(Opcode opcode, std::string_view payload);
  void pump();
  void wait_for_room(Want want);
  void on_peer_close(std::string_view payload);
  Error refuse(const Violation& violation);
  void fail(Error why);
  void schedule_tick();
  void tick();
  awaitable<void> await_peer_close();

  const std::shared_ptr<Transport> transport_;
  const Side self_;
  const WebSocketOptions options_;
  FrameDecoder decoder_;
  MessageAssembler assembler_;
  std::minstd_rand random_;
  asio::steady_timer ticker_;
  async::Event changed_;  ///< room in the queue, the state or the reader has changed
  std::string out_;
  std::size_t sent_ = 0;
  bool pump_waits_ = false;
  State state_ = State::open;
  bool peer_closed_ = false;
  bool reading_ = false;
  std::optional<Error> failure_;
  CloseCode close_code_ = CloseCode::no_status;
  std::string close_reason_;
  Clock::time_point heard_ = Clock::now();
  Clock::time_point reading_since_ = heard_;
  Clock::time_point progress_ = heard_;
};

awaitable<std::optional<Message>> Socket::read() {
  const auto self = shared_from_this();
  if (reading_) throw Error(Code::internal, "two coroutines read one WebSocket");
  const Reading reading(*this);
  while (true) {
    if (peer_closed_) co_return std::nullopt;
    if (failure_) throw Error(*failure_);
    if (auto message = take_message()) co_return message;
    if (peer_closed_) co_return std::nullopt;
    bool more = false;
    try {
      more = co_await transport_->read_into(decoder_.buffer());
    } catch (Error& lost) {
      if (!failure_) fail(lost);
    }
    if (more)
      heard_ = Clock::now();
    else if (!failure_)
      fail(transport_->lost("the peer closed it without a farewell"));
  }
}

/// The next whole message of what has come; frames of control are served on the way.
std::optional<Message> Socket::take_message() {
  try {
    while (!peer_closed_) {
      auto frame = decoder_.next();
      if (!frame) return std::nullopt;
      if (auto message = on_frame(std::move(*frame))) return message;
    }
    return std::nullopt;
  } catch (const Violation& violation) {
    throw refuse(violation);
  }
}

std::optional<Message> Socket::on_frame(Frame frame) {
  switch (frame.opcode) {
    case Opcode::ping:
      // A peer that pings without reading our answers would fill the queue.
      if (queued_bytes() <= options_.queue_limit) enqueue(Opcode::pong, frame.payload);
      return std::nullopt;
    case Opcode::pong:
      return std::nullopt;
    case Opcode::close:
      on_peer_close(frame.payload);
      return std::nullopt;
    default:
      return assembler_.add(std::move(frame));
  }
}

void Socket::on_peer_close(std::string_view payload) {
  std::tie(close_code_, close_reason_) = decode_close(payload);
  peer_closed_ = true;
  if (state_ == State::open) enqueue(Opcode::close, payload);
  state_ = State::closed;
  ticker_.cancel();
  pump();
  changed_.notify_all();
}

Error Socket::refuse(const Violation& violation) {
  const Code code = violation.code == CloseCode::too_large ? Code::too_large : Code::invalid;
  Error error(code, fmt::format("{} broke the WebSocket protocol", peer().address));
  error.because(violation.text);
  if (state_ == State::open && !failure_) enqueue(Opcode::close, encode_close(violation.code, violation.text));
  fail(error);
  return error;
}

awaitable<void> Socket::write(Message message) {
  const auto self = shared_from_this();
  while (is_open() && queued_bytes() > options_.queue_limit) co_await changed_.wait();
  if (failure_) throw Error(*failure_);
  if (!is_open()) throw Error(Code::unavailable, fmt::format("the WebSocket to {} is closed", peer().address));
  enqueue(message.text ? Opcode::text : Opcode::binary, message.data);
}

bool Socket::try_write(Message message) {
  if (!is_open() || queued_bytes() > options_.queue_limit) return false;
  enqueue(message.text ? Opcode::text : Opcode::binary, message.data);
  return true;
}

void Socket::enqueue(Opcode opcode, std::string_view payload) {
  if (queued_bytes() == 0) progress_ = Clock::now();
  out_ += encode_frame(opcode, payload, self_, static_cast<std::uint32_t>(random_()) * 2654435761u);
  pump();
}

/// Sends what the kernel takes now, and comes back when it takes more.
void Socket::pump() {
  if (pump_waits_ || !transport_->is_open()) return;
  while (queued_bytes() > 0) {
    const Attempt attempt = transport_->try_write(std::string_view(out_).substr(sent_));
    sent_ += attempt.bytes;
    if (attempt.bytes > 0) {
      progress_ = Clock::now();
      continue;
    }
    if (attempt.blocked == Want::nothing) return fail(transport_->lost(attempt.failure));
    wait_for_room(attempt.blocked);
    break;
  }
  if (queued_bytes() == 0) {
    out_ = std::string();
    sent_ = 0;
    if (state_ == State::closed) transport_->finish_sending();
  } else if (sent_ > out_.size() / 2) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
  if (queued_bytes() <= options_.queue_limit && changed_.waiters() > 0) changed_.notify_all();
}

void Socket::wait_for_room(Want want) {
  pump_waits_ = true;
  const auto type = want == Want::read ? asio::socket_base::wait_read : asio::socket_base::wait_write;
  transport_->socket().async_wait(type, [weak = weak_from_this()](boost::system::error_code failed) {
    const auto socket = weak.lock();
    if (socket == nullptr) return;
    socket->pump_waits_ = false;
    if (!failed) socket->pump();
  });
}

awaitable<void> Socket::close(CloseCode code, std::string reason) {
  const auto self = shared_from_this();
  if (state_ == State::open && !failure_) {
    state_ = State::closing;
    enqueue(Opcode::close, encode_close(code, reason));
  }
  try {
    co_await async::within(options_.close_timeout, "closing a WebSocket", await_peer_close());
  } catch (const Error&) {
    // The peer does not take part in the farewell; there is nobody left to tell.
  }
  state_ = State::closed;
  ticker_.cancel();
  transport_->close();
  if (!failure_ && !peer_closed_) failure_ = Error(Code::unavailable, "the WebSocket was closed here");
  changed_.notify_all();
}

awaitable<void> Socket::await_peer_close() {
  while (!failure_ && (!peer_closed_ || queued_bytes() > 0)) {
    if (peer_closed_ || reading_) {
      co_await changed_.wait();
    } else {
      auto discarded = co_await read();
      if (!discarded && failure_) co_return;
    }
  }
}

void Socket::fail(Error why) {
  if (!failure_) failure_ = std::move(why);
  state_ = State::closed;
  ticker_.cancel();
  transport_->close();
  changed_.notify_all();
}

void Socket::schedule_tick() {
  const Duration beat = options_.ping_every > Duration::zero() ? std::min(options_.ping_every, options_.send_timeout)
                                                               : options_.send_timeout;
  ticker_.expires_after(std::chrono::duration_cast<Clock::duration>(beat));
  ticker_.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    if (failed) return;
    if (const auto socket = weak.lock()) socket->tick();
  });
}

void Socket::tick() {
  if (state_ == State::closed || failure_) return;
  const auto now = Clock::now();
  if (queued_bytes() > 0 && now - progress_ >= options_.send_timeout) {
    return fail(Error(Code::timeout, fmt::format("{} takes no data", peer().address))
                    .because(fmt::format("{} bytes wait since {}", queued_bytes(), human_duration(now - progress_))));
  }
  const auto silent = now - heard_;
  if (options_.ping_every > Duration::zero()) {
    if (reading_ && std::min(silent, now - reading_since_) >= options_.dead_after) {
      return fail(Error(Code::timeout, fmt::format("{} is silent", peer().address))
                      .because(fmt::format("nothing was heard for {}", human_duration(silent))));
    }
    if (state_ == State::open && queued_bytes() == 0 && silent >= options_.ping_every / 2) enqueue(Opcode::ping, "");
  }
  if (!failure_) schedule_tick();
}

}  // namespace

std::shared_ptr<WebSocket> make_websocket(std::shared_ptr<Transport> transport, Side self, WebSocketOptions options,
                                          std::string early) {
  auto socket = std::make_shared<Socket>(std::move(transport), self, options, std::move(early));
  socket->start();
  return socket;
}

}  // namespace underway::http::detail

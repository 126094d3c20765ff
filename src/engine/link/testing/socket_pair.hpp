#pragma once
/// @file
/// Two WebSockets joined in memory, for tests that need both ends of a link and no network.

#include <deque>
#include <memory>
#include <utility>

#include "async/event.hpp"
#include "http/websocket.hpp"

namespace underway::link {

class FakeSocket final : public http::WebSocket {
 public:
  static std::pair<std::shared_ptr<FakeSocket>, std::shared_ptr<FakeSocket>> pair() {
    auto a = std::make_shared<FakeSocket>();
    auto b = std::make_shared<FakeSocket>();
    a->other_ = b;
    b->other_ = a;
    return {a, b};
  }

  asio::awaitable<std::optional<http::Message>> read() override {
    while (received_.empty()) {
      if (broken_) throw Error(Code::unavailable, "the connection is lost");
      if (closed_) co_return std::nullopt;
      co_await changed_.wait();
    }
    auto message = std::move(received_.front());
    received_.pop_front();
    co_return message;
  }
  asio::awaitable<void> write(http::Message message) override {
    if (!try_write(std::move(message))) throw Error(Code::unavailable, "the connection is lost");
    co_return;
  }
  bool try_write(http::Message message) override {
    const auto other = other_.lock();
    if (!is_open() || !other) return false;
    other->received_.push_back(std::move(message));
    other->changed_.notify_all();
    return true;
  }
  asio::awaitable<void> close(http::CloseCode code, std::string reason) override {
    if (const auto other = other_.lock(); other && is_open()) {
      other->code_ = code;
      other->reason_ = std::move(reason);
    }
    shut(false);
    co_return;
  }
  void abort() override { shut(true); }
  bool is_open() const override { return !closed_ && !broken_; }
  http::CloseCode close_code() const override { return closed_ ? code_ : http::CloseCode::no_status; }
  const std::string& close_reason() const override { return reason_; }
  const http::Peer& peer() const override { return peer_; }
  std::size_t queued_bytes() const override { return 0; }

 private:
  void shut(bool broken) {
    for (FakeSocket* end : {this, other_.lock().get()}) {
      if (end == nullptr) continue;
      (broken ? end->broken_ : end->closed_) = true;
      end->changed_.notify_all();
    }
  }

  std::weak_ptr<FakeSocket> other_;
  std::deque<http::Message> received_;
  async::Event changed_;
  bool closed_ = false, broken_ = false;
  http::CloseCode code_ = http::CloseCode::normal;  ///< how the other end closed, and why
  std::string reason_;
  http::Peer peer_;
};

}  // namespace underway::link

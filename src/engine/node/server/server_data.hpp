#pragma once
/// @file
/// What tasks get from the server over the link: the variables and services that their templates ask for, their tokens,
/// and streams. One set of needs per node goes up, answers come down as they change. What was learned stays while the
/// link is away: a task that crashes while the server is being upgraded is started again with the files that it had.

#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "link/connection.hpp"
#include "protocol/messages.hpp"

namespace underway::node {

using async::awaitable;

/// Thread: one loop, but for answers().
class ServerData {
 public:
  using Answers = std::map<protocol::DataNeed, protocol::DataValue>;

  /// `news` is called when there is something to tell the server.
  explicit ServerData(std::function<void()> news) : news_(std::move(news)) {}
  ServerData(const ServerData&) = delete;
  ServerData& operator=(const ServerData&) = delete;

  // --- for tasks
  /// All that is known now. Thread: any.
  std::shared_ptr<const Answers> answers() const;
  /// Until the token is destroyed, the server is asked for these, and `changed` is called when an answer to one of them
  /// comes or changes; never from inside this call.
  std::shared_ptr<void> watch(std::set<protocol::DataNeed> needs, std::function<void()> changed);
  /// Throws unavailable without a link; denied and others as the server answers.
  awaitable<protocol::IdentityReply> sign(protocol::IdentityRequest request);
  /// A stream to the server. Throws unavailable without a link; the server's refusal comes on the stream.
  awaitable<std::shared_ptr<link::Stream>> open(std::string method, boost::json::value header);

  // --- for the link
  /// A link stands, whose server knows nothing of our needs.
  void linked(const std::shared_ptr<link::Connection>& connection);
  bool has_untold() const { return untold_; }
  awaitable<void> tell(link::Connection& connection);
  void learn(protocol::DataMessage message);

 private:
  struct Watcher;
  std::shared_ptr<link::Connection> connection() const;
  void forget(const Watcher* watcher);
  std::set<protocol::DataNeed> needs() const;
  void needs_changed(const std::set<protocol::DataNeed>& before);
  void set_answers(Answers answers);

  std::function<void()> news_;
  mutable std::mutex mutex_;  ///< of answers_: renderings read it on other threads
  std::shared_ptr<const Answers> answers_ = std::make_shared<const Answers>();
  std::set<const Watcher*> watchers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< tokens may outlive us
  std::weak_ptr<link::Connection> connection_;
  bool untold_ = false;
};

}  // namespace underway::node

#pragma once
/// @file
/// Tells an external tracker of tickets, entry by entry, each once and in order. While it does not answer everything
/// waits in the tables, over restarts of the server as well. What it answers is believed as far as it is a number and
/// an address for people.

#include <set>

#include "async/group.hpp"
#include "http/client.hpp"
#include "server/server.hpp"
#include "tracker/outbox.hpp"

namespace underway::tracker {

class Tracker {
 public:
  struct Options {
    Duration connect = std::chrono::seconds(10);
    Duration exchange = std::chrono::seconds(30);
    Duration retry_after = std::chrono::minutes(5);     ///< at most, when it does not answer
    Duration refused_again = std::chrono::minutes(10);  ///< looks at what it refused
    Duration gather = std::chrono::seconds(1);
    std::size_t body_limit = 16U << 20;  ///< of an answer
    std::size_t most_steps = 200;        ///< of one look
  };
  /// All outlive it.
  Tracker(server::Server& server, async::Pool& pool, async::Executor executor, Settings settings, Options options);
  Tracker(server::Server& server, async::Pool& pool, async::Executor executor, Settings settings)
      : Tracker(server, pool, std::move(executor), std::move(settings), Options()) {}

  void start();
  async::awaitable<void> stop();

 private:
  server::FollowerOptions what_is_followed() const;
  async::awaitable<void> reconcile();
  void note_changes(const tables::Tables& tables);
  async::awaitable<http::Client> connect();
  /// Tells all of one ticket that is left. Throws what concerns all of them.
  async::awaitable<void> catch_up(http::Client& client, std::int64_t number, std::size_t& steps);
  async::awaitable<void> perform(http::Client& client, const Step& step);
  async::awaitable<void> send_entry(http::Client& client, const Step& step);
  async::awaitable<std::optional<Found>> find(http::Client& client, const Step& step, std::string mark);
  /// Throws invalid for what the tracker refuses of this ticket alone; unavailable, denied for the rest.
  async::awaitable<std::string> ask(http::Client& client, http::Request request, bool of_one_issue);

  server::Server& server_;
  async::Pool& pool_;
  async::Executor executor_;
  Settings settings_;
  Options options_;
  std::string token_;
  model::Revision seen_ = 0;
  std::set<std::int64_t> behind_;  ///< tickets of which the tracker may not have everything
  server::Follower follower_;
  async::TaskGroup tasks_;
};

}  // namespace underway::tracker

#pragma once
/// @file
/// What a control loop of the server waits for: that the tables change where it looks, that a time has come by the
/// clock, or that somebody asks. It remembers how far the loop has seen, so that no change between two looks is missed.

#include "server/writer.hpp"

namespace underway::server {

struct FollowerOptions {
  /// Where changes count.
  std::function<std::vector<tables::Scope>(const Tables&)> scopes;
  /// When to look whatever changes. The clock may be set meanwhile. Absent: only changes count.
  std::function<std::optional<TimePoint>(const Tables&)> due = {};
  /// After how long to look whatever changes, by the loop's own time. Absent: only changes count.
  std::function<std::optional<Duration>(const Tables&)> again = {};
  /// Between the end of a look and the next: what happens together is looked at together.
  Duration gather{0};
};

/// Of one loop, whose waits it is. Thread: the loop's.
class Follower {
 public:
  /// Both outlive it.
  Follower(Writer& writer, const Clock& clock, FollowerOptions options)
      : writer_(writer), clock_(clock), options_(std::move(options)) {}

  /// The first time at once. Then until there is a change since it resumed last, or it is time.
  async::awaitable<void> wait_for_news();
  /// Until it is time: a change alone only has it asked anew when that is.
  async::awaitable<void> wait_until_due();
  /// Whoever waits resumes; or else the next wait does at once.
  void look();

 private:
  bool is_due(const Tables& tables, bool anew);
  async::SteadyTime next_look(async::SteadyTime latest) const;

  Writer& writer_;
  const Clock& clock_;
  FollowerOptions options_;
  std::shared_ptr<async::Event> woken_ = std::make_shared<async::Event>();  ///< frames may outlive us
  bool asked_ = true;                                                       ///< to look: at first, everybody is
  model::Revision seen_ = 0;
  std::optional<TimePoint> due_;
  TimePoint asked_at_{};  ///< when due_ was found
};

}  // namespace underway::server

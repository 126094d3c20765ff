#pragma once
/// @file
/// Events on the wire, as Nomad streams them: one line of JSON for events of one index, `{}` as a heartbeat. Source:
/// Nomad's API documentation, "Events".

#include <deque>

#include "api/search/query.hpp"
#include "server/events.hpp"

namespace underway::api {

/// Whether one reader is told of one event: what it asked for, and what it may see. The only place that decides it.
using EventPredicate = std::function<bool(const server::Event&)>;

/// By ?topic=TOPIC[:KEY] (several are any of them; none: all) and ?namespace. Throws invalid for a topic that does not
/// exist, with the nearest one.
EventPredicate wanted_events(const Request& request);

/// Events as text: made once, for all who follow. Keeps those of the newest batches. Thread: the loop's.
class EventTexts {
 public:
  using Batch = server::EventBuffer::Batch;
  static constexpr std::size_t kMostBytes = 8U << 20;

  /// The event as it stands in a line. Good until the next call.
  const std::string& of(const std::shared_ptr<const Batch>& batch, std::size_t position);

 private:
  struct Made {
    std::shared_ptr<const Batch> batch;  ///< so that no other comes to lie there
    std::vector<std::string> texts;      ///< empty: not asked for yet
    std::size_t bytes = 0;
  };
  void forget_old(const Batch* except);
  std::unordered_map<const Batch*, Made> made_;
  std::deque<const Batch*> order_;
  std::size_t bytes_ = 0;
};

/// Appends the lines of the batch: up to kEventsPerLine wanted events each, and a newline.
void append_event_lines(std::string& out, const std::shared_ptr<const server::EventBuffer::Batch>& batch,
                        const EventPredicate& wanted, EventTexts& texts);
constexpr std::size_t kEventsPerLine = 64;

/// The last line of a stream that cannot go on.
std::string event_failure_line(const Error& error);

}  // namespace underway::api

// What happens, as it happens: Nomad's event stream.
#include "api/routes.hpp"
#include "api/search/event_body.hpp"

namespace underway::api {
namespace {

using server::EventBuffer;

/// As Nomad's: proxies and clients may rely on hearing something that often.
constexpr Duration kHeartbeat = std::chrono::seconds(10);

/// Pieces are gathered up to about this size.
constexpr std::size_t kEventsPiece = 64U << 10;
/// So many are told each change by itself; the more there are beyond, the longer is gathered what a write costs.
constexpr std::size_t kFewFollowers = 16;
constexpr Duration kGatherPerFollower = std::chrono::microseconds(20);
constexpr Duration kGatherAtMost = std::chrono::milliseconds(50);

/// Those who follow now, and what they share.
struct Followers {
  EventTexts texts;
  std::size_t count = 0;
  std::size_t piece = 0;  ///< bytes of the last one that was sent: those of others will be about as long

  Duration gathering() const {
    if (count <= kFewFollowers) return Duration{0};
    return std::min<Duration>(kGatherAtMost, kGatherPerFollower * static_cast<std::int64_t>(count));
  }
};

class Following {
 public:
  explicit Following(Followers& followers) : followers_(followers) { ++followers_.count; }
  ~Following() { --followers_.count; }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  Followers& followers_;
};

/// Until the client goes, or has fallen behind the buffer: then the last line says so, and the body ends. Nothing is
/// kept for a client that reads slowly but the piece that it is at. A heartbeat follows what was there already.
awaitable<void> stream_events(const EventBuffer& events, EventBuffer::Reader reader, EventPredicate wanted,
                              std::shared_ptr<Followers> followers, http::BodyWriter& writer) {
  const Following following(*followers);
  bool greeted = false;
  while (true) {
    std::string piece;
    piece.reserve(followers->piece + followers->piece / 4);
    bool failed = false;
    try {
      while (piece.size() < kEventsPiece) {
        const auto batch = reader.next();
        if (!batch) break;
        append_event_lines(piece, batch, wanted, followers->texts);
      }
    } catch (const Error& error) {
      piece += event_failure_line(error);
      failed = true;
    }
    if (!piece.empty()) {
      followers->piece = piece.size();
      co_await writer.write(std::move(piece));
      if (failed) co_return;
      continue;  // what has come meanwhile is not told again
    }
    const bool more = greeted && co_await events.more().wait_until(async::deadline_in(kHeartbeat));
    greeted = true;
    if (!more) co_await writer.write("{}\n");
    if (const Duration span = followers->gathering(); more && span > Duration{0}) co_await async::sleep_for(span);
  }
}

awaitable<Response> read_events(Api& api, std::shared_ptr<Followers> followers, Request request) {
  const auto wanted = wanted_events(request);
  const std::int64_t index = integer_parameter(request, "index", 0);
  co_await api.server.read();
  const EventBuffer& events = api.server.events();
  Response response;
  response.headers.set("Content-Type", "application/json");
  response.headers.set("X-Nomad-Index", std::to_string(std::max<model::Revision>(events.newest(), 1)));
  // Nomad starts with what it still has and does not say what is missing.
  response.headers.set("X-Underway-Complete-From", std::to_string(events.complete_from()));
  const auto reader = events.read_from(index);
  response.stream = [&events, reader, wanted, followers](http::BodyWriter& writer) {
    return stream_events(events, reader, wanted, followers, writer);
  };
  co_return response;
}

}  // namespace

void add_event_routes(Routes& routes, Api& api) {
  const auto followers = std::make_shared<Followers>();
  routes.add("GET", "/v1/event/stream", "event stream", right::something(),
             [&api, followers](Request request) { return read_events(api, followers, std::move(request)); });
}

}  // namespace underway::api

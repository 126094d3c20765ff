// What happens, as it happens: Nomad's event stream.
#include "api/event_body.hpp"
#include "api/routes.hpp"

namespace underway::api {
namespace {

using server::EventBuffer;

/// As Nomad's: proxies and clients may rely on hearing something that often.
constexpr Duration kHeartbeat = std::chrono::seconds(10);

/// Until the client goes, or has fallen behind the buffer: then the last line says so, and the body ends. Nothing is
/// kept for a client that reads slowly but the batch that it is at. A heartbeat follows what was there already.
awaitable<void> stream_events(const EventBuffer& events, EventBuffer::Reader reader, EventPredicate wanted,
                              http::BodyWriter& writer) {
  bool greeted = false;
  while (true) {
    std::shared_ptr<const EventBuffer::Batch> batch;
    std::string failure;
    try {
      batch = reader.next();
    } catch (const Error& error) {
      failure = event_failure_line(error);
    }
    if (!failure.empty()) {
      co_await writer.write(std::move(failure));
      co_return;
    }
    if (batch) {
      std::size_t position = 0;
      for (auto line = next_event_line(*batch, position, wanted); !line.empty();
           line = next_event_line(*batch, position, wanted))
        co_await writer.write(std::move(line));
      continue;
    }
    const bool more = greeted && co_await events.more().wait_until(async::deadline_in(kHeartbeat));
    greeted = true;
    if (!more) co_await writer.write("{}\n");
  }
}

awaitable<Response> read_events(Api& api, Request request) {
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
  response.stream = [&events, reader, wanted](http::BodyWriter& writer) {
    return stream_events(events, reader, wanted, writer);
  };
  co_return response;
}

}  // namespace

void add_event_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/event/stream", "event stream", right::something(),
             [&api](Request request) { return read_events(api, std::move(request)); });
}

}  // namespace underway::api

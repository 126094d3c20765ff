// The stream of events, line by line.
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "http/plain_error.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

/// Far above any line that a server sends: 64 events of a line each.
constexpr std::size_t kLongestLine = 256u << 20;

model::Revision index_of(const http::Headers& headers, const char* name) {
  return leading_number_or<model::Revision>(headers.find(name).value_or(""), 0);
}

/// Puts lines together from pieces as they arrive.
class Lines {
 public:
  /// Calls `line` for each that is whole, until it returns false.
  bool add(std::string_view piece, const std::function<bool(std::string_view)>& line) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      begun_ += piece.substr(0, end);
      if (begun_.size() > kLongestLine) throw Error(Code::too_large, "a line of the event stream has no end");
      if (end == std::string_view::npos) return true;
      piece.remove_prefix(end + 1);
      const std::string whole = std::exchange(begun_, {});
      if (!trim(whole).empty() && !line(whole)) return false;
    }
    return true;
  }

 private:
  std::string begun_;
};

}  // namespace

void Client::events(const EventQuery& query, const std::function<void(const EventStart&)>& start,
                    const std::function<bool(const boost::json::value& event)>& event,
                    const std::function<bool()>& idle) {
  http::Query parameters;
  for (const auto& topic : query.topics) parameters.add("topic", topic);
  if (query.index > 0) parameters.add("index", std::to_string(query.index));
  if (!address_.ns.empty()) parameters.add("namespace", address_.ns);
  bool enough = false;
  const auto take = [&](std::string_view line) {
    const auto value = json::parse(line);
    if (!value.is_object()) throw Error(Code::internal, "the event stream has a line that is no object");
    const auto& object = value.get_object();
    if (const auto* failure = object.if_contains("Error"); failure != nullptr && failure->is_string())
      throw http::parse_plain_error(http_status(Code::exhausted), failure->get_string());
    const auto* events = object.if_contains("Events");
    if (events == nullptr || !events->is_array()) return idle();
    for (const auto& told : events->get_array()) {
      if (!event(told)) return false;
    }
    return true;
  };
  Lines lines;
  stream(
      "/v1/event/stream", std::move(parameters),
      [&](std::string_view piece) {
        enough = !lines.add(piece, take);
        return !enough;
      },
      [&](const http::Headers& headers) {
        start({index_of(headers, "X-Nomad-Index"), index_of(headers, "X-Underway-Complete-From")});
      });
  if (!enough) throw Error(Code::unavailable, "the event stream has ended");
}

}  // namespace underway::sdk

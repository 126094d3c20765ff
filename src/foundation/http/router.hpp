#pragma once
/// @file
/// From method and path to a handler. Patterns consist of segments: "/v1/job/:id/summary". ":name" matches one segment,
/// "*name" one or more (also in the middle: "/v1/job/*id/summary" serves ids that contain a slash). Literal segments
/// win over ":name", which wins over "*name". Segments are matched before they are decoded, so "%2F" never splits one.

#include <map>

#include "http/message.hpp"

namespace underway::http {

/// A request's body that its handler takes piece by piece, instead of finding it in memory.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// The next piece; empty at the end. Throws Error: too_large beyond the route's limit, unavailable or timeout when
  /// the client goes or stands still, invalid (malformed).
  virtual awaitable<std::string> read() = 0;
};

struct RouteOptions {
  std::size_t body_limit = 0;  ///< bytes; 0 is the server's default
  /// Serves the route in the place of its handler: it sees the head first, so that whoever may not send a large body
  /// is refused before any of it is taken. What it leaves unread is thrown away with the connection.
  std::function<awaitable<Response>(Request, BodyReader&)> streamed = {};
};

/// What is known about a registered route, for an OpenAPI check and for metrics.
struct Route {
  std::string method;
  std::string pattern;
  std::string name;
};

/// What was served, told once to the observer.
struct Access {
  std::string method;
  std::string target;
  std::string route;  ///< the route's name; empty when none matched
  std::string remote;
  int status = 0;   ///< 0 when the client went away first
  Duration took{};  ///< until the handler returned
};

class Router {
 public:
  /// Makes the answer to a request whose handler threw. The default: error_response().
  using ErrorMapper = std::function<Response(const Error&)>;
  using Observer = std::function<void(const Access&)>;

  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  /// `methods`: "GET", or several: "PUT|POST". HEAD is served by GET's handler. Throws Error(internal) when method and
  /// pattern are registered already, or when the pattern is malformed.
  void add(std::string_view methods, std::string_view pattern, std::string name, Handler handler,
           RouteOptions options = {});
  /// Serves GETs that no pattern matches (the web page). Without it they are answered 404.
  void fallback(Handler handler);
  void on_error(ErrorMapper mapper);
  void observe(Observer observer);

  /// Finds the handler, runs it and maps its Errors; unknown paths are 404, unknown methods of a known path 405 with
  /// Allow. Every other exception but a cancellation is logged and answered 500.
  /// `body`: what a streamed route reads from; absent: from the request's own body.
  awaitable<Response> handle(Request request, BodyReader* body = nullptr) const;

  /// Whether the route wants its body piece by piece.
  bool streams_body(std::string_view method, std::string_view target) const;

  /// The limit of the route that `method` and `target` lead to; `otherwise` when it has none.
  std::size_t body_limit(std::string_view method, std::string_view target, std::size_t otherwise) const;

  std::vector<Route> routes() const;

 private:
  struct Node;
  struct Endpoint;
  struct Match;
  Match match(std::string_view method, std::string_view target) const;
  static awaitable<Response> serve(const Endpoint& endpoint, Request request, BodyReader* body);

  std::unique_ptr<Node> root_;
  std::vector<Route> routes_;
  Handler fallback_;
  ErrorMapper mapper_;
  Observer observer_;
};

}  // namespace underway::http

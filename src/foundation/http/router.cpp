#include "http/router.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "http/detail/wire.hpp"
#include "http/plain_error.hpp"

namespace underway::http {

struct Router::Endpoint {
  std::string name;
  Handler handler;
  RouteOptions options;
  std::vector<std::string> params;  ///< names, in the order of the pattern
};

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> one;                               ///< ":name"
  std::unique_ptr<Node> many;                              ///< "*name"
  std::map<std::string, Endpoint, std::less<>> endpoints;  ///< by method
};

struct Router::Match {
  const Endpoint* endpoint = nullptr;    ///< null: no such path, or not this method
  const Node* node = nullptr;            ///< null: no such path
  std::vector<std::string_view> values;  ///< of the parameters, not decoded
};

namespace {

/// Bounds the search; no path that we serve is nearly so deep.
constexpr std::size_t kDeepest = 64;

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    const auto slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

/// Literal segments are compared decoded, so an escaped letter does not hide a route.
std::string decoded_or_raw(std::string_view segment) {
  try {
    return percent_decode(segment);
  } catch (const Error&) {
    return std::string(segment);
  }
}

template <class Node>
const Node* search(const Node& node, const std::vector<std::string_view>& segments, std::size_t at,
                   std::string_view method, std::vector<std::string_view>& values, const Node*& other_method,
                   std::size_t& budget) {
  if (budget == 0) return nullptr;
  --budget;
  if (at == segments.size()) {
    if (node.endpoints.empty()) return nullptr;
    if (node.endpoints.contains(method) || (method == "HEAD" && node.endpoints.contains("GET"))) return &node;
    if (other_method == nullptr) other_method = &node;
    return nullptr;
  }
  if (const auto literal = node.literals.find(decoded_or_raw(segments[at])); literal != node.literals.end()) {
    if (const auto* found = search(*literal->second, segments, at + 1, method, values, other_method, budget))
      return found;
  }
  if (node.one != nullptr && !segments[at].empty()) {
    values.push_back(segments[at]);
    if (const auto* found = search(*node.one, segments, at + 1, method, values, other_method, budget)) return found;
    values.pop_back();
  }
  // "/v1/job//scale": the name that should stand between the slashes is missing, it is not "/scale".
  if (node.many == nullptr || segments[at].empty()) return nullptr;
  for (std::size_t end = at + 1; end <= segments.size(); ++end) {
    const char* first = segments[at].data();
    values.emplace_back(first, static_cast<std::size_t>(segments[end - 1].data() + segments[end - 1].size() - first));
    if (!values.back().empty()) {
      if (const auto* found = search(*node.many, segments, end, method, values, other_method, budget)) return found;
    }
    values.pop_back();
  }
  return nullptr;
}

std::exception_ptr run_mapper(const Router::ErrorMapper& mapper, const Error& error, Response& response) {
  try {
    response = mapper(error);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::add(std::string_view methods, std::string_view pattern, std::string name, Handler handler,
                 RouteOptions options) {
  if (!pattern.starts_with('/'))
    throw Error(Code::internal, fmt::format("route pattern '{}' has no leading '/'", pattern));
  Node* node = root_.get();
  Endpoint endpoint{std::move(name), std::move(handler), options, {}};
  for (const std::string_view segment : segments_of(pattern)) {
    const bool is_param = segment.starts_with(':') || segment.starts_with('*');
    if (is_param && segment.size() == 1) {
      throw Error(Code::internal, fmt::format("route pattern '{}' has a parameter without a name", pattern));
    }
    if (is_param) endpoint.params.emplace_back(segment.substr(1));
    auto& next = segment.starts_with(':')   ? node->one
                 : segment.starts_with('*') ? node->many
                                            : node->literals[std::string(segment)];
    if (next == nullptr) next = std::make_unique<Node>();
    node = next.get();
  }
  for (const auto& method : split(methods, '|')) {
    if (!node->endpoints.emplace(method, endpoint).second) {
      throw Error(Code::internal, fmt::format("route {} {} is registered twice", method, pattern));
    }
    routes_.push_back({method, std::string(pattern), endpoint.name});
  }
}

void Router::fallback(Handler handler) { fallback_ = std::move(handler); }
void Router::on_error(ErrorMapper mapper) { mapper_ = std::move(mapper); }
void Router::observe(Observer observer) { observer_ = std::move(observer); }
std::vector<Route> Router::routes() const { return routes_; }

Router::Match Router::match(std::string_view method, std::string_view target) const {
  Match match;
  const auto segments = segments_of(detail::raw_path(target));
  if (segments.size() > kDeepest) return match;
  const Node* other_method = nullptr;
  std::size_t budget = 10'000;
  match.node = search(*root_, segments, 0, method, match.values, other_method, budget);
  if (match.node == nullptr) {
    match.node = other_method;
    return match;
  }
  auto found = match.node->endpoints.find(method);
  if (found == match.node->endpoints.end()) found = match.node->endpoints.find("GET");
  match.endpoint = &found->second;
  return match;
}

std::size_t Router::body_limit(std::string_view method, std::string_view target, std::size_t otherwise) const {
  const Match found = match(method, target);
  return found.endpoint != nullptr && found.endpoint->options.body_limit > 0 ? found.endpoint->options.body_limit
                                                                             : otherwise;
}

bool Router::streams_body(std::string_view method, std::string_view target) const {
  const Match found = match(method, target);
  return found.endpoint != nullptr && found.endpoint->options.streamed != nullptr;
}

namespace {

/// A body that is all there.
class WholeBody final : public BodyReader {
 public:
  explicit WholeBody(std::string body) : body_(std::move(body)) {}
  awaitable<std::string> read() override { co_return std::exchange(body_, {}); }

 private:
  std::string body_;
};

}  // namespace

awaitable<Response> Router::serve(const Endpoint& endpoint, Request request, BodyReader* body) {
  if (!endpoint.options.streamed) co_return co_await endpoint.handler(std::move(request));
  WholeBody whole(body == nullptr ? std::exchange(request.body, {}) : std::string());
  co_return co_await endpoint.options.streamed(std::move(request), body == nullptr ? whole : *body);
}

awaitable<Response> Router::handle(Request request, BodyReader* body) const {
  const auto started = std::chrono::steady_clock::now();
  Access access;
  if (observer_) {
    access.method = request.method;
    access.target = request.target;
    access.remote = request.remote.address;
  }
  const std::string what = request.method + " " + request.target;
  const ErrorForm form = error_form(request.headers);
  Response response;
  std::exception_ptr escaped;
  try {
    const Match found = match(request.method, request.target);
    if (found.endpoint != nullptr) {
      if (observer_) access.route = found.endpoint->name;
      for (std::size_t i = 0; i < found.values.size(); ++i) {
        request.params.emplace_back(found.endpoint->params.at(i), percent_decode(found.values[i]));
      }
      response = co_await serve(*found.endpoint, std::move(request), body);
    } else if (found.node != nullptr) {
      std::string allowed;
      for (const auto& [method, endpoint] : found.node->endpoints) allowed += (allowed.empty() ? "" : ", ") + method;
      response = text(405, "Invalid method");
      response.headers.set("Allow", allowed);
    } else if (fallback_ && (request.method == "GET" || request.method == "HEAD")) {
      response = co_await fallback_(std::move(request));
    } else {
      response = text(404, fmt::format("no route for {}", request.path));
    }
  } catch (const Error& error) {
    if (mapper_)
      escaped = run_mapper(mapper_, error, response);
    else
      response = error_response(error, form);
  } catch (...) {
    escaped = std::current_exception();
  }
  const bool cancelled = async::is_cancellation(escaped);
  if (escaped != nullptr && !cancelled) {
    try {
      std::rethrow_exception(escaped);
    } catch (const std::exception& failure) {
      log::error("http: {} failed unexpectedly: {}", what, failure.what());
    } catch (...) {
      log::error("http: {} failed with an object that is no exception", what);
    }
    response = text(500, "internal error");
  }
  if (observer_) {
    access.status = cancelled ? 0 : response.status;
    access.took = std::chrono::steady_clock::now() - started;
    observer_(access);
  }
  if (cancelled) std::rethrow_exception(escaped);
  co_return response;
}

}  // namespace underway::http

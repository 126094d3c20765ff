#include "api/routes.hpp"

#include "api/access/head_check.hpp"
#include "async/watchdog.hpp"
#include "base/log.hpp"
#include "base/random.hpp"

namespace underway::api {
namespace {

/// What a request of this route is served with.
struct Served {
  std::shared_ptr<Authorizer> authorizer;
  Api& api;
  GuardedRoute route;
  Routes::Handler handler;
};

/// A blocking query waits as long as its client asks: the right may end before.
bool may_wait(const Request& request) {
  const auto index = request.query.find("index");
  return index && !index->empty() && *index != "0";
}

bool changes_something(const GuardedRoute& route, const std::string& method) {
  if (route.traits.effect != Effect::by_method) return route.traits.effect == Effect::changes;
  return method != "GET" && method != "HEAD";
}

/// There is one region; who means another shall not change this one.
void check_region(const Served& served, const Request& request) {
  const auto region = request.query.find("region");
  if (!region || region->empty() || *region == served.api.agent.region) return;
  throw Error(Code::internal, "No path to region")
      .because(fmt::format("this is region '{}', and '{}' is asked for", served.api.agent.region, *region));
}

constexpr std::string_view kNobodysId = "00000000-0000-0000-0000-000000000000";

/// What lies in a namespace in which the caller may not do this is not there for it: it is answered, and refused, as
/// for an id that nobody has. Otherwise ids could be tried, and a refusal would name the namespace. True for both.
bool hide_what_is_not_its(const Served& served, Request& request) {
  const Right& right = served.route.right;
  const bool by_id = right.kind == Right::Kind::in_namespace && right.where != in_query && right.where != in_body;
  if (!by_id || request.caller().is_permanent()) return false;
  if (right.workloads && request.caller().kind == acl::Identity::Kind::workload) return false;
  const Need need = need_of(right, served.api.server.writer().tables(), request);
  if (need.ns == "*") return true;
  if (allows(request.rights(), need)) return false;
  for (auto& [name, value] : request.params) value = kNobodysId;
  return true;
}

/// What is said of an id that is not there tells nothing of it, and names the one that was asked for.
awaitable<Response> say_no_more(awaitable<Response> work, std::string asked) {
  try {
    co_return co_await std::move(work);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    std::string message = error.message();
    if (const auto at = message.find(kNobodysId); at != std::string::npos)
      message.replace(at, kNobodysId.size(), asked);
    throw Error(Code::not_found, std::move(message));
  }
}

awaitable<Response> handle(std::shared_ptr<const Served> served, Request request) {
  std::string asked = request.params.empty() ? std::string() : request.params.front().second;
  const bool unseen = hide_what_is_not_its(*served, request);
  served->authorizer->check(served->route.right, request);
  check_body_was_read(request);
  check_region(*served, request);
  const bool watched = may_wait(request) && !request.caller().is_permanent() && !request.standing->needs.empty();
  auto work = unseen ? say_no_more(served->handler(request), std::move(asked)) : served->handler(request);
  Response response =
      watched ? co_await served->authorizer->while_allowed(request, std::move(work)) : co_await std::move(work);
  // Also where no index is told: Go clients read them of every answer, in this order, up to the first that is missing.
  if (!response.headers.find("X-Nomad-LastContact")) response.headers.set("X-Nomad-LastContact", "0");
  if (!response.headers.find("X-Nomad-KnownLeader")) response.headers.set("X-Nomad-KnownLeader", "true");
  co_return served->authorizer->guarded(request, std::move(response));
}

/// The target without what a client may have put into its query by mistake: only the path, and the namespace.
std::string told_target(const Request& request) {
  const auto ns = request.query.find("namespace");
  return request.path + (ns ? "?namespace=" + *ns : "");
}

void begin_note(const Served& served, Request& request) {
  request.audit = std::make_shared<AuditNote>(served.api.server.writer().tables(), served.authorizer->row_locks());
  auto& record = request.audit->record;
  record.time = served.api.clock.now();
  record.request_id = request.id;
  record.accessor = request.caller().accessor;
  record.name = request.caller().name;
  record.address = request.remote.address;
  record.method = request.method;
  record.route = served.route.name;
  record.target = told_target(request);
  record.ns = namespace_of(request);
}

/// How it ended, in the record.
void set_result(server::AuditRecord& record, const std::exception_ptr& escaped, const Response& response) {
  record.status = response.upgrade ? 101 : response.status;
  if (escaped == nullptr) return;
  try {
    std::rethrow_exception(escaped);
  } catch (const Error& error) {
    record.status = http_status(error.code());
    record.error = error.one_line();
  } catch (const async::Cancelled&) {
    record.status = 0;
    record.error = "the client did not wait for the answer";
  } catch (const std::exception& error) {
    record.status = 500;
    record.error = error.what();
  }
}

/// Who hung up does not thereby leave the log: the decision that was handed in is waited for.
awaitable<void> outlast_client(std::shared_ptr<Authorizer> authorizer) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  try {
    co_await authorizer->settle();
  } catch (const Error&) {  // the server is stopping: what the tables hold is what there is
  }
}

awaitable<Response> handle_audited(std::shared_ptr<const Served> served, Request request) {
  auto& log = *served->api.audit;
  auto place = log.reserve();
  begin_note(*served, request);
  Response response;
  std::exception_ptr escaped;
  try {
    if (auto subject = subject_of(served->route.pattern, request)) co_await request.about(std::move(*subject));
    response = co_await handle(served, request);
  } catch (...) {
    escaped = std::current_exception();
  }
  if (async::is_cancellation(escaped)) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await outlast_client(served->authorizer);
  }
  request.audit->finish();
  auto record = std::move(request.audit->record);
  set_result(record, escaped, response);
  // A stranger may not fill the disk with refusals; whoever has a token is told of.
  const bool stranger = request.caller().kind == acl::Identity::Kind::anonymous && record.status == 403;
  if (!stranger) co_await log.write(std::move(place), std::move(record));
  if (escaped) std::rethrow_exception(escaped);
  response.headers.set("X-Request-Id", request.id);
  co_return response;
}

/// Tells of a request when it is over, however it ends.
class Account {
 public:
  Account(const Api& api, const Request& request)
      : meter_(api.meter),
        clock_(api.clock),
        begun_(api.clock.now()),
        waits_(may_wait(request)),
        what_(fmt::format("method={} path={}", request.method, request.path)) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() {
    const Duration took = clock_.now() - begun_;
    meter_->count();
    if (!waits_) meter_->time(took);
    log::debug("http: request complete: {} duration={}", what_, format_duration(took));
  }

 private:
  std::shared_ptr<Meter> meter_;
  Clock& clock_;
  TimePoint begun_;
  bool waits_;
  std::string what_;
};

awaitable<Response> serve(std::shared_ptr<const Served> served, http::Request raw) {
  Request request{std::move(raw)};
  request.service_provider = served->api.service_provider;
  async::doing(request.method + " " + request.path);
  const Account account(served->api, request);
  if (auto refusal = served->authorizer->enter(served->route.right, request)) co_return std::move(*refusal);
  if (served->api.audit == nullptr || !changes_something(served->route, request.method))
    co_return co_await handle(served, std::move(request));
  request.id = "req-" + SystemIds().uuid().substr(0, 8);
  co_return co_await handle_audited(served, std::move(request));
}

}  // namespace

Routes::Routes(http::Router& router, Api& api)
    : router_(router), api_(api), authorizer_(std::make_shared<Authorizer>(api)) {}

void Routes::add(std::string_view methods, std::string_view pattern, std::string name, Right right, Handler handler,
                 RouteTraits traits) {
  all_.push_back({std::string(methods), std::string(pattern), name, right, traits});
  auto served = std::make_shared<const Served>(Served{authorizer_, api_, all_.back(), std::move(handler)});
  router_.add(methods, pattern, std::move(name),
              [served = std::move(served)](http::Request raw) { return serve(served, std::move(raw)); },
              {.body_limit = traits.body_limit});
}

void Routes::add_streamed(std::string_view methods, std::string_view pattern, std::string name, Right right,
                          StreamedHandler handler, RouteTraits traits) {
  all_.push_back({std::string(methods), std::string(pattern), name, right, traits});
  http::RouteOptions options{.body_limit = traits.body_limit};
  options.streamed = [authorizer = authorizer_, &api = api_, route = all_.back(), handler = std::move(handler)](
                         http::Request raw, http::BodyReader& body) {
    Handler with_body = [handler, &body](Request request) { return handler(std::move(request), body); };
    auto served = std::make_shared<const Served>(Served{authorizer, api, route, std::move(with_body)});
    return serve(std::move(served), std::move(raw));
  };
  router_.add(methods, pattern, std::move(name), {}, std::move(options));
}

}  // namespace underway::api

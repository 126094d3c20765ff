#include "api/access/authorizer.hpp"

#include <unistd.h>

#include "base/text.hpp"
#include "http/websocket.hpp"
#include "server/access/identities.hpp"

namespace underway::api {

namespace {

/// How often an expiry that lies far ahead is looked at again: clocks are set.
constexpr Duration kLookAgain = std::chrono::minutes(1);

acl::IdentityPtr own_user() {
  auto identity = std::make_shared<acl::Identity>(*acl::Identities::root_socket());
  identity->accessor = fmt::format("uid-{}@unix", ::geteuid());
  return identity;
}

/// A stream is under way until it ends.
Response counted(const Request& request, Response response) {
  if (!request.slot) return response;
  if (response.stream)
    response.stream = [slot = request.slot, inner = std::move(response.stream)](auto& writer) { return inner(writer); };
  if (response.upgrade) {
    response.upgrade = [slot = request.slot, inner = std::move(response.upgrade)](auto socket) {
      return inner(std::move(socket));
    };
  }
  return response;
}

}  // namespace

Authorizer::Authorizer(Api& api)
    : api_(api), limiter_(api.access.limits, api.clock), root_(acl::Identities::root_socket()), own_(own_user()) {}

/// A task that shows the token of its own identity.
acl::IdentityPtr Authorizer::workload(std::string_view token) {
  const auto& tables = api_.server.writer().tables();
  const auto now = api_.clock.now();
  const auto found = server::verify_identity(api_.server.keyring(), tables, token, now);
  return identities_.of_workload(tables, found.workload, found.expires, now);
}

acl::IdentityPtr Authorizer::identify(const http::Request& request) {
  const auto& tables = api_.server.writer().tables();
  if (!api_.access.acl) return acl::Identities::unrestricted();
  if (const auto secret = token_of(request); !secret.empty()) {
    return server::looks_like_identity(secret) ? workload(secret)
                                               : identities_.of_secret(tables, secret, api_.clock.now());
  }
  if (const auto uid = request.remote.uid; uid && api_.access.trust_root_socket) {
    if (*uid == 0) return root_;
    if (*uid == ::geteuid()) return own_;  // an agent that is not root's: its owner could change its memory as well
  }
  return identities_.anonymous(tables);
}

/// Of the same peer whatever its port is.
std::optional<Response> Authorizer::limit(Request& request, const std::string& accessor) {
  const std::string& address = request.remote.address;
  auto admission = limiter_.admit(address.substr(0, address.rfind(':')) + "|" + accessor);
  request.slot = std::move(admission.slot);
  if (!admission.refused) return std::nullopt;
  Response refusal = http::text(
      429, admission.retry_after ? "too many requests, slow down" : "too many requests are under way for this caller");
  const auto wait = std::chrono::ceil<std::chrono::seconds>(admission.retry_after.value_or(std::chrono::seconds(1)));
  refusal.headers.set("Retry-After", std::to_string(std::max<std::int64_t>(wait.count(), 1)));
  return refusal;
}

std::optional<Response> Authorizer::enter(const Right& right, Request& request) {
  if (right.kind == Right::Kind::open && !right.greeting) {
    request.standing->caller = identities_.anonymous(api_.server.writer().tables());
    return limit(request, {});
  }
  try {
    request.standing->caller = identify(request);
  } catch (const Error&) {
    if (auto refusal = limit(request, {})) return refusal;
    throw;
  }
  // Who is root here has other ways to keep the server busy, and must get in when it is.
  const acl::Identity& caller = request.caller();
  if (request.remote.uid && caller.is_permanent()) return std::nullopt;
  return limit(request, caller.kind == acl::Identity::Kind::anonymous ? "" : caller.accessor);
}

void Authorizer::check(const Right& right, const Request& request) {
  const acl::Identity& caller = request.caller();
  if (right.kind == Right::Kind::open || caller.is_permanent()) return;
  if (right.workloads && caller.kind == acl::Identity::Kind::workload) return;
  Need need = need_of(right, api_.server.writer().tables(), request);
  const bool anonymous = caller.kind == acl::Identity::Kind::anonymous;
  if ((right.kind == Right::Kind::token && anonymous) || !allows(request.rights(), need))
    throw permission_denied(caller, need);
  request.standing->needs.push_back(std::move(need));
}

awaitable<void> Authorizer::settle() { co_await api_.server.apply(server::ChangeNothing{}); }

std::optional<Error> Authorizer::renew(Standing& standing) {
  try {
    standing.caller = identities_.again(api_.server.writer().tables(), standing.caller, api_.clock.now());
    for (const auto& need : standing.needs) {
      if (!allows(*standing.caller->rights, need)) return permission_denied(*standing.caller, need);
    }
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// Looks after one request: when something that its caller's rights depend on changes, and when its token expires.
class Authorizer::Watch : public std::enable_shared_from_this<Authorizer::Watch> {
 public:
  Watch(std::shared_ptr<Authorizer> authorizer, const Request& request, const async::Executor& executor)
      : authorizer_(std::move(authorizer)), standing_(request.standing), timer_(executor) {}

  void start() {
    wait_for_changes();
    wait_for_expiry();
  }
  /// Ends the watch; the work is over.
  void stop() {
    waiter_.reset();
    timer_.cancel();
  }
  asio::cancellation_signal signal;
  std::optional<Error> lost;

 private:
  void wait_for_changes() {
    waiter_ =
        authorizer_->api_.server.writer().wait(acl::Identities::scopes(*standing_->caller), [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->look_soon();
        });
  }
  /// From the loop: the writer is in the middle of telling everybody.
  void look_soon() {
    asio::post(timer_.get_executor(), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->waiter_ && !self->look()) self->wait_for_changes();
    });
  }
  void wait_for_expiry() {
    if (standing_->caller->expires == TimePoint::max()) return;
    const Duration left = standing_->caller->expires - authorizer_->api_.clock.now();
    timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::clamp<Duration>(left, std::chrono::milliseconds(1), kLookAgain)));
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self && self->waiter_ && !self->look()) self->wait_for_expiry();
    });
  }
  /// True when the right is gone: the work is told.
  bool look() {
    lost = authorizer_->renew(*standing_);
    if (!lost) return false;
    stop();
    signal.emit(asio::cancellation_type::terminal);
    return true;
  }

  std::shared_ptr<Authorizer> authorizer_;
  std::shared_ptr<Standing> standing_;
  std::unique_ptr<tables::Tables::Waiter> waiter_;
  asio::steady_timer timer_;
};

template <class T>
awaitable<T> Authorizer::while_allowed(Request request, awaitable<T> work) {
  const async::Executor executor = co_await asio::this_coro::executor;
  asio::cancellation_state caller = co_await asio::this_coro::cancellation_state;
  const auto watch = std::make_shared<Watch>(shared_from_this(), request, executor);
  // The work has a slot of its own, so the caller's cancellation is handed on by hand.
  asio::cancellation_slot slot = caller.slot();
  if (slot.is_connected()) slot.assign([watch](asio::cancellation_type type) { watch->signal.emit(type); });
  watch->start();
  async::detail::Outcome<T> outcome;
  auto slotted = asio::bind_cancellation_slot(watch->signal.slot(), asio::use_awaitable);
  try {
    if constexpr (std::is_void_v<T>) {
      co_await asio::co_spawn(executor, std::move(work), slotted);
      outcome.set();
    } else {
      outcome.set(co_await asio::co_spawn(executor, std::move(work), slotted));
    }
  } catch (...) {
    outcome.fail(std::current_exception());
  }
  watch->stop();
  if (slot.is_connected()) slot.clear();
  if (watch->lost && outcome.failed()) throw Error(*watch->lost);
  co_return outcome.take();
}

template awaitable<void> Authorizer::while_allowed(Request request, awaitable<void> work);
template awaitable<Response> Authorizer::while_allowed(Request request, awaitable<Response> work);

/// A socket is told why before it is closed.
awaitable<void> Authorizer::guarded_socket(Request request, std::shared_ptr<http::WebSocket> socket,
                                           std::function<awaitable<void>(std::shared_ptr<http::WebSocket>)> serve) {
  std::string refusal;
  try {
    co_await while_allowed(std::move(request), serve(socket));
  } catch (const Error& error) {
    if (error.code() != Code::denied) throw;
    refusal = error.one_line();
  }
  // A close frame's reason is at most 123 bytes (RFC 6455, section 5.5).
  if (!refusal.empty()) co_await socket->close(http::CloseCode::policy, refusal.substr(0, 120));
}

Response Authorizer::guarded(const Request& request, Response response) {
  if (request.caller().is_permanent() || request.standing->needs.empty()) return counted(request, std::move(response));
  if (response.stream) {
    response.stream = [self = shared_from_this(), request, inner = std::move(response.stream)](
                          http::BodyWriter& writer) { return self->while_allowed(request, inner(writer)); };
  }
  if (response.upgrade) {
    response.upgrade = [self = shared_from_this(), request,
                        inner = std::move(response.upgrade)](std::shared_ptr<http::WebSocket> socket) {
      return self->guarded_socket(request, std::move(socket), inner);
    };
  }
  return response;
}

}  // namespace underway::api

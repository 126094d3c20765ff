#include "sources/session.hpp"

#include "async/retry.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "sources/lease.hpp"
#include "sources/paths.hpp"

namespace underway::sources {

namespace {
/// A token that does not end is looked at this often: the site may have replaced it.
constexpr Duration kLookAgain = std::chrono::minutes(5);
/// Doubts come one with each refused path; the token itself may be good.
constexpr Duration kDoubtAtMost = std::chrono::seconds(10);
}  // namespace

Session::Session(async::Executor executor, Environment& environment, const VaultSettings& settings, Asker asker)
    : environment_(environment),
      settings_(settings),
      asker_(std::move(asker)),
      work_(std::move(executor), "templates: Vault") {}
Session::~Session() = default;

/// Ends the session, whose coroutine holds it a little longer.
struct Session::Holder {
  std::shared_ptr<Session> session;
  explicit Holder(std::shared_ptr<Session> of) : session(std::move(of)) {}
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { session->work_.cancel(); }
};

std::shared_ptr<Session> Session::open(async::Executor executor, Environment& environment,
                                       const VaultSettings& settings, Asker asker) {
  const auto session = std::make_shared<Session>(std::move(executor), environment, settings, std::move(asker));
  session->work_.spawn("session", session->keep(session));
  auto holder = std::make_shared<Holder>(session);
  return {std::move(holder), session.get()};
}

void Session::doubt() { doubts_.notify_all(); }

void Session::failed(const Error& error) {
  const std::string why = error.one_line();
  if (why != why_)
    log::warn("templates: no token for Vault{}, trying again: {}",
              asker_.task.empty() ? "" : " for task '" + asker_.task + "' of job '" + asker_.job_id + "'", why);
  why_ = why;
  changed_.notify_all();
}

/// The task's identity, where it has a `vault` block; else the token of the site.
awaitable<Login> Session::log_in() {
  if (!asker_.logs_in) {
    Login login;
    login.token = co_await environment_.site_token();
    const auto request = vault_request("GET", "auth/token/lookup-self", login.token, ns());
    const Login told = read_token(co_await environment_.send(request, settings_.access.timeout));
    login.lease = told.lease;
    login.renewable = told.renewable;
    co_return login;
  }
  const std::string identity = co_await environment_.identity(asker_);
  boost::json::object body{{"jwt", identity}};
  const std::string& role = asker_.vault_role.empty() ? settings_.role : asker_.vault_role;
  if (!role.empty()) body["role"] = role;
  const auto request =
      vault_request("POST", url_path(settings_.jwt_path) + "/login", {}, ns(), boost::json::serialize(body));
  Login login = read_login(co_await environment_.send(request, settings_.access.timeout));
  if (login.token.empty()) throw Error(Code::invalid, "Vault's answer to a log-in has no token");
  co_return login;
}

awaitable<bool> Session::renew() {
  const auto request = vault_request("POST", "auth/token/renew-self", login_.token, ns(), "{}");
  try {
    const Login renewed = read_login(co_await environment_.send(request, settings_.access.timeout));
    // Near the end of what its role allows, a token gets less and less: another one is due.
    if (renewed.lease < granted_ / 2) co_return false;
    login_.lease = renewed.lease;
    login_.renewable = renewed.renewable;
    co_return true;
  } catch (const Error& error) {
    log::debug("templates: a token for Vault was not renewed: {}", error.one_line());
    co_return false;
  }
}

/// What was refused may be a path, not the token: another log-in would end what was leased with this one.
awaitable<bool> Session::still_good() {
  const auto request = vault_request("GET", "auth/token/lookup-self", login_.token, ns());
  try {
    read_token(co_await environment_.send(request, settings_.access.timeout));
    co_return true;
  } catch (const Error& error) {
    co_return error.code() != Code::denied;
  }
}

TimePoint Session::due() const {
  Duration span = kLookAgain;
  if (login_.lease > Duration{0})
    span = login_.renewable ? until_renewal(login_.lease, environment_.random())
                            : until_replacement(login_.lease, environment_.random());
  return environment_.now() + span;
}

/// Until the token must be replaced.
awaitable<void> Session::keep_login() {
  TimePoint end = due();
  while (true) {
    const Duration rest = end - environment_.now();
    if (rest > Duration{0} && co_await environment_.wait(doubts_, rest)) {
      const bool good = !tells_ || co_await still_good();
      co_await environment_.wait(never_, kDoubtAtMost);
      if (good) continue;
      suspected_ = true;
      co_return;
    }
    if (login_.lease <= Duration{0} || !login_.renewable) co_return;
    if (!co_await renew()) co_return;
    end = due();
  }
}

awaitable<void> Session::keep(std::shared_ptr<Session> /*self*/) {
  async::Backoff backoff({.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)});
  while (true) {
    std::optional<Duration> pause;
    try {
      Login login = co_await log_in();
      const bool news = login.token != login_.token || !why_.empty();
      if (login.token != login_.token) ++generation_;
      login_ = std::move(login);
      granted_ = login_.lease;
      why_.clear();
      backoff.reset();
      // A new token that is refused the same way says nothing of itself: it may not look itself up.
      if (std::exchange(suspected_, false)) tells_ = co_await still_good();
      if (news) changed_.notify_all();
    } catch (const Error& error) {
      failed(error);
      pause = backoff.next();
    }
    if (pause)
      co_await environment_.wait(never_, *pause);
    else
      co_await keep_login();
  }
}

}  // namespace underway::sources

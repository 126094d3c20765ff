#include "http/client.hpp"

#include <fmt/format.h>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>

#include "base/random.hpp"
#include "base/text.hpp"
#include "http/detail/gzip.hpp"
#include "http/detail/socket.hpp"
#include "http/detail/wire.hpp"
#include "http/resolve.hpp"

namespace underway::http {

using detail::ResponseParser;
using detail::Transport;

namespace {

constexpr std::size_t kInterimResponses = 8;  // 1xx before the final one

/// What a browser or proxy would resend by itself on a connection that a server closed while it was idle (RFC
/// 9110, 9.2.2).
bool is_idempotent(const std::string& method) { return method != "POST" && method != "PATCH"; }

Error no_http(const Url& url, const detail::Refused& refused) {
  const Code code = refused.status == 413 || refused.status == 431 ? Code::too_large : Code::invalid;
  return Error(code, fmt::format("unexpected answer from {}", to_string(url))).because(refused.text);
}

/// Closes the transport unless it is released: an exchange that was broken off leaves a connection of no use.
class Lease {
 public:
  explicit Lease(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}
  ~Lease() {
    if (transport_ != nullptr) transport_->close();
  }
  Lease(Lease&& other) noexcept : transport_(std::move(other.transport_)) {}
  Lease& operator=(Lease&&) = delete;
  Transport& operator*() const { return *transport_; }
  Transport* operator->() const { return transport_.get(); }
  std::shared_ptr<Transport> release() { return std::move(transport_); }

 private:
  std::shared_ptr<Transport> transport_;
};

/// A response whose head has come.
struct Opened {
  Lease lease;
  std::unique_ptr<ResponseParser> parser;
  std::string inbox;
};

}  // namespace

struct Client::Impl : std::enable_shared_from_this<Client::Impl> {
  struct Kept {
    std::shared_ptr<Transport> transport;
    async::SteadyTime since;
  };

  Impl(async::Executor on, Url base, ClientOptions chosen)
      : executor(std::move(on)), url(std::move(base)), options(std::move(chosen)) {
    if (url.tls && !options.tls) options.tls = TlsContext::client(TlsFiles{});
  }
  ~Impl() {
    for (auto& kept : idle) kept.transport->close();
  }

  std::shared_ptr<Transport> take_idle();
  void keep(std::shared_ptr<Transport> transport);
  awaitable<std::shared_ptr<Transport>> connect();
  awaitable<std::shared_ptr<Transport>> connect_to(asio::generic::stream_protocol::endpoint address, std::string name);
  awaitable<Opened> exchange(Request request, async::SteadyTime deadline);
  awaitable<Opened> attempt(Lease lease, const Request& request, async::SteadyTime deadline, bool& answered);
  std::string host() const;

  async::Executor executor;
  Url url;
  ClientOptions options;
  std::vector<Kept> idle;
};

std::string Client::Impl::host() const { return url.endpoint.is_unix() ? "localhost" : to_string(url.endpoint); }

/// The most recently used connection that is still alive.
std::shared_ptr<Transport> Client::Impl::take_idle() {
  while (!idle.empty()) {
    Kept kept = std::move(idle.back());
    idle.pop_back();
    char unexpected = 0;
    const bool fresh = std::chrono::steady_clock::now() - kept.since < options.idle_timeout;
    if (fresh && kept.transport->try_read(&unexpected, 1).blocked != detail::Want::nothing) return kept.transport;
    kept.transport->close();
  }
  return nullptr;
}

void Client::Impl::keep(std::shared_ptr<Transport> transport) {
  transport->expires_at(async::kNever);
  idle.push_back({std::move(transport), std::chrono::steady_clock::now()});
  if (idle.size() > options.connections_kept) {
    idle.front().transport->close();
    idle.erase(idle.begin());
  }
}

awaitable<std::shared_ptr<Transport>> Client::Impl::connect_to(asio::generic::stream_protocol::endpoint address,
                                                               std::string name) {
  detail::NativeSocket socket(executor);
  boost::system::error_code failed;
  socket.open(asio::generic::stream_protocol(address.protocol()), failed);
  if (failed) throw errno_error(failed.value(), fmt::format("cannot connect to {}", to_string(url)));
  if (!url.endpoint.is_unix()) detail::tune(socket.native_handle());
  co_await socket.async_connect(address, asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) throw async::Cancelled(failed);
  if (failed) {
    const Error cause = errno_error(failed.value(), "");
    // Whatever the reason, for a caller a server that cannot be reached is one to try again.
    const Code code = cause.code() == Code::denied ? Code::denied : Code::unavailable;
    throw Error(code, fmt::format("cannot connect to {}", to_string(url))).because(cause.reasons().front());
  }
  Peer peer = detail::peer_of(socket.native_handle());
  peer.address = std::move(name);
  const auto transport =
      detail::dialled(std::move(socket), std::move(peer), url.tls ? options.tls : std::nullopt, url.endpoint.host);
  co_await transport->handshake();
  co_return transport;
}

awaitable<std::shared_ptr<Transport>> Client::Impl::connect() {
  if (url.endpoint.is_unix()) {
    const asio::local::stream_protocol::endpoint address(url.endpoint.socket_path);
    co_return co_await connect_to(address, to_string(url));
  }
  const auto addresses = co_await resolve(url.endpoint.host, url.endpoint.port);
  std::optional<Error> failure;
  for (const auto& address : addresses) {
    try {
      co_return co_await connect_to(address, to_string(url));
    } catch (const Error& error) {
      failure = error;
    }
  }
  if (!failure) failure = Error(Code::unavailable, fmt::format("host '{}' has no address", url.endpoint.host));
  throw Error(*failure);
}

/// Sends and reads until the response's head is there. `answered` tells whether a byte of it came.
awaitable<Opened> Client::Impl::attempt(Lease lease, const Request& request, async::SteadyTime deadline,
                                        bool& answered) {
  const auto stall = std::min<Duration>(options.timeout, deadline - std::chrono::steady_clock::now());
  std::string wire = detail::request_head(request, host(), url.path);
  if (request.body.size() <= (64u << 10)) wire += request.body;
  co_await lease->write_all(wire, stall);
  std::optional<Error> cut;
  if (request.body.size() > (64u << 10)) {
    try {
      co_await lease->write_all(request.body, stall);
    } catch (const Error& error) {
      // Who refuses a large body answers before he has it, and hangs up: the answer may be here already.
      if (error.code() != Code::unavailable || !lease->is_open()) throw;
      cut = error;
    }
  }
  lease->expires_at(deadline);
  std::string inbox;
  for (std::size_t interim = 0; interim < kInterimResponses; ++interim) {
    auto parser = std::make_unique<ResponseParser>(request.method == "HEAD", options.body_limit);
    while (!parser->head_done()) {
      if (inbox.empty() || answered) {
        if (!co_await lease->read_into(inbox))
          throw cut ? Error(*cut) : lease->lost("it was closed before an answer came");
      }
      answered = true;
      inbox.erase(0, parser->put(inbox));
    }
    if (parser->status() >= 200 || parser->status() == 101) {
      co_return Opened{std::move(lease), std::move(parser), std::move(inbox)};
    }
    answered = false;
  }
  throw Error(Code::invalid, fmt::format("unexpected answer from {}", to_string(url)))
      .because("too many interim responses");
}

awaitable<Opened> Client::Impl::exchange(Request request, async::SteadyTime deadline) {
  const auto self = shared_from_this();
  for (const auto& [name, value] : options.headers.fields()) {
    if (!request.headers.has(name)) request.headers.add(name, value);
  }
  bool answered = false;
  std::optional<detail::Refused> refused;
  if (auto kept = take_idle()) {
    try {
      co_return co_await attempt(Lease(std::move(kept)), request, deadline, answered);
    } catch (const detail::Refused& bad) {
      refused = bad;
    } catch (const Error& error) {
      // The server may have closed the kept connection just now; that says nothing about a fresh one.
      if (error.code() != Code::unavailable || answered || !is_idempotent(request.method)) throw;
    }
    if (refused) throw no_http(url, *refused);
  }
  auto transport =
      co_await async::within(options.connect_timeout, fmt::format("connecting to {}", to_string(url)), connect());
  try {
    co_return co_await attempt(Lease(std::move(transport)), request, deadline, answered);
  } catch (const detail::Refused& bad) {
    refused = bad;
  }
  throw no_http(url, *refused);
}

namespace {

/// Reads the body of an opened response; gives the connection back when it is whole.
class OpenedBody final : public ResponseStream {
 public:
  OpenedBody(Opened opened, Url url, std::function<void(std::shared_ptr<Transport>)> keep)
      : opened_(std::move(opened)),
        url_(std::move(url)),
        keep_(std::move(keep)),
        status_(opened_.parser->status()),
        headers_(opened_.parser->headers()) {}

  int status() const override { return status_; }
  const Headers& headers() const override { return headers_; }

  awaitable<std::optional<std::string>> read(Duration idle) override {
    if (!ended_) opened_.lease->expires_at(async::deadline_in(idle));
    co_return co_await next();
  }

  /// The next piece under the deadline that is set.
  awaitable<std::optional<std::string>> next() {
    if (ended_) co_return std::nullopt;
    std::optional<detail::Refused> refused;
    try {
      while (true) {
        auto& inbox = opened_.inbox;
        std::string piece = opened_.parser->take_body();
        if (piece.empty() && !inbox.empty() && !opened_.parser->done()) {
          inbox.erase(0, opened_.parser->put(inbox));
          piece = opened_.parser->take_body();
        }
        if (!piece.empty()) co_return piece;
        if (opened_.parser->done()) break;
        if (!co_await opened_.lease->read_into(inbox)) {
          if (!opened_.parser->put_end()) throw opened_.lease->lost("the body is not whole");
          break;
        }
      }
    } catch (const detail::Refused& bad) {
      refused = bad;
    }
    if (refused) throw no_http(url_, *refused);
    ended_ = true;
    if (opened_.parser->keep_alive() && opened_.inbox.empty()) keep_(opened_.lease.release());
    co_return std::nullopt;
  }

 private:
  Opened opened_;
  Url url_;
  std::function<void(std::shared_ptr<Transport>)> keep_;
  int status_;
  Headers headers_;
  bool ended_ = false;
};

}  // namespace

Client::Client(async::Executor executor, Url url, ClientOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(url), std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
const Url& Client::url() const { return impl_->url; }

awaitable<Response> Client::send(Request request, std::optional<Duration> timeout) {
  const auto impl = impl_;
  if (!request.headers.has("Accept-Encoding")) request.headers.add("Accept-Encoding", "gzip");
  const auto deadline = async::deadline_in(timeout.value_or(impl->options.timeout));
  auto opened = co_await impl->exchange(std::move(request), deadline);
  OpenedBody reader(std::move(opened), impl->url, [impl](auto transport) { impl->keep(std::move(transport)); });
  Response response;
  response.status = reader.status();
  response.headers = reader.headers();
  while (auto piece = co_await reader.next()) response.body += *piece;
  if (response.headers.find("Content-Encoding") == "gzip" && !response.body.empty()) {
    response.body = detail::gunzip(response.body, impl->options.body_limit);
    response.headers.remove("Content-Encoding");
    response.headers.remove("Content-Length");
  }
  co_return response;
}

awaitable<std::unique_ptr<ResponseStream>> Client::open(Request request, std::optional<Duration> head_timeout) {
  const auto impl = impl_;
  const auto deadline = async::deadline_in(head_timeout.value_or(impl->options.timeout));
  auto opened = co_await impl->exchange(std::move(request), deadline);
  auto keep = [impl](std::shared_ptr<Transport> transport) { impl->keep(std::move(transport)); };
  co_return std::make_unique<OpenedBody>(std::move(opened), impl->url, std::move(keep));
}

awaitable<std::shared_ptr<WebSocket>> Client::dial(Request request) {
  const auto impl = impl_;
  const std::string key = base64_encode(random_bytes(16));
  const std::string what = to_string(impl->url) + request.target;
  request.method = "GET";
  request.headers.set("Connection", "Upgrade");
  request.headers.set("Upgrade", "websocket");
  request.headers.set("Sec-WebSocket-Version", "13");
  request.headers.set("Sec-WebSocket-Key", key);
  const auto deadline = async::deadline_in(impl->options.connect_timeout);
  auto opened = co_await impl->exchange(std::move(request), deadline);
  const int status = opened.parser->status();
  if (status != 101) {
    OpenedBody reader(std::move(opened), impl->url, [](auto transport) { transport->close(); });
    std::string told;
    while (auto piece = co_await reader.next()) told += *piece;
    if (trim(told).empty()) told = fmt::format("the server answered {} {}", status, reason_phrase(status));
    throw Error(code_of_status(status), std::string(trim(told)))
        .while_doing(fmt::format("opening a WebSocket on {}", what));
  }
  if (opened.parser->headers().find("Sec-WebSocket-Accept") != detail::websocket_accept(key)) {
    throw Error(Code::invalid, fmt::format("cannot open a WebSocket on {}", what))
        .because("the server's handshake does not answer ours");
  }
  co_return detail::make_websocket(opened.lease.release(), detail::Side::client, impl->options.websocket,
                                   std::move(opened.inbox));
}

BlockingClient::BlockingClient(Url url, ClientOptions options)
    : client_(loop_.executor(), std::move(url), std::move(options)) {}

Response BlockingClient::send(Request request, std::optional<Duration> timeout) {
  return loop_.run_until_done(client_.send(std::move(request), timeout));
}

int BlockingClient::stream(Request request, const std::function<bool(int status, const Headers&)>& head,
                           const std::function<bool(std::string_view)>& piece) {
  const auto response = loop_.run_until_done(client_.open(std::move(request)));
  if (!head(response->status(), response->headers())) return response->status();
  while (const auto data = loop_.run_until_done(response->read())) {
    if (!piece(*data)) break;
  }
  return response->status();
}

Code code_of_status(int status) {
  switch (status) {
    case 400:
    case 405:
    case 415:
    case 422:
      return Code::invalid;
    case 401:
    case 403:
      return Code::denied;
    case 404:
    case 410:
      return Code::not_found;
    case 409:
    case 412:
      return Code::conflict;
    case 413:
    case 431:
      return Code::too_large;
    case 408:
    case 504:
      return Code::timeout;
    case 426:
    case 501:
    case 505:
      return Code::unsupported;
    case 429:
    case 502:
    case 503:
      return Code::unavailable;
    case 507:
      return Code::exhausted;
    default:
      return Code::internal;
  }
}

}  // namespace underway::http

// Attempts of http and tcp checks on the real network.
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>

#include "base/error.hpp"
#include "http/client.hpp"
#include "http/resolve.hpp"
#include "node/kernel_runtime.hpp"

namespace underway::node {

namespace {

using asio::ip::tcp;

awaitable<ProbeAnswer> connect_tcp(std::string address, std::uint16_t port) {
  const auto endpoints = co_await http::resolve(std::move(address), port);
  tcp::socket socket(co_await asio::this_coro::executor);
  boost::system::error_code failed;
  co_await asio::async_connect(socket, endpoints, asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) throw async::Cancelled(failed);
  if (failed) co_return ProbeAnswer{.output = failed.message()};
  co_return ProbeAnswer{.passed = true, .output = "nomad: tcp ok"};
}

awaitable<ProbeAnswer> probe_tcp(ProbeRequest request) {
  try {
    co_return co_await async::within(request.timeout, "the attempt", connect_tcp(request.address, request.port));
  } catch (const Error& error) {
    const bool late = error.code() == Code::timeout;
    co_return ProbeAnswer{.output = late ? fmt::format("no answer within {}", human_duration(request.timeout))
                                         : error.one_line()};
  }
}

http::Client client_of(const async::Executor& executor, const ProbeRequest& request) {
  http::Url url;
  url.endpoint.host = request.address;
  url.endpoint.port = request.port;
  url.tls = request.tls;
  http::ClientOptions options;
  options.connect_timeout = request.timeout;
  options.timeout = request.timeout;
  options.connections_kept = 0;
  if (request.tls) options.tls = http::TlsContext::client(http::TlsFiles{}, request.server_name, request.verify);
  return http::Client(executor, std::move(url), std::move(options));
}

awaitable<ProbeAnswer> probe_http(ProbeRequest request) {
  constexpr std::size_t kKept = 3U << 10;
  ProbeAnswer answer;
  http::Request ask;
  ask.method = request.method;
  ask.target = request.path;
  for (const auto& [name, value] : request.headers) ask.headers.add(name, value);
  ask.body = request.body;
  try {
    http::Client client = client_of(co_await asio::this_coro::executor, request);
    const auto stream = co_await client.open(std::move(ask), request.timeout);
    answer.code = stream->status();
    answer.passed = answer.code < 400;
    while (answer.output.size() < kKept) {
      const auto piece = co_await stream->read(request.timeout);
      if (!piece) break;
      answer.output += piece->substr(0, kKept - answer.output.size());
    }
  } catch (const Error& error) {
    // A status that has come counts, also when the body breaks off.
    if (answer.code == 0) answer.output = error.one_line();
  }
  if (answer.passed && answer.output.empty()) answer.output = "nomad: http ok";
  if (!answer.passed && answer.code != 0)
    answer.output = fmt::format("status {}{}{}", answer.code, answer.output.empty() ? "" : ": ", answer.output);
  co_return answer;
}

}  // namespace

awaitable<ProbeAnswer> KernelRuntime::probe(ProbeRequest request) {
  return request.http ? probe_http(std::move(request)) : probe_tcp(std::move(request));
}

}  // namespace underway::node

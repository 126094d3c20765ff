#include "sources/consul.hpp"

#include "async/retry.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "sources/paths.hpp"

namespace underway::sources {

using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;

namespace {

/// However often something changes, a template is not rendered more often.
constexpr Duration kShortestPause = std::chrono::milliseconds(200);
/// A server that names no index cannot be waited for.
constexpr Duration kUnindexed = std::chrono::seconds(10);

std::uint64_t index_of(const http::Response& response) {
  const auto text = response.headers.find("X-Consul-Index");
  return text ? leading_number_or<std::uint64_t>(*text, 0) : 0;
}

}  // namespace

http::Request consul_request(const ForeignQuery& query, http::Query parameters) {
  if (!query.datacenter.empty()) parameters.add("dc", query.datacenter);
  switch (query.kind) {
    case ForeignKind::service:
      if (query.passing) parameters.add("passing", "1");
      if (!query.near.empty()) parameters.add("near", query.near);
      return http::request("GET", "/v1/health/service/" + url_path(query.name), parameters);
    case ForeignKind::services:
      return http::request("GET", "/v1/catalog/services", parameters);
    case ForeignKind::key:
      return http::request("GET", "/v1/kv/" + url_path(query.name), parameters);
    case ForeignKind::keys:
      parameters.add("recurse", "true");
      return http::request("GET", "/v1/kv/" + (query.name.empty() ? "" : url_path(query.name) + "/"), parameters);
    default:
      throw Error(Code::internal, "Consul has no secrets");
  }
}

Consul::Consul(async::Executor executor, std::unique_ptr<Environment> environment, ConsulSettings settings)
    : environment_(std::move(environment)),
      settings_(std::move(settings)),
      watches_(std::move(executor), "Consul", [this](Question question) { return follow(std::move(question)); }) {}

gotemplate::ForeignReply Consul::find(const ForeignQuery& query) const {
  consul_request(query, {});
  return watches_.find({{}, query});
}

std::shared_ptr<void> Consul::watch(const std::set<ForeignQuery>& queries, std::function<void()> changed) {
  std::set<Question> questions;
  for (const auto& query : queries) questions.insert({{}, query});
  return watches_.watch(std::move(questions), std::move(changed));
}

awaitable<http::Response> Consul::ask(const ForeignQuery& query, std::uint64_t index) {
  http::Query parameters;
  if (query.datacenter.empty() && !settings_.datacenter.empty()) parameters.add("dc", settings_.datacenter);
  Duration timeout = settings_.access.timeout;
  if (index > 0) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(settings_.wait).count();
    parameters.add("index", std::to_string(index));
    parameters.add("wait", fmt::format("{}s", seconds));
    timeout += settings_.wait + settings_.wait / 16;  // Consul adds up to a sixteenth
  }
  http::Request request = consul_request(query, std::move(parameters));
  const std::string token = co_await environment_->site_token();
  if (!token.empty()) request.headers.set("X-Consul-Token", token);
  co_return co_await environment_->send(std::move(request), timeout);
}

awaitable<void> Consul::follow(Question question) {
  std::uint64_t index = 0;
  async::Backoff backoff({.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)});
  bool told = false;
  while (true) {
    Duration pause = kShortestPause;
    try {
      const http::Response response = co_await ask(question.query, index);
      gotemplate::ForeignAnswer answer;
      const std::function<void()> read = [&] { answer = read_consul(question.query, response); };
      co_await environment_->apart(read);
      const std::uint64_t next = index_of(response);
      // An index that goes back is that of a server that has begun anew.
      const bool news = index == 0 || next != index;
      index = next < index ? 0 : next;
      if (next == 0) pause = kUnindexed;
      if (news) watches_.tell(question, std::move(answer));
      backoff.reset();
      if (std::exchange(told, false)) log::info("templates: Consul answers again");
    } catch (const Error& error) {
      index = 0;
      pause = *backoff.next();
      if (!std::exchange(told, true))
        log::warn("templates: {} is not known, what was known stays, asking again: {}",
                  gotemplate::to_string(question.query), error.one_line());
      watches_.tell_problem(question, error.one_line());
    }
    co_await environment_->wait(never_, pause);
  }
}

}  // namespace underway::sources

#pragma once
/// @file
/// Consul's catalogue and keys, followed by blocking queries.
/// Source: Consul's HTTP API 1.8: /v1/health/service, /v1/catalog/services, /v1/kv, "Blocking Queries".

#include "sources/environment.hpp"
#include "sources/watch_table.hpp"

namespace underway::sources {

class Consul {
 public:
  Consul(async::Executor executor, std::unique_ptr<Environment> environment, ConsulSettings settings);

  /// Thread: any. Errors: invalid for a name that is none of Consul's.
  gotemplate::ForeignReply find(const gotemplate::ForeignQuery& query) const;
  std::shared_ptr<void> watch(const std::set<gotemplate::ForeignQuery>& queries, std::function<void()> changed);
  awaitable<void> stop() { return watches_.stop(); }

 private:
  awaitable<void> follow(Question question);
  awaitable<http::Response> ask(const gotemplate::ForeignQuery& query, std::uint64_t index);

  std::unique_ptr<Environment> environment_;
  ConsulSettings settings_;
  async::Event never_;
  WatchTable watches_;
};

/// The request's path and parameters, without those of blocking.
http::Request consul_request(const gotemplate::ForeignQuery& query, http::Query parameters);
/// Errors: invalid when it is not what Consul answers; denied, unavailable and others by the status.
gotemplate::ForeignAnswer read_consul(const gotemplate::ForeignQuery& query, const http::Response& response);

}  // namespace underway::sources

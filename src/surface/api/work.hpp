#pragma once
/// @file
/// Where handlers do what costs as much as their client likes. The loop is nobody's: what it takes to read a large or
/// artful body, to compare, to search and to write a long answer is paid on a worker, from an allowance.

#include "api/api.hpp"
#include "api/request.hpp"
#include "async/workers.hpp"

namespace underway::api {

/// Whose turns a request takes: its token's, else its address's.
std::string client_of(const Request& request);

/// `job()` on a worker; `what` begins a refusal: "parsing the job". `job` is a named object that touches neither tables
/// nor the request's standing, and may throw. Throws what async::Workers::run throws.
template <class Job>
async::awaitable<std::invoke_result_t<Job&>> computed(Api& api, const Request& request, std::string what, Job& job) {
  if (api.workers == nullptr) co_return job();
  co_return co_await api.workers->run(client_of(request), std::move(what), job);
}
template <class Job>
void computed(Api& api, const Request& request, std::string what, const Job&& job) = delete;

}  // namespace underway::api

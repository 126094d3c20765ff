#pragma once
/// @file
/// How what a client asks for is carried out: `co_await apply(api, request, server::DrainNode{…})`. With the commit of
/// what it changes goes an entry in the list of changes (impact/entries.hpp), with its class, and whether it may be
/// done at all. And the class of what is only planned.

#include "api/api.hpp"
#include "api/cluster/change_words.hpp"
#include "api/request.hpp"
#include "impact/entries.hpp"
#include "impact/judge.hpp"

namespace underway::server {
struct DispatchJob;
}

namespace underway::api {

/// The state of the server as the judgement looks at it. Good until the next co_await.
impact::View impact_view(const Api& api, const tables::Tables& tables);

/// Beside a decision: judges what it changes, and `also`, and keeps an entry for it. What changes nothing that counts
/// leaves none.
server::CommitHook noted(const Api& api, const Request& request, ChangeWords words,
                         std::vector<impact::Finding> also = {});

/// `hook`, unless operators have left the registration of jobs to management tokens (and then, without ACL, to
/// nobody).
server::CommitHook registering(const Request& request, server::CommitHook hook);

/// What is refused then: as in Nomad (job_endpoint.go) all that brings new allocations by a person's word.
template <class R>
constexpr bool kRegistersJobs =
    std::same_as<R, server::RegisterJob> || std::same_as<R, server::RevertJob> || std::same_as<R, server::ScaleJob> ||
    std::same_as<R, server::DispatchJob> || std::same_as<R, ApplyDirectory>;

/// Everything that clients change goes this way. `request` outlives the result; throws what the decision throws.
template <server::Request R>
async::awaitable<server::ResultOf<R>> apply(Api& api, const Request& request, R wanted) {
  server::CommitHook hook;
  if constexpr (LeavesAnEntry<R>) hook = noted(api, request, words_of(api.server.writer().tables(), wanted));
  if constexpr (kRegistersJobs<R>) hook = registering(request, std::move(hook));
  co_return co_await api.server.apply(std::move(wanted), std::move(hook));
}

/// What a decision would do that is not made: of its changes.
model::Judgement judged(const Api& api, const tables::Tables& tables, const std::vector<server::Change>& changes);

/// Of a job that is only planned. Good as long as the plan is: until the next co_await.
model::Judgement impact_of(const Api& api, const server::JobPlan& plan);

/// An entry for what was done otherwise than by a decision.
asio::awaitable<void> note_change(Api& api, Request request, ChangeWords words, impact::Finding finding);

}  // namespace underway::api

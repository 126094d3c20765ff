#pragma once
/// @file
/// How a request that changes something leaves an entry in the list of changes (impact/entries.hpp): in the commit of
/// what it changes, with its class. And the class of what is only planned.

#include "api/api.hpp"
#include "api/request.hpp"
#include "impact/entries.hpp"
#include "impact/judge.hpp"
#include "server/beside.hpp"

namespace underway::api {

/// The state of the server as the judgement looks at it. Good until the next co_await.
impact::View impact_view(const Api& api, const tables::Tables& tables);

/// Beside a decision: judges what it changes, and `also`, and keeps an entry for it. What changes nothing that counts
/// leaves none. `what`: "drain node c1"; `ns`: of what is a namespace's.
server::Beside noted(const Api& api, const Request& request, std::string what, std::string ns = {},
                     std::vector<impact::Finding> also = {});

/// `beside`, unless operators have left the registration of jobs to management tokens (and then, without ACL, to
/// nobody).
server::Beside registering(const Request& request, server::Beside beside);

/// What a decision would do that is not made: of its changes.
model::Judgement judged(const Api& api, const tables::Tables& tables, const std::vector<server::Change>& changes);

/// Of a job that is only planned. Good as long as the plan is: until the next co_await.
model::Judgement impact_of(const Api& api, const server::JobPlan& plan);

/// An entry for what was done otherwise than by a decision.
asio::awaitable<void> note_change(Api& api, Request request, std::string what, std::string ns, impact::Finding finding);

}  // namespace underway::api

// What Nomad's API has and what makes no sense in this design: refused by name, with the reason and what to do instead.
#include "api/routes.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;

struct Refusal {
  const char* methods;
  const char* pattern;
  const char* name;
  Right right;
  const char* what;
  const char* why;
  const char* advice;
};

awaitable<Response> refuse(Refusal refusal, Request) {
  throw Error(Code::unsupported, refusal.what).because(refusal.why).advise(refusal.advice);
}

const std::vector<Refusal>& refusals() {
  constexpr auto write = right::agent(Level::write);
  static const char* const kGossip =
      "servers here do not gossip: they meet in the store, and all they say is mutual TLS";
  static const char* const kProfile = "there is no Go runtime in this program";
  static const char* const kPerf = "use perf(1) on the agent's process";
  static const std::vector<Refusal> all = {
      {"PUT|POST", "/v1/agent/servers", "change agent servers", write, "an agent's servers cannot be changed here",
       "they are part of its configuration", "set client.servers and restart the agent: what it runs goes on"},
      {"PUT|POST", "/v1/agent/join", "agent join", write, "servers cannot be joined", kGossip,
       "name the same store in the configuration of each server"},
      {"PUT|POST", "/v1/agent/force-leave", "agent force-leave", write, "servers cannot be forced to leave", kGossip,
       "stop the server"},
      {"PUT|POST", "/v1/agent/schedulers/config", "change agent schedulers", write,
       "the number of schedulers cannot be changed", "one loop schedules for all jobs",
       "nothing is needed: it keeps up with any number of them"},
      {"GET", "/v1/agent/keyring/list", "agent keyring", write, "there is no gossip keyring", kGossip,
       "`underway operator keyring` has the keys of variables, `underway tls` the certificates"},
      {"GET", "/v1/agent/pprof/:profile", "agent profile", write, "there are no Go profiles", kProfile, kPerf},
      {"GET", "/v1/client/identity", "node identity", right::node(Level::read), "a node's identity is no token",
       "it is the certificate of its link", "see `underway tls status`"},
      {"PUT|POST", "/v1/client/identity/renew", "renew node identity", right::node(Level::write),
       "a node's identity is no token", "it is the certificate of its link, which renews itself",
       "rotate all with `underway tls rotate`"},
      {"GET", "/v1/recommendations", "list recommendations", right::something(), "there are no recommendations",
       "nothing here watches what tasks use to say what they should ask for",
       "see `underway alloc status` for what they use"},
      {"GET", "/v1/sentinel/policies", "list Sentinel policies", right::management(), "there are no Sentinel policies",
       "rules are those of ACL policies, namespaces and quotas, which are in every build",
       "see `underway acl policy list` and `underway namespace status`"},
      {"GET", "/v1/client/allocation/:id/pause", "pause of allocation", right::ns(Capability::read_job, of_allocation),
       "tasks have no schedules", "job files here know no `schedule`", "stop the allocation, or use a periodic job"},
      {"PUT|POST", "/v1/client/allocation/:id/pause", "pause allocation",
       right::ns(Capability::alloc_lifecycle, of_allocation), "tasks have no schedules",
       "job files here know no `schedule`", "stop the allocation, or use a periodic job"},
  };
  return all;
}

}  // namespace

void add_refused_routes(Routes& routes, Api&) {
  for (const auto& refusal : refusals()) {
    routes.add(refusal.methods, refusal.pattern, refusal.name, refusal.right,
               [refusal](Request request) { return refuse(refusal, std::move(request)); }, {.effect = Effect::reads});
  }
}

}  // namespace underway::api

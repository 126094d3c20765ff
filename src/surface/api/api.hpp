#pragma once
/// @file
/// The HTTP routes. Nomad's `/v1`: same paths, JSON names, status codes, plain-text errors, X-Nomad-Index and blocking
/// queries (facts: Nomad's HTTP API, docs "API"); ours below `/v1/underway`. `add_routes` puts them all on a router;
/// one file per group of paths.

#include <set>

#include "api/access/limiter.hpp"
#include "api/operator/meter.hpp"
#include "http/router.hpp"
#include "server/access/acl_decisions.hpp"
#include "server/access/audit.hpp"
#include "server/server.hpp"
#include "trust/server_trust.hpp"

namespace underway::imageshare {
class ServerImages;
}  // namespace underway::imageshare
namespace underway::ownership {
class Controller;
}  // namespace underway::ownership
namespace underway::files {
class FileService;
}
namespace underway::growth {
class Growth;
}
namespace underway::async {
class Workers;
}

namespace underway::api {

/// What the agent tells of itself.
struct AgentInfo {
  std::string name;
  std::string region = "global";
  std::string datacenter = "dc1";
  boost::json::value config = boost::json::object{};  ///< without secrets
  bool server = true;
  bool client = false;
  std::string http_address;  ///< where its API listens, for people and `agent/members`
};

/// Who is let in, and by what.
struct AccessOptions {
  bool acl = false;                ///< off: everybody may do everything, as with `agent -dev`
  bool trust_root_socket = true;   ///< root at the unix socket has management rights without a token
  bool network_bootstrap = false;  ///< whoever asks first makes the first token; always where that root is not trusted
  server::TokenLifetimes token_lifetimes = {};
  bool readable_token_secrets = false;  ///< kept, sealed, for whoever may read tokens; off: told once, when it is made
  Limits limits = {};
  std::string bootstrap_reset_file = {};  ///< where an operator writes the index that allows another bootstrap
};

/// What /v1/metrics tells whom (docs/reference/metrics.md).
struct MetricsOptions {
  bool publish_nodes = false;        ///< names of nodes and what they measure to everybody, as Nomad does
  bool publish_allocations = false;  ///< names of jobs and what their tasks use likewise
  bool dispatched_summaries = true;  ///< a summary of every dispatched job, too
};

/// What handlers work with. Outlives the router.
struct Api {
  server::Server& server;
  AgentInfo agent;
  Clock& clock;
  AccessOptions access = {};
  MetricsOptions metrics = {};
  std::string service_provider = "nomad";      ///< of services that are registered without one
  server::AuditLog* audit = nullptr;           ///< null: changes are not logged
  trust::ServerTrust* trust = nullptr;         ///< the built-in authority; absent in tests that need none
  imageshare::ServerImages* images = nullptr;  ///< null: capsule images are not kept here
  files::FileService* files = nullptr;         ///< null: no files are synchronised
  ownership::Controller* capsules = nullptr;   ///< null: no capsules are moved
  growth::Growth* growth = nullptr;            ///< null: no pool grows here
  /// Has the agent read again what may change of its configuration while it runs; absent where there is no agent.
  std::function<void()> reload = {};
  std::shared_ptr<Meter> meter = std::make_shared<Meter>();
  async::Workers* workers = nullptr;  ///< null: what clients make costly is done on the loop, for tests
  std::set<std::string> warned = {};  ///< what was refused to nodes, and logged, not long ago
};

/// What a node may reach before and with its certificate: joining, and its link.
void add_link_routes(http::Router& router, Api& api);
/// A new join token, as text: shown once. Its hash is filled in. Throws as the decision does.
async::awaitable<std::string> make_join_token(Api& api, server::NewJoinToken request);
/// Every route. Throws Error(internal) when two collide.
void add_routes(http::Router& router, Api& api);

}  // namespace underway::api

#pragma once
/// @file
/// What a client is asked for, and what it answers, besides bodies that stand on the wire: where the server is, which
/// part of a list, how a job is registered or stopped.

#include "http/client.hpp"
#include "model/access/acl.hpp"
#include "wire/variable/variable.hpp"

namespace underway::sdk {

/// Of an https address.
struct Tls {
  http::TlsFiles files = {};
  std::string server_name = {};  ///< empty: the address's host
  bool verify = true;
};

struct Address {
  std::string url;    ///< "http://127.0.0.1:4646", "unix:///var/lib/underway/run/agent.sock"
  std::string token;  ///< sent as X-Nomad-Token when not empty
  std::string ns;     ///< default namespace of requests; empty: "default"
  std::string region;
  Tls tls = {};
};

/// From UNDERWAY_ADDR or NOMAD_ADDR, _TOKEN, _NAMESPACE, _REGION, _CACERT, _CLIENT_CERT, _CLIENT_KEY, _TLS_SERVER_NAME
/// and _SKIP_VERIFY; without an address, the socket of the agent on
/// this machine at `socket` if it is there, else http://127.0.0.1:4646.
Address address_from_environment(const std::string& socket);

/// A blocking read: what was read, and the index to wait for changes from.
template <class T>
struct Indexed {
  T value;
  model::Revision index = 0;
};
struct Wait {
  model::Revision index = 0;  ///< 0: answer at once
  Duration longest = std::chrono::seconds(30);
};

/// Which part of a list.
struct ListQuery {
  std::string prefix;         ///< of the id
  std::string filter;         ///< an expression (docs/reference/filter.md); empty: all
  std::int64_t per_page = 0;  ///< 0: all at once
  std::string page_token;     ///< where the page begins; empty: the first
};
/// Which tickets; what is empty is not asked for.
struct TicketQuery {
  std::string state;     ///< open, closed or all; empty: open
  std::string kind;      ///< "gate"
  std::string assignee;  ///< "-": nobody
  std::string release;   ///< that they have to do with
  std::string key;
  std::string older;  ///< open for longer: "72h"
};
template <class T>
struct Page {
  std::vector<T> rows;
  std::string next_token;  ///< empty: there is no more
};

struct RegisteredJob {
  std::string eval_id;
  model::Revision job_modify_index = 0;
  std::string warnings;
};

/// What of the job that stands is kept when it is registered anew.
struct Registration {
  bool preserve_counts = false, preserve_resources = false;
  std::int64_t eval_priority = 0;  ///< 0: the job's
};

/// How a job is stopped.
struct Stop {
  bool purge = false;              ///< it is forgotten at once
  bool no_shutdown_delay = false;  ///< its allocations do not wait for `shutdown_delay`
};

/// A child of a job that starts others.
struct StartedJob {
  std::string job_id;   ///< of a dispatch
  std::string eval_id;  ///< empty: nothing is placed for it
};

struct Dispatch {
  std::string job;
  std::string payload;  ///< the bytes
  model::StringMap meta;
  std::string id_prefix_template, idempotency_token;
  std::int64_t priority = 0;  ///< 0: the job's
};

struct UpdatedDeployment {
  std::string eval_id;
  std::optional<std::int64_t> reverted_version;  ///< the job went back to it
};

struct AppliedCluster {
  std::vector<std::string> registered, stopped;
  model::Revision index = 0;
};

/// What a write of a variable led to. A conflict is an answer: somebody else was faster, or holds the lock.
struct WrittenVariable {
  model::OpenVariable variable;  ///< as it is now; after a conflict, what stands in the way
  bool conflict = false;
};
/// A token as it was made: the only time that its secret is told.
struct NewToken {
  model::AclToken token;
  std::string secret;  ///< empty when a token was changed
};

/// Which events: any of `topics` ("TOPIC" or "TOPIC:KEY"; none: all), from `index` on (0: all that are kept).
struct EventQuery {
  std::vector<std::string> topics;
  model::Revision index = 0;
};
/// What a stream of events says of itself before the first.
struct EventStart {
  model::Revision newest = 0;         ///< the server's index now
  model::Revision complete_from = 0;  ///< events before this index are not kept any more; 0: it does not say
};

/// The versions of what a capsule serves Slurm with, as "22.05.8"; absent: it has no such service.
struct SlurmServices {
  std::optional<std::string> slurmctld, slurmdbd;
};

}  // namespace underway::sdk

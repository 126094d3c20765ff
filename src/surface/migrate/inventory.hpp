#pragma once
/// @file
/// What a control plane holds, read through Nomad's HTTP API: of a Nomad, or of an Underway, which answers alike. The
/// bodies hold secrets (variables above all): they are for the plan and its requests, never for a log or a screen.

#include "model/job/job.hpp"

#include <boost/json/object.hpp>

#include <functional>

namespace underway::migrate {

/// In the order in which they must be made: each may name those before it.
enum class Kind : std::uint8_t {
  node_pool,
  quota,
  name_space,
  policy,
  role,
  token,
  auth_method,
  binding_rule,
  scheduler,
  variable,
  job
};

/// "namespace", "binding rule": for people.
std::string_view word(Kind kind);

struct Object {
  Kind kind = Kind::job;
  std::string ns;            ///< of variables and jobs; else empty
  std::string name;          ///< what it is known by: id, path, or (binding rules) what it binds to what
  boost::json::object body;  ///< as the API tells it
  std::optional<model::JobSubmission> submission = {};  ///< of jobs: the file as it was written
  std::int64_t live = 0;                                ///< of jobs: allocations that are not over
};

/// Something that is there and is not in the inventory.
struct Gap {
  std::string what;  ///< "token 'ci' (accessor 5f2…)"
  std::string why;
  std::string advice;   ///< the next step; may be empty
  bool unread = false;  ///< it could not be read: the inventory is not whole
};

struct Inventory {
  std::vector<Object> objects;  ///< by kind, namespace and name
  std::vector<Gap> gaps;
  /// Why nothing of a kind can be there: what the API answered to the question.
  std::map<Kind, std::string> missing;

  const Object* find(Kind kind, const std::string& ns, const std::string& name) const;
};

struct Reply {
  int status = 0;
  std::string body;
  std::string next_token;  ///< of a list: where the next page begins
};
/// Sends a request and returns the answer whatever its status; throws Error when there is none. `target` has path and
/// query.
using Send = std::function<Reply(const std::string& method, const std::string& target, const std::string& body)>;

struct Selection {
  std::vector<std::string> namespaces = {};  ///< with `*`; empty: all
  std::vector<std::string> jobs = {};        ///< ids, with `*`; empty: all
  bool only_jobs = false;                    ///< and the namespaces that they are in
  bool counts_allocations = false;           ///< fills Object::live
  /// Reads client tokens that do not expire, with their secrets where they are told; else all tokens are gaps.
  bool tokens = false;
  /// Reads the whole of variables and jobs only where this one has them too.
  const Inventory* beside = nullptr;
};

/// Throws Error when the server cannot be reached or does not speak this API. What it refuses to tell becomes a gap.
/// The number of requests and of objects is bounded, whatever the answers say.
Inventory read_inventory(const Send& send, const Selection& selection);

/// "name, with what could move the cursor or end the line replaced": names come from others.
std::string printable(std::string_view text);

}  // namespace underway::migrate

#include "server/node/join_decisions.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/token.hpp"
#include "server/node/node_decisions.hpp"

namespace underway::server {
namespace {

constexpr Duration kLongest = std::chrono::hours(24 * 30);
constexpr Duration kRemembered = std::chrono::hours(24 * 7);
constexpr std::size_t kNameLimit = 253;

Error refused(std::string what) {
  return Error(Code::denied, std::move(what)).advise("make a new one: `underway node join-token create`");
}

void forget_old(std::vector<Change>& changes, const Tables& tables, const Context& context) {
  for (const auto& token : tables.rows<model::JoinToken>()) {
    if (from_unix_nanos(token->expire_time) + kRemembered < context.now)
      changes.push_back(tables::DeleteJoinToken{token->id});
  }
}

/// One answer for a token that is not there and for one whose secret is another: ids are no secret.
tables::Row<model::JoinToken> get_token(const Tables& tables, const JoinAttempt& attempt) {
  auto token = tables.find<model::JoinToken>(attempt.token_id);
  if (token && crypto::token_matches(attempt.token_secret, token->hash)) return token;
  throw refused("the join token is not known").because("it was revoked, or it is of another server");
}

void expect(const char* what, const std::string& bound, const std::string& given) {
  if (bound.empty() || bound == given) return;
  throw refused("the join token is for another node")
      .because(fmt::format("it is for a node with the {} '{}', and this one's is '{}'", what, bound, given));
}

/// A name becomes part of a certificate and of what people read.
void check_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kNameLimit &&
                    std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
  if (!good) throw Error(Code::invalid, fmt::format("'{}' is no name for a node", name.substr(0, 64)));
}

/// Two of one name in a cluster would be one for Slurm, and for whoever reads.
void check_not_a_host(const Tables& tables, const std::string& cluster, const std::string& name, Code otherwise) {
  if (cluster.empty() || !tables.find_host(cluster, name)) return;
  throw Error(otherwise, fmt::format("'{}' is a host of cluster '{}'", name, cluster))
      .because("whatever makes a cluster's hosts gives them their tokens")
      .advise("give the node another name");
}

/// Files and secrets of a cluster go to its members, so its name is no free text.
void check_cluster(const Tables& tables, const NewJoinToken& request) {
  if (request.host && request.name.empty())
    throw Error(Code::invalid, "a join token for a cluster's host needs the host's name");
  if (request.host || request.cluster.empty()) return;
  if (!tables.find_cluster(request.cluster)) {
    std::vector<std::string> names;
    for (const auto& cluster : tables.clusters()) names.push_back(fmt::format("'{}'", cluster->name));
    throw Error(Code::not_found, fmt::format("there is no cluster '{}'", request.cluster))
        .because(names.empty() ? "no cluster is up" : "there are " + join(names, ", "))
        .advise("bring it up first: `underway up DIR`");
  }
  check_not_a_host(tables, request.cluster, request.name, Code::conflict);
}

}  // namespace

Decision<std::string> decide(const Tables& tables, const NewJoinToken& request, const Context& context) {
  if (request.lifetime <= Duration{0} || request.lifetime > kLongest) {
    throw Error(Code::invalid, fmt::format("'{}' is no lifetime for a join token", format_duration(request.lifetime)))
        .because(fmt::format("it is more than nothing and at most {}", human_duration(kLongest)));
  }
  check_cluster(tables, request);
  Decision<std::string> decision;
  forget_old(decision.changes, tables, context);
  model::JoinToken token;
  token.id = context.ids.uuid().substr(0, 13);  // 48 bits: enough to tell them apart, short enough to type
  token.hash = request.hash;
  token.name = request.name;
  token.pool = request.pool;
  token.cluster = request.cluster;
  token.create_time = unix_nanos(context.now);
  token.expire_time = unix_nanos(context.now + request.lifetime);
  decision.result = token.id;
  decision.changes.push_back(tables::PutJoinToken{std::move(token)});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const RevokeJoinToken& request, const Context&) {
  const auto& id = request.id;
  if (!tables.find<model::JoinToken>(id)) throw Error(Code::not_found, fmt::format("there is no join token '{}'", id));
  return {{tables::DeleteJoinToken{id}}, {}};
}

Decision<trust::Identity> decide(const Tables& tables, const JoinAttempt& attempt, const Context& context) {
  const auto token = get_token(tables, attempt);
  if (!is_uuid(attempt.node_id)) throw Error(Code::invalid, "the node's id is no UUID");
  check_name(attempt.name);
  const bool again = token->used_by == attempt.node_id && token->used_key == attempt.key;
  if (token->used() && !again) {
    throw refused("the join token was used already")
        .because(fmt::format("at {} by node '{}' ({}) from {}", format_time(from_unix_nanos(token->use_time)),
                             token->used_by_name, token->used_by.substr(0, 8), token->used_from));
  }
  if (unix_nanos(context.now) >= token->expire_time) {
    throw refused("the join token has expired")
        .because(fmt::format("it was good until {}", format_time(from_unix_nanos(token->expire_time))));
  }
  expect("name", token->name, attempt.name);
  expect("pool", token->pool, attempt.pool);
  check_node_secret(tables, attempt.node_id, attempt.name, attempt.node_secret);
  Decision<trust::Identity> decision;
  decision.result = {.node_id = attempt.node_id, .name = token->name, .pool = token->pool};
  const bool host = tables.find_host(token->cluster, token->name) != nullptr;
  if (!host) check_not_a_host(tables, token->cluster, attempt.name, Code::denied);
  (host ? decision.result.cluster : decision.result.member_of) = token->cluster;
  if (token->used()) return decision;
  model::JoinToken used = *token;
  used.use_time = unix_nanos(context.now);
  used.used_by = attempt.node_id;
  used.used_by_name = attempt.name;
  used.used_from = attempt.address;
  used.used_key = attempt.key;
  decision.changes.push_back(tables::PutJoinToken{std::move(used)});
  return decision;
}

void check_identity(const trust::Identity& identity, const model::Node& node) {
  const auto check = [&](const char* what, const std::string& said, const std::string& claimed) {
    if (said == claimed) return;
    throw Error(Code::denied, fmt::format("node '{}' may not register", node.name))
        .because(fmt::format("its certificate is for the {} '{}', and it claims '{}'", what, said, claimed))
        .advise("set its configuration right, or let it join anew with a fitting join token");
  };
  if (!identity.node_id.empty()) check("id", identity.node_id, node.id);
  if (!identity.name.empty()) check("name", identity.name, node.name);
  if (!identity.pool.empty()) check("pool", identity.pool, node.node_pool);
  // A host of ours is one only by its certificate: it is given secrets of its cluster.
  check("cluster", identity.cluster, node.cluster);
  if (!identity.cluster.empty()) check("host", identity.name, node.host);
}

void enter_cluster(const trust::Identity& identity, model::Node& node) {
  if (identity.member_of.empty()) return;
  node.cluster = identity.member_of;
  node.attributes["underway.cluster"] = identity.member_of;
}

}  // namespace underway::server

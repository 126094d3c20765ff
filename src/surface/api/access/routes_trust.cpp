// Who may link: the link of a node, joining, join tokens, and the server's authority.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "crypto/token.hpp"
#include "trust/join_token.hpp"

namespace underway::api {
namespace {

using acl::Level;
using boost::json::object;
using tables::Scope;
using tables::Topic;

/// A token, names and a request for a certificate, from whom nothing is known.
constexpr std::size_t kJoinBodyLimit = 64U << 10;

trust::ServerTrust& trust_of(Api& api) {
  if (api.trust != nullptr) return *api.trust;
  throw Error(Code::unsupported, "this server has no authority of its own");
}

/// "10.0.0.7:51442" without the port, which is another one each time.
std::string_view without_port(std::string_view address) { return address.substr(0, address.rfind(':')); }

/// What a stranger calls itself, fit for a line of the log.
std::string shown(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 64)) out += c > ' ' && c < 127 ? c : '?';
  return out;
}

/// Once for each certificate, or name and address, that is refused: a node dials every few seconds.
void warn_once(Api& api, const std::string& text) {
  constexpr std::size_t kRemembered = 1000;
  if (api.warned.size() >= kRemembered) api.warned.clear();
  if (api.warned.insert(text).second) log::warn("server: {}", text);
}

trust::PeerIdentity identify(Api& api, const http::Peer& peer) {
  try {
    return trust::identify_node(peer, api.agent.region);
  } catch (const Error& error) {
    warn_once(api, fmt::format("{}: {}", without_port(peer.address), error.one_line()));
    throw;
  }
}

awaitable<Response> serve_link(Api& api, Request request) {
  auto peer = identify(api, request.remote);
  Response response;
  response.upgrade = [&api, peer = std::move(peer)](std::shared_ptr<http::WebSocket> socket) {
    return api.server.serve_link(std::move(socket), peer);
  };
  co_return response;
}

constexpr std::size_t kToldOfReason = 256;

/// Needs no token of the API: the join token is what counts.
awaitable<Response> join_node(Api& api, Request request) {
  auto body = json::decode<trust::JoinRequest>(boost::json::value(parse_body(request)));
  try {
    const auto certified = co_await api.server.join(body, request.remote.address);
    co_return http::json(json::encode(certified));
  } catch (const Error& error) {
    warn_once(api, fmt::format("{}: node '{}' may not join: {}", without_port(request.remote.address), shown(body.name),
                               error.one_line().substr(0, kToldOfReason)));
    throw;
  }
}

model::JoinToken without_hash(model::JoinToken token) {
  token.hash.clear();
  token.used_key.clear();
  return token;
}

awaitable<Response> list_join_tokens(Api& api, Request request) {
  std::vector<Scope> scopes{{Topic::join_tokens, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [](const tables::Tables& tables) {
    std::vector<Item> items;
    for (const auto& token : tables.rows<model::JoinToken>())
      items.push_back({token->id, [token] { return json::encode(without_hash(*token)); }});
    return items;
  });
}

awaitable<Response> create_token(Api& api, Request request) {
  const auto asked = json::decode<wire::NewJoinToken>(boost::json::value(parse_body(request)));
  server::NewJoinToken wanted;
  wanted.name = asked.name;
  wanted.pool = asked.node_pool;
  wanted.cluster = asked.cluster;
  wanted.lifetime = asked.ttl;
  const std::string text = co_await make_join_token(api, std::move(wanted));
  const auto* tables = co_await api.server.read();
  const auto id = trust::parse_join_token(text).id;
  request.made({Topic::join_tokens, id});
  const auto row = tables->find<model::JoinToken>(id);
  if (!row) throw Error(Code::conflict, "the join token was revoked as soon as it was made");
  wire::CreatedJoinToken created{text, without_hash(*row), trust_of(api).authority().info().fingerprint};
  co_return written(json::encode(created), row->create_index);
}

awaitable<Response> revoke_token(Api& api, Request request) {
  server::RevokeJoinToken wanted{request.param("id")};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("{}", tables->revision_of({Topic::join_tokens, request.param("id")}));
}

object json_of(const crypto::CertificateInfo& info) {
  boost::json::array names(info.names.begin(), info.names.end());
  return {{"CommonName", info.common_name},
          {"Names", std::move(names)},
          {"Issuer", info.issuer},
          {"Fingerprint", info.fingerprint},
          {"NotBefore", format_time(info.not_before)},
          {"NotAfter", format_time(info.not_after)}};
}

boost::json::value trust_now(Api& api) {
  auto& trust = trust_of(api);
  boost::json::array authorities;
  for (const auto& info : crypto::describe_certificates(trust.authorities())) authorities.push_back(json_of(info));
  return object{
      {"Authorities", std::move(authorities)}, {"Server", json_of(trust.certificate())}, {"PEM", trust.authorities()}};
}

awaitable<Response> read_trust(Api& api, Request) { co_return http::json(boost::json::serialize(trust_now(api))); }

awaitable<Response> rotate_authority(Api& api, Request request) {
  auto& trust = trust_of(api);
  if (request.query.flag("authority")) {
    trust.rotate_authority();
    api.server.ask_for_renewal();
    log::info("server: a new authority was asked for: '{}'; nodes renew their certificates",
              trust.authority().info().common_name);
  } else {
    trust.renew_certificate();
    log::info("server: a new certificate was asked for, good until {}", format_time(trust.certificate().not_after));
  }
  co_return http::json(boost::json::serialize(trust_now(api)));
}

}  // namespace

async::awaitable<std::string> make_join_token(Api& api, server::NewJoinToken request) {
  auto& trust = trust_of(api);
  trust::JoinToken token{
      .id = {}, .secret = crypto::make_token(), .authority_fingerprint = trust.authority().info().fingerprint};
  request.hash = crypto::hash_token(token.secret.bytes());
  token.id = co_await api.server.apply(std::move(request));
  co_return std::string(trust::to_text(token).bytes());
}

void add_link_routes(http::Router& router, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](http::Request request) { return handler(api, Request{std::move(request)}); };
  };
  router.add("GET", "/v1/underway/link", "link of a node", with(serve_link));
  router.add("PUT|POST", "/v1/underway/node/join", "join", with(join_node), {.body_limit = kJoinBodyLimit});
}

void add_trust_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/underway/link", "link of a node",
             right::open("nodes prove themselves by their certificate and their secret"), with(serve_link));
  routes.add("PUT|POST", "/v1/underway/node/join", "join", right::open("the join token is what counts"),
             with(join_node), {.body_limit = kJoinBodyLimit});
  routes.add("GET", "/v1/underway/join-tokens", "list join tokens", right::node(Level::write), with(list_join_tokens));
  routes.add("PUT|POST", "/v1/underway/join-tokens", "create join token", right::node(Level::write),
             with(create_token));
  routes.add("DELETE", "/v1/underway/join-token/:id", "revoke join token", right::node(Level::write),
             with(revoke_token));
  routes.add("GET", "/v1/underway/tls", "read authority", right::operators(Level::read), with(read_trust));
  routes.add("PUT|POST", "/v1/underway/tls/rotate", "rotate certificates", right::operators(Level::write),
             with(rotate_authority));
}

}  // namespace underway::api

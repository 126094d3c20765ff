#include "trust/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace underway::trust {
namespace {

constexpr std::size_t kCommonNameLimit = 64;

/// What of an identity is under which name in a certificate.
constexpr std::array<std::pair<std::string_view, std::string Identity::*>, 5> kParts = {
    {{"underway://node/", &Identity::node_id},
     {"underway://name/", &Identity::name},
     {"underway://pool/", &Identity::pool},
     {"underway://cluster/", &Identity::cluster},
     {"underway://member-of/", &Identity::member_of}}};

Error refused(std::string why) {
  return Error(Code::denied, "the link is refused")
      .because(std::move(why))
      .advise("give the node a new join token: `underway node join-token create`");
}

}  // namespace

crypto::Leaf node_leaf(std::string_view region, const Identity& identity, const std::string& name, Duration lifetime) {
  crypto::Leaf leaf{.common_name = name.size() <= kCommonNameLimit ? name : identity.node_id,
                    .names = {crypto::client_name(region)},
                    .lifetime = lifetime,
                    .client = true};
  for (const auto& [prefix, part] : kParts) {
    if (!(identity.*part).empty()) leaf.names.push_back(fmt::format("{}{}", prefix, identity.*part));
  }
  return leaf;
}

PeerIdentity identify_node(const http::Peer& peer, std::string_view region) {
  if (!peer.certificate_problem.empty()) throw refused(peer.certificate_problem);
  const auto& names = peer.certificate_names;
  if (names.empty()) throw refused("a link is mutual TLS, and the node shows no certificate");
  // The first name is the common name, which anybody may choose.
  if (std::find(names.begin() + 1, names.end(), crypto::client_name(region)) == names.end()) {
    throw refused(fmt::format("the certificate of '{}' is not for '{}'", names.front(), crypto::client_name(region)));
  }
  PeerIdentity link{.identity = {}, .until = peer.certificate_until};
  for (auto name = names.begin() + 1; name != names.end(); ++name) {
    for (const auto& [prefix, part] : kParts) {
      if (name->starts_with(prefix)) link.identity.*part = name->substr(prefix.size());
    }
  }
  return link;
}

}  // namespace underway::trust

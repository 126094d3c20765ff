#include "trust/identity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace underway::trust {
namespace {

constexpr std::string_view kNodeUri = "underway://node/";
constexpr std::size_t kCommonNameLimit = 64;

Error refused(std::string why) {
  return Error(Code::denied, "the link is refused")
      .because(std::move(why))
      .advise("give the node a new join token: `underway node join-token create`");
}

}  // namespace

crypto::Leaf node_leaf(std::string_view region, const std::string& node_id, const std::string& name,
                       Duration lifetime) {
  return {.common_name = name.size() <= kCommonNameLimit ? name : node_id,
          .names = {crypto::client_name(region), fmt::format("{}{}", kNodeUri, node_id)},
          .lifetime = lifetime,
          .client = true};
}

LinkIdentity identify_node(const http::Peer& peer, std::string_view region) {
  if (!peer.certificate_problem.empty()) throw refused(peer.certificate_problem);
  const auto& names = peer.certificate_names;
  if (names.empty()) throw refused("a link is mutual TLS, and the node shows no certificate");
  // The first name is the common name, which anybody may choose.
  if (std::find(names.begin() + 1, names.end(), crypto::client_name(region)) == names.end()) {
    throw refused(fmt::format("the certificate of '{}' is not for '{}'", names.front(), crypto::client_name(region)));
  }
  LinkIdentity identity{.node_id = {}, .until = peer.certificate_until};
  for (auto name = names.begin() + 1; name != names.end(); ++name) {
    if (name->starts_with(kNodeUri)) identity.node_id = name->substr(kNodeUri.size());
  }
  return identity;
}

}  // namespace underway::trust

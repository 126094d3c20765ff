// The site's Consul and Vault, for templates.
#include "node/detail/node_impl.hpp"

namespace underway::node {

namespace {

/// The identity that a task shows to Vault has the name that Nomad gives it.
awaitable<std::string> identity_for_vault(ServerData& server, sources::Asker asker) {
  const std::string cluster = asker.vault_cluster.empty() ? "default" : asker.vault_cluster;
  protocol::IdentityRequest request{asker.allocation_id, asker.task, "vault_" + cluster};
  const auto reply = co_await server.sign(std::move(request));
  co_return reply.token;
}

}  // namespace

void Node::Impl::open_sources() {
  const auto& compat = options_.compat;
  const std::pair<const char*, sources::From> attributes[] = {
      {"template.service", compat.service}, {"template.key", compat.key}, {"template.secret", compat.secret}};
  for (const auto& [name, from] : attributes) {
    if (from == sources::From::ours) continue;
    const char* foreign = std::string_view(name) == "template.secret" ? "vault" : "consul";
    self_.attributes[name] = from == sources::From::foreign ? foreign : "none";
  }
  self_.computed_class = model::compute_class(self_);
  if (compat.consul.access.address.empty() && compat.vault.access.address.empty()) return;
  sources_ = std::make_unique<sources::Sources>(loop_.executor(), pool_, clock_, compat, [this](sources::Asker asker) {
    return identity_for_vault(server_data_, std::move(asker));
  });
  template_data_.use(sources_.get());
}

}  // namespace underway::node

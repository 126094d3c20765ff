#include "sources/sources.hpp"

#include "base/error.hpp"
#include "sources/consul.hpp"
#include "sources/vault.hpp"

namespace underway::sources {

namespace {

bool is_secret(const gotemplate::ForeignQuery& query) {
  return query.kind == gotemplate::ForeignKind::secret || query.kind == gotemplate::ForeignKind::secrets;
}

}  // namespace

Sources::Sources(async::Executor executor, async::Pool& pool, const Clock& clock, const Settings& settings,
                 SignIdentity identity) {
  if (!settings.consul.access.address.empty())
    consul_ = std::make_unique<Consul>(executor, make_environment(executor, pool, clock, settings.consul.access, {}),
                                       settings.consul);
  if (!settings.vault.access.address.empty())
    vault_ = std::make_unique<Vault>(
        executor, make_environment(executor, pool, clock, settings.vault.access, std::move(identity)), settings.vault);
}
Sources::~Sources() = default;

gotemplate::ForeignReply Sources::find(const Asker& asker, const gotemplate::ForeignQuery& query) const {
  if (is_secret(query) && vault_) return vault_->find(asker, query);
  if (!is_secret(query) && consul_) return consul_->find(query);
  throw Error(Code::unsupported,
              fmt::format("this node has no {} that could be asked", is_secret(query) ? "Vault" : "Consul"));
}

std::shared_ptr<void> Sources::watch(const Asker& asker, const std::set<gotemplate::ForeignQuery>& queries,
                                     std::function<void()> changed) {
  std::set<gotemplate::ForeignQuery> of_consul, of_vault;
  for (const auto& query : queries) (is_secret(query) ? of_vault : of_consul).insert(query);
  auto tokens = std::make_shared<std::vector<std::shared_ptr<void>>>();
  if (consul_ && !of_consul.empty()) tokens->push_back(consul_->watch(of_consul, changed));
  if (vault_ && !of_vault.empty()) tokens->push_back(vault_->watch(asker, of_vault, changed));
  return tokens;
}

awaitable<void> Sources::stop() {
  if (consul_) co_await consul_->stop();
  if (vault_) co_await vault_->stop();
}

}  // namespace underway::sources

#pragma once
/// @file
/// Vault's secrets, with leases that are renewed while somebody needs them.
/// Source: Vault's HTTP API 1.13: /v1/auth/jwt/login, /v1/auth/token/lookup-self and renew-self, /v1/sys/leases/renew,
/// /v1/sys/internal/ui/mounts, KV versions 1 and 2.

#include "sources/environment.hpp"
#include "sources/session.hpp"
#include "sources/watch_table.hpp"

namespace underway::sources {

class Vault {
 public:
  Vault(async::Executor executor, std::unique_ptr<Environment> environment, VaultSettings settings);

  /// Thread: any. Errors: denied when the task neither logs in nor may use what the site's token reads; invalid.
  gotemplate::ForeignReply find(const Asker& asker, const gotemplate::ForeignQuery& query) const;
  std::shared_ptr<void> watch(const Asker& asker, const std::set<gotemplate::ForeignQuery>& queries,
                              std::function<void()> changed);
  awaitable<void> stop();

 private:
  Question question(const Asker& asker, const gotemplate::ForeignQuery& query) const;
  awaitable<void> follow(Question question);
  awaitable<gotemplate::ForeignAnswer> read(const Session& session, const gotemplate::ForeignQuery& query);
  awaitable<std::string> path_of(const Session& session, const gotemplate::ForeignQuery& query);
  /// Returns when the secret must be read again.
  awaitable<void> keep(std::shared_ptr<Session> session, Question question, gotemplate::Secret secret);
  awaitable<std::optional<Duration>> renew(const Session& session, const gotemplate::Secret& secret);
  std::shared_ptr<Session> session_of(const Asker& asker);

  std::unique_ptr<Environment> environment_;
  VaultSettings settings_;
  std::map<Asker, std::weak_ptr<Session>> sessions_;  ///< held by those who follow
  WatchTable watches_;
};

}  // namespace underway::sources

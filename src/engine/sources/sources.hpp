#pragma once
/// @file
/// The site's Consul and Vault, as far as a node's templates have anything from them.

#include "sources/environment.hpp"
#include "sources/settings.hpp"

#include "gotemplate/foreign_data.hpp"

#include <memory>
#include <set>

namespace underway::sources {

class Consul;
class Vault;

class Sources {
 public:
  /// Throws invalid when an address or a file of TLS cannot be used. `pool` must outlive it.
  Sources(async::Executor executor, async::Pool& pool, const Clock& clock, const Settings& settings,
          SignIdentity identity);
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;
  ~Sources();

  /// Thread: any. Errors: denied, invalid, unsupported.
  gotemplate::ForeignReply find(const Asker& asker, const gotemplate::ForeignQuery& query) const;
  /// Calls `changed` after an answer has come or changed, until the token is destroyed. Thread: loop.
  std::shared_ptr<void> watch(const Asker& asker, const std::set<gotemplate::ForeignQuery>& queries,
                              std::function<void()> changed);
  /// Nothing is asked any more, and nothing given back: tasks outlive their agent.
  awaitable<void> stop();

 private:
  std::unique_ptr<Consul> consul_;
  std::unique_ptr<Vault> vault_;
};

}  // namespace underway::sources

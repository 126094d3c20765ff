#pragma once
/// @file
/// A token for Vault that is good: of a task that logs in with its identity, or the site's for all who do not.

#include "sources/environment.hpp"
#include "sources/vault_reply.hpp"

#include "async/group.hpp"

namespace underway::sources {

/// Logs in, renews, and logs in again before the token ends, as long as somebody holds it. Thread: one loop.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// The session ends with the last copy of what is returned. `world` and `settings` must outlive it.
  static std::shared_ptr<Session> open(async::Executor executor, Environment& environment,
                                       const VaultSettings& settings, Asker asker);
  Session(async::Executor executor, Environment& environment, const VaultSettings& settings, Asker asker);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
  awaitable<void> stop() { return work_.stop(); }

  /// Empty while there is none; `why` then says the reason, once there is one.
  const std::string& token() const { return login_.token; }
  const std::string& why() const { return why_; }
  const std::string& ns() const { return asker_.vault_ns.empty() ? settings_.ns : asker_.vault_ns; }
  /// Another one means that what was leased with an earlier token ends soon.
  std::uint64_t generation() const { return generation_; }
  /// Vault has refused the token: it is looked after now.
  void doubt();
  /// A token has come, or why there is none.
  async::Event& changed() { return changed_; }

 private:
  struct Holder;
  /// `self`: it is used until the coroutine has ended.
  awaitable<void> keep(std::shared_ptr<Session> self);
  awaitable<void> keep_login();
  awaitable<Login> log_in();
  awaitable<bool> renew();
  awaitable<bool> still_good();
  TimePoint due() const;
  void failed(const Error& error);

  Environment& environment_;
  const VaultSettings& settings_;
  Asker asker_;
  Login login_;             ///< its lease: what was left of it when it was told last
  Duration granted_{};      ///< what it was at first
  bool suspected_ = false;  ///< it was replaced because it was refused
  bool tells_ = true;       ///< looking it up says whether it is good
  std::string why_;
  std::uint64_t generation_ = 0;
  async::Event changed_, doubts_, never_;
  async::TaskGroup work_;
};

}  // namespace underway::sources

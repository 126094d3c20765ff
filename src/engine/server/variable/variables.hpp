#pragma once
/// @file
/// Variables as the API and templates use them: in the clear here, sealed in every decision and in the store. Locks
/// that nobody renews are taken away by `locks_loop`.

#include "async/control_loop.hpp"
#include "async/event.hpp"
#include "model/cluster.hpp"
#include "server/variable/keyring.hpp"
#include "server/variable/variable_decisions.hpp"
#include "server/writer.hpp"

namespace underway::server {

struct VariableAnswer {
  model::OpenVariable variable;  ///< as it is now; after a conflict, what stands in the way
  bool conflict = false;
};

class Variables {
 public:
  /// All must outlive it.
  Variables(Writer& writer, Keyring& keyring, Clock& clock, async::Pool& beside);

  /// The items of a row. Throws denied when its key is gone or its bytes were changed.
  model::OpenVariable open(const model::Variable& row) const;

  /// These throw invalid with all problems of the variable; other writers are an answer, not an error.
  async::awaitable<VariableAnswer> put(VariableClaim claim, model::StringMap items);
  async::awaitable<VariableAnswer> remove(VariableClaim claim);
  /// Without `items` those of the variable stay.
  async::awaitable<VariableAnswer> acquire(VariableClaim claim, model::VariableLock lock,
                                           std::optional<model::StringMap> items);
  async::awaitable<VariableAnswer> renew(VariableClaim claim);
  async::awaitable<VariableAnswer> release(VariableClaim claim);

  /// What is declared and missing, generated and sealed. The declarations are valid.
  std::vector<NewVariable> generate_missing(const Tables& tables,
                                            const std::vector<model::SecretDeclaration>& secrets) const;

  /// A new active key; returns its id. `full`: seals every variable anew, after which old keys can be removed.
  async::awaitable<std::string> rotate(bool full);
  /// A key that becomes active at `at`; returns its id. Throws invalid when that is past.
  async::awaitable<std::string> prepublish(TimePoint at);
  /// Seals every variable under the active key. Throws conflict when others keep writing them.
  async::awaitable<void> seal_anew();
  /// Throws not_found; conflict while the key is active or a variable is sealed under it.
  async::awaitable<void> remove_key(std::string id);

  /// Takes away the locks that nobody renews.
  async::LoopPlan locks_loop();
  /// Activates prepublished keys in time, and prepublishes one when half of the active one's life, `rotation`, is
  /// over; zero: none is made by itself.
  async::LoopPlan root_keys_loop(Duration rotation);

 private:
  SealedItems seal(const std::string& ns, const std::string& path, const model::StringMap& items) const;
  VariableAnswer answer(const VariableOutcome& outcome) const;
  async::awaitable<void> expire_locks();
  async::awaitable<crypto::PrivateKey> make_rsa();
  async::awaitable<void> rotate_by_age(Duration rotation);
  async::awaitable<void> wait_for_keys(Duration rotation);
  async::awaitable<void> look_after_keys(Duration rotation);

  Writer& writer_;
  Keyring& keyring_;
  Clock& clock_;
  async::Pool& beside_;  ///< where keys are made
  bool extended_ = false;
  bool keys_seen_ = false;
  async::Event keys_changed_;
};

/// The items that a declaration asks for, from the kernel's generator.
model::StringMap generate(const model::SecretDeclaration& secret);

}  // namespace underway::server

#pragma once
/// @file
/// Decisions about variables: writing with check-and-set, and locks that expire. What is written comes sealed: no
/// decision sees an item. A refusal because somebody else was faster is an outcome with what stands in the way, as the
/// one who lost needs it; the API answers 409 with it.

#include "model/access/variable.hpp"
#include "server/decision.hpp"

namespace underway::server {

/// Which variable, and what its writer knows of it.
struct VariableClaim {
  std::string ns = "default", path;
  std::optional<model::Revision> cas;  ///< refuse unless its modify index is this; 0: unless it does not exist
  std::string lock_id;                 ///< of the lock that the writer holds
};

struct SealedItems {
  std::string key_id;
  std::string bytes;  ///< base64
};

struct VariableOutcome {
  model::Variable
      variable;  ///< as it is now; after a conflict, what stands in the way (without a path: nothing is there)
  bool conflict = false;
};

struct PutVariable {
  VariableClaim claim;
  SealedItems items;
};
Decision<VariableOutcome> decide(const Tables&, const PutVariable&, const Context&);

/// A variable that shall exist.
struct NewVariable {
  std::string ns = "default", path;
  SealedItems items;
};
/// One that exists stays as it is: of two who make it, the first one's is kept, and both read the same.
Decision<Nothing> decide(const Tables&, const NewVariable&, const Context&);

/// Deleting what is not there succeeds.
struct DeleteVariable {
  VariableClaim claim;
};
Decision<VariableOutcome> decide(const Tables&, const DeleteVariable&, const Context&);

struct AcquireLock {
  std::string ns = "default", path;
  model::VariableLock lock;  ///< with the id of a lock that is held: takes the new times, and renews it
  SealedItems items;
  bool keep_items = false;  ///< of a variable that exists; `items` are for one that does not
};
/// Conflict while somebody else holds it, and for its lock_delay after it was lost. Throws invalid for times out of
/// range.
Decision<VariableOutcome> decide(const Tables&, const AcquireLock&, const Context&);
/// Both: conflict unless the lock is held by who names it.
struct RenewLock {
  VariableClaim claim;
};
Decision<VariableOutcome> decide(const Tables&, const RenewLock&, const Context&);
struct ReleaseLock {
  VariableClaim claim;
};
Decision<VariableOutcome> decide(const Tables&, const ReleaseLock&, const Context&);

/// Takes locks away that were not renewed in time, and forgets delays that are over.
struct ExpireLocks {};
Decision<Nothing> decide(const Tables&, const ExpireLocks&, const Context&);
/// When ExpireLocks has something to do next; nothing when there is no lock.
std::optional<TimePoint> next_lock_end(const Tables&);
/// After a start of ours: nobody could renew while we were away, so every lock begins its time anew.
struct ExtendLocks {};
Decision<Nothing> decide(const Tables&, const ExtendLocks&, const Context&);

/// A variable under another root key. Passed over when it was written since.
struct Resealed {
  std::string ns, path;
  model::Revision modify_index = 0;  ///< of what was opened
  SealedItems items;
};
/// Returns how many were passed over.
struct ResealVariables {
  std::vector<Resealed> resealed;
};
Decision<std::int64_t> decide(const Tables&, const ResealVariables&, const Context&);

}  // namespace underway::server

#pragma once
/// @file
/// Durable keys with revisions, in etcd's data model: put, delete, range, watch, and a transaction with compares on
/// revisions. Every committed transaction that writes gets one new revision. Implementations: SqliteStore (one server,
/// the default), MemoryStore (tests, simulator); etcd follows for several servers. One contract suite runs against all.
/// Source of the semantics: etcd's KV API (etcd.io/docs, "etcd API", v3.4).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace underway::store {

using Revision = std::int64_t;

struct KeyValue {
  std::string key;
  std::string value;
  Revision create_revision = 0;  ///< of the put that made the key
  Revision mod_revision = 0;     ///< of its last put
  std::int64_t version = 0;      ///< puts since it was made, from 1
};

/// Keys from `begin` up to but without `end`, by bytes. An empty `end` means the one key `begin`, an `end` of one zero
/// byte means every key from `begin` on (both as in etcd).
struct KeyRange {
  std::string begin;
  std::string end;
  static KeyRange one(std::string key) { return {std::move(key), {}}; }
  /// All keys that start with `prefix`; of "": all keys (etcd's clientv3.GetPrefixRangeEnd).
  static KeyRange prefix(std::string prefix);
  bool contains(std::string_view key) const;
};

struct Compare {
  enum class Target : std::uint8_t { create_revision, mod_revision, version, value };
  enum class Operator : std::uint8_t { equal, greater, less, not_equal };
  std::string key;
  Target target = Target::mod_revision;
  Operator op = Operator::equal;
  std::int64_t number = 0;  ///< an absent key has revisions and version 0
  std::string text;         ///< for Target::value, which never holds for an absent key, whatever the operator
};

struct Put {
  std::string key;
  std::string value;
};
struct Delete {
  KeyRange range;
};
using Operation = std::variant<Put, Delete>;

/// All compares hold → `then` is applied, else `otherwise`, in order: operations on the same key follow each other.
/// Keys are not empty. Limits are the implementation's.
struct Transaction {
  std::vector<Compare> compares;
  std::vector<Operation> then;
  std::vector<Operation> otherwise;
};

struct Outcome {
  bool succeeded = false;  ///< whether the compares held
  Revision revision = 0;   ///< of the store after it; a transaction without effect makes no new one
};

/// One change, as a watcher sees it. Of a deletion, `key_value` has only the key and, as mod_revision, when it went.
struct Event {
  enum class Kind : std::uint8_t { put, deleted };
  Kind kind = Kind::put;
  KeyValue key_value;
};

struct RangeResult {
  std::vector<KeyValue> key_values;  ///< by key
  Revision revision = 0;             ///< of the store when it was read
};

/// Thread: `commit`, `range` and `watch` from any; callbacks come on the store's own thread, by revision: first the
/// watches of a transaction, then its own. They may call everything but `commit_and_wait`. Destroying a store first
/// finishes what was submitted.
class Store {
 public:
  virtual ~Store() = default;

  /// Either the outcome, or why nothing was written (invalid: an empty key; too_large: a value; exhausted: disk full;
  /// internal: corruption).
  using CommitResult = std::variant<Outcome, Error>;
  using CommitCallback = std::function<void(CommitResult)>;
  /// Durable when `done` is called; transactions take effect in the order of the calls. Never blocks, never throws.
  virtual void commit(Transaction transaction, CommitCallback done) = 0;
  /// The same, waiting. Throws what commit would report.
  Outcome commit_and_wait(Transaction transaction);

  /// Reads the newest durable state. Throws Error. Blocks: disk.
  virtual RangeResult range(const KeyRange& range, std::size_t limit = 0) = 0;

  /// The newest durable revision; 0 when nothing was ever written.
  virtual Revision revision() const = 0;

  class Watch {  ///< ends the watch when destroyed; no callback runs after its destructor returns
   public:
    virtual ~Watch() = default;
  };
  using WatchCallback = std::function<void(Revision, const std::vector<Event>&)>;
  /// Calls `notify` for every later commit that touches `range`, in order, once per revision. To follow a state without
  /// a gap: watch, then read the range, then skip the revisions up to the range's.
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(KeyRange range, WatchCallback notify) = 0;
};

}  // namespace underway::store

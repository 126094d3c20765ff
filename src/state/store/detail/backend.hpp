#pragma once
/// @file
/// What a kind of storage must be able to do, so that the Sequencer can make a Store of it.

#include "store/store.hpp"

namespace underway::store::detail {

/// Everything throws Error unless it says noexcept. Thread: one at a time, the sequencer's.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual void begin() = 0;
  virtual std::optional<KeyValue> find(const std::string& key, bool with_value) = 0;
  /// `after`, when given, becomes the key as it is then.
  virtual void put(const Put& put, Revision revision, KeyValue* after) = 0;
  /// Puts a key that is not there, with the revisions that it names.
  virtual void restore(const KeyValue& key_value) = 0;
  /// How many keys went; `keys`, when given, gets them in order.
  virtual std::size_t erase(const KeyRange& range, std::vector<std::string>* keys) = 0;
  /// Makes everything since begin() durable; when it throws, nothing of it is.
  virtual void commit(Revision revision) = 0;
  virtual void rollback() noexcept = 0;

  /// Outside begin() and commit() only; `limit` 0: all.
  virtual std::vector<KeyValue> range(const KeyRange& range, std::size_t limit) = 0;
  /// A bounded piece of work that can wait until a group was acknowledged; true when there is more of it.
  virtual bool maintain() noexcept { return false; }
};

}  // namespace underway::store::detail

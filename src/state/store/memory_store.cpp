#include "store/memory_store.hpp"

#include "store/detail/sequencer.hpp"

#include <map>

namespace underway::store {

namespace {

struct Entry {
  std::string value;
  Revision create_revision = 0;
  Revision mod_revision = 0;
  std::int64_t version = 0;
};

KeyValue key_value(const std::string& key, const Entry& entry, bool with_value = true) {
  return {key, with_value ? entry.value : std::string(), entry.create_revision, entry.mod_revision, entry.version};
}

class MemoryBackend final : public detail::Backend {
 public:
  void fail_next_commit(Error error) {
    const std::lock_guard lock(fault_mutex_);
    fault_ = std::move(error);
  }

  void begin() override { undo_.clear(); }

  std::optional<KeyValue> find(const std::string& key, bool with_value) override {
    const auto it = entries_.find(key);
    if (it == entries_.end()) return {};
    return key_value(key, it->second, with_value);
  }

  void put(const Put& put, Revision revision, KeyValue* after) override {
    const auto [it, fresh] = entries_.try_emplace(put.key);
    undo_.emplace_back(put.key, fresh ? std::nullopt : std::optional(it->second));
    Entry& entry = it->second;
    if (fresh) entry.create_revision = revision;
    entry.value = put.value;
    entry.mod_revision = revision;
    ++entry.version;
    if (after != nullptr) *after = key_value(put.key, entry);
  }

  void restore(const KeyValue& kv) override {
    entries_[kv.key] = {kv.value, kv.create_revision, kv.mod_revision, kv.version};
    undo_.emplace_back(kv.key, std::nullopt);
  }

  std::size_t erase(const KeyRange& range, std::vector<std::string>* keys) override {
    std::size_t count = 0;
    for (auto it = entries_.lower_bound(range.begin); it != entries_.end() && range.contains(it->first); ++count) {
      if (keys != nullptr) keys->push_back(it->first);
      undo_.emplace_back(it->first, std::move(it->second));
      it = entries_.erase(it);
    }
    return count;
  }

  void commit(Revision) override {
    const std::lock_guard lock(fault_mutex_);
    if (auto fault = std::exchange(fault_, {})) throw std::move(*fault);
    undo_.clear();
  }

  void rollback() noexcept override {
    for (auto it = undo_.rbegin(); it != undo_.rend(); ++it) {
      if (it->second)
        entries_[it->first] = std::move(*it->second);
      else
        entries_.erase(it->first);
    }
    undo_.clear();
  }

  std::vector<KeyValue> range(const KeyRange& range, std::size_t limit) override {
    std::vector<KeyValue> found;
    for (auto it = entries_.lower_bound(range.begin); it != entries_.end() && range.contains(it->first); ++it) {
      found.push_back(key_value(it->first, it->second));
      if (found.size() == limit) break;
    }
    return found;
  }

 private:
  std::map<std::string, Entry> entries_;
  std::vector<std::pair<std::string, std::optional<Entry>>> undo_;  ///< what was there before each step of the group
  std::mutex fault_mutex_;
  std::optional<Error> fault_;
};

}  // namespace

struct MemoryStore::Impl {
  explicit Impl(Mode mode)
      : sequencer(backend, 0,
                  mode == Mode::stepped ? detail::Sequencer::Mode::stepped : detail::Sequencer::Mode::own_thread) {}
  MemoryBackend backend;
  detail::Sequencer sequencer;
};

MemoryStore::MemoryStore(Mode mode) : impl_(std::make_unique<Impl>(mode)) {}
MemoryStore::~MemoryStore() = default;

void MemoryStore::commit(Transaction transaction, CommitCallback done) {
  impl_->sequencer.commit(std::move(transaction), std::move(done));
}
RangeResult MemoryStore::range(const KeyRange& range, std::size_t limit) {
  return impl_->sequencer.range(range, limit);
}
Revision MemoryStore::revision() const { return impl_->sequencer.revision(); }
std::unique_ptr<Store::Watch> MemoryStore::watch(KeyRange range, WatchCallback notify) {
  return impl_->sequencer.watch(std::move(range), std::move(notify));
}
Revision MemoryStore::copy(const std::string&, const std::function<void(KeyValue&&)>& visit) {
  auto all = range(KeyRange::prefix(""), 0);
  for (auto& kv : all.key_values) visit(std::move(kv));
  return all.revision;
}
Revision MemoryStore::replace(Revision above, const std::function<std::optional<KeyValue>()>& next) {
  return impl_->sequencer.replace(above, next);
}
void MemoryStore::fail_next_commit(Error error) { impl_->backend.fail_next_commit(std::move(error)); }
void MemoryStore::hold() { impl_->sequencer.hold(); }
void MemoryStore::release() { impl_->sequencer.release(); }
std::size_t MemoryStore::waiting() const { return impl_->sequencer.waiting(); }
bool MemoryStore::step() { return impl_->sequencer.step(); }

}  // namespace underway::store

#include "store/sqlite_store.hpp"

#include "store/detail/sequencer.hpp"
#include "store/detail/sqlite_backend.hpp"

#include <cstdio>
#include <future>

namespace underway::store {

struct SqliteStore::Impl {
  Impl(const std::string& path, const Options& options)
      : backend(path, options),
        sequencer(backend, backend.revision(), detail::Sequencer::Mode::own_thread,
                  detail::GroupLimits{.value_bytes = options.max_value_bytes}) {}
  detail::SqliteBackend backend;
  detail::Sequencer sequencer;
};

SqliteStore::SqliteStore(const std::string& path, Options options) try : impl_(std::make_unique<Impl>(path, options)) {
} catch (Error& error) {
  error.while_doing(fmt::format("opening the store '{}'", path));
  throw;
}
SqliteStore::~SqliteStore() = default;

void SqliteStore::commit(Transaction transaction, CommitCallback done) {
  impl_->sequencer.commit(std::move(transaction), std::move(done));
}
RangeResult SqliteStore::range(const KeyRange& range, std::size_t limit) {
  return impl_->sequencer.range(range, limit);
}
Revision SqliteStore::revision() const { return impl_->sequencer.revision(); }
std::unique_ptr<Store::Watch> SqliteStore::watch(KeyRange range, WatchCallback notify) {
  return impl_->sequencer.watch(std::move(range), std::move(notify));
}

void SqliteStore::backup(const std::string& path) {
  std::promise<std::optional<Error>> promise;
  auto result = promise.get_future();
  impl_->sequencer.call([&] {
    impl_->backend.start_backup(path, [&promise](std::optional<Error> error) { promise.set_value(std::move(error)); });
  });
  if (auto error = result.get()) throw std::move(*error);
}

namespace {

constexpr std::size_t kPage = 1024;

/// A database of our own that nobody needs afterwards.
class ScratchDatabase {
 public:
  explicit ScratchDatabase(std::string path) : path_(std::move(path)) {}
  ~ScratchDatabase() {
    for (const char* end : {"", "-wal", "-shm", ".lock", ".partial"}) std::remove((path_ + end).c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

/// Opening the copy reads all of it: a damaged database makes no snapshot.
Revision SqliteStore::copy(const std::string& scratch, const std::function<void(KeyValue&&)>& visit) {
  const ScratchDatabase database(scratch + "/copy.db");
  backup(database.path());
  SqliteStore copied(database.path());
  KeyRange rest = KeyRange::prefix("");
  while (true) {
    auto page = copied.range(rest, kPage).key_values;
    if (page.empty()) return copied.revision();
    rest.begin = page.back().key + '\0';
    for (auto& kv : page) visit(std::move(kv));
  }
}

Revision SqliteStore::replace(Revision above, const std::function<std::optional<KeyValue>()>& next) {
  return impl_->sequencer.replace(above, next);
}

SqliteStore::Statistics SqliteStore::statistics() const {
  return {impl_->sequencer.groups(), impl_->backend.checkpoints(), impl_->backend.wal_pages()};
}

}  // namespace underway::store

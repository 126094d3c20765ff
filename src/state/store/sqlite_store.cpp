#include "store/sqlite_store.hpp"

#include "store/detail/sequencer.hpp"
#include "store/detail/sqlite_backend.hpp"

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

SqliteStore::Statistics SqliteStore::statistics() const {
  return {impl_->sequencer.groups(), impl_->backend.checkpoints(), impl_->backend.wal_pages()};
}

}  // namespace underway::store

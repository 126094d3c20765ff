#include "store/testing/contract.hpp"
#include "store/memory_store.hpp"
#include "store/sqlite_store.hpp"

#include "temporary_directory.hpp"

namespace underway::store::testing {
namespace {

/// A SQLite store in a directory of its own, which goes with it.
class TemporarySqliteStore final : public Store, public Whole {
 public:
  void commit(Transaction transaction, CommitCallback done) override {
    store_.commit(std::move(transaction), std::move(done));
  }
  RangeResult range(const KeyRange& range, std::size_t limit) override { return store_.range(range, limit); }
  Revision revision() const override { return store_.revision(); }
  std::unique_ptr<Watch> watch(KeyRange range, WatchCallback notify) override {
    return store_.watch(std::move(range), std::move(notify));
  }
  Revision copy(const std::string& scratch, const std::function<void(KeyValue&&)>& visit) override {
    return store_.copy(scratch, visit);
  }
  Revision replace(Revision above, const std::function<std::optional<KeyValue>()>& next) override {
    return store_.replace(above, next);
  }

 private:
  TemporaryDirectory directory_;
  SqliteStore store_{directory_.path("store.db")};
};

std::string name_of(const ::testing::TestParamInfo<ContractCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Every, StoreContract,
                         ::testing::Values(ContractCase{"memory", [] { return std::make_unique<MemoryStore>(); }},
                                           ContractCase{"sqlite",
                                                        [] { return std::make_unique<TemporarySqliteStore>(); }}),
                         name_of);

}  // namespace
}  // namespace underway::store::testing

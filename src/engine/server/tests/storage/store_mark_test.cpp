#include "server/storage/store_mark.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/random.hpp"
#include "os/file.hpp"
#include "store/sqlite_store.hpp"

namespace underway::server::testing {
namespace {

using ::testing::HasSubstr;

class MarkedSite {
 public:
  MarkedSite() {
    std::string pattern = (std::filesystem::temp_directory_path() / "underway-mark-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
    os::make_directories(directory + "/server");
    place = {.state_file = directory + "/server/state.db",
             .mark_file = directory + "/store.id",
             .signs = {directory + "/server/key", directory + "/server/authority"}};
  }
  ~MarkedSite() { std::filesystem::remove_all(directory); }
  MarkedSite(const MarkedSite&) = delete;
  MarkedSite& operator=(const MarkedSite&) = delete;

  /// As a server starts; what it makes after its store is `made`.
  std::string start(bool new_cluster = false, bool made = true) {
    try {
      refuse_lost_store(place, new_cluster);
      store::SqliteStore store(place.state_file);
      settle_store(store, place, new_cluster, ids);
      if (made)
        for (const auto& sign : place.signs) os::write_file(sign, "x");
      return "starts";
    } catch (const Error& error) {
      return error.text();
    }
  }
  void lose_state() {
    for (const char* end : {"", "-wal"}) std::filesystem::remove(place.state_file + end);
  }
  std::string mark() { return os::find_file(place.mark_file).value_or("none"); }

  std::string directory;
  StorePlace place;
  SeededIds ids{7};
};

class StoreMark : public ::testing::Test, protected MarkedSite {};

TEST_F(StoreMark, AStateThatIsThereIsNoMatter) {
  EXPECT_EQ(start(), "starts");
  EXPECT_EQ(start(), "starts");
  EXPECT_EQ(mark().size(), 37U);
}

TEST_F(StoreMark, AMissingStateIsRefusedWithWhatToDo) {
  start();
  lose_state();
  const auto text = start();
  EXPECT_THAT(text, HasSubstr("the server's state is gone: '" + place.state_file + "' is missing"));
  EXPECT_THAT(text, HasSubstr("-new-cluster"));
  EXPECT_THAT(text, HasSubstr("operator snapshot restore"));
  EXPECT_FALSE(os::exists(place.state_file)) << "nothing was made";
}

TEST_F(StoreMark, AnEmptyOneLikewise) {
  start();
  lose_state();
  std::ofstream(place.state_file).close();
  EXPECT_THAT(start(), HasSubstr("is empty"));
}

TEST_F(StoreMark, ADatabaseInWhichNothingEverWasLikewise) {
  start();
  lose_state();
  {
    store::SqliteStore store(place.state_file);
  }
  EXPECT_THAT(start(), HasSubstr("has nothing in it"));
}

TEST_F(StoreMark, TheKeysAloneTellThatThereWasOne) {
  start();
  lose_state();
  std::filesystem::remove(place.mark_file);
  EXPECT_THAT(start(), HasSubstr("server/key"));
}

TEST_F(StoreMark, AnotherClustersStateIsRefused) {
  start();
  MarkedSite other;
  other.ids = SeededIds{8};
  other.start();
  lose_state();
  std::filesystem::copy_file(other.place.state_file, place.state_file);
  EXPECT_THAT(start(), HasSubstr("is another cluster's"));
  std::filesystem::remove(place.mark_file);
  EXPECT_EQ(start(), "starts") << "if it is meant";
}

TEST_F(StoreMark, ANewClusterIsBegunOnPurposeAndOnlyWhereTheStateIsGone) {
  start();
  EXPECT_THAT(start(true), HasSubstr("-new-cluster is for a server whose state is gone"));
  lose_state();
  EXPECT_EQ(start(true), "starts");
  EXPECT_EQ(start(), "starts");
  EXPECT_THAT(start(true), HasSubstr("has one, of revision"));
}

TEST_F(StoreMark, AFirstStartThatWasKilledAnywhereGoesOn) {
  os::make_directories(directory + "/server");
  std::ofstream(place.state_file).close();  // made, and nothing written yet
  EXPECT_EQ(start(false, false), "starts");
  std::filesystem::remove(place.mark_file);  // killed before it got its mark
  EXPECT_EQ(start(), "starts");
  EXPECT_EQ(mark().size(), 37U);
}

TEST_F(StoreMark, ANewClusterWhoseFirstStartWasKilledIsBegunByTheSameFlag) {
  start();
  lose_state();
  extend_mark(place.mark_file, "11111111-0000-4000-8000-000000000000");  // killed before the store got its id
  EXPECT_THAT(start(), HasSubstr("is gone"));
  EXPECT_EQ(start(true), "starts");
  EXPECT_EQ(start(), "starts");
}

TEST_F(StoreMark, AStateOfAVersionThatGaveNoIdGetsOne) {
  {
    store::SqliteStore store(place.state_file);
    store::Transaction transaction;
    transaction.then.emplace_back(store::Put{"x/anything", "1"});
    store.commit_and_wait(std::move(transaction));
  }
  for (const auto& sign : place.signs) os::write_file(sign, "x");
  EXPECT_EQ(start(), "starts");
  lose_state();
  EXPECT_THAT(start(), HasSubstr("is gone"));
}

TEST_F(StoreMark, ARestoredClusterBelongsHereToo) {
  start();
  const std::string own(mark());
  extend_mark(place.mark_file, "22222222-0000-4000-8000-000000000000");
  extend_mark(place.mark_file, "22222222-0000-4000-8000-000000000000");
  EXPECT_EQ(mark(), own + "22222222-0000-4000-8000-000000000000\n");
  EXPECT_EQ(start(), "starts");
}

}  // namespace
}  // namespace underway::server::testing

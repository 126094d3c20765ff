// Which numbers of the host containers get, and that no two get the same.
#include "pod/ids.hpp"

#include <unistd.h>

#include <set>
#include <thread>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::pod {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

UserNamespace automatic(std::uint32_t size) { return {.mode = UserNamespace::Mode::automatic, .size = size}; }

std::string failure(const UserNamespace& wanted, const IdPool& pool, const std::vector<IdMaps>& held) {
  try {
    allot_ids(wanted, pool, held);
  } catch (const Error& e) {
    return std::string(to_string(e.code())) + ": " + e.text();
  }
  return "allotted";
}

TEST(Ids, ComeFromTheEntriesOfContainersElseFromTheNodesOwn) {
  const auto pool =
      pool_of("alice:100000:65536\ncontainers:300000:10\ncontainers:200000:5\ncontainers:200003:7\ncontainers:x:1\n",
              "containers:2147483647:2147483648");
  EXPECT_THAT(pool.uids, ElementsAre(IdSpan{200000, 10}, IdSpan{300000, 10}));
  EXPECT_THAT(pool.gids, ElementsAre(IdSpan{2147483647, 2147483648}));
  EXPECT_THAT(pool_of("", "alice:100000:65536").uids, ElementsAre(kOwnIds));
  EXPECT_THAT(pool_of("", "alice:100000:65536").gids, ElementsAre(kOwnIds));
}

TEST(Ids, AreTheLowestThatNobodyHolds) {
  const IdPool pool{{{1000, 30}}, {{5000, 30}}};
  const auto first = allot_ids(automatic(10), pool, {});
  EXPECT_EQ(first, (IdMaps{{{0, 1000, 10}}, {{0, 5000, 10}}}));
  const auto second = allot_ids(automatic(10), pool, {first});
  EXPECT_EQ(second, (IdMaps{{{0, 1010, 10}}, {{0, 5010, 10}}}));
  EXPECT_EQ(allot_ids(automatic(10), pool, {second}), first) << "what was given back is there again";
  const auto third = allot_ids(automatic(5), pool, {first, second});
  EXPECT_EQ(allot_ids(automatic(20), pool, {second}).uids, (os::IdMap{{0, 1000, 10}, {10, 1020, 10}}))
      << "what is free need not lie together";
  EXPECT_EQ(failure(automatic(10), pool, {first, second, third}).substr(0, 10), "exhausted:");
  EXPECT_THAT(failure(automatic(10), pool, {first, second, third}), HasSubstr("needs 10, 5 of 30 are free"));
  EXPECT_THAT(failure(automatic(31), pool, {}), HasSubstr("/etc/subuid"));
}

TEST(Ids, ThatTheJobNamesAreTheseAndTheRestAroundThem) {
  const IdPool pool{{{1000, 30}}, {{5000, 30}}};
  auto wanted = automatic(10);
  wanted.uids = {{3, 42, 1}, {100, 1002, 2}};
  const auto maps = allot_ids(wanted, pool, {});
  EXPECT_EQ(maps.uids, (os::IdMap{{0, 1000, 2}, {2, 1004, 1}, {4, 1005, 6}, {3, 42, 1}, {100, 1002, 2}}));
  EXPECT_EQ(maps.gids, (os::IdMap{{0, 5000, 10}}));
  auto other = automatic(1);
  other.uids = {{0, 42, 1}};
  EXPECT_EQ(allot_ids(other, pool, {maps}).uids, other.uids) << "what is not handed out is for all who name it";
  other.uids = {{0, 1008, 1}};
  EXPECT_EQ(failure(other, pool, {maps}).substr(0, 9), "conflict:");
  EXPECT_THAT(failure(other, pool, {maps}), HasSubstr("users 1008 of the host"));
}

class Ledgers : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    ledger_.emplace(path_ + "/ledger");
  }
  void TearDown() override { os::remove_tree(path_); }
  IdMaps take(const std::string& run) {
    os::make_directories(path_ + "/" + run);
    return take_ids(automatic(65536), *ledger_, run, path_ + "/" + run);
  }

  std::string path_ = "/tmp/underway-ids-XXXXXX";
  std::optional<os::Ledger> ledger_;
};

TEST_F(Ledgers, RememberWhoHasWhichIdsAlsoForTheNextAgent) {
  const auto first = take("first"), second = take("second");
  EXPECT_NE(first.uids, second.uids);
  ledger_.reset();  // as by a kill: nothing was given back
  ledger_.emplace(path_ + "/ledger");
  const auto third = take("third");
  EXPECT_NE(third.uids, first.uids);
  EXPECT_NE(third.uids, second.uids);
  for (const auto& open : ledger_->unsettled("first")) ledger_->settle(open.id);
  EXPECT_EQ(take("fourth"), first);
}

TEST_F(Ledgers, FreeWhatAnAgentThatWasKilledWhileItClearedAwayDidNotGiveBack) {
  const auto first = take("first"), second = take("second");
  os::remove_tree(path_ + "/first");
  EXPECT_EQ(take("third"), first);
  EXPECT_TRUE(ledger_->unsettled("first").empty());
  EXPECT_FALSE(ledger_->unsettled("second").empty());
}

TEST_F(Ledgers, GiveNoTwoThatAskAtOnceTheSame) {
  std::vector<IdMaps> maps(16);
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < maps.size(); ++i)
      all.emplace_back([&, i] { maps[i] = take(fmt::format("run-{}", i)); });
  }
  std::set<std::uint32_t> uids, gids;
  for (const auto& each : maps) {
    ASSERT_EQ(each.uids.size(), 1U);
    EXPECT_EQ(each.uids[0].count, 65536U);
    uids.insert(each.uids[0].outside / 65536);
    gids.insert(each.gids[0].outside / 65536);
  }
  EXPECT_EQ(uids.size(), maps.size());
  EXPECT_EQ(gids.size(), maps.size());
}

TEST_F(Ledgers, HoldNothingOfNamespacesThatHaveEveryNumber) {
  const auto maps = take_ids({.mode = UserNamespace::Mode::keep_id}, *ledger_, "a", path_);
  EXPECT_TRUE(os::is_identity(maps.uids));
  EXPECT_EQ(os::find_outside(maps.uids, 0), 0U);
  EXPECT_TRUE(take_ids({}, *ledger_, "a", path_).uids.empty());
  EXPECT_TRUE(ledger_->unsettled().empty());
}

}  // namespace
}  // namespace underway::pod

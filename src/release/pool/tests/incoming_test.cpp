#include "pool/incoming.hpp"

#include "fixture.hpp"

namespace underway::pool {
namespace {

using testing::HasSubstr;

const std::string kText = [] {
  std::string out;
  for (int i = 0; i < 100'000; ++i) out += std::to_string(i);
  return out;
}();
const Wanted kWanted{.digest = digest_of(kText), .size = kText.size()};

TEST_F(Pools, ReceiveAFileInPiecesAndGoOnWhereTheyEnded) {
  const auto p = pool();
  {
    auto incoming = p.receive(kWanted);
    EXPECT_EQ(incoming.append(0, kText.substr(0, 1000)), 1000U);
    EXPECT_EQ(incoming.append(500, kText.substr(500, 1000)), 1500U) << "what is here is skipped";
    EXPECT_EQ(incoming.append(0, "other"), 1500U);
    EXPECT_THAT(failure_of([&] { incoming.append(1501, "x"); }), HasSubstr("1500 are here"));
    EXPECT_THAT(failure_of([&] { incoming.finish(); }), HasSubstr("1500 of"));
  }
  EXPECT_FALSE(p.has(kWanted.digest));
  auto incoming = pool().receive(kWanted);
  EXPECT_EQ(incoming.received(), 1500U);
  EXPECT_EQ(incoming.append(1500, kText.substr(1500)), kText.size());
  incoming.finish();
  EXPECT_EQ(text_of(p.open(kWanted.digest)), kText);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Pools, GiveNoNameToWhatWasNotVerified) {
  const auto p = pool();
  std::string changed = kText;
  changed[50'000] = static_cast<char>(changed[50'000] ^ 1);
  for (const bool resumed : {false, true}) {
    {
      auto incoming = p.receive(kWanted);
      incoming.append(0, changed.substr(0, 60'000));
      if (!resumed) incoming.append(60'000, std::string_view(changed).substr(60'000));
      if (!resumed) EXPECT_THAT(failure_of([&] { incoming.finish(); }), HasSubstr("is another file"));
    }
    if (resumed) {
      auto incoming = p.receive(kWanted);
      incoming.append(60'000, std::string_view(kText).substr(60'000));
      EXPECT_THAT(failure_of([&] { incoming.finish(); }), HasSubstr("is another file"))
          << "what was here is hashed as well";
    }
    EXPECT_FALSE(p.has(kWanted.digest));
    EXPECT_EQ(parts(), 0U) << "the next try starts anew";
  }
}

TEST_F(Pools, TakeNoMoreThanWasAnnounced) {
  const auto p = pool();
  auto incoming = p.receive({.digest = digest_of("abc"), .size = 3});
  for (const auto& [offset, bytes] :
       std::vector<std::pair<std::uint64_t, std::string>>{{0, "abcd"}, {4, ""}, {~std::uint64_t{0}, "ab"}, {3, "d"}})
    EXPECT_THAT(failure_of([&] { incoming.append(offset, bytes); }), HasSubstr("has 3 bytes")) << offset;
  EXPECT_EQ(incoming.received(), 0U);
  os::write_file(at("pool/incoming/") + to_hex(digest_of("x")) + "-1", "longer");
  EXPECT_EQ(p.receive({.digest = digest_of("x"), .size = 1}).received(), 0U) << "a part that is too long is none";
}

TEST_F(Pools, BeginAnewWithoutLettingGo) {
  const auto p = pool();
  auto incoming = p.receive(kWanted);
  incoming.append(0, "something else");
  incoming.restart();
  EXPECT_EQ(incoming.received(), 0U);
  EXPECT_THAT(failure_of([&] { p.receive(kWanted); }), HasSubstr("somebody else is receiving it"));
  incoming.append(0, kText);
  incoming.finish();
  EXPECT_EQ(text_of(p.open(kWanted.digest)), kText);
}

TEST_F(Pools, LetOneAtATimeReceiveAFile) {
  const auto p = pool();
  {
    auto incoming = p.receive(kWanted);
    EXPECT_THAT(failure_of([&] { pool().receive(kWanted); }), HasSubstr("somebody else is receiving it"));
    EXPECT_NE(status_of(in_child([&] { pool().receive(kWanted); })), 0);
    auto moved = std::move(incoming);
    EXPECT_THAT(failure_of([&] { p.receive(kWanted); }), HasSubstr("somebody else is receiving it"));
  }
  EXPECT_EQ(p.receive(kWanted).received(), 0U);
}

TEST_F(Pools, FindWhatArrivesThereAlready) {
  const auto p = pool();
  auto incoming = p.receive({.digest = digest_of("abc"), .size = 3});
  incoming.append(0, "abc");
  p.add_bytes("abc");
  const auto inode = inode_of(p.path_of(digest_of("abc")));
  incoming.finish();
  EXPECT_EQ(inode_of(p.path_of(digest_of("abc"))), inode);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Pools, ReceiveEmptyFilesAndForgetWhatIsDiscarded) {
  const auto p = pool();
  p.receive({.digest = digest_of(""), .size = 0}).finish();
  EXPECT_EQ(p.size(digest_of("")), 0U);
  auto incoming = p.receive(kWanted);
  incoming.append(0, "x");
  incoming.discard();
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Pools, GoOnWithAPartThatIsReadOnlyAlready) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes somebody else";
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(status_of(in_child([&] {
              if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
              const Wanted wanted{.digest = digest_of("abc"), .size = 3};
              const auto p = pool();
              p.receive(wanted).append(0, "abc");
              // As its process left it that was killed before the rename.
              ::chmod((at("pool/incoming/") + to_hex(wanted.digest) + "-3").c_str(), 0444);
              p.receive(wanted).finish();
              if (!p.has(wanted.digest)) ::_exit(3);
            })),
            0);
}

}  // namespace
}  // namespace underway::pool

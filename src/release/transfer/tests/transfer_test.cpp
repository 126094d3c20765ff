#include "transfer/transfer.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "transfer/testing/upstream_site.hpp"

namespace underway::transfer {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::UpstreamSite;

/// Takes it into memory, and says what it was told.
class Memory : public Receiver {
 public:
  explicit Memory(std::string promised = {}, std::string bytes = {})
      : promised_(std::move(promised)), bytes_(std::move(bytes)) {}
  std::uint64_t received() override { return bytes_.size(); }
  void take(std::string_view bytes) override { bytes_ += bytes; }
  void restart() override {
    bytes_.clear();
    ++restarts;
  }
  void finish() override {
    ++finished;
    if (!promised_.empty() && bytes_ != promised_) throw Error(Code::invalid, "these are other bytes");
  }
  const std::string& bytes() const { return bytes_; }
  int restarts = 0, finished = 0;

 private:
  std::string promised_, bytes_;
};

std::string noise(std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>('a' + i * i % 23);
  return out;
}

class Transfers : public ::testing::Test {
 protected:
  Transfer open(unsigned tries = 4) const {
    return Transfer({.url = site_.url() + "/", .proxy = "", .tries = tries, .pause = milliseconds(1)});
  }
  std::string refusal(const std::string& path, std::size_t limit = 1 << 20) const {
    try {
      open().get(path, limit);
      return "it came";
    } catch (const Error& error) {
      return std::string(to_string(error.code())) + " " + error.one_line();
    }
  }
  mutable UpstreamSite site_;
};

TEST_F(Transfers, WhatHasNotChangedIsNotSentAgain) {
  site_.put("dists/a/InRelease", "one");
  auto transfer = open();
  const auto first = transfer.get("dists/a/InRelease", 100);
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.bytes, "one");
  EXPECT_FALSE(transfer.get("dists/a/InRelease", 100, first.known).changed);
  EXPECT_THAT(site_.asked(), ElementsAre("dists/a/InRelease", "dists/a/InRelease 304"));
  site_.put("dists/a/InRelease", "two");
  EXPECT_EQ(transfer.get("dists/a/InRelease", 100, first.known).bytes, "two");
}

TEST_F(Transfers, WhatCannotBeHadIsToldWithTheReason) {
  site_.put("large", noise(101));
  site_.put("secret", "x", {.failures = 1, .status = 403});
  site_.put("away", "x", {.failures = 100});
  site_.put("round", "x", {.redirect = "/up/round"});
  site_.put("out", "x", {.redirect = "file:///etc/passwd"});
  EXPECT_THAT(refusal("nothing"), HasSubstr("not_found cannot fetch '" + site_.url() + "/nothing'"));
  EXPECT_THAT(refusal("large", 100), HasSubstr("too_large"));
  EXPECT_THAT(refusal("secret"), HasSubstr("denied"));
  EXPECT_THAT(refusal("round"), HasSubstr("redirects"));
  EXPECT_THAT(refusal("out"), HasSubstr("Protocol \"file\" not supported"));
  site_.asked();
  EXPECT_THAT(refusal("away"), HasSubstr("unavailable"));
  EXPECT_THAT(site_.asked(), SizeIs(4)) << "it was tried again";
}

TEST_F(Transfers, AServerThatIsBusyIsAskedAgain) {
  site_.put("busy", "here", {.failures = 2, .status = 429});
  EXPECT_EQ(open().get("busy", 100).bytes, "here");
}

TEST_F(Transfers, APathMayHaveCharactersThatAUrlMayNot) {
  site_.put("pool/a_1.0~rc1+b2%20:x y.deb", "it");
  EXPECT_EQ(open().get("pool/a_1.0~rc1+b2%20:x y.deb", 10).bytes, "it");
}

TEST_F(Transfers, ManyComeAtOnceAndOneThatFailsKeepsNoOtherFromComing) {
  std::vector<std::string> texts;
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < 40; ++i) {
    texts.push_back(noise(1000 + i * 997));
    const auto path = fmt::format("pool/{}.deb", i);
    if (i != 7) site_.put(path, texts.back());
    memories.push_back(std::make_unique<Memory>(i == 9 ? "something else" : texts.back()));
    wanted.push_back({path, texts.back().size() - (i == 11 ? 1 : 0), memories.back().get()});
  }
  std::size_t last = 0;
  const auto failures = open().fetch(wanted, 20, [&](std::uint64_t, std::size_t files) {
    last = files;
    return true;
  });
  ASSERT_THAT(failures, SizeIs(3));
  EXPECT_EQ(failures[0].index, 7U);
  EXPECT_EQ(failures[0].error.code(), Code::not_found);
  EXPECT_EQ(failures[1].index, 9U);
  EXPECT_EQ(failures[1].error.message(), "these are other bytes");
  EXPECT_EQ(failures[2].index, 11U);
  EXPECT_EQ(failures[2].error.code(), Code::too_large);
  EXPECT_EQ(last, 37U);
  for (std::size_t i = 12; i < 40; ++i) EXPECT_EQ(memories[i]->bytes(), texts[i]);
}

TEST_F(Transfers, ALineThatBreaksIsGoneOnWithWhereItBroke) {
  const auto text = noise(100'000);
  site_.put("a.deb", text, {.broken = 2});
  Memory memory(text);
  EXPECT_THAT(open().fetch({{"a.deb", text.size(), &memory}}), IsEmpty());
  EXPECT_EQ(memory.restarts, 0);
  EXPECT_EQ(memory.finished, 1);
  EXPECT_THAT(site_.asked(), ElementsAre("a.deb", "a.deb Range=bytes=50000-", "a.deb Range=bytes=75000-"));
}

TEST_F(Transfers, OfWhatIsThereFromBeforeOnlyTheRestIsAskedFor) {
  const auto text = noise(10'000);
  site_.put("a.deb", text);
  Memory half(text, text.substr(0, 4000)), whole(text, text), more(text, text + "x");
  EXPECT_THAT(open().fetch({{"a.deb", text.size(), &half}}), IsEmpty());
  EXPECT_THAT(site_.asked(), ElementsAre("a.deb Range=bytes=4000-"));
  EXPECT_THAT(open().fetch({{"a.deb", text.size(), &whole}}), IsEmpty());
  EXPECT_THAT(site_.asked(), IsEmpty());
  EXPECT_THAT(open().fetch({{"a.deb", text.size(), &more}}), IsEmpty());
  EXPECT_EQ(more.restarts, 1) << "that cannot be the beginning of it";
}

TEST_F(Transfers, AServerWithoutRangesSendsAllOfItAgain) {
  const auto text = noise(10'000);
  site_.put("a.deb", text, {.ranges = false});
  Memory half(text, text.substr(0, 4000));
  EXPECT_THAT(open().fetch({{"a.deb", text.size(), &half}}), IsEmpty());
  EXPECT_EQ(half.bytes(), text);
  EXPECT_EQ(half.restarts, 1);
}

TEST_F(Transfers, AnAnswerThatSaysNothingIsThereIsNobodysFile) {
  const auto text = noise(100);
  site_.put("a.deb", text, {.failures = 1, .status = 500});
  Memory memory(text);
  const auto failures = open().fetch({{"a.deb", text.size(), &memory}});
  ASSERT_THAT(failures, SizeIs(1));
  EXPECT_THAT(failures[0].error.one_line(), HasSubstr("the server answers 500"));
  EXPECT_THAT(memory.bytes(), IsEmpty());
}

TEST_F(Transfers, AServerThatSendsALittleNowAndThenIsNotWaitedForForEver) {
  const auto text = noise(1000);
  site_.put("a.deb", text, {.trickles = true});
  Memory memory(text);
  Transfer transfer(
      {.url = site_.url(), .proxy = "", .longest = milliseconds(300), .tries = 2, .pause = milliseconds(1)});
  const auto failures = transfer.fetch({{"a.deb", text.size(), &memory}});
  ASSERT_THAT(failures, SizeIs(1));
  EXPECT_EQ(failures[0].error.code(), Code::timeout);
  EXPECT_GT(memory.bytes().size(), 0U) << "what has come stays, for the next time";
  EXPECT_THROW(transfer.get("a.deb", 10'000), Error);
}

TEST_F(Transfers, AServerThatHasNoneOfItIsNotAskedForAll) {
  std::vector<Memory> memories(200);
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < memories.size(); ++i) wanted.push_back({fmt::format("{}.deb", i), 10, &memories[i]});
  EXPECT_LT(open().fetch(wanted, 5).size(), 30U);
  EXPECT_LT(site_.asked().size(), 30U);
}

TEST_F(Transfers, ADirectoryIsAServerToo) {
  const auto directory = std::filesystem::temp_directory_path() / fmt::format("underway-transfer-{}", ::getpid());
  std::filesystem::create_directories(directory);
  const auto text = noise(5000);
  std::ofstream(directory / "a b.deb") << text;
  Transfer transfer({.url = "file://" + directory.string(), .proxy = ""});
  const auto found = transfer.get("a b.deb", 10'000);
  EXPECT_EQ(found.bytes, text);
  EXPECT_FALSE(transfer.get("a b.deb", 10'000, found.known).changed);
  EXPECT_THROW(transfer.get("nothing", 10), Error);
  Memory half(text, text.substr(0, 1234));
  EXPECT_THAT(transfer.fetch({{"a b.deb", text.size(), &half}}), IsEmpty());
  EXPECT_EQ(half.restarts, 0);
  std::filesystem::remove_all(directory);
}

TEST_F(Transfers, EndWhenNobodyWantsThemAnyMore) {
  std::vector<Memory> memories(50);
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    site_.put(fmt::format("{}.deb", i), noise(1000));
    wanted.push_back({fmt::format("{}.deb", i), 1000, &memories[i]});
  }
  std::size_t calls = 0;
  EXPECT_THAT(open().fetch(wanted, 20, [&](auto, auto) { return ++calls < 2; }), IsEmpty());
  EXPECT_LE(site_.asked().size(), 40U);
}

}  // namespace
}  // namespace underway::transfer

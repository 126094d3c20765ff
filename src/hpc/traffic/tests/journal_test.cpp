#include "traffic/journal.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "traffic/reading.hpp"
#include "traffic/testing/bed.hpp"

namespace underway::traffic::testing {
namespace {

class Journals : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name = "a.journal") const { return directory_ + "/" + name; }
  static std::string bytes(const std::string& file) { return os::read_file(file, 1U << 28); }
  static void write(const std::string& file, const std::string& content) {
    os::write_file(file, content, 0600, {}, os::Durability::cached);
  }

  /// The bed through a surveyor into a journal, `packets` at a time.
  static Surveyor record(const Bed& bed, Journal& journal, std::size_t packets) {
    Surveyor surveyor(parse_surveyed({mac_text(bed.server.mac), "10.1.0.1/16"}));
    const auto all = bed.wire.packets();
    for (std::size_t at = 0; at < all.size(); at += packets) {
      const auto part = std::span(all).subspan(at, std::min(packets, all.size() - at));
      surveyor.add(part);
      surveyor.fold(part.back().time);
      journal.append(surveyor.tally());
    }
    surveyor.end();
    journal.append(surveyor.tally());
    return surveyor;
  }
  Traffic read(const std::vector<std::string>& files) const { return read_traffic(files, {}); }

  std::string directory_ = "/tmp/survey_journal_test.XXXXXX";
};

TEST_F(Journals, HoldsTheSameSurveyAsTheCapture) {
  const Bed bed = make_bed();
  {
    Journal journal(path(), "bed", parse_surveyed({mac_text(bed.server.mac), "10.1.0.1/16"}));
    record(bed, journal, 500);
  }
  const Traffic expect = bed_traffic(bed);
  const Traffic found = read({path()});
  EXPECT_TRUE(found.problems.empty());
  EXPECT_EQ(found.sources, (std::vector<std::string>{"bed"}));
  EXPECT_EQ(found.packets, expect.packets);
  EXPECT_EQ(found.surveyed_addresses, expect.surveyed_addresses);
  EXPECT_EQ(found.local_networks, expect.local_networks);
  EXPECT_FALSE(found.inferred);
  ASSERT_EQ(found.flows.size(), expect.flows.size());
  for (std::size_t i = 0; i < found.flows.size(); ++i)
    EXPECT_TRUE(describe::equal(found.flows[i], expect.flows[i])) << door(found.flows[i]);
  EXPECT_TRUE(describe::equal(found.stations, expect.stations));
}

TEST_F(Journals, IsForItsOwnerOnlyAndHasOneWriter) {
  const Journal journal(path(), "x", {});
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  try {
    const Journal second(path(), "y", {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::conflict);
  }
}

TEST_F(Journals, ATornTailIsSkippedAndWrittenOver) {
  const Bed bed = make_bed(2, 1);
  {
    Journal journal(path(), "bed", {});
    record(bed, journal, 200);
  }
  const std::string whole = bytes(path());
  const Traffic all = read({path()});
  for (const std::size_t cut : {std::size_t{1}, std::size_t{5}, std::size_t{100}}) {
    write(path("torn"), whole.substr(0, whole.size() - cut));
    const Traffic torn = read({path("torn")});
    EXPECT_LT(torn.packets, all.packets + 1);
    ASSERT_EQ(torn.problems.size(), 1U);
    EXPECT_THAT(torn.problems[0], ::testing::HasSubstr("no whole record"));
    Journal again(path("torn"), "bed", {});
    Tally tally;
    tally.seen().packets = 7;
    again.append(tally);
    const Traffic mended = read({path("torn")});
    EXPECT_TRUE(mended.problems.empty());
    EXPECT_EQ(mended.packets, torn.packets + 7);
  }
}

TEST_F(Journals, ADamagedRecordCostsItselfOnly) {
  {
    Journal journal(path(), "x", {});
    for (int i = 0; i < 3; ++i) {
      Tally tally;
      tally.seen().packets = 10;
      journal.append(tally);
    }
  }
  std::string content = bytes(path());
  content[content.size() / 2] ^= 0x40;
  write(path(), content);
  const Traffic traffic = read({path()});
  EXPECT_EQ(traffic.packets, 20);
  EXPECT_EQ(traffic.problems.size(), 1U);
}

TEST_F(Journals, NoPrefixAndNoFlippedByteHarms) {
  const Bed bed = make_bed(2, 1);
  {
    Journal journal(path(), "bed", {});
    record(bed, journal, 5000);
  }
  const std::string whole = bytes(path());
  for (std::size_t size = 10; size < whole.size(); size += 97) {
    write(path("b"), whole.substr(0, size));
    read({path("b")});
  }
  // Past the checksum: what a record may hold is not believed either.
  Surveyor surveyor(parse_surveyed({"10.1.0.1/16"}));
  surveyor.add(bed.wire.packets());
  surveyor.end();
  const std::string record = encode_record(surveyor.tally(), {{"x"}, surveyor.surveyed(), {}});
  for (std::size_t at = 0; at < record.size(); ++at) {
    std::string bad = record;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    Tally tally;
    JournalNotes notes;
    try {
      decode_record(bad, tally, notes);
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == Code::invalid || e.code() == Code::unsupported);
    }
  }
}

TEST_F(Journals, IsSummedUpWhenItGrowsTooLarge) {
  const Bed bed = make_bed(2, 1);
  const Surveyed surveyed = parse_surveyed({mac_text(bed.server.mac), "10.1.0.1/16"});
  std::uint64_t size = 0;
  {
    Journal journal(path(), "bed", surveyed, 10'000);
    record(bed, journal, 20);
    size = journal.size();
  }
  EXPECT_LT(size, 20'000U);
  EXPECT_EQ(size, bytes(path()).size());
  const Traffic expect = bed_traffic(bed);
  const Traffic found = read({path()});
  EXPECT_TRUE(found.problems.empty());
  EXPECT_EQ(found.packets, expect.packets);
  ASSERT_EQ(found.flows.size(), expect.flows.size());
  for (std::size_t i = 0; i < found.flows.size(); ++i)
    EXPECT_TRUE(describe::equal(found.flows[i], expect.flows[i])) << door(found.flows[i]);
}

TEST_F(Journals, AddUpWithEachOtherAndWithCaptures) {
  const Bed bed = make_bed(2, 1);
  const Surveyed surveyed = parse_surveyed({mac_text(bed.server.mac), "10.1.0.1/16"});
  {
    Journal journal(path(), "prov0", surveyed);
    record(bed, journal, 1000);
    Journal other(path("b"), "prov1", surveyed);
    record(bed, other, 1000);
  }
  write(path("c.pcap"), bed.wire.pcap());
  const Traffic once = bed_traffic(bed);
  const Traffic thrice = read({path(), path("b"), path("c.pcap")});
  EXPECT_EQ(thrice.packets, 3 * once.packets);
  EXPECT_EQ(thrice.sources, (std::vector<std::string>{"prov0", "prov1", path("c.pcap")}));
  const auto flow = flow_at(once, Part::serves, Protocol::tcp, 9873);
  const auto three = flow_at(thrice, Part::serves, Protocol::tcp, 9873);
  EXPECT_EQ(three.opens, 3 * flow.opens);
  EXPECT_EQ(three.client_count, flow.client_count);
  EXPECT_EQ(three.opened.median, flow.opened.median);
}

TEST_F(Journals, CapturesOfAllFormsGiveTheSameSurvey) {
  const Bed bed = make_bed(2, 1);
  const Traffic expect = bed_traffic(bed);
  write(path("a"), bed.wire.pcap());
  write(path("b"), bed.wire.pcap({.swapped = true, .nanoseconds = false}));
  write(path("c"), bed.wire.pcapng({.swapped = true}, 17));
  for (const auto* name : {"a", "b", "c"}) {
    SCOPED_TRACE(name);
    const Traffic found = read({path(name)});
    EXPECT_EQ(found.packets, expect.packets);
    EXPECT_TRUE(found.inferred);
    EXPECT_EQ(found.lost, std::string_view(name) == "c" ? 17 : 0);
    ASSERT_EQ(found.flows.size(), expect.flows.size());
    EXPECT_EQ(flow_at(found, Part::serves, Protocol::tcp, 9873).opens,
              flow_at(expect, Part::serves, Protocol::tcp, 9873).opens);
  }
}

TEST_F(Journals, WhatIsNoJournalIsSaidToBeNone) {
  write(path(), "hello, world, this is no journal");
  EXPECT_FALSE(is_journal(path()));
  EXPECT_THROW(Journal(path(), "x", {}), Error);
  EXPECT_THROW(read({path()}), Error);
  EXPECT_THROW(read({path("none")}), Error);
}

}  // namespace
}  // namespace underway::traffic::testing

#include "net/capture_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::net {
namespace {

std::string number(std::uint64_t value, std::size_t bytes, bool big) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * (big ? bytes - 1 - i : i)));
  return text;
}

std::string pcap_header(bool big = false, std::uint32_t magic = 0xa1b2c3d4) {
  return number(magic, 4, big) + number(2, 2, big) + number(4, 2, big) + std::string(8, '\0') + number(65'535, 4, big) +
         number(kLinkEthernet, 4, big);
}
std::string pcap_packet(std::uint32_t seconds, std::uint32_t fraction, const std::string& bytes, bool big = false) {
  return number(seconds, 4, big) + number(fraction, 4, big) + number(bytes.size(), 4, big) +
         number(bytes.size() + 100, 4, big) + bytes;
}

std::string block(std::uint32_t type, std::string body, bool big = false) {
  body.resize((body.size() + 3) / 4 * 4);
  const std::string length = number(body.size() + 12, 4, big);
  return number(type, 4, big) + length + body + length;
}
std::string section(bool big = false) {
  return block(0x0a0d0d0a, number(0x1a2b3c4d, 4, big) + number(1, 2, big) + number(0, 2, big) + std::string(8, '\xff'),
               big);
}
/// `resolution` as if_tsresol has it; `offset` in seconds.
std::string interface(bool big = false, std::uint8_t resolution = 6, std::int64_t offset = 0,
                      std::uint16_t link = kLinkEthernet, std::uint32_t snap = 0) {
  return block(1,
               number(link, 2, big) + number(0, 2, big) + number(snap, 4, big) + number(9, 2, big) + number(1, 2, big) +
                   std::string{static_cast<char>(resolution), 0, 0, 0} + number(14, 2, big) + number(8, 2, big) +
                   number(static_cast<std::uint64_t>(offset), 8, big) + number(0, 4, big),
               big);
}
std::string enhanced(std::uint32_t index, std::uint64_t time, const std::string& bytes, bool big = false) {
  return block(6,
               number(index, 4, big) + number(time >> 32U, 4, big) + number(time & 0xffff'ffffU, 4, big) +
                   number(bytes.size(), 4, big) + number(bytes.size() + 7, 4, big) + bytes,
               big);
}

struct Read {
  std::vector<std::int64_t> times;
  std::vector<std::string> bytes;
  std::string problem;
  std::uint64_t lost = 0;
};

CaptureFile in_memory(const std::string& content) { return {os::sealed_memory("capture", content), "a.pcap"}; }

Read read_all(CaptureFile file) {
  Read read;
  std::array<Packet, 3> batch;
  while (const std::size_t count = file.next(batch)) {
    for (std::size_t i = 0; i < count; ++i) {
      read.times.push_back(batch[i].time);
      read.bytes.emplace_back(reinterpret_cast<const char*>(batch[i].data), batch[i].captured);
    }
  }
  read.problem = file.problem();
  read.lost = file.lost();
  return read;
}
Read read_all(const std::string& content) { return read_all(in_memory(content)); }

using Times = std::vector<std::int64_t>;
using Bytes = std::vector<std::string>;

TEST(CaptureFile, ReadsPcapOfBothByteOrdersAndBothUnits) {
  for (const bool big : {false, true}) {
    const Read micro = read_all(pcap_header(big) + pcap_packet(7, 5, "abc", big) + pcap_packet(8, 999'999, "", big));
    EXPECT_EQ(micro.times, (Times{7'000'005'000, 8'999'999'000}));
    EXPECT_EQ(micro.bytes, (Bytes{"abc", ""}));
    EXPECT_EQ(micro.problem, "");
    const Read nano = read_all(pcap_header(big, 0xa1b23c4d) + pcap_packet(7, 5, "x", big));
    EXPECT_EQ(nano.times, (Times{7'000'000'005}));
  }
}

TEST(CaptureFile, ReadsPcapngWithSectionsOfDifferentByteOrders) {
  const std::string first = section() + interface() + enhanced(0, 1'000'001, "one");
  const std::string second = section(true) + interface(true, 9) + enhanced(0, 2'000'000'002, "two", true);
  const Read read = read_all(first + second);
  EXPECT_EQ(read.times, (Times{1'000'001'000, 2'000'000'002}));
  EXPECT_EQ(read.bytes, (Bytes{"one", "two"}));
  EXPECT_EQ(read.problem, "");
}

TEST(CaptureFile, ReadsPcapngInEveryResolution) {
  struct Case {
    std::uint8_t resolution;
    std::int64_t offset;
    std::uint64_t units;
    std::int64_t expect;
  };
  for (const auto& c : std::vector<Case>{{0, 0, 3, 3'000'000'000},
                                         {3, 0, 1'500, 1'500'000'000},
                                         {9, 100, 5, 100'000'000'005},
                                         {12, 0, 7'000, 7},
                                         {0x80 | 10, 0, 512, 500'000'000},
                                         {9, -5, 1, 0},
                                         {0xff, 0, ~0ULL, 1'999'999'999},
                                         {0, 0, ~0ULL, std::numeric_limits<std::int64_t>::max()}}) {
    SCOPED_TRACE(static_cast<int>(c.resolution));
    EXPECT_EQ(read_all(section() + interface(false, c.resolution, c.offset) + enhanced(0, c.units, "x")).times,
              (Times{c.expect}));
  }
}

TEST(CaptureFile, ReadsSeveralInterfacesSimpleAndOldBlocksAndSkipsOthers) {
  const std::string simple = block(3, number(5, 4, false) + "hello");
  const std::string old = block(2, number(1, 2, false) + number(3, 2, false) + number(0, 4, false) +
                                       number(9, 4, false) + number(2, 4, false) + number(2, 4, false) + "ok");
  const Read read = read_all(section() + interface(false, 6, 0, kLinkEthernet, 3) + interface(false, 0) +
                             block(0x0bad, std::string(500'000, 'n')) + enhanced(1, 4, "y") + simple + old);
  EXPECT_EQ(read.bytes, (Bytes{"y", "hel", "ok"})) << "a simple block is cut to the interface's length";
  EXPECT_EQ(read.times, (Times{4'000'000'000, 4'000'000'000, 9'000'000'000}));
  EXPECT_EQ(read.lost, 3U) << "as the old block tells";
  EXPECT_EQ(read.problem, "");
}

TEST(CaptureFile, TellsWhatTheCapturingProgramLost) {
  const auto statistics = [](std::uint64_t lost) {
    return block(5, number(0, 4, false) + number(0, 8, false) + number(5, 2, false) + number(8, 2, false) +
                        number(lost, 8, false) + number(0, 4, false));
  };
  EXPECT_EQ(read_all(section() + interface() + statistics(3) + statistics(11)).lost, 11U) << "counters run";
  EXPECT_EQ(read_all(section() + interface() + statistics(3) + section() + interface() + statistics(4)).lost, 7U);
}

TEST(CaptureFile, UsesWhatItReadBeforeTheDamageAndSaysWhere) {
  const std::string pcap = pcap_header() + pcap_packet(1, 0, "abc");
  const std::string ng = section() + interface() + enhanced(0, 1, "abc");
  struct Case {
    std::string content, problem;
  };
  const std::vector<Case> cases = {
      {pcap + pcap_packet(2, 0, "abcdef").substr(0, 18),
       "a.pcap: ends in the middle of a packet of 6 bytes, at offset 43"},
      {pcap + "1234567", "a.pcap: ends in the middle of a packet's header, at offset 43"},
      {pcap + std::string(16, '\xff'),
       "a.pcap: a packet claims 4294967295 bytes, more than any can have, at offset 43"},
      {ng + enhanced(0, 2, "more").substr(0, 20),
       fmt::format("a.pcap: ends in the middle of a block of 36 bytes, at offset {}", ng.size())},
      {ng + "abc", fmt::format("a.pcap: ends in the middle of a block, at offset {}", ng.size())},
      {ng + enhanced(7, 2, "x"),
       fmt::format("a.pcap: a packet is of interface 7, and 1 were described, at offset {}", ng.size())},
      {ng + std::string(40, '\0'), fmt::format("a.pcap: a block claims to be 0 bytes long, at offset {}", ng.size())},
      {ng + number(6, 4, false) + number(0x7fff'fffc, 4, false) + std::string(99, 'x'),
       fmt::format("a.pcap: a block of type 6 claims to be 2147483644 bytes long, at offset {}", ng.size())},
      {ng + number(99, 4, false) + number(4000, 4, false) + std::string(99, 'x'),
       fmt::format("a.pcap: ends in the middle of a block, at offset {}", ng.size() + 107)},
  };
  for (const auto& c : cases) {
    const Read read = read_all(c.content);
    EXPECT_EQ(read.bytes, (Bytes{"abc"}));
    EXPECT_EQ(read.problem, c.problem);
  }
}

TEST(CaptureFile, SaysWhatAFileIsThatIsNoCapture) {
  const auto message = [](const std::string& content) -> std::string {
    try {
      read_all(content);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::invalid);
      return e.one_line();
    }
    return "accepted";
  };
  EXPECT_THAT(message(""), testing::HasSubstr("it is empty"));
  EXPECT_THAT(message("\x1f\x8b\x08" + std::string(50, '\0')), testing::HasSubstr("compressed by gzip"));
  EXPECT_THAT(message("#!/bin/sh and so on and so on"), testing::HasSubstr("it begins with 23 21 2f 62 69 6e"));
  EXPECT_THAT(message(pcap_header().substr(0, 20)), testing::HasSubstr("it begins with d4 c3 b2 a1"));
}

/// Ten gigabytes through a pipe: the reader's memory is its window, whatever comes.
TEST(CaptureFile, StreamsFromAPipeWithBoundedMemory) {
  auto pipe = os::open_pipe();
  constexpr int packets = 200'000;
  std::thread writer([&] {
    std::string chunk;
    os::write_all(pipe.write, pcap_header(), "pipe");
    for (int i = 0; i < packets; ++i) {
      chunk += pcap_packet(static_cast<std::uint32_t>(i), 0, std::string(static_cast<std::size_t>(i % 1400), 'x'));
      if (chunk.size() > 500'000) {
        os::write_all(pipe.write, chunk, "pipe");
        chunk.clear();
      }
    }
    os::write_all(pipe.write, chunk, "pipe");
    pipe.write.reset();
  });
  CaptureFile file(std::move(pipe.read), "pipe");
  std::array<Packet, 64> batch;
  std::int64_t seen = 0;
  std::uint64_t bytes = 0;
  while (const std::size_t count = file.next(batch)) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(batch[i].time, seen * 1'000'000'000);
      ASSERT_EQ(batch[i].captured, seen % 1400);
      bytes += batch[i].captured;
      ++seen;
    }
  }
  writer.join();
  EXPECT_EQ(seen, packets);
  EXPECT_EQ(file.problem(), "");
  EXPECT_EQ(file.offset(), 24U + 16U * packets + bytes);
}

class Files : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string file(const std::string& name, const std::string& content) const {
    os::write_file(directory_ + "/" + name, content, 0600, {}, os::Durability::cached);
    return directory_ + "/" + name;
  }
  std::string directory_ = "/tmp/capture_file_test.XXXXXX";
};

TEST_F(Files, AreReadInTheOrderOfTimeHoweverTheyAreNamed) {
  std::string even = pcap_header();
  std::string odd = pcap_header();
  for (std::uint32_t second = 10; second < 500; ++second)
    (second % 2 == 0 ? even : odd) += pcap_packet(second, 0, std::to_string(second));
  const std::string early = section() + interface() + enhanced(0, 5'000'000, "5");
  CaptureFiles files({file("odd", odd), file("even", even), file("empty", pcap_header()), file("early", early)});
  std::array<Packet, 16> batch;
  std::int64_t expect = 5;
  while (const std::size_t count = files.next(batch)) {
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(batch[i].time, expect * 1'000'000'000);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(batch[i].data), batch[i].captured), std::to_string(expect));
      expect = expect == 5 ? 10 : expect + 1;
    }
  }
  EXPECT_EQ(expect, 500);
  EXPECT_TRUE(files.problems().empty());
}

TEST_F(Files, OneThatIsDamagedDoesNotKeepTheOthersFromBeingRead) {
  CaptureFiles files({file("torn", pcap_header() + pcap_packet(1, 0, "a") + "xx"),
                      file("whole", pcap_header() + pcap_packet(2, 0, "b"))});
  std::array<Packet, 16> batch;
  std::size_t packets = 0;
  while (const std::size_t count = files.next(batch)) packets += count;
  EXPECT_EQ(packets, 2U);
  ASSERT_EQ(files.problems().size(), 1U);
  EXPECT_THAT(files.problems()[0], testing::HasSubstr("torn: ends in the middle"));
}

TEST_F(Files, MustExist) { EXPECT_THROW(CaptureFiles({directory_ + "/none"}), Error); }

}  // namespace
}  // namespace underway::net

#include "slurm/elastic/look.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>

namespace underway::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// What the words print here.
std::string run(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) {
    line += " '";
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  std::string out;
  std::array<char, 4096> part{};
  FILE* said = ::popen(line.c_str(), "r");
  while (const auto n = std::fread(part.data(), 1, part.size(), said)) out.append(part.data(), n);
  EXPECT_EQ(::pclose(said), 0) << line;
  return out;
}

const TimePoint kAsked{seconds(1'800'000'000)};

TEST(HostLook, IsReadWithTheClockInTheMiddle) {
  const auto look = parse_look(
      "clock 1800000013.500000000\nadmitted\nboot 7c1d5a0e-2f43-4a7b-9a35-0f8e2f9b6d11\nmemory 7821\ncpus "
      "4\nconfiguration 0123456789abcdef\nmount /home\n"
      "program /usr/sbin/slurmd\n",
      kAsked, kAsked + seconds(3));
  EXPECT_EQ(look.report.clock_ahead, seconds(12));
  EXPECT_EQ(look.report.clock_error, milliseconds(1500));
  EXPECT_TRUE(look.admitted);
  EXPECT_EQ(look.boot, "7c1d5a0e-2f43-4a7b-9a35-0f8e2f9b6d11");
  EXPECT_EQ(look.report.memory_mb, 7821);
  EXPECT_EQ(look.report.cpus, 4);
  EXPECT_EQ(look.report.configuration, "0123456789abcdef");
  EXPECT_THAT(look.report.mounts, ElementsAre("/home"));
  EXPECT_THAT(look.report.programs, ElementsAre("/usr/sbin/slurmd"));
}

TEST(HostLook, MakesNothingOfNonsense) {
  const auto look = parse_look(
      "clock soon\nclock 99999999999999\nclock -5\nboot of all\nmemory much\n\nmount\n what \n", kAsked, kAsked);
  EXPECT_FALSE(look.report.clock_ahead);
  EXPECT_FALSE(look.admitted);
  EXPECT_EQ(look.boot, "");
  EXPECT_EQ(look.report.memory_mb, 0);
  EXPECT_FALSE(parse_look("", kAsked, kAsked).report.clock_ahead);
}

TEST(HostLook, FindsWhatIsThere) {
  const model::SlurmJoin wanted{.mounts = {"/proc", "/no/such"}, .programs = {"/bin/sh", "/etc/passwd", "/no/such"}};
  const auto asked = std::chrono::time_point_cast<TimePoint::duration>(std::chrono::system_clock::now());
  const auto said = run(look_command(wanted));
  const auto look = parse_look(said, asked, asked);
  ASSERT_TRUE(look.report.clock_ahead) << said;
  EXPECT_LT(*look.report.clock_ahead, seconds(60));
  EXPECT_EQ(look.boot.size(), 36U) << said;
  EXPECT_GT(look.report.memory_mb, 0);
  EXPECT_GT(look.report.cpus, 0);
  EXPECT_THAT(look.report.mounts, ElementsAre("/proc"));
  EXPECT_THAT(look.report.programs, ElementsAre("/bin/sh")) << "what cannot be executed is no program";
  EXPECT_EQ(look.report.configuration, "") << "nobody asked";
}

TEST(HostLook, TellsVersionsApartAsSlurmctldDoes) {
  model::SlurmJoin wanted{.configuration = {"no-such-file.conf", "nor-this.conf"}};
  const auto here = run(look_command(wanted)), there = run(version_command(wanted));
  const auto version = parse_look(here, kAsked, kAsked).report.configuration;
  EXPECT_EQ(version.size(), 16U) << here;
  EXPECT_EQ(version + "\n", there);
  wanted.configuration = {"nor-this.conf", "no-such-file.conf"};
  EXPECT_NE(run(version_command(wanted)), there);
}

}  // namespace
}  // namespace underway::slurm

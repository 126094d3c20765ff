#include "suite/release.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace underway::suite {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kDigest(64, 'a');

/// As Debian writes it, with MD5Sum in front of what is believed.
std::string debian() {
  return "Origin: Debian\nLabel: Debian-Security\nSuite: stable-security\nVersion: 12\nCodename: bookworm-security\n"
         "Date: Sat, 22 Nov 2025 10:05:20 UTC\nValid-Until: Sat, 29 Nov 2025 10:05:20 UTC\nAcquire-By-Hash: yes\n"
         "Architectures: amd64 arm64\nComponents: updates/main main\nDescription: Debian 12 - Security Updates\n"
         "MD5Sum:\n 0ed6d4c8891eb86358b94bb35d9e4da4 10 main/binary-amd64/Packages\n"
         "SHA256:\n " +
         kDigest + " 47 main/binary-amd64/Packages.xz\n " + std::string(64, 'b') +
         "      120 main/binary-amd64/Packages\n";
}
std::string with(std::string_view piece, std::string_view other) {
  auto text = debian();
  const auto at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), other);
}
std::string refusal(const std::string& text) {
  try {
    parse_release(text);
    return "it was read";
  } catch (const Error& error) {
    return error.one_line();
  }
}

TEST(ReleaseFile, NamesItsIndexesWithTheirSizesAndDigests) {
  const auto release = parse_release(debian());
  EXPECT_EQ(release.origin, "Debian");
  EXPECT_EQ(release.label, "Debian-Security");
  EXPECT_EQ(release.suite, "stable-security");
  EXPECT_EQ(release.codename, "bookworm-security");
  EXPECT_EQ(release.version, "12");
  EXPECT_EQ(release.description, "Debian 12 - Security Updates");
  EXPECT_EQ(release.date, *parse_time("2025-11-22T10:05:20Z"));
  EXPECT_EQ(release.valid_until, *parse_time("2025-11-29T10:05:20Z"));
  EXPECT_TRUE(release.acquire_by_hash);
  EXPECT_FALSE(release.not_automatic);
  EXPECT_THAT(release.components, ElementsAre("updates/main", "main"));
  EXPECT_THAT(release.architectures, ElementsAre("amd64", "arm64"));
  ASSERT_EQ(release.files.size(), 2U) << "what has an MD5 alone is not believed";
  EXPECT_EQ(*release.find("main/binary-amd64/Packages.xz"), (IndexFile{"main/binary-amd64/Packages.xz", 47, kDigest}));
  EXPECT_EQ(release.find("main/binary-amd64/Packages")->size, 120U);
  EXPECT_EQ(release.find("main/binary-amd64/Packages.gz"), nullptr);
}

TEST(ReleaseFile, IsWrittenSoThatItIsReadAsTheSame) {
  auto release = parse_release(debian());
  release.not_automatic = release.but_automatic_upgrades = true;
  const auto text = write_release(release);
  const auto again = parse_release(text);
  EXPECT_EQ(write_release(again), text);
  EXPECT_EQ(again.files, release.files);
  EXPECT_EQ(again.valid_until, release.valid_until);
  EXPECT_TRUE(again.not_automatic && again.but_automatic_upgrades && again.acquire_by_hash);
  EXPECT_THAT(text, HasSubstr("\nDate: Sat, 22 Nov 2025 10:05:20 UTC\n"));
  EXPECT_THAT(text, HasSubstr("SHA256:\n " + std::string(64, 'b') + "      120 main/binary-amd64/Packages\n"));
}

TEST(ReleaseFile, IsRefusedWhole) {
  EXPECT_THAT(refusal(with("Date: Sat, 22 Nov 2025 10:05:20 UTC\n", "")), HasSubstr("it has no Date"));
  EXPECT_THAT(refusal(with("10:05:20 UTC", "10:05:20 CET")), HasSubstr("which is no date in UTC"));
  EXPECT_THAT(refusal(with("22 Nov", "31 Nov")), HasSubstr("which is no date in UTC"));
  EXPECT_THAT(refusal(with("main/binary-amd64/Packages.xz", "../../etc/passwd")), HasSubstr("no path below it"));
  EXPECT_THAT(refusal(with("main/binary-amd64/Packages.xz", "/etc/passwd")), HasSubstr("no path below it"));
  EXPECT_THAT(refusal(with("main/binary-amd64/Packages.xz", "main//Packages")), HasSubstr("no path below it"));
  EXPECT_THAT(refusal(with("Packages.xz", "Packages")), HasSubstr("it names 'main/binary-amd64/Packages' twice"));
  EXPECT_THAT(refusal(with(" 47 ", " -1 ")), HasSubstr("not a digest, a size and a path"));
  EXPECT_THAT(refusal(with("aaaa", "AAAA")), HasSubstr("not a digest, a size and a path"));
  EXPECT_THAT(refusal(with("Label: Debian", "Label: \x1b[2JDebian")), HasSubstr("its Label is no line of text"));
  EXPECT_NE(refusal(""), "it was read");
  EXPECT_NE(refusal("Date: Sat, 22 Nov 2025 10:05:20 UTC\n"), "it was read");
}

class Refusals : public testing::Test {
 protected:
  std::vector<std::string> look() const { return refusals(release_, expected_); }
  Release release_ = parse_release(debian());
  Expectation expected_{.suite = "bookworm-security",
                        .components = {"main"},
                        .architectures = {"amd64"},
                        .before = std::nullopt,
                        .now = *parse_time("2025-11-25T00:00:00Z")};
};

TEST_F(Refusals, AreNoneOfOneThatIsNewAndWhatWasAskedFor) {
  EXPECT_THAT(look(), IsEmpty());
  expected_.suite = "stable-security";
  EXPECT_THAT(look(), IsEmpty());
  expected_.before = release_.date;
  EXPECT_THAT(look(), IsEmpty()) << "the same one again";
  expected_.now = release_.date - seconds(10);
  EXPECT_THAT(look(), IsEmpty()) << "clocks differ a little";
}

TEST_F(Refusals, NameAllThatIsWrong) {
  expected_.suite = "bookworm";
  expected_.components = {"main", "contrib"};
  expected_.architectures = {"riscv64"};
  expected_.before = release_.date + seconds(1);
  expected_.now = *parse_time("2025-12-24T00:00:00Z");
  EXPECT_THAT(look(), ElementsAre(HasSubstr("suite 'stable-security' ('bookworm-security'), and 'bookworm'"),
                                  HasSubstr("goes back in time"), HasSubstr("it held until Sat, 29 Nov 2025"),
                                  HasSubstr("no component 'contrib'; it has updates/main, main"),
                                  HasSubstr("no architecture 'riscv64'")));
}

TEST_F(Refusals, AClockThatIsWrongIsTold) {
  expected_.now = release_.date - hours(1);
  EXPECT_THAT(look(), ElementsAre(HasSubstr("which is 1h0m ahead: one of the two clocks is wrong")));
}

TEST_F(Refusals, WhereUpstreamNamesNoEndMaxAgeDoes) {
  release_.valid_until.reset();
  expected_.now = release_.date + hours(24 * 15);
  EXPECT_THAT(look(), IsEmpty());
  expected_.max_age = hours(24 * 14);
  EXPECT_THAT(look(), ElementsAre(HasSubstr("it is 15d0h old, and max_age is 14d0h")));
}

TEST(DatesOfReleases, AreReadAsTheyAreWritten) {
  EXPECT_EQ(format_date(*parse_time("2024-02-29T03:04:05Z")), "Thu, 29 Feb 2024 03:04:05 UTC");
  EXPECT_EQ(parse_date("Thu, 29 Feb 2024 03:04:05 UTC"), *parse_time("2024-02-29T03:04:05Z"));
  EXPECT_EQ(parse_date("Thu,  1 Feb 2024 03:04:05 GMT"), *parse_time("2024-02-01T03:04:05Z"));
  EXPECT_EQ(parse_date("1 Feb 2024 03:04:05 +0000"), *parse_time("2024-02-01T03:04:05Z"));
  for (const auto* none : {"", "Thu", "Thu, 29 Feb 2024 03:04:05", "29 Feb 24 03:04:05 UTC", "29 Feb 2023 03:04:05 UTC",
                           "29 Foo 2024 03:04:05 UTC", "29 Feb 2024 3:04:05 UTC", "29 Feb 2024 03:04:05 UTC UTC"})
    EXPECT_EQ(parse_date(none), std::nullopt) << none;
}

}  // namespace
}  // namespace underway::suite

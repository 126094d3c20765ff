#include "releasefile/releasefile.hpp"

#include <gmock/gmock.h>

#include <array>

namespace underway::releasefile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kWhole = R"HCL(mirror "debian" {
  url    = "https://deb.debian.org/debian"
  suites = ["bookworm", "bookworm-updates"]
  keys   = ["/usr/share/keyrings/debian-archive-keyring.gpg"]
  leave  = ["Name (% linux-image-*)"]
}
repository "site" {
  description = "What we patch."
  priority    = 700
}
tier "build" {
  sources = ["debian", "site"]
}
tier "test" {
  from  = "build"
  pools = ["small"]
}
tier "production" {
  from      = "test"
  sources   = []
  pools     = ["compute", "login"]
  valid_for = "240h"
}
)HCL";

struct Read {
  Releases releases;
  std::string errors;
};
Read read(std::string_view text) {
  hcl::Diagnostics diagnostics;
  Read out;
  out.releases = parse_releases(text, "releases.hcl", hcl::Context(), diagnostics);
  for (const auto& problem : diagnostics.all())
    out.errors += problem.range.where() + ": " + problem.summary + (problem.suggestion.empty() ? "" : "; ") +
                  problem.suggestion + "\n";
  return out;
}
/// The whole file with one piece of it written otherwise.
std::string with(std::string_view piece, std::string_view other) {
  std::string text(kWhole);
  const auto at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), other);
}

TEST(ReleasesFile, SaysWherePackagesComeFromAndWhoFollowsWhom) {
  const auto [releases, errors] = read(kWhole);
  ASSERT_THAT(errors, IsEmpty());
  const auto* debian = releases.find_mirror("debian");
  ASSERT_NE(debian, nullptr);
  EXPECT_EQ(debian->format, Format::deb);
  EXPECT_THAT(debian->suites, ElementsAre("bookworm", "bookworm-updates"));
  EXPECT_THAT(debian->components, ElementsAre("main"));
  EXPECT_THAT(debian->architectures, ElementsAre("amd64"));
  EXPECT_THAT(debian->leave, ElementsAre("Name (% linux-image-*)"));
  EXPECT_TRUE(debian->with_dependencies);
  EXPECT_EQ(debian->schedule, "@daily");
  ASSERT_NE(releases.find_repository("site"), nullptr);
  EXPECT_EQ(releases.find_repository("site")->priority, 700);
  ASSERT_NE(releases.find_tier("test"), nullptr);
  EXPECT_EQ(releases.find_tier("test")->from, "build");
  EXPECT_EQ(releases.find_tier("production")->valid_for, std::chrono::hours(240));
  EXPECT_EQ(releases.find_tier("nobody"), nullptr);
}

TEST(ReleasesFile, ASourceIsToldByItsPlaceWhateverIsWrongWithIt) {
  const std::vector<std::array<std::string_view, 3>> cases = {
      {"mirror \"debian\"", "mirror \"Debian/x\"", "releases.hcl:1:1: 'Debian/x' is no name"},
      {"https://deb.debian.org/debian", "ftp://deb.debian.org",
       "releases.hcl:2:3: 'ftp://deb.debian.org' is not fetched from"},
      {"https://deb.debian.org/debian", "file:///srv/../etc",
       "releases.hcl:2:3: 'file:///srv/../etc' is not fetched from"},
      {"https://deb.debian.org/debian", "https://", "releases.hcl:2:3: "},
      {"url    =", "proxy  =", "releases.hcl:1:1: url is missing"},
      {"keys   = [\"/usr/share/keyrings/debian-archive-keyring.gpg\"]", "", "releases.hcl:1:1: keys is missing"},
      {"suites = [\"bookworm\", \"bookworm-updates\"]", "suites = []", "releases.hcl:3:3: suites is missing"},
      {"\"bookworm-updates\"", "\"../up\"", "releases.hcl:3:3: '../up' cannot stand in suites"},
      {"leave  = [", "schedule = \"every day\"\n  leave  = [", "releases.hcl:5:3: "},
      {"leave  = [", "format = \"rpm\"\n  leave  = [", "releases.hcl:3:3: suites has no meaning for rpm"},
      {"leave  = [", "max_age = \"-1h\"\n  leave  = [", "releases.hcl:5:3: max_age is less than nothing"},
      {"leave  = [", "filter = \"slurmd (>= \"\n  leave  = [", "releases.hcl:5:3: "},
      {"leave  = [", "leave  = [\"a |\", ", "releases.hcl:5:3: "},
      {"leave  = [", "leaves  = [", "releases.hcl:5:3: unknown attribute 'leaves'"},
      {"priority    = 700", "priority    = 1001", "releases.hcl:9:3: a priority of 1001"},
      {"repository \"site\"", "repository \"debian\"", "releases.hcl:7:1: a second 'debian'"},
  };
  for (const auto& [piece, other, error] : cases)
    EXPECT_THAT(read(with(piece, other)).errors, HasSubstr(error)) << other;
}

TEST(ReleasesFile, ATierTakesWhatWasTriedBeforeAndNothingElse) {
  const std::vector<std::array<std::string_view, 3>> cases = {
      {"from  = \"build\"", "from  = \"biuld\"", "releases.hcl:14:1: there is no tier 'biuld'; write 'build'"},
      {"from  = \"build\"", "from  = \"production\"", "releases.hcl:14:1: tier 'test' takes its releases from itself"},
      {"from  = \"build\"", "from  = \"test\"", "releases.hcl:14:1: tier 'test' takes its releases from itself"},
      {"sources = [\"debian\", \"site\"]", "sources = [\"debian\", \"sites\"]",
       "releases.hcl:11:1: there is neither a mirror nor a repository 'sites'"},
      {"sources = [\"debian\", \"site\"]", "sources = []", "releases.hcl:12:3: sources is missing"},
      {"pools = [\"small\"]", "pools = [\"login\"]", "releases.hcl:18:1: pool 'login' follows tier 'test' already"},
      {"valid_for = \"240h\"", "valid_for = \"2h\"", "releases.hcl:22:3: valid_for is less than a day"},
      {"valid_for = \"240h\"", "keep = 0", "releases.hcl:22:3: 0 releases are not kept"},
      {"tier \"production\"", "tier \"test\"", "releases.hcl:18:1: a second 'test'"},
  };
  for (const auto& [piece, other, error] : cases)
    EXPECT_THAT(read(with(piece, other)).errors, HasSubstr(error)) << other;
  // Past the tier that it follows nobody takes anything.
  const auto past = with("from  = \"build\"", "from  = \"build\"\n  sources = [\"debian\"]");
  EXPECT_THAT(read(past).errors, IsEmpty());
  std::string more(past);
  more.replace(more.find("sources   = []"), 14, "sources = [\"site\"]");
  EXPECT_THAT(read(more).errors, HasSubstr("tier 'test' has no 'site'"));
}

}  // namespace
}  // namespace underway::releasefile

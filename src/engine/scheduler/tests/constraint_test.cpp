#include "scheduler/feasibility/constraint.hpp"

#include "scheduler/feasibility/version.hpp"

namespace underway::scheduler {
namespace {

model::Node node() {
  model::Node n;
  n.id = "11111111-1111-4111-8111-111111111111";
  n.name = "c1";
  n.node_class = "compute";
  n.attributes = {{"kernel.name", "linux"},
                  {"unique.hostname", "c1"},
                  {"cpu.numcores", "16"},
                  {"load", "1.5"},
                  {"os.version", "12.4"},
                  {"nomad.version", "1.9.0-beta.1"},
                  {"os.signals", "SIGHUP, SIGINT,SIGTERM"},
                  {"empty", ""}};
  n.meta = {{"rack", "r1"}, {"wanted", "linux"}};
  return n;
}

TEST(Constraint, MeansWhatNomadMeans) {
  struct Case {
    const char* left;
    const char* op;
    const char* right;
    bool expect;
  };
  const std::vector<Case> cases = {
      {"${attr.kernel.name}", "=", "linux", true},
      {"${attr.kernel.name}", "==", "linux", true},
      {"${attr.kernel.name}", "is", "windows", false},
      {"${attr.kernel.name}", "", "linux", true},
      {"${attr.kernel.name}", "=", "${meta.wanted}", true},
      {"${attr.missing}", "=", "", false},
      {"${attr.empty}", "=", "", true},
      {"${attr.kernel.name}", "!=", "linux", false},
      {"${attr.missing}", "!=", "linux", true},
      {"${attr.missing}", "not", "linux", true},
      {"${attr.missing}", "!=", "${attr.gone}", false},
      {"${attr.cpu.numcores}", "<", "9", false},  // as numbers, not as text
      {"${attr.cpu.numcores}", ">=", "16", true},
      {"${attr.cpu.numcores}", "<=", "16.5", true},
      {"${attr.load}", ">", "1.25", true},
      {"${attr.kernel.name}", "<", "m", true},
      {"${attr.missing}", "<", "9", false},
      {"${attr.unique.hostname}", "regexp", "^c[0-9]+$", true},
      {"${attr.unique.hostname}", "regexp", "[", false},
      {"${attr.kernel.name}", "regexp", "nu", true},  // anywhere
      {"${attr.os.signals}", "set_contains", "SIGTERM, SIGHUP", true},
      {"${attr.os.signals}", "set_contains", "SIGTERM,SIGKILL", false},
      {"${attr.os.signals}", "set_contains_all", "SIGINT", true},
      {"${attr.os.signals}", "set_contains_any", "SIGKILL,SIGINT", true},
      {"${attr.os.signals}", "set_contains_any", "SIGKILL", false},
      {"${attr.os.version}", "version", ">= 12, < 13", true},
      {"${attr.os.version}", "version", "~> 12.1", true},
      {"${attr.os.version}", "version", "~> 12.4.1", false},
      {"${attr.os.version}", "version", "~> 11", true},
      {"${attr.nomad.version}", "version", ">= 1.8", false},  // a prerelease meets no release bound
      {"${attr.nomad.version}", "semver", ">= 1.8.0", true},
      {"${attr.nomad.version}", "semver", ">= 1.9.0", false},
      {"${attr.nomad.version}", "version", ">= 1.9.0-alpha", true},
      {"${attr.nomad.version}", "semver", "~> 1.8", false},
      {"${attr.kernel.name}", "version", ">= 1", false},
      {"${attr.empty}", "is_set", "", true},
      {"${attr.missing}", "is_set", "", false},
      {"${attr.missing}", "is_not_set", "", true},
      {"${node.class}", "=", "compute", true},
      {"x-${node.class}", "=", "x-compute", false},  // only a whole ${…} is resolved
      {"", "distinct_hosts", "true", true},
      {"${meta.rack}", "distinct_property", "2", true},
      {"${attr.kernel.name}", "equals", "linux", false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(holds({c.left, c.op, c.right}, node()), c.expect) << c.left << ' ' << c.op << ' ' << c.right;
}

TEST(Constraint, IsRefusedWithWhatIsWrong) {
  EXPECT_EQ(validate({"${attr.a}", "=", "b"}), std::nullopt);
  EXPECT_EQ(validate({"", "distinct_hosts", "true"}), std::nullopt);
  EXPECT_EQ(validate({"${attr.a}", "version", "~> 1.2, != 1.3"}), std::nullopt);
  EXPECT_EQ(validate({"${attr.a}", "version", "${meta.b}"}), std::nullopt);
  EXPECT_EQ(validate({"${attr.a}", "regex", "b"}), "unknown constraint operator 'regex'; did you mean 'regexp'?");
  EXPECT_THAT(validate({"${attr.a}", "regexp", "("}).value(), testing::HasSubstr("'(' is no regular expression: "));
  EXPECT_THAT(validate({"${attr.a}", "version", ">= one"}).value(), testing::HasSubstr("'>= one' is no version"));
  EXPECT_THAT(validate({"${attr.a}", "semver", "~> 1.2"}).value(), testing::HasSubstr("is no semantic version"));
  EXPECT_THAT(validate({"", "=", "x"}).value(), testing::HasSubstr("names no attribute"));
  EXPECT_THAT(validate({"${meta.rack}", "distinct_property", "0"}).value(), testing::HasSubstr("at least 1"));
  EXPECT_THAT(validate({"${attr.a}", "<", ""}).value(), testing::HasSubstr("no value"));
}

TEST(Constraint, ReadsAsNomadPrintsIt) {
  EXPECT_EQ(in_words({"${attr.kernel.name}", "=", "linux"}), "${attr.kernel.name} = linux");
  EXPECT_EQ(in_words({"${attr.x}", "is_set", ""}), "${attr.x} is_set");
  EXPECT_EQ(in_words({"", "distinct_hosts", "true"}), "distinct_hosts");
}

TEST(Version, OrdersReleasesAndPrereleases) {
  // Each is newer than the one before it. Source: semver.org 2.0.0, section 11, and go-version's tests.
  const std::vector<const char*> ascending = {"0.9", "1.0.0-alpha", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
                                              "1.0", "1.0.1",       "1.2",          "v1.10",         "2.0.0.1"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      const int order = Version::parse_loose(ascending[i])->compare(*Version::parse_loose(ascending[j]));
      EXPECT_EQ(order, i < j ? -1 : (i > j ? 1 : 0)) << ascending[i] << " against " << ascending[j];
    }
  }
  EXPECT_EQ(Version::parse_loose("1.2")->compare(*Version::parse_loose("1.2.0+build")), 0);
}

TEST(Version, ParsesWhatGoVersionParses) {
  for (const char* good : {"1", "v1.2.3", "1.2.0-x.Y.0+metadata", "1.2beta", "1.7rc2", "0.0.0-001", "1.2.3.4"})
    EXPECT_TRUE(Version::parse_loose(good)) << good;
  for (const char* bad : {"", "a", "1.", ".1", "1..2", "1 2", "v", "-1", "99999999999999999999"})
    EXPECT_FALSE(Version::parse_loose(bad)) << bad;
  EXPECT_FALSE(Version::parse_semver("1.2beta"));
}

}  // namespace
}  // namespace underway::scheduler

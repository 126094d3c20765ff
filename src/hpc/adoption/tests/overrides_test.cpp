#include "adoption/division/overrides.hpp"
#include "harness/places.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace underway::adoption {
namespace {

using ::testing::HasSubstr;

std::string override_problems(const char* text) {
  hcl::Diagnostics diagnostics;
  parse_overrides(text, "site.hcl", diagnostics);
  return diagnostics.render();
}

TEST(Overrides, AreReadWithTheirPlace) {
  hcl::Diagnostics diagnostics;
  const auto overrides = parse_overrides(
      "nodes = [\"10.1.0.0/16\"]\nservice \"licences\" {\n  doors = [\"tcp/27010\"]\n  verdict = \"time_critical\"\n  "
      "reason = \"compilers ask\"\n}\n",
      "site.hcl", diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  ASSERT_EQ(overrides.services.size(), 1U);
  EXPECT_EQ(overrides.services[0].verdict, Verdict::time_critical);
  EXPECT_EQ(overrides.services[0].place.where(), "site.hcl:2:1");
  EXPECT_NE(overrides.find_door("tcp/27010"), nullptr);
  EXPECT_EQ(overrides.find_door("tcp/1"), nullptr);
}

TEST(Overrides, EveryProblemIsSaidAtItsPlace) {
  const std::string text = override_problems(
      "nodes = [\"10.1\"]\n"
      "service \"a\" {\n  verdict = \"criticl\"\n}\n"
      "service \"b\" {\n  doors = [\"tcp/0\", \"22\"]\n  verdict = \"deferrable\"\n}\n"
      "service \"b\" {\n  dors = []\n}\n");
  EXPECT_THAT(text, HasSubstr("site.hcl:3:"));
  EXPECT_THAT(text, HasSubstr("'tcp/0' is no door"));
  EXPECT_THAT(text, HasSubstr("'22' is no door"));
  EXPECT_THAT(text, HasSubstr("has a verdict and no reason"));
  EXPECT_THAT(text, HasSubstr("service 'b' is declared twice"));
  EXPECT_THAT(text, HasSubstr("write 'doors'"));
  EXPECT_THAT(text, HasSubstr("'10.1' in nodes is no network"));
}

TEST(Overrides, OneDoorIsOfOneService) {
  EXPECT_THAT(
      override_problems("service \"a\" {\n  doors = [\"tcp/1\"]\n}\nservice \"b\" {\n  doors = [\"tcp/1\"]\n}\n"),
      HasSubstr("tcp/1 is a door of 'a' already"));
}

TEST(Overrides, ReferenceIsWhatTheDescriptionsSay) {
  const std::string path = source_dir() + "/docs/reference/survey-overrides.md";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << overrides_reference();
  std::ifstream in(path);
  const std::string committed{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(committed, overrides_reference()) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

}  // namespace
}  // namespace underway::adoption

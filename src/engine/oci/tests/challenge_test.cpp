#include "oci/registry/challenge.hpp"

#include <gtest/gtest.h>

namespace underway::oci {
namespace {

TEST(Challenges, AreReadWithTheirParameters) {
  const auto found = parse_challenges(
      R"(Bearer realm="https://auth.example/token?x=1",service="registry, of \"us\"" , Scope=pull, Basic realm="r")");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].scheme, "bearer");
  EXPECT_EQ(found[0].parameters.at("realm"), "https://auth.example/token?x=1");
  EXPECT_EQ(found[0].parameters.at("service"), "registry, of \"us\"");
  EXPECT_EQ(found[0].parameters.at("scope"), "pull");
  EXPECT_EQ(found[1].scheme, "basic");
  EXPECT_EQ(found[1].parameters.at("realm"), "r");
}

TEST(Challenges, ThatMakeNoSenseGiveWhatTheyCan) {
  EXPECT_TRUE(parse_challenges("").empty());
  EXPECT_TRUE(parse_challenges("realm=\"x\"").empty());
  EXPECT_TRUE(parse_challenges("\"\"").empty());
  EXPECT_EQ(parse_challenges("Bearer realm=\"open").at(0).parameters.at("realm"), "open");
  EXPECT_EQ(parse_challenges("Negotiate, Basic").size(), 2U);
}

}  // namespace
}  // namespace underway::oci

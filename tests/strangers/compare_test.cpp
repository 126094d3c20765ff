#include "strangers/compare.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace underway::strangers {
namespace {

std::vector<std::string> differ(const char* theirs, const char* ours) {
  std::vector<std::string> out;
  const auto is_told = [](const std::string& where) { return where != "ID"; };
  for (const auto& difference : compare(boost::json::parse(theirs), boost::json::parse(ours), is_told))
    out.push_back(difference.kind + " " + difference.where);
  return out;
}
using All = std::vector<std::string>;

TEST(Compare, TellsNullFromEmptyAndAKeyFromNone) {
  EXPECT_EQ(differ(R"({"Meta":null})", R"({"Meta":{}})"), All{"null Meta"});
  EXPECT_EQ(differ(R"({"Tags":[]})", R"({"Tags":null})"), All{"null Tags"});
  EXPECT_EQ(differ(R"({"A":1})", R"({"B":1})"), (All{"missing A", "more B"}));
  EXPECT_EQ(differ(R"({"A":"1"})", R"({"A":1})"), All{"type A"});
  EXPECT_EQ(differ(R"({"A":[1]})", R"({"A":[]})"), All{"empty A"});
  EXPECT_EQ(differ(R"({"A":{"B":1.0}})", R"({"A":{"B":1}})"), All{});
}

TEST(Compare, LooksAtValuesOnlyWhereTheyAreTold) {
  EXPECT_EQ(differ(R"({"ID":"a","Type":"service"})", R"({"ID":"b","Type":"batch"})"), All{"value Type"});
}

TEST(Compare, TakesEveryElementAndEveryFreeKey) {
  EXPECT_EQ(differ(R"([{"A":null}])", R"([{"A":null},{"A":1},{"A":2}])"), All{"null [].A"});
  EXPECT_EQ(differ(R"({"Nodes":{"*":{"A":1}}})", R"({"Nodes":{"x":{"A":1},"y":{}}})"), All{"missing Nodes.*.A"});
  EXPECT_EQ(differ(R"({"A":"*"})", R"({"A":[null]})"), All{});
}

}  // namespace
}  // namespace underway::strangers

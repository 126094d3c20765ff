#include "base/error.hpp"
#include "boat.hpp"

#include <gtest/gtest.h>

namespace underway::filter::testing {
namespace {

std::string refusal(std::string_view text, const Boat& boat = argo()) {
  try {
    return Expression(text).matches(boat) ? "yes" : "no";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.one_line();
  }
}

TEST(Filter, SaysWhetherARowIsWanted) {
  const Boat boat = argo();
  const std::vector<std::pair<const char*, bool>> cases = {
      {R"(Name == "argo")", true},
      {R"(Name == argo)", true},
      {"Name == `argo`", true},
      {R"(Name != "argo")", false},
      {R"(Name=="argo")", true},
      {R"(Rig == ketch)", true},
      {R"(Rig matches "^k.*h$")", true},
      {R"(Rig not matches "^sl")", true},
      {R"(Name contains "rg")", true},
      {R"("rg" in Name)", true},
      {R"(rg not in Name)", false},
      {R"(Name not contains "x")", true},
      {"Crew == 50", true},
      {R"(Crew == "0x32")", true},
      {R"(Crew != "51")", true},
      {"Length == 23.5", true},
      {"AtSea == true", true},
      {"AtSea != false", true},
      {"AtSea == T", true},
      {"Watch == 14400000000000", true},
      {R"(Watch == "4h")", true},
      {R"(Launched == "2020-09-13T12:26:40Z")", true},
      {R"(Launched matches "^2020-")", true},
      {"Space.HoldMB == 7", true},
      {R"("lemnos" in Ports)", true},
      {"Ports contains troy", false},
      {R"(troy not in Ports)", true},
      {"Ports.1 == lemnos", true},
      {"Ports is not empty", true},
      {R"(Meta.team == "hpc")", true},
      {R"(Meta["a.b"] == "dotted")", true},
      {R"("/Meta/slash~1ed" == "yes")", true},
      {"Meta contains team", true},
      {R"("nothing" in Meta)", false},
      {"Meta.empty is empty", true},
      {"Meta is empty", false},
      {"Captain.Name == jason", true},
      {"Captain is empty", false},
      {"Sailors.0.Name == orpheus", true},
      {R"("song" in Sailors.0.Skills)", true},
      {"Posts.helm.Age == 44", true},
      {"Papers.flag == thessaly", true},
      {"Papers.tons == 120", true},
      {R"("true" in Papers.mixed)", true},
      {"2.5 in Papers.mixed", true},
      {"troy in Papers.mixed", false},
      {"Papers.none is empty", true},
      {"Papers contains flag", true},
      {R"(not Name == "argo")", false},
      {R"(not not Name == "argo")", true},
      {R"(not (Name == "argo" and Crew == 1))", true},
      {R"(Name == "x" or Crew == 50 and AtSea == true)", true},
      {R"((Name == "x" or Crew == 50) and AtSea == false)", false},
      {R"(Name == "argo" and Crew == 50 and AtSea == true)", true},
      {" \t\n( Name==argo )\r\n", true},
  };
  for (const auto& [text, wanted] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(refusal(text, boat), wanted ? "yes" : "no");
  }
}

TEST(Filter, TakesWhatIsNotThereAsDifferentFromEverything) {
  const Boat empty;
  for (const char* map : {"Meta.x", "Captain.Name", "Posts.nobody.Age", "Papers.flag", "Insured"}) {
    SCOPED_TRACE(map);
    const std::string selector = map;
    EXPECT_EQ(refusal(selector + " == 1", empty), "no");
    EXPECT_EQ(refusal(selector + " != 1", empty), "yes");
    EXPECT_EQ(refusal(selector + R"( matches ".*")", empty), "no");
    EXPECT_EQ(refusal(selector + R"( not matches ".*")", empty), "yes");
    EXPECT_EQ(refusal("a in " + selector, empty), "no");
    EXPECT_EQ(refusal("a not in " + selector, empty), "yes");
    EXPECT_EQ(refusal(selector + " is empty", empty), "yes");
    EXPECT_EQ(refusal(selector + " is not empty", empty), "no");
  }
}

TEST(Filter, LoopsOverListsAndMaps) {
  const std::vector<std::pair<const char*, bool>> cases = {
      {R"(any Sailors as s { s.Name == "tiphys" })", true},
      {R"(all Sailors as s { s.Age == 44 })", false},
      {R"(all Sailors as s { s.Age != 1 })", true},
      {R"(any Sailors as i, s { i == 1 and s.Name == "tiphys" })", true},
      {R"(any Sailors as i, s { i == 0 and s.Name == "tiphys" })", false},
      {R"(any Sailors as _, s { "helm" in s.Skills })", true},
      {R"(any Sailors as i, _ { i == 1 })", true},
      {R"(any Ports as p { p matches "^col" })", true},
      {R"(any Meta as k { k == "team" })", true},
      {R"(any Meta as k, v { v == "hpc" })", true},
      {R"(all Posts as k, v { v.Age == 44 or k == "oar" })", true},
      {R"(any Sailors as s { any s.Skills as k { k == "song" } })", true},
      {R"(any Sailors as s { all Posts as p, v { v.Name == "x" or s.Age == 30 or s.Age == 44 } })", true},
      {R"(any Papers.mixed as m { m == 1 })", true},
      {R"(any "/Meta" as k { k == "team" })", true},
      {R"(not any Ports as p { p == "troy" })", true},
      {R"(any Captain.Skills as s { s == "x" })", false},
      {R"(all Captain.Skills as s { s == "x" })", true},
      {R"(any Ports as Name { Name == "lemnos" })", true},
  };
  for (const auto& [text, wanted] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(refusal(text), wanted ? "yes" : "no");
  }
}

TEST(Filter, RefusesWhatMakesNoSense) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"Nonsense == 1",
       "error finding value in datum: /Nonsense at part 0: couldn't find key: struct field with name \"Nonsense\""},
      {"Captain.Ship == 1",
       "error finding value in datum: /Captain/Ship at part 1: couldn't find key: struct field with name \"Ship\""},
      {"name == argo",
       "error finding value in datum: /name at part 0: couldn't find key: struct field with name \"name\""},
      {"Name.x == 1", "error finding value in datum: /Name/x at part 1: invalid value kind: string"},
      {"Ports.9 == 1", "error finding value in datum: /Ports/9 at part 1: index 9 is out of range (length = 3)"},
      {"Ports.x == 1", "error finding value in datum: /Ports/x at part 1: couldn't convert key \"x\" to an index"},
      {"Crew == many", "error getting match value in expression: strconv.ParseInt: parsing \"many\": invalid syntax"},
      {"AtSea == maybe",
       "error getting match value in expression: strconv.ParseBool: parsing \"maybe\": invalid syntax"},
      {"Length == x", "error getting match value in expression: strconv.ParseFloat: parsing \"x\": invalid syntax"},
      {"Meta == x", "unable to find suitable primitive comparison function for matching"},
      {"a in Crew", "Cannot perform in/contains operations on type int64 for selector: \"/Crew\""},
      {"a in Sailors", "unable to find suitable primitive comparison function for matching"},
      {"Crew is empty", "Cannot perform is empty operations on type int64 for selector: \"/Crew\""},
      {"Crew matches x", "Value of type int64 is not convertible to []byte"},
      {"any Name as n { n == 1 }", "/Name is not a list or a map"},
      {"any Ports as i, p { i.x == 1 }", "error finding value in datum: /i/x at part 1: invalid value kind: int64"},
  };
  for (const auto& [text, wanted] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(refusal(text), wanted);
  }
  // Also of a struct that has nothing where the selector leads.
  EXPECT_EQ(
      refusal("Captain.Ship == 1", {}),
      "error finding value in datum: /Captain/Ship at part 1: couldn't find key: struct field with name \"Ship\"");
}

TEST(Filter, FindsWhatStandsBesideTheFields) {
  const Boat boat = argo();
  const Sailor pilot{"tiphys", 44, {}};
  const Expression expression("Pilot.Age == 44 and Crew == 50");
  EXPECT_TRUE(expression.matches(datum_of(boat, extra_of("Pilot", &pilot))));
  EXPECT_FALSE(expression.matches(datum_of(boat, extra_of<Sailor>("Pilot", nullptr))));
  EXPECT_THROW(expression.matches(boat), Error);
}

TEST(Filter, IsAskedAboutJsonAsAboutStructs) {
  const auto json = boost::json::parse(R"({"Name":"argo","Meta":{"team":"hpc"},"Crew":50,"Gone":null})");
  EXPECT_TRUE(Expression(R"(Name == argo and Meta.team == hpc and Crew == 50 and Gone is empty)").matches(json));
  EXPECT_FALSE(Expression("Meta.other == hpc").matches(json));
  EXPECT_THROW(Expression("Nonsense == hpc").matches(json), Error);
}

}  // namespace
}  // namespace underway::filter::testing

#include "acl/login.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json/json.hpp"

namespace underway::acl {
namespace {

boost::json::object object(const char* text) { return json::parse(text).as_object(); }

Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

const Claims kAda{{{"user", "ada"}, {"team", "ops"}}, {{"groups", {"engineering", "on call"}}}};

TEST(Claims, AreMappedToValuesAndLists) {
  model::AuthMethodConfig config;
  config.claim_mappings = {
      {"preferred_username", "user"}, {"/realm/level", "level"}, {"missing", "missing"}, {"http://example.com/a", "a"}};
  config.list_claim_mappings = {{"groups", "groups"}, {"one", "one"}};
  const auto claims = map_claims(config, object(R"({"preferred_username": "ada", "realm": {"level": 3}, "one": true,
      "groups": ["x", 7], "http://example.com/a": null})"));
  EXPECT_EQ(claims.values, (std::map<std::string, std::string>{{"user", "ada"}, {"level", "3"}}));
  EXPECT_EQ(claims.lists.at("groups"), (std::vector<std::string>{"x", "7"}));
  EXPECT_EQ(claims.lists.at("one"), (std::vector<std::string>{"true"}));
}

TEST(Claims, ThatCannotBeTextAreRefused) {
  model::AuthMethodConfig config;
  config.claim_mappings = {{"c", "c"}};
  config.list_claim_mappings = {{"l", "l"}};
  for (const std::string& text : {std::string(R"({"c": {}})"), std::string(R"({"c": ["x"]})"),
                                  std::string(R"({"l": [[]]})"), R"({"c": ")" + std::string(5000, 'x') + "\"}"}) {
    SCOPED_TRACE(text.substr(0, 40));
    EXPECT_EQ(code_of([&] { map_claims(config, object(text.c_str())); }), Code::denied);
  }
}

TEST(Selector, IsAskedOfTheClaims) {
  struct Case {
    const char* text;
    bool expect;
  };
  for (const auto& [text, expect] : std::vector<Case>{{"value.user == ada", true},
                                                      {"value.user != \"ada\"", false},
                                                      {"engineering in list.groups", true},
                                                      {"\"on call\" in list.groups and value.team == ops", true},
                                                      {"list.groups contains sales", false},
                                                      {"sales not in list.groups or value.nobody == x", true},
                                                      {"not (value.user == ada)", false},
                                                      {"list.other is empty", true},
                                                      {"value.user matches \"^a.a$\"", true}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(selects(text, kAda), expect);
  }
}

TEST(Selector, ThatIsNoneIsRefused) {
  for (const char* text : {"value.user", "value.user ==", "other.user == ada", "(value.user == ada", "== ada"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(code_of([&] { selects(text, kAda); }), Code::invalid);
  }
}

TEST(Interpolation, FillsInClaims) {
  EXPECT_EQ(interpolate("team-${value.team}-${ value.user }", kAda), "team-ops-ada");
  EXPECT_EQ(interpolate("$${value.team} $5", kAda), "${value.team} $5");
  EXPECT_EQ(interpolate("${auth_method_name}", kAda, {{"auth_method_name", "corp"}}), "corp");
  for (const char* text : {"${value.none}", "${list.groups}", "${value.user", "${}"})
    EXPECT_EQ(code_of([&] { interpolate(text, kAda); }), Code::invalid) << text;
  EXPECT_NO_THROW(check_template("${value.whatever}"));
  EXPECT_EQ(code_of([] { check_template("${auth_method_name}"); }), Code::invalid);
}

}  // namespace
}  // namespace underway::acl

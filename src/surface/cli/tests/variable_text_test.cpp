#include "cli/variable/variable_text.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::cli {
namespace {

const Readers kReaders{[](const std::string& path) { return "contents of " + path; },
                       [] { return std::string("from input"); }};

using Pair = std::pair<std::string, std::string>;

TEST(VariableItem, IsAWordAFileOrInput) {
  EXPECT_EQ(parse_item("k=v=w", kReaders), Pair("k", "v=w"));
  EXPECT_EQ(parse_item("k=", kReaders), Pair("k", ""));
  EXPECT_EQ(parse_item("k=@/a", kReaders), Pair("k", "contents of /a"));
  EXPECT_EQ(parse_item("k=-", kReaders), Pair("k", "from input"));
  EXPECT_EQ(parse_item("k=\\@x", kReaders), Pair("k", "@x"));
  EXPECT_EQ(parse_item("k=\\-", kReaders), Pair("k", "-"));
}

TEST(VariableItem, IsRefusedWithoutBeingQuoted) {
  for (const char* word : {"hunter2", "=hunter2"}) {
    try {
      parse_item(word, kReaders);
      FAIL() << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.text().find("hunter2"), std::string::npos);
    }
  }
}

TEST(VariableSpec, ComesInHclAndInJson) {
  for (const char* text : {"path = \"a/b\"\nitems {\n  k = \"v\"\n}\n", "path = \"a/b\"\nitems = { \"k\" = \"v\" }\n",
                           "{\"Path\":\"a/b\",\"Items\":{\"k\":\"v\"}}"}) {
    SCOPED_TRACE(text);
    const auto spec = parse_variable_spec(text, "spec");
    EXPECT_EQ(spec.path, "a/b");
    EXPECT_EQ(spec.items, (model::StringMap{{"k", "v"}}));
  }
  EXPECT_EQ(parse_variable_spec("{\"Items\":{\"k\":\"v\"},\"ModifyIndex\":7}", "spec").modify_index, 7);
}

TEST(VariableSpec, IsRefusedByItsPlacesAndNotByItsLines) {
  for (const char* text : {"path = \"a\"\nitem { hunter2 = \"hunter2\" }\n", "items { k = \"hunter2 }\n",
                           "{\"Items\":{\"k\":\"hunter2\"}", "{\"Items\":{\"k\":[\"hunter2\"]}}"}) {
    SCOPED_TRACE(text);
    try {
      parse_variable_spec(text, "spec");
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.text().find("hunter2"), std::string::npos) << error.text();
    }
  }
}

TEST(Variable, PrintedWithItsIndexIsWrittenOverThatAlone) {
  model::OpenVariable variable;
  variable.row.path = "a/b";
  variable.row.modify_index = 7;
  variable.row.create_time = variable.row.modify_time = 1'700'000'000'123'456'789;
  variable.items = {{"k", "v"}};
  const auto spec = parse_variable_spec(variable_as_hcl(variable, true), "spec");
  EXPECT_EQ(spec.modify_index, 7);
  EXPECT_EQ(spec.items, variable.items);
  EXPECT_EQ(parse_variable_spec(variable_as_hcl(variable), "spec").modify_index, 0);
}

TEST(Variable, PrintedAsHclIsReadBack) {
  model::OpenVariable variable;
  variable.row.path = "a/b";
  variable.items = {{"key.with dots", "${not.a.template} %{if} \"quoted\"\nline"}, {"k", "v"}};
  const auto spec = parse_variable_spec(variable_as_hcl(variable), "printed");
  EXPECT_EQ(spec.path, "a/b");
  EXPECT_EQ(spec.items, variable.items);
}

}  // namespace
}  // namespace underway::cli

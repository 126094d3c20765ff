#include "base/error.hpp"
#include "boat.hpp"

#include <gtest/gtest.h>

namespace underway::filter::testing {
namespace {

std::string problem(std::string_view text) {
  try {
    const Expression expression(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.one_line();
  }
}

TEST(Parse, TellsWhereItStopsMakingSense) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "1:1 (0): no match found, expected a selector, a string or a number"},
      {"NotValid", "1:9 (8): no match found, expected ==, !=, in, contains, matches, is empty or one of them with not"},
      {"Name ==", "1:8 (7): no match found, expected a selector, a string or a number"},
      {"Name == a b == c", "1:11 (10): no match found, expected \"and\", \"or\" or the end"},
      {"Name ==\n  'a'", "2:3 (10): no match found, expected a selector, a string or a number"},
      {R"("a" == b)", "1:1 (0): no match found, expected a selector"},
      {"(Name == a", "1:11 (10): Unmatched parentheses"},
      {"Name == \"a", "1:9 (8): Unterminated string literal"},
      {R"(Name == "\q")", "1:9 (8): invalid syntax"},
      {"Meta[x] == a", "1:6 (5): Invalid index"},
      {R"(Meta["x" == a)", "1:9 (8): Unclosed index expression"},
      {"Crew == 1x", "1:9 (8): Invalid number literal"},
      {"Crew == 007", "1:9 (8): Invalid number literal"},
      {"Crew == -", "1:9 (8): Invalid number literal"},
      {R"(a in "b")", "1:6 (5): Invalid selector"},
      {"Name is full", "1:8 (7): no match found, expected \"empty\" or \"not empty\""},
      {"Name matches `(`", "1:14 (13): Failed to compile regular expression \"(\": missing ): ("},
      {"any Ports as p p == 1", "1:15 (14): no match found, expected \"{\""},
      {"any Ports as p { p == a", "1:24 (23): no match found, expected \"}\""},
      {"any Ports as 1 { p == a }", "1:14 (13): no match found, expected a name"},
      {"any Ports as p, p { p == a }",
       "1:18 (17): \"p\" cannot be used as a placeholder for both the index and the value"},
  };
  for (const auto& [text, wanted] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(problem(text), wanted);
  }
}

TEST(Parse, TakesWordsOfTheLanguageAsNames) {
  for (const char* text :
       {"not == a", "any == a", "all != a", "in in in", "contains contains contains", "empty is empty", "a not in not",
        "any is empty", "notes == a", "order == a or android == b and anyone == c"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(problem(text), "");
  }
}

TEST(Parse, ReadsStringsAsGoDoes) {
  Boat boat;
  const std::vector<std::pair<const char*, std::string>> cases = {
      {R"(Name == "a\tb")", "a\tb"},
      {R"(Name == "\x41\u00e9\101")",
       "A\xC3\xA9"
       "A"},
      {R"(Name == "\U0001F6A2")", "\xF0\x9F\x9A\xA2"},
      {"Name == `a\\n\"b`", "a\\n\"b"},
      {"Name == `a\r\nb`", "a\nb"},
      {R"(Name == "/a/b")", "/a/b"},
      {R"(Name == a.b["c d"])", "a.b.c d"},
  };
  for (const auto& [text, name] : cases) {
    SCOPED_TRACE(text);
    boat.name = name;
    EXPECT_TRUE(Expression(text).matches(boat));
  }
}

}  // namespace
}  // namespace underway::filter::testing

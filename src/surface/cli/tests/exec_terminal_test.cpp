#include "cli/alloc/exec_terminal.hpp"

#include <gtest/gtest.h>

namespace underway::cli {
namespace {

/// What is sent of `pieces`, typed one after the other; "|" where the session was ended.
std::string sent(std::vector<std::string_view> pieces, char escape = '~') {
  EscapeFilter filter(escape);
  std::string out;
  for (const auto piece : pieces) {
    const auto passed = filter.pass(piece);
    if (!passed) return out + "|";
    out += *passed;
  }
  return out;
}

TEST(EscapeFilter, EndsASessionByTildeAndDotAtTheBeginningOfALine) {
  EXPECT_EQ(sent({"~."}), "|");
  EXPECT_EQ(sent({"ls\r", "~", ".", "more"}), "ls\r|");
  EXPECT_EQ(sent({"ls\n~.rm -r x\n"}), "|") << "what was typed with it is not sent either";
  EXPECT_EQ(sent({"^."}, '^'), "|");
}

TEST(EscapeFilter, LeavesEverythingElseAsItIs) {
  for (const char* text : {"ls ~.\r", "cd ~\r", "a~.\n", "~/bin\r", "echo ~~\r", "~a~.\r", ".~", "\r~\r"})
    EXPECT_EQ(sent({text}), text);
  EXPECT_EQ(sent({"~~.\r"}), "~.\r") << "twice it is itself";
  EXPECT_EQ(sent({"~", "~", "."}), "~.");
}

TEST(EscapeFilter, HoldsATildeBackUntilItKnowsWhatItIs) {
  EscapeFilter filter('~');
  EXPECT_EQ(filter.pass("~"), "");
  EXPECT_EQ(filter.pass("x"), "~x");
}

TEST(Console, IsLeftByControlAndBracketAndTakesEverythingElse) {
  EXPECT_EQ(typed_to_console("root\r~.\x1b[A\x03"), "root\r~.\x1b[A\x03");
  EXPECT_EQ(typed_to_console("\x1d"), std::nullopt);
  EXPECT_EQ(typed_to_console("reboot\x1d\r"), std::nullopt) << "what was typed with it is not sent either";
}

}  // namespace
}  // namespace underway::cli

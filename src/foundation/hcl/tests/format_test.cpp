#include "hcl/format.hpp"

#include "harness/places.hpp"
#include "hcl/parse/parser.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace underway::hcl {
namespace {

/// What `text` becomes, and that this is then left alone.
std::string formatted(std::string_view text) {
  const std::string out = format(text);
  EXPECT_EQ(format(out), out) << "is formatted differently the second time";
  return out;
}

TEST(Format, IndentsByBracketsAndSetsSpaces) {
  EXPECT_EQ(formatted("job   \"a\"{\ngroup \"g\" {\n   count=2\n}\n}"),
            "job \"a\" {\n  group \"g\" {\n    count = 2\n  }\n}");
  EXPECT_EQ(formatted("x=[1,2 , 3]\n"), "x = [1, 2, 3]\n");
  EXPECT_EQ(formatted("x = f( a ,b... )\n"), "x = f(a, b...)\n");
  EXPECT_EQ(formatted("x = {a=1,b : 2}\n"), "x = { a = 1, b : 2 }\n");
  EXPECT_EQ(formatted("x = {}\ny { }\n"), "x = {}\ny {}\n");
  EXPECT_EQ(formatted("x = a [ 0 ] . b . * . c [ * ]\n"), "x = a[0].b.*.c[*]\n");
  EXPECT_EQ(formatted("x = - 1+ -y - z*! w\n"), "x = -1 + -y - z * !w\n");
  EXPECT_EQ(formatted("x=a?b:c\n"), "x = a ? b : c\n");
  EXPECT_EQ(formatted("x = [ for k,v in m:k=>v if(v) ]\n"), "x = [for k, v in m : k => v if(v)]\n");
}

TEST(Format, AlignsNeighbouringAttributesAndComments) {
  EXPECT_EQ(formatted("a = 1 # one\nlonger = 22 // two\n\nb = 3\n"),
            "a      = 1  # one\nlonger = 22 // two\n\nb = 3\n");
  EXPECT_EQ(formatted("a = 1\nlist = [\n1,\n2,\n]\nb = 2\n"), "a = 1\nlist = [\n  1,\n  2,\n]\nb = 2\n");
  EXPECT_EQ(formatted("block {\na = 1\n}\nbb = 2\n"), "block {\n  a = 1\n}\nbb = 2\n");
  EXPECT_EQ(formatted("é = 1\nab = 2\n"), "é  = 1\nab = 2\n");
}

TEST(Format, OpensOneLevelForSeveralBracketsOfALine) {
  EXPECT_EQ(formatted("x = f([{\na = 1\n}])\ny = 1\n"), "x = f([{\n  a = 1\n}])\ny = 1\n");
  EXPECT_EQ(formatted("x = [{\na = 1\n}, {\na = 2\n}]\n"), "x = [{\n  a = 1\n  }, {\n  a = 2\n}]\n");
}

TEST(Format, LeavesTextsCommentsAndBlankLinesAlone) {
  const std::string heredoc = "t {\n  data = <<EOT\n   as   it=is\n\tEOT\n  x    = <<-E\n    y\n  E\n}\n";
  EXPECT_EQ(formatted(heredoc), heredoc);
  EXPECT_EQ(formatted("x = \"a  ${ b  +c }  d $${ e }\"\n"), "x = \"a  ${b + c}  d $${ e }\"\n");
  EXPECT_EQ(formatted("x = \"${ { a=1 } }%{if  a}b%{ endif }\"\n"), "x = \"${ { a = 1 } }%{if a}b%{endif}\"\n");
  EXPECT_EQ(formatted("/* a\n   b */\n\n\n  # c  \nx = 1\n"), "/* a\n   b */\n\n\n# c  \nx = 1\n");
  EXPECT_EQ(formatted("x = 1 /* in */ + 2\r\n"), "x = 1 /* in */ + 2\r\n");
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted(" \n\n"), "\n\n");
  EXPECT_EQ(formatted("x = 1\n\n\n"), "x = 1\n\n\n");
  EXPECT_EQ(formatted("x =1"), "x = 1");
}

TEST(Format, ChangesNothingThatIsRead) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/examples")) {
    if (entry.path().extension() != ".hcl") continue;
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string out = formatted(text);
    Diagnostics found;
    parse(out, "formatted.hcl", found);
    EXPECT_FALSE(found.has_errors()) << found.render();
    const auto without_spaces = [](std::string all) {
      std::erase_if(all, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
      return all;
    };
    EXPECT_EQ(without_spaces(out), without_spaces(text));
    ++files;
  }
  EXPECT_GT(files, 5);
}

}  // namespace
}  // namespace underway::hcl

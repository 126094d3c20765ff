#include "tests/support.hpp"

#include <gtest/gtest.h>

namespace underway::hcl {
namespace {

using namespace test;

std::string rendered(const std::string& text, std::size_t* count = nullptr) {
  Diagnostics diagnostics;
  parse(text, "job.hcl", diagnostics);
  if (count != nullptr) *count = diagnostics.error_count();
  return diagnostics.render();
}

TEST(Diagnostic, ShowsThePlaceAndWhatToDo) {
  EXPECT_EQ(rendered("a = 1\nb = 1 &\n"),
            "error: '&' is no operator\n"
            "  at:    job.hcl:2:7\n"
            "       2 | b = 1 &\n"
            "         |       ^\n"
            "  do:    write '&&'\n");
  Diagnostics diagnostics;
  const Body body = parse("x = \"ä${var.prots}\"\n", "job.hcl", diagnostics);
  Context context = Context().set("var", Value::object({{"ports", 1}}));
  static_cast<void>(body.just_attributes(diagnostics).at(0).expression.evaluate(context, diagnostics));
  EXPECT_EQ(diagnostics.render(),
            "error: 'var' has no 'prots'\n"
            "  at:    job.hcl:1:13\n"
            "       1 | x = \"ä${var.prots}\"\n"
            "         |             ^^^^^\n"
            "  why:   it has: ports\n"
            "  do:    write 'ports'\n");
  EXPECT_NE(diagnostics.render(Style::coloured).find("\x1b[1;31m^^^^^\x1b[0m"), std::string::npos);
}

TEST(Diagnostic, AllErrorsOfAFileAreFoundAtOnce) {
  Diagnostics diagnostics;
  const std::string text =
      "a = 1 +\n"    // 1
      "b = [1, 2\n"  // 2, its bracket forgotten: shows at the next line
      "c = 3\n"
      "job \"x\" {\n"
      "  d = ,\n"  // 5
      "  e: 1\n"
      "  group \"${x}\" {\n"  // 7
      "    f = \"a\n"
      "    g = 1\n"
      "  }\n"
      "  h = <<E\n"
      "${1 +}\n"
      "E\n"
      "  i = 'x'\n"
      "}\n"
      "j = 1 k = 2\n"
      "l = @\n";
  parse(text, "t", diagnostics);
  std::string all;
  for (const auto& d : diagnostics.all()) all += d.range.where() + " " + d.summary + "\n";
  EXPECT_EQ(all,
            "t:1:8 an expression is required, found the end of the line\n"
            "t:3:1 ',' or ']' is required in a list, found 'c'\n"
            "t:5:7 an expression is required, found ','\n"
            "t:6:4 ':' does not set the attribute 'e'\n"
            "t:7:9 a label holds no '${…}' and no '%{…}'\n"
            "t:12:6 an expression is required, found '}'\n"
            "t:14:7 a single quote has no meaning here\n"
            "t:16:7 after the attribute 'j', the line must end, found 'k'\n"
            "t:17:5 the character '@' has no meaning here\n");
}

TEST(Diagnostic, OneMistakeIsOneError) {
  for (const char* text : {"a = (1\nb = 2\n",
                           "a = [1\nb = 2\nc = 3\n",
                           "a = \"x\nb = 2\n",
                           "a = 1,\nb = 2\n",
                           "a = f(1 2)\nb = 1\n",
                           "a = {x 1}\n",
                           "job \"a\" {\n x = 1\n",
                           "a = \"${x\"\nb = \"y\"\n",
                           "\"a\" = 1\n",
                           "a b = 1\n",
                           "}\n",
                           "a = 1 ? 2\n",
                           "a = [for x in 1]\n",
                           "a = <<E\nx\n",
                           "/* x",
                           "a = \xe2\x80\x9cx\xe2\x80\x9d\nb = 1\n",
                           "a = 1\na = 2\n",
                           "a = x.\n",
                           "a = x[\n",
                           "a = 0x1\n",
                           "a = \xff\n"}) {
    std::size_t count = 0;
    rendered(text, &count);
    EXPECT_EQ(count, 1U) << text << "\n" << shown;
  }
}

TEST(Diagnostic, BecomesOneError) {
  Diagnostics diagnostics;
  parse("a = \nb = }\n", "t", diagnostics);
  EXPECT_EQ(diagnostics.to_error("cannot read 't'").text().substr(0, 100),
            "error: cannot read 't'\n  why:   t:1:5: an expression is required, found the end of the line\n  why:  ");
  EXPECT_THROW(diagnostics.throw_errors("cannot read"), Error);
}

TEST(Diagnostic, ManyErrorsAreCounted) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "a = \n";
  std::size_t count = 0;
  rendered(text, &count);
  EXPECT_EQ(count, 100U);
}

TEST(Diagnostic, HostileLinesDoNotReachTheTerminal) {
  EXPECT_EQ(rendered("a = \x1b[31m\n").find('\x1b'), std::string::npos);
  const std::string wide = rendered("a = " + std::string(5000, 'x') + " @\n");
  EXPECT_LT(wide.size(), 600U);
}

}  // namespace
}  // namespace underway::hcl

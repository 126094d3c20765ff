#include "tests/support.hpp"

#include <gtest/gtest.h>

namespace underway::hcl {
namespace {

using namespace test;

TEST(Template, QuotedStringsInterpolateAndEscape) {
  for (const auto& c : std::initializer_list<Pair>{
           {R"("a\tb\n\"q\" \\ A \U0001F600")", "\"a\\tb\\n\\\"q\\\" \\\\ A \xF0\x9F\x98\x80\""},
           {R"("$${x} %%{if} $ % $$ 100%")", R"("${x} %{if} $ % $$ 100%")"},
           {R"("${var.name}")", R"("web")"},
           {R"("${var.count}")", "3"},
           {R"("${var.list}")", R"(["a", "b", "c"])"},
           {R"("n=${var.count}")", R"("n=3")"},
           {R"("${1 == 1}!")", R"("true!")"},
           {R"("${"nested ${"deep"}"}!")", R"("nested deep!")"},
           {R"("${{a = 1}.a}")", "1"},
           {R"("")", R"("")"},
           {R"("x${var.list}")", "error: a list cannot stand in a string"},
           {R"("x${null}")", "error: null cannot stand in a string"},
           {R"("\q")", "error: this escape has no meaning"},
           {R"("${var.name")", "error: '}' is required at the end of '${', found a string"},
           {R"("abc)", "error: this string is never closed"},
           {"\"a\nb\"", "error: this string is not closed on its line"},
           {R"("${a b}")", "error: '}' is required at the end of '${', found 'b'"}}) {
    EXPECT_EQ(eval(c.text), c.expect) << c.text;
  }
}

TEST(Template, DirectivesChooseAndRepeat) {
  for (const auto& c :
       std::initializer_list<Pair>{{R"(%{ if true }a%{ else }b%{ endif })", R"("a")"},
                                   {R"(%{if false}a%{else}b%{endif}c)", R"("bc")"},
                                   {R"(x%{if false}a%{endif}y)", R"("xy")"},
                                   {R"(%{ for v in var.list }${v},%{ endfor })", R"("a,b,c,")"},
                                   {R"(%{ for k, v in var.ports }${k}=${v} %{ endfor })", R"("http=80 ssh=22 ")"},
                                   {R"(%{ for v in var.list }%{ if v != "b" }${v}%{ endif }%{ endfor })", R"("ac")"},
                                   {"hello ${~ \"world\" }", R"("helloworld")"},
                                   {"%{ if true ~} hello %{~ endif }", R"("hello")"},
                                   {"${\"hello\" ~}${\" world\"}", R"("hello world")"},
                                   {"a  ${~ 1 ~}  b", R"("a1b")"},
                                   {"%{ if true }a", "error: this 'if' is never closed"},
                                   {"a%{ endfor }", "error: this 'endfor' belongs to no 'for'"},
                                   {"%{ fi }", "error: 'fi' is no directive"},
                                   {"%{if true}%{else}%{else}%{endif}", "error: this 'else' belongs to no 'if'"},
                                   {"%{for x in [1]}%{endif}", "error: this 'endif' belongs to no 'if'"}}) {
    EXPECT_EQ(eval_template(c.text), c.expect) << c.text;
  }
}

TEST(Template, StripMarkersInHeredocsReachToTheEndOfTheirLine) {
  EXPECT_EQ(eval_template("%{ for v in var.list ~}\n  s ${v}\n%{ endfor ~}\nend"), R"("  s a\n  s b\n  s c\nend")");
}

TEST(Template, HeredocsKeepTheirLines) {
  EXPECT_EQ(eval_x("x = <<EOT\n  a\n    ${var.name}\n\nEOT\n"), R"("  a\n    web\n\n")");
  EXPECT_EQ(eval_x("x = <<EOT\n\\n \"q\" $${a} \\\nEOT\n"), R"("\\n \"q\" ${a} \\\n")");
  EXPECT_EQ(eval_x("x = <<EOT\nEOT\n"), R"("")");
  EXPECT_EQ(eval_x("x = <<EOT\nEOTX\n  EOT\ny = 1\n"), R"("EOTX\n")");
  EXPECT_EQ(eval_x("x = [<<A\n1\nA\n, <<B\n2\nB\n]\n"), R"(["1\n", "2\n"])");
  EXPECT_EQ(eval_x("x = <<EOT\n${<<IN\ninner\nIN\n}outer\nEOT"), R"("inner\nouter\n")");
  EXPECT_EQ(eval_x("x = <<EOT\na\n"), "error: the heredoc 'EOT' is never closed");
  EXPECT_EQ(eval_x("x = <<EOT a\nEOT\n"), "error: after '<<EOT', the line must end");
}

TEST(Template, FlushHeredocsLoseTheSharedIndentation) {
  EXPECT_EQ(eval_x("x = <<-EOT\n    a\n      b\n\n    c\n    EOT\n"), R"("a\n  b\n\nc\n")");
  EXPECT_EQ(eval_x("x = <<-EOT\n    a\n  ${var.name}\n  EOT\n"), R"("  a\nweb\n")");
  EXPECT_EQ(eval_x("x = <<-EOT\n    a\n${\"  b\"}\n  EOT\n"), R"("    a\n  b\n")");
}

TEST(Template, IndentationIsCountedInCharacters) {
  EXPECT_EQ(eval_x("x = <<-E\n\u2003\u2003a\n\u00a0 b\n\u2003c\n  E\n"), "\"\u2003a\\n b\\nc\\n\"");
  EXPECT_EQ(eval_x("x = <<E\na\n\u00a0E\n"), "\"a\\n\"");
  EXPECT_EQ(eval_template("a\u2003${~ 1 ~}\u00a0b"), "\"a1b\"");
}

}  // namespace
}  // namespace underway::hcl

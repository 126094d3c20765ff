#include "tests/support.hpp"

#include "hcl/module.hpp"

#include <gtest/gtest.h>

namespace underway::hcl {
namespace {

using namespace test;

std::string repeat(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Limit, DeepNestingIsRefusedNotFatal) {
  for (const auto& text : {repeat("(", 5'000), repeat("[", 5'000), repeat("{a=", 5'000), repeat("-", 5'000) + "1",
                           repeat("!", 5'000) + "true", "1" + repeat("+(1", 5'000), "a" + repeat(".b", 5'000),
                           "a" + repeat("[0]", 5'000), "a" + repeat("[*]", 5'000), repeat("f(", 5'000),
                           repeat("\"${", 5'000), "1" + repeat("?1:1", 5'000), repeat("[for x in ", 5'000)}) {
    Diagnostics diagnostics;
    parse_expression(text, "t", diagnostics);
    ASSERT_TRUE(diagnostics.has_errors()) << text.substr(0, 20);
    EXPECT_EQ(diagnostics.all()[0].summary, "this is nested too deeply") << text.substr(0, 20);
  }
  for (const auto& text : {repeat("a {\n", 5'000), repeat("a{", 5'000), "x = " + repeat("<<E\n${", 1000),
                           repeat("{\"a\":", 5'000), repeat("[", 5'000)}) {
    Diagnostics diagnostics;
    parse(text, "t", diagnostics);
    EXPECT_TRUE(diagnostics.has_errors()) << text.substr(0, 20);
  }
  Diagnostics diagnostics;
  parse_template(repeat("%{ if true }", 5'000), "t", diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(Limit, LargeFilesAreRefused) {
  Diagnostics diagnostics;
  parse(std::string(kMaxSourceBytes + 1, ' '), "big.hcl", diagnostics);
  EXPECT_EQ(diagnostics.render(), "error: 'big.hcl' is too large\n  why:   8.0 MiB, the limit is 8.0 MiB\n");
}

TEST(Limit, EvaluationHasABudget) {
  const auto limited = [] {
    return Context(Limits{.steps = 50'000, .bytes = 4 * 1024 * 1024, .string_bytes = 1024 * 1024})
        .functions(pure_functions());
  };
  for (const char* text :
       {"[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]", "range(1000000000)",
        "setproduct(range(1000), range(1000), range(1000), range(1000))",
        "\"%{ for a in range(1000) }%{ for b in range(1000) }xxxxxxxxxxxxxxxxxxxx%{ endfor }%{ endfor }\"",
        "format(\"%1000d%1000d\", 1, 2) == \"\" ? 1 : pow(2, 9000)",
        "indent(1000, join(\"\", [for x in range(1000) : \"\\n\\n\\n\"]))", "pow(pow(2, 8000), 8000)",
        "[for x in range(1000) : md5(join(\"\", range(900)))]"}) {
    const std::string shown = eval(text, limited());
    EXPECT_EQ(shown.substr(0, 6), "error:") << text << " gave " << shown.substr(0, 80);
  }
}

TEST(Limit, SharedPartsCountAsOftenAsTheyOccur) {
  // Ten elements of ten elements of …: a few hundred bytes of text, 10^12 elements written out.
  std::string text = "locals {\n l0 = \"lol\"\n";
  for (int i = 1; i <= 12; ++i) text += fmt::format(" l{} = [for x in range(10) : local.l{}]\n", i, i - 1);
  Diagnostics diagnostics;
  const Module module(parse(text + "}\n", "laughs.hcl", diagnostics), {.base = Context().functions(pure_functions())},
                      diagnostics);
  module.context({}, diagnostics);
  ASSERT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.all()[0].summary, "a value has become too large");
}

TEST(Limit, ValuesCannotBeNestedForEver) {
  std::string text = "locals {\n l0 = []\n";
  for (int i = 1; i <= 1000; ++i) text += fmt::format(" l{} = [local.l{}]\n", i, i - 1);
  Diagnostics diagnostics;
  const Module module(parse(text + "}\n", "deep.hcl", diagnostics), {}, diagnostics);
  module.context({}, diagnostics);
  ASSERT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.all()[0].summary, "a value is nested too deeply");
}

TEST(Limit, DynamicBlocksHaveABudget) {
  Diagnostics diagnostics;
  std::string text;
  for (int i = 0; i < 4; ++i) text += "dynamic \"b\" {\n for_each = range(1000)\n content {\n";
  const Body body = expand_dynamic(parse(text + repeat("}\n}\n", 4), "t", diagnostics),
                                   Context(Limits{.steps = 100'000}).functions(pure_functions()));
  const auto value = decode_any(body, Context(), diagnostics);
  EXPECT_FALSE(value);
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(Limit, ManyLabelsAreRefusedNotFatal) {
  Diagnostics diagnostics;
  const Body body = parse("x " + repeat("\"\" ", 300) + "{}\n", "t", diagnostics);
  EXPECT_FALSE(decode_any(body, Context(), diagnostics));
  ASSERT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.all()[0].summary, "a value is nested too deeply");
}

TEST(Limit, YamlAliasesAndNestingAreBounded) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\\n";
  for (int i = 1; i < 10; ++i)
    bomb += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\\n", i, i - 1);
  EXPECT_EQ(eval("yamldecode(\"" + bomb + "\")").substr(0, 6), "error:");
  EXPECT_EQ(eval("yamldecode(\"" + repeat("[", 5000) + "\")"), "error: the YAML is nested too deeply");
  EXPECT_EQ(eval("yamldecode(\"" + repeat("- ", 5000) + "\")"), "error: the YAML is nested too deeply");
  EXPECT_EQ(eval("yamldecode(\"&a [*a]\")").substr(0, 6), "error:");
}

}  // namespace
}  // namespace underway::hcl

#include "tests/support.hpp"

#include <gtest/gtest.h>

namespace underway::hcl {
namespace {

using namespace test;

void check(std::initializer_list<Pair> cases, const Context& context = plain_context()) {
  for (const auto& c : cases) EXPECT_EQ(eval(c.text, context), c.expect) << c.text;
}

TEST(Expression, OperatorsBindByTheirLevels) {
  check({{"1 + 2 * 3", "7"},
         {"(1 + 2) * 3", "9"},
         {"10 - 4 - 3", "3"},
         {"12 / 4 * 3", "9"},
         {"7 % 4 + 1", "4"},
         {"-2 * -3", "6"},
         {"1 + 1 == 2 && 2 < 3", "true"},
         {"false && true || true", "true"},
         {"true || true && false", "true"},
         {"!false == true", "true"},
         {"1 < 2 == true", "true"},
         {"2 > 1 ? \"a\" : \"b\"", "\"a\""},
         {"false ? 1 : true ? 2 : 3", "2"},
         {"-5 % 3", "-2"},
         {"5 % -3", "2"},
         {"--3", "3"},
         {"!!true", "true"}});
}

TEST(Expression, NumbersAreExact) {
  check({{"0.1 + 0.2", "0.3"},
         {"0.1 + 0.2 == 0.3", "true"},
         {"10 / 3 * 3", "10"},
         {"1 / 4", "0.25"},
         {"9007199254740993 + 0", "9007199254740993"},
         {"9223372036854775807 + 1", "9223372036854775808"},
         {"-9223372036854775807 - 2", "-9223372036854775809"},
         {"123456789012345678901234567890 * 10", "1234567890123456789012345678900"},
         {"1e3", "1000"},
         {"1.5E-2", "0.015"},
         {"6.02e23", "602000000000000000000000"},
         {"010", "10"},
         {"-0.5", "-0.5"},
         {"1.10", "1.1"},
         {"4294967296 * 4294967296", "18446744073709551616"},
         {"5 / 0", "error: division by zero"},
         {"5 % 0", "5"},
         {"18446744073709551616 + 1", "18446744073709551617"},
         {"0.1 == 1 / 10", "true"},
         {"jsonencode(-0)", "\"-0\""},
         {"\".5\" + 1", "1.5"},
         {"0.1.1", "error: this is no number"},
         {"1e99999", "error: this number is out of bounds"}});
  EXPECT_EQ(eval("1 / 3").substr(0, 12), "0.3333333333");
  EXPECT_EQ(eval("1 / 3").size(), 157U);
}

TEST(Expression, ChainsOfOperatorsMayBeLong) {
  std::string sum = "1", all = "true", mixed = "1 * 2";
  for (int i = 0; i < 5000; ++i) sum += " + 1", all += " && true", mixed += i % 2 == 0 ? " + 3 * 1" : " - 3";
  EXPECT_EQ(eval(sum), "5001");
  EXPECT_EQ(eval(all), "true");
  EXPECT_EQ(eval(mixed), "2");
  Diagnostics diagnostics;
  EXPECT_EQ(parse_expression(sum + " + var.count", "t", diagnostics).variables().size(), 1U);
  EXPECT_EQ(eval(sum, Context(Limits{.steps = 1000})), "error: this takes too long to evaluate");
}

TEST(Expression, ComparisonAndLogicFollowTheModel) {
  check({{"1 == 1.0", "true"},
         {"\"1\" == 1", "false"},
         {"\"5\" + 3", "8"},
         {"\"a\" < 1", "error: '<' needs numbers, this is the string \"a\""},
         {"[1, 2] == [1, 2]", "true"},
         {"{a = 1} == {a = 2}", "false"},
         {"sort([]) == range(0)", "false"},
         {"coalesce(sort([\"a\"]), setunion([\"b\"]), [1]) == sort([\"a\"])", "true"},
         {"null == null", "true"},
         {"1 == null", "false"},
         {"\"true\" && true", "true"},
         {"false && var.nothing.x", "error: 'var.nothing' is null and has no 'x'"},
         {"true || var.bad", "error: 'var' has no 'bad'"},
         {"1 && true", "error: '&&' needs true or false, this is the number 1"},
         {"!\"x\"", "error: '!' needs true or false, this is the string \"x\""}});
}

TEST(Expression, ConditionalsGiveBothResultsOneType) {
  check({{"true ? 1 : \"a\"", "\"1\""},
         {"true ? null : 1", "null"},
         {"false ? null : 1", "1"},
         {"true ? [1] : [\"a\", \"b\"]", "[\"1\"]"},
         {"true ? {a = 1} : {}", "{a = 1}"},
         {"true ? 1 : var.bad", "1"},
         {"true ? 1 : true", "error: the two results of '?' have no common type"},
         {"length(var.list) > 9 ? var.list[9] : \"none\"", "\"none\""}});
}

TEST(Expression, CollectionsAreBuiltAndIndexed) {
  check({{"[1, \"a\", true,]", "[1, \"a\", true]"},
         {"[\n1,\n2\n]", "[1, 2]"},
         {"{a = 1, b : 2}", "{a = 1, b = 2}"},
         {"{\n  a = 1\n  b = 2,\n\n  c = 3\n}", "{a = 1, b = 2, c = 3}"},
         {"{(var.name) = 1}", "{web = 1}"},
         {"{\"x y\" = 1}", "{x y = 1}"},
         {"{\"${var.name}-1\" = 1}", "{web-1 = 1}"},
         {"{1 = 2}", "{1 = 2}"},
         {"{true = 1}", "{true = 1}"},
         {"[]", "[]"},
         {"{}", "{}"},
         {"var.list[1]", "\"b\""},
         {"var.list[\"2\"]", "\"c\""},
         {"var.list.0", "\"a\""},
         {"var.nodes.0.id", "1"},
         {"var.nodes.0.tags.1", "\"y\""},
         {"[[1, 2], [3, 4]].1.0", "error: an index after '.' is a plain integer"},
         {"var.ports[\"http\"]", "80"},
         {"var[\"ports\"].ssh", "22"},
         {"[1, 2, 3][1 + 1]", "3"},
         {"var.list[9]", "error: 'var.list' has no element 9"},
         {"var.list[-1]", "error: 'var.list' has no element -1"},
         {"var.ports.htp", "error: 'var.ports' has no 'htp'"},
         {"var.nothing.x", "error: 'var.nothing' is null and has no 'x'"},
         {"var.count.x", "error: 'var.count' is the number 3 and has no attributes"},
         {"{a.b = 1}", "error: 'a.b' is ambiguous as a key"},
         {"(\n1\n+\n2\n)", "3"}});
}

TEST(Expression, SplatsReachIntoEachElement) {
  check({{"var.nodes[*].id", "[1, 2]"},
         {"var.nodes.*.id", "[1, 2]"},
         {"var.nodes[*].tags[*]", "[[\"x\", \"y\"], []]"},
         {"[{a = [7, 8]}][*].a[0]", "[7]"},
         {"[{a = [7, 8]}].*.a[0]", "[7, 8]"},
         {"var.nodes.*.tags.0", "error: 'var.nodes.*.tags' has no element 0"},
         {"var.ports[*].http", "[80]"},
         {"var.nodes.*.tags.*", "error: '.*' has no place behind '.*'"},
         {"var.nothing[*]", "[]"},
         {"var.count[*]", "[3]"},
         {"[][*].a", "[]"},
         {"var.nodes[*][\"id\"]", "[1, 2]"}});
}

TEST(Expression, ForBuildsListsAndObjects) {
  check({{"[for v in var.list : upper(v)]", "[\"A\", \"B\", \"C\"]"},
         {"[for i, v in var.list : \"${i}${v}\"]", "[\"0a\", \"1b\", \"2c\"]"},
         {"[for v in [1, 2, 3, 4] : v * v if v % 2 == 0]", "[4, 16]"},
         {"{for k, v in var.ports : v => k}", "{22 = \"ssh\", 80 = \"http\"}"},
         {"{for s in [\"ab\", \"ac\", \"b\"] : substr(s, 0, 1) => s...}", "{a = [\"ab\", \"ac\"], b = [\"b\"]}"},
         {"{for s in [\"a\", \"a\"] : s => 1}", "error: 'for' makes the key 'a' twice"},
         {"[for k, v in {b = 1, a = 2} : k]", "[\"a\", \"b\"]"},
         {"[for x in [for y in [1, 2] : y + 1] : x * 10]", "[20, 30]"},
         {"[\n for v in var.list :\n v\n if v != \"b\"\n]", "[\"a\", \"c\"]"},
         {"{\n for k, v in var.ports :\n k => v\n}", "{http = 80, ssh = 22}"},
         {"[for x in 5 : x]", "error: 'for' needs a list, set, map or object, this is the number 5"},
         {"[for k, v in [1] : k => v]", "error: a list's 'for' has no keys"},
         {"[for var in [1] : var]", "[1]"}});
}

TEST(Expression, CallsTakeExpandedArguments) {
  check({{"max(1, 5, 3)", "5"},
         {"max([1, 5, 3]...)", "5"},
         {"format(\"%s-%s\", [\"a\", \"b\"]...)", "\"a-b\""},
         {"upper(\n\"a\",\n)", "\"A\""},
         {"max([]...)", "error: max(numbers…) takes at least 1 argument, 0 given"},
         {"max(3...)", "error: '...' needs a list, this is the number 3"},
         {"uper(\"a\")", "error: unknown function 'uper'"},
         {"file(\"x\")", "error: here one may not call the function 'file'"},
         {"upper()", "error: upper(text) takes 1 argument, 0 given"},
         {"upper(null)", "error: upper(text): an argument is null"},
         {"upper([1])", "error: upper(): a string is required, this is tuple([number])"}});
}

TEST(Expression, TryCanAndConvertLookBeforeTheyLeap) {
  check({{"try(var.bad, 1)", "1"},
         {"try(var.count)", "3"},
         {"can(var.bad)", "false"},
         {"can(var.name)", "true"},
         {"convert(\"5\", number)", "5"},
         {"convert([\"a\", \"a\"], set(string))", "[\"a\"]"},
         {"convert({a = 1, b = 2}, object({a = string}))", "{a = \"1\"}"},
         {"convert(\"x\", number)", "error: convert(): a number is required, this is the string \"x\""},
         {"convert([{p = true}], list(object({p = number})))",
          "error: convert(): [0].p: a number is required, this is the bool true"},
         {"convert(1, \"string\")", "error: a type is written without quotes"},
         {"can([1]...)", "true"},
         {"can([1, 2]...)", "error: can() does not take 2 arguments"},
         {"try([1, 2]...)", "1"},
         {"try(var.bad, [7]...)", "7"},
         {"try(var.name, []...)", "\"web\""},
         {"try(var.bad, var.worse)", "error: 'var' has no 'worse'"}});
}

TEST(Expression, UnknownNamesAreErrorsWithTheNearest) {
  Diagnostics diagnostics;
  const Expression expression = parse_expression("vat.name", "test", diagnostics);
  EXPECT_FALSE(expression.evaluate(plain_context(), diagnostics));
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].summary, "unknown name 'vat'");
  EXPECT_EQ(diagnostics.all()[0].suggestion, "write 'var'");
}

TEST(Expression, AllErrorsOfAnExpressionAreReported) {
  Diagnostics diagnostics;
  const Expression expression = parse_expression("[var.a, {x = var.b}, \"${var.c} ${var.d}\"]", "test", diagnostics);
  EXPECT_FALSE(expression.evaluate(plain_context(), diagnostics));
  EXPECT_EQ(diagnostics.error_count(), 4U);
}

TEST(Expression, ReportsItsVariables) {
  Diagnostics diagnostics;
  const auto variables =
      parse_expression("[for x in var.a : x + local.b[\"k\"].c[0]] + f(var.list[var.i])", "test", diagnostics)
          .variables();
  std::vector<std::string> texts;
  for (const auto& variable : variables) texts.emplace_back(variable.range.text());
  EXPECT_EQ(texts, (std::vector<std::string>{"var.a", "local.b[\"k\"].c[0]", "var.list", "var.i"}));
  EXPECT_EQ(variables[1].root, "local");
  EXPECT_EQ(describe(Value::tuple(variables[1].steps)), R"(["b", "k", "c", 0])");
}

TEST(Dialect, UnknownRootsStayAsTheirSource) {
  check({{"attr.unique.hostname", "\"${attr.unique.hostname}\""},
         {"\"${attr.unique.hostname}\"", "\"${attr.unique.hostname}\""},
         {"\"${node.class}-${var.name}\"", "\"${node.class}-web\""},
         {"\"http://${NOMAD_ADDR_http}/x\"", "\"http://${NOMAD_ADDR_http}/x\""},
         {"env[\"HOME\"]", "\"${env[\\\"HOME\\\"]}\""},
         {"\"${meta.x-y}\"", "\"${meta.x-y}\""},
         {"\"${attr.unique.hostname\n }\"", "\"${attr.unique.hostname}\""},
         {"a.0.b", "\"${a.0.b}\""},
         {"upper(attr.x)", "\"${ATTR.X}\""},
         {"\"a ${~ attr.x ~} b\"", "\"a${attr.x}b\""},
         {"[for x in [1] : \"${x}${y}\"]", "[\"1${y}\"]"},
         {"var.nam", "error: 'var' has no 'nam'"},
         {"nofunc(1)", "error: unknown function 'nofunc'"},
         {"\"$${attr.x}\"", "\"${attr.x}\""}},
        nomad_context());
}

}  // namespace
}  // namespace underway::hcl

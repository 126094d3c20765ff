#include "tests/support.hpp"

#include "hcl/module.hpp"

#include <gtest/gtest.h>

namespace underway::hcl {
namespace {

using namespace test;

struct Outcome {
  std::string var, local, errors;
};

Outcome run(const std::string& text, const Inputs& inputs = {}, TypeRules rules = TypeRules::liberal) {
  Diagnostics diagnostics;
  const Module module(parse(text, "m.hcl", diagnostics),
                      {.types = rules, .base = Context().functions(pure_functions())}, diagnostics);
  const Context context = module.context(inputs, diagnostics);
  Outcome outcome;
  if (context.find("var") != nullptr) outcome.var = describe(*context.find("var"));
  if (context.find("local") != nullptr) outcome.local = describe(*context.find("local"));
  for (const auto& d : diagnostics.all()) {
    outcome.errors += d.range.where() + " " + d.summary + (d.detail.empty() ? "" : " (" + d.detail + ")") +
                      (d.suggestion.empty() ? "" : " -> " + d.suggestion) + "\n";
  }
  return outcome;
}

TEST(Module, LaterInputsWin) {
  const std::string text = "variable \"a\" {\n default = \"d\"\n}\n";
  Diagnostics diagnostics;
  const Body one = parse("a = \"f1\"\n", "f1", diagnostics);
  const Body two = parse(R"({"a": "f2"})", "f2", diagnostics);
  EXPECT_EQ(run(text).var, R"({a = "d"})");
  EXPECT_EQ(run(text, {.environment = {{"NOMAD_VAR_a", "e"}, {"HOME", "x"}}}).var, R"({a = "e"})");
  EXPECT_EQ(run(text, {.environment = {{"NOMAD_VAR_a", "e"}}, .files = {one, two}}).var, R"({a = "f2"})");
  EXPECT_EQ(
      run(text, {.environment = {{"NOMAD_VAR_a", "e"}}, .files = {one}, .arguments = {{"a", "x"}, {"a", "y"}}}).var,
      R"({a = "y"})");
}

TEST(Module, TextIsReadByTheVariablesType) {
  const Inputs inputs{
      .arguments = {{"n", "8080"}, {"s", "8080"}, {"l", "[\"a\", 2]"}, {"m", "{ x = 1 }"}, {"u", "7"}, {"b", "true"}}};
  const auto outcome =
      run("variable \"n\" {\n type = number\n}\nvariable \"s\" {\n type = string\n}\nvariable \"l\" {\n type = "
          "list(string)\n}\n"
          "variable \"m\" {\n type = object({ x = number, y = optional(string, \"z\") })\n}\nvariable \"u\" {\n "
          "default = 5\n}\nvariable \"b\" {\n type = bool\n}\n",
          inputs);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.var, R"({b = true, l = ["a", "2"], m = {x = 1, y = "z"}, n = 8080, s = "8080", u = 7})");
}

TEST(Module, WrongInputsAreReported) {
  const std::string text = "variable \"port\" {\n type = number\n}\nvariables {\n name = \"x\"\n}\n";
  EXPECT_EQ(
      run(text).errors,
      "m.hcl:1:1 the variable 'port' has no value (it has no default) -> give -var port=…, or set NOMAD_VAR_port\n");
  EXPECT_EQ(run(text, {.arguments = {{"port", "\"x\""}}}).errors,
            "<-var port>:1:1 -var port: the value does not fit the variable 'port' (its type is number; a number is "
            "required, this is the string \"x\")\n");
  EXPECT_EQ(run(text, {.arguments = {{"port", "1"}, {"nmae", "1"}}}).errors,
            " -var sets 'nmae', which is no variable (declared: port, name) -> write 'name'\n");
  EXPECT_EQ(run(text, {.arguments = {{"port", "1"}, {"nmae", "1"}}, .strict = false}).errors, "");
  Diagnostics diagnostics;
  EXPECT_EQ(run(text, {.files = {parse("port = 1\nprot = 2\n", "v", diagnostics)}}).errors,
            "v:2:1 'prot' is no variable (declared: port, name) -> write 'port'\n");
  EXPECT_EQ(run("variable \"a\" {\n type = number\n default = \"x\"\n}\n").errors,
            "m.hcl:3:12 the default does not fit the variable 'a' (its type is number; a number is required, this is "
            "the string \"x\")\n"
            "m.hcl:1:1 the variable 'a' has no value (it has no default) -> give -var a=…, or set NOMAD_VAR_a\n");
}

TEST(Module, ValidationRunsOnTheFinalValue) {
  const std::string text =
      "variable \"n\" {\n type = number\n validation {\n  condition = var.n > 2\n  error_message = \"n must be above "
      "2, not ${var.n}.\"\n }\n}\n";
  EXPECT_EQ(run(text, {.arguments = {{"n", "3"}}}).errors, "");
  EXPECT_EQ(run(text, {.arguments = {{"n", "1"}}}).errors,
            "m.hcl:1:1 the value of the variable 'n' is not allowed (n must be above 2, not 1.)\n");
}

TEST(Module, LocalsMayReferToEachOtherInAnyOrder) {
  const auto outcome = run(
      "locals {\n c = \"${local.b}!\"\n a = var.x\n}\nlocals {\n b = upper(local.a)\n}\nvariables {\n x = \"v\"\n}\n");
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.local, R"({a = "v", b = "V", c = "V!"})");
}

TEST(Module, CyclesAndMistakesInLocalsAreReportedOnce) {
  EXPECT_EQ(run("locals {\n a = local.b\n b = local.c\n c = local.b\n d = 1\n}\n").errors,
            "m.hcl:3:2 the local 'b' refers to itself (local.b → local.c → local.b)\n");
  EXPECT_EQ(run("locals {\n a = local.a\n}\n").errors,
            "m.hcl:2:2 the local 'a' refers to itself (local.a → local.a)\n");
  EXPECT_EQ(run("locals {\n first = 1\n b = local.frist\n c = local.b\n}\n").errors,
            "m.hcl:3:12 'local' has no 'frist' (it has: first) -> write 'first'\n");
  EXPECT_EQ(run("locals {\n a = 1\n}\nlocals {\n a = 2\n}\n").errors,
            "m.hcl:5:2 the local 'a' is defined twice (first defined at m.hcl:2:2)\n");
}

TEST(Module, LongChainsOfLocalsResolve) {
  std::string text = "locals {\n";
  for (int i = 0; i < 5000; ++i) text += fmt::format(" l{} = local.l{}\n", i, i + 1);
  const auto outcome = run(text + " l5000 = 7\n}\n");
  EXPECT_EQ(outcome.errors, "");
}

TEST(Module, ExactTypesAreASwitch) {
  const auto type = [](const char* t) {
    return std::string("variable \"a\" {\n default = null\n type = ") + t + "\n}\n";
  };
  for (const char* good : {"string", "list(number)", "map(set(bool))", "tuple([string, number])",
                           "object({ a = string, b = list(object({})) })", "\"string\""}) {
    EXPECT_EQ(run(type(good), {}, TypeRules::exact).errors, "") << good;
  }
  EXPECT_EQ(run(type("list(any)")).errors, "");
  EXPECT_EQ(
      run(type("list(any)"), {}, TypeRules::exact).errors,
      "m.hcl:3:14 'any' is no exact type (a variable of a job has an exact type) -> name the type, or leave it out\n");
  EXPECT_EQ(run(type("strng")).errors, "m.hcl:3:9 unknown type 'strng' -> write 'string'\n");
  EXPECT_EQ(run(type("list(string, string)")).errors, "m.hcl:3:9 'list' takes one argument, 2 given\n");
}

constexpr const char* kListings[] = {
    "job \"slurm-ctl\" {\n priority = 95\n datacenters = [\"${var.datacenter}\"]\n type = \"service\"\n group "
    "\"slurm-ctl\" {\n"
    "  task \"slurmctld\" {\n   driver = \"raw_exec\"\n   user = \"root\"\n   config {\n    command = "
    "\"/usr/sbin/slurmctld\"\n    args = [\"-D\"]\n   }\n  }\n"
    "  network {\n   port \"slurmctl\" {\n    static = 6817 # host linked port\n  } } }\n constraint {\n  attribute = "
    "\"${attr.unique.hostname\n }\"\n"
    "  value = \"${var.slurm-ctld-host}\"\n } }\n",
    "job \"munge\" {\n priority = 95\n datacenters = [\"${var.datacenter}\"]\n type = \"system\"\n group \"munge\" {\n "
    " task \"munge\" {\n   driver = \"raw_exec\"\n"
    "   user = \"munge\"\n   config {\n    command = \"/usr/sbin/munged\"\n    args = [\"--foreground\", "
    "\"--syslog\"]\n   }\n  }\n }\n}\n",
    "job \"slurm-cn\" {\n priority = 95\n datacenters = [\"${var.datacenter}\"]\n type = \"system\"\n group "
    "\"slurmd-cn\" {\n  # Each task is scheduled on a different node\n"
    "  constraint {\n   operator = \"distinct_hosts\"\n   value = \"true\"\n  }\n  task \"slurmd\" {\n  driver = "
    "\"raw_exec\"\n  user = \"root\"\n   config {\n"
    "    command = \"/usr/sbin/slurmd\"\n    args = [\"-D\", \"-Z\", \"--conf-server\", \"${var.slurm-ctld-host}\", "
    "\"--conf\", \"Feature=compute\"]\n   }\n  }\n  network {\n"
    "   port \"slurmd\" {\n    static = 6818 # host linked port\n } } } }\n"};

TEST(Module, ThePapersListingsAreRead) {
  for (const char* listing : kListings) {
    Diagnostics diagnostics;
    const Body body =
        merge({parse("variable \"datacenter\" {}\nvariable \"slurm-ctld-host\" {}\n", "vars.hcl", diagnostics),
               parse(listing, "listing.hcl", diagnostics)});
    const Module module(body, {.base = Context().functions(pure_functions()).unknown_roots(UnknownRoots::keep)},
                        diagnostics);
    const Context context =
        module.context({.arguments = {{"datacenter", "dc1"}, {"slurm-ctld-host", "mgmt"}}}, diagnostics);
    const auto value = decode_any(module.rest(), context, diagnostics);
    ASSERT_TRUE(value) << diagnostics.render();
    const std::string shown = describe(*value, 10'000);
    EXPECT_NE(shown.find("datacenters = [\"dc1\"]"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("attr.unique") != std::string::npos,
              shown.find("\"${attr.unique.hostname}\"") != std::string::npos)
        << shown;
  }
}

}  // namespace
}  // namespace underway::hcl

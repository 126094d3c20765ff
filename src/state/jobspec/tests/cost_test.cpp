// What small files can ask for: refused where it costs too much, naming the place, or done quickly.
#include "base/allowance.hpp"
#include "base/json/json.hpp"
#include "jobspec/jobspec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace underway::jobspec {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// A job whose meta has one value.
std::string job_with(const std::string& expression) {
  return "job \"j\" {\n  meta {\n    x = \"${jsonencode(" + expression + ")}\"\n  }\n}\n";
}

struct Outcome {
  std::string told;  ///< why it was refused; empty: it was not
  Duration computed{};
};

Outcome outcome(const std::string& text) {
  const Duration begun = thread_cpu_time();
  const auto result = parse_job(text, "job.hcl", {.validate = false, .canonicalize = false});
  Outcome out{"", thread_cpu_time() - begun};
  if (!result.job) out.told = result.diagnostics.to_error("refused").one_line();
  return out;
}

struct Case {
  const char* name;
  std::string text;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Far above what a well-meant file takes, far below what would be noticed by anybody else: three times as much as the
/// slowest takes on a quiet machine.
constexpr Duration kAtMost = 6s;

class Refused : public ::testing::TestWithParam<Case> {};

TEST_P(Refused, WhereItCostsTooMuch) {
  const auto seen = outcome(GetParam().text);
  EXPECT_THAT(seen.told, ::testing::AnyOf(HasSubstr("takes too long"), HasSubstr("makes too much"),
                                          HasSubstr("too large"), HasSubstr("no regular expression")));
  EXPECT_THAT(seen.told, HasSubstr("job.hcl:")) << "names the place";
  EXPECT_LT(seen.computed, kAtMost);
  EXPECT_LT(seen.told.size(), 64u << 10) << "and is no long story";
  RecordProperty("ms", std::to_string(seen.computed / 1ms));
}

INSTANTIATE_TEST_SUITE_P(
    Cost, Refused,
    ::testing::Values(
        Case{"a million groups",
             "job \"j\" {\n  dynamic \"group\" {\n    for_each = flatten(setproduct(range(1000), range(500)))\n    "
             "labels = [group.key]\n    content {\n      task \"t\" { driver = \"exec\" }\n    }\n  }\n}\n"},
        Case{"a million tasks of the job",
             "job \"j\" {\n  dynamic \"task\" {\n    for_each = flatten(setproduct(range(1000), range(500)))\n    "
             "labels = [task.key]\n    content { "
             "driver = \"exec\" }\n  }\n}\n"},
        Case{"bcrypt", job_with("[for i in range(18): bcrypt(\"x\",14)]")},
        Case{"great numbers", job_with("[for i in flatten(setproduct(range(1000), range(100))): 1e1200/3]")},
        Case{"great numbers as text",
             job_with("[for i in flatten(setproduct(range(1000), range(100))): \"${1/3e1200}\"]")},
        Case{"great numbers in binary",
             job_with("[for i in flatten(setproduct(range(1000), range(100))): format(\"%b\", 1e2400)]")},
        Case{"great literals", job_with("[for i in flatten(setproduct(range(1000), range(500))): 1e-2400 + 1]")},
        Case{"many decimals",
             job_with("[for i in flatten(setproduct(range(1000), range(50))): format(\"%.1000f\", 1/3)]")},
        Case{"a counted pattern", job_with("[for i in flatten(setproduct(range(1000), range(1))): regex_replace(\"x\", "
                                           "\"((a{1,30}b?){1,30})\", \"\")]")},
        Case{"patterns that are too great",
             job_with("[for i in flatten(setproduct(range(1000), range(1))): can(regex_replace(\"x\", "
                      "\"((a{1,100}){1,100}){1,100}\", \"\"))]")},
        Case{"a pattern over a long text", job_with("regex_replace(join(\"\",[for i in flatten(setproduct(range(1000), "
                                                    "range(100))): \"aaaaaaaaaaaaaaaaaaaa\"]), "
                                                    "\"(a|b|ab|ba){1,500}c\", \"\")")},
        Case{"trim", job_with("[for i in range(100): trim(join(\"\",flatten(setproduct(range(1000), range(30)))), "
                              "join(\"\",flatten(setproduct(range(1000), range(3)))))]")},
        Case{"contains",
             job_with("[for i in range(1000): contains(flatten(setproduct(range(1000), range(250))), \"x\")]")},
        Case{"distinct",
             job_with("[for i in range(100): length(distinct(flatten(setproduct(range(1000), range(150)))))]")},
        Case{"sets", job_with("[for i in range(100): length(setunion(flatten(setproduct(range(1000), range(100))), "
                              "flatten(setproduct(range(1000), range(100)))))]")},
        Case{"hashes", job_with("[for i in flatten(setproduct(range(1000), range(1))): sha512(join(\"\", "
                                "flatten(setproduct(range(1000), range(25)))))]")},
        Case{"forty thousand groups", "job \"j\" {\n" + repeat("group \"g\" { count=1 }\n", 40'000) + "}\n"},
        Case{"unknown names", "locals {\n" +
                                  [] {
                                    std::string out;
                                    for (int i = 0; i < 50'000; ++i) out += fmt::format("a{}=1\n", i);
                                    return out;
                                  }() +
                                  "}\n" +
                                  job_with("[for i in flatten(setproduct(range(1000), range(50))): can(local.x)]")}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

class Quick : public ::testing::TestWithParam<Case> {};

TEST_P(Quick, WhatIsLargeAndSimple) {
  const auto seen = outcome(GetParam().text);
  EXPECT_LT(seen.computed, kAtMost);
  RecordProperty("ms", std::to_string(seen.computed / 1ms));
}

INSTANTIATE_TEST_SUITE_P(
    Cost, Quick,
    ::testing::Values(
        Case{"a thousand groups", "job \"j\" {\n" + repeat("group \"g\" {\n task \"t\" {}\n}\n", 1000) + "}\n"},
        Case{"a wide tuple", "a = [" + repeat("[],", 300'000) + "]\n"},
        Case{"many attributes",
             [] {
               std::string out = "b = var.x\n";
               for (int i = 0; i < 200'000; ++i) out += fmt::format("a{}=1\n", i);
               return out;
             }()},
        Case{"many locals",
             [] {
               std::string out = "locals {\na0=1\n";
               for (int i = 1; i < 30'000; ++i) out += fmt::format("a{}=local.a{}\n", i, i - 1);
               return out + "}\njob \"j\" {}\n";
             }()},
        Case{"many variables",
             [] {
               std::string out;
               for (int i = 1; i < 30'000; ++i) out += fmt::format("variable \"a{}\" {{ default = 1 }}\n", i);
               return out + "job \"j\" {}\n";
             }()},
        Case{"many undeclared variables",
             [] {
               std::string out = "locals {\n";
               for (int i = 1; i < 30'000; ++i) out += fmt::format("a{}=var.b{}\n", i, i);
               return out + "}\njob \"j\" {}\n";
             }()},
        Case{"locals that may need any other",
             [] {
               std::string out = "locals {\n";
               for (int i = 1; i < 30'000; ++i) out += fmt::format("a{}=local[\"a\"]\n", i);
               return out + "}\njob \"j\" {}\n";
             }()},
        Case{"variables with costly defaults",
             [] {
               std::string cost = "0", out;
               for (int i = 0; i < 6; ++i) cost = fmt::format("[for a in [0,0,0,0,0,0,0,0,0,0]: {}]", cost);
               for (int i = 1; i < 100; ++i) out += fmt::format("variable \"a{}\" {{ default = {} }}\n", i, cost);
               return out + "job \"j\" {}\n";
             }()},
        Case{"many jobs", repeat("job \"j\" {}\n", 100'000)}, Case{"many broken lines", repeat("a = = =\n", 200'000)},
        Case{"heredocs", "a = [" + repeat("<<E\nx\nE\n,", 100'000) + "]\n"},
        Case{"the same as JSON", "{\"job\":{\"j\":{\"group\":[" + repeat("{\"g\":{}},", 50'000) + "{\"g\":{}}]}}}"},
        Case{"the API's JSON", "{\"ID\":\"j\",\"TaskGroups\":[" + repeat("{},", 400'000) + "{}]}"}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      name.erase(std::remove(name.begin(), name.end(), '\''), name.end());
      return name;
    });

TEST(Cost, AWellMeantFileIsFarFromTheLimits) {
  // A site's template: a group for each of 300 places, with names worked out for each.
  const auto seen = outcome(R"(
locals {
  places = [for i in range(300) : { name = format("r%02d-n%03d", floor(i / 32), i), ip = cidrhost("10.1.0.0/16", i) }]
}
job "site" {
  dynamic "group" {
    for_each = local.places
    iterator = place
    labels = [place.value.name]
    content {
      task "agent" {
        driver = "exec"
        env {
          ADDRESS = place.value.ip
          PEERS = join(",", [for p in local.places : p.ip])
          SECRET = sha256("${place.value.name}${regex_replace(place.value.name, "[0-9]+", "")}")
        }
      }
    }
  }
}
)");
  EXPECT_EQ(seen.told, "");
}

TEST(Cost, ThePartsOfAJobAreCounted) {
  const auto json = json::parse("{\"ID\":\"j\",\"TaskGroups\":[" + repeat("{},", 60'000) + "{}]}");
  try {
    (void)job_from_json(json);
    FAIL() << "a job of 60,000 groups";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::too_large);
    EXPECT_THAT(error.one_line(), HasSubstr("Job.TaskGroups[49999]"));
  }
}

TEST(Cost, AnAllowanceEndsAParse) {
  const Allowance allowance("parsing the job", 20ms);
  EXPECT_THAT(outcome(job_with("[for a in flatten(setproduct(range(1000), range(1))): [for b in "
                               "flatten(setproduct(range(1000), range(1))): a]]"))
                  .told,
              HasSubstr("parsing the job takes too long"));
}

}  // namespace
}  // namespace underway::jobspec

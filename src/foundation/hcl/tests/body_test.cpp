#include "tests/support.hpp"

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

namespace underway::hcl {
namespace {

using namespace test;

const Schema kJobFile{.blocks = {{.type = "job", .labels = {"name"}}}};
const Schema kJob{.attributes = {{"priority"}, {"type", true}, {"meta"}},
                  .blocks = {{.type = "group", .labels = {"name"}},
                             {.type = "meta"},
                             {.type = "service", .labels = {"name"}, .optional_labels = true}}};

std::string summaries(const Diagnostics& diagnostics) {
  std::string out;
  for (const auto& d : diagnostics.all()) {
    out += d.range.where() + " " + d.summary + (d.suggestion.empty() ? "" : " -> " + d.suggestion) + "\n";
  }
  return out;
}

TEST(Body, IsReadBySchema) {
  Diagnostics diagnostics;
  const Body body = parse(
      "job \"a\" {\n  type = \"batch\" # why\n  /* x */ group one {}\n  group \"two\" { x = 1 }\n  service {}\n}\n",
      "j.hcl", diagnostics);
  const Content file = body.content(kJobFile, diagnostics);
  ASSERT_EQ(file.blocks.size(), 1U);
  const Content job = file.blocks[0].body.content(kJob, diagnostics, "job");
  EXPECT_EQ(summaries(diagnostics), "");
  EXPECT_EQ(file.blocks[0].label(0), "a");
  EXPECT_EQ(file.blocks[0].range.where(), "j.hcl:1:1");
  EXPECT_EQ(file.blocks[0].range.text(), "job \"a\"");
  EXPECT_EQ(job.find("type")->range.text(), "type = \"batch\"");
  ASSERT_EQ(job.blocks_of("group").size(), 2U);
  EXPECT_EQ(job.blocks_of("group")[1]->label(0), "two");
  EXPECT_EQ(job.find("priority"), nullptr);
}

TEST(Body, MisusesAreReportedWithTheNearestName) {
  Diagnostics diagnostics;
  const Body body = parse(
      "job \"a\" {\n  prioriti = 5\n  grup \"x\" {}\n  group {}\n  group \"a\" \"b\" {}\n  priority {}\n  service = "
      "1\n}\n",
      "j.hcl", diagnostics);
  body.content(kJobFile, diagnostics).blocks.at(0).body.content(kJob, diagnostics, "job");
  EXPECT_EQ(summaries(diagnostics),
            "j.hcl:2:3 unknown attribute 'prioriti' in job -> write 'priority'\n"
            "j.hcl:7:3 'service' is a block, not an attribute -> write 'service \"<name>\" { … }' without '='\n"
            "j.hcl:3:3 unknown block 'grup' in job -> write 'group'\n"
            "j.hcl:4:3 the block 'group' lacks a label -> write 'group \"<name>\" { … }'\n"
            "j.hcl:5:13 the block 'group' has too many labels -> write 'group \"<name>\" { … }'\n"
            "j.hcl:6:3 'priority' is an attribute, not a block -> write 'priority = …'\n"
            "j.hcl:1:1 the attribute 'type' is required in job -> add 'type = …'\n");
}

TEST(Body, PartialContentLeavesTheRest) {
  Diagnostics diagnostics;
  const Body body = parse("a = 1\nb = 2\nc {}\n", "t", diagnostics);
  const auto [content, rest] = body.partial_content({.attributes = {{"a"}}}, diagnostics);
  EXPECT_EQ(content.attributes.size(), 1U);
  const Content other = rest.content({.attributes = {{"b"}}, .blocks = {{.type = "c"}}}, diagnostics);
  EXPECT_EQ(other.attributes.size(), 1U);
  EXPECT_EQ(other.blocks.size(), 1U);
  EXPECT_EQ(summaries(diagnostics), "");
}

TEST(Body, JsonReadsLikeNativeSyntax) {
  Diagnostics diagnostics;
  const Body body =
      parse(R"({"//": "note", "job": {"a": {"type": "batch", "priority": "${1 + 1}", "meta": {"k": "${var.name}x"},
      "group": [{"one": {}}, {"two": [{}, {}]}], "service": [{}, {}]}}})",
            "j.json", diagnostics);
  const Content file = body.content(kJobFile, diagnostics);
  ASSERT_EQ(file.blocks.size(), 1U) << summaries(diagnostics);
  EXPECT_TRUE(file.blocks[0].body.is_json());
  const Content job = file.blocks[0].body.content(kJob, diagnostics, "job");
  EXPECT_EQ(summaries(diagnostics), "");
  EXPECT_EQ(describe(*job.find("priority")->expression.evaluate(plain_context(), diagnostics)), "2");
  ASSERT_EQ(job.blocks_of("group").size(), 3U);
  EXPECT_EQ(job.blocks_of("group")[2]->label(0), "two");
  EXPECT_EQ(job.blocks_of("service").size(), 2U);
  const auto meta = job.blocks_of("meta").at(0)->body.just_attributes(diagnostics);
  EXPECT_EQ(describe(*meta.at(0).expression.evaluate(plain_context(), diagnostics)), "\"webx\"");
}

TEST(Body, JsonErrorsHaveTheirPlaces) {
  for (const auto& c : std::initializer_list<Pair>{
           {"{\"a\": }", "t:1:7 a JSON value is required, found '}'\n"},
           {"{\"a\": 1 \"b\": 2}", "t:1:9 ',' is required between the members of an object, found '\"'\n"},
           {"{\"x\": \"${1 +}\"}", "t:1:13 an expression is required, found '}'\n"},
           {"{\"x\": \"\\n${1 +}\"}", "t:1:7 an expression is required, found '}'\n"},
           {"{\"a\": 01}", "t:1:7 this is no JSON number\n"},
           {"{a: 1}", "t:1:2 a name in double quotes is required, found 'a'\n"},
           {"[1]", "t:1:2 a body is an object, this is a number\n"},
           {"{\"a\": \"b", "t:1:7 this string is never closed\n"},
           {"{} x", "t:1:4 after the JSON value, the text must end\n"}}) {
    Diagnostics diagnostics;
    parse(c.text, "t", diagnostics);
    EXPECT_EQ(summaries(diagnostics), c.expect) << c.text;
  }
}

TEST(Body, DynamicBlocksExpandInPlace) {
  Diagnostics diagnostics;
  const Body body = parse(R"(
    group "x" {}
    dynamic "group" {
      for_each = { b = 2, a = 1 }
      labels   = ["g-${group.key}"]
      content {
        n = group.value
        dynamic "port" {
          for_each = range(group.value)
          iterator = p
          content { at = "${group.key}${p.value}/${p.key}" }
        }
      }
    })",
                          "t", diagnostics);
  const Content content =
      expand_dynamic(body, plain_context()).content({.blocks = {{.type = "group", .labels = {"name"}}}}, diagnostics);
  std::string seen;
  for (const auto& group : content.blocks) {
    seen += group.label(0) + ":";
    const Content inner = group.body.content({.attributes = {{"n"}}, .blocks = {{.type = "port"}}}, diagnostics);
    if (const Attribute* n = inner.find("n")) seen += describe(*n->expression.evaluate(plain_context(), diagnostics));
    for (const auto& port : inner.blocks) {
      for (const auto& at : port.body.just_attributes(diagnostics))
        seen += describe(*at.expression.evaluate(plain_context(), diagnostics));
    }
    seen += ";";
  }
  EXPECT_EQ(seen, "x:;g-a:1\"a0/0\";g-b:2\"b0/0\"\"b1/1\";") << summaries(diagnostics);
  EXPECT_EQ(summaries(diagnostics), "");
}

TEST(Body, DynamicErrorsAreReported) {
  for (const auto& c : std::initializer_list<Pair>{
           {"dynamic \"port\" {\n content {}\n}",
            "t:1:1 the attribute 'for_each' is required in this dynamic block -> add 'for_each = …'\n"},
           {"dynamic \"port\" {\n for_each = 5\n content {}\n}",
            "t:2:13 'for_each' needs a list, set, map or object, this is number\n"},
           {"dynamic \"port\" {\n for_each = []\n}",
            "t:1:1 the dynamic block 'port' needs one 'content' block, it has 0\n"},
           {"dynamic \"prot\" {\n for_each = []\n content {}\n}",
            "t:1:9 unknown block 'prot' in this block -> write 'port'\n"},
           {"dynamic \"port\" {\n for_each = [1]\n labels = [\"a\"]\n content {}\n}",
            "t:1:1 the block 'port' takes 0 labels, 'labels' gives 1\n"},
           {"dynamic \"port\" {\n for_each = [var.bad]\n content {}\n}", "t:2:18 'var' has no 'bad'\n"}}) {
    Diagnostics diagnostics;
    const Body body = parse(c.text, "t", diagnostics);
    expand_dynamic(body, plain_context()).content({.blocks = {{.type = "port"}}}, diagnostics);
    EXPECT_EQ(summaries(diagnostics), c.expect) << c.text;
  }
}

TEST(Body, FreeFormBodiesBecomeListsOfObjects) {
  Diagnostics diagnostics;
  const Body body = parse(R"(
    command = "/bin/${var.name}"
    args    = ["-D", "${NOMAD_PORT_x}"]
    labels  = { a = 1 }
    mount { type = "bind" }
    mount {
      type = "volume"
      options { ro = true }
    }
    logging "json" { max = 3 })",
                          "t", diagnostics);
  const auto value = decode_any(body, nomad_context(), diagnostics);
  ASSERT_TRUE(value) << summaries(diagnostics);
  EXPECT_EQ(
      boost::json::serialize(to_json(*value)),
      R"({"args":["-D","${NOMAD_PORT_x}"],"command":"/bin/web","labels":[{"a":1}],"logging":[{"json":[{"max":3}]}],)"
      R"("mount":[{"type":"bind"},{"options":[{"ro":true}],"type":"volume"}]})");
  Diagnostics json_diagnostics;
  const Body json = parse(R"({"a": {"b": [1, "${var.count}"]}})", "t.json", json_diagnostics);
  EXPECT_EQ(describe(*decode_any(json, plain_context(), json_diagnostics)), "{a = {b = [1, 3]}}");
}

TEST(Body, MergedBodiesReadAsOne) {
  Diagnostics diagnostics;
  const Body both =
      merge({parse("a = 1\nb {}\n", "one", diagnostics), parse(R"({"a": 2, "b": {}})", "two", diagnostics)});
  const Content content = both.content({.attributes = {{"a"}}, .blocks = {{.type = "b"}}}, diagnostics);
  EXPECT_EQ(content.blocks.size(), 2U);
  EXPECT_EQ(summaries(diagnostics), "two:1:2 the attribute 'a' is set twice\n");
}

TEST(Body, OneLineBlocksHoldOneAttributeWhereLinesAreStrict) {
  for (const char* good : {"b {}\n", "b { a = 1 }\n", "b {\n c { a = 1 }\n}\n", "b { # c\n}\n", "b { a = [\n1] }\n"}) {
    Diagnostics diagnostics;
    parse(good, "t", diagnostics, Lines::strict);
    EXPECT_FALSE(diagnostics.has_errors()) << good;
  }
  for (const char* bad :
       {"b { c {} }\n", "b { c { a = 1 } }\n", "b { a = 1\n}\n", "b { a = 1, c = 2 }\n", "b { a = <<X\nX\n}\n"}) {
    Diagnostics diagnostics;
    parse(bad, "t", diagnostics, Lines::strict);
    EXPECT_TRUE(diagnostics.has_errors()) << bad;
  }
  Diagnostics diagnostics;
  parse("b { c { a = 1 } }\n", "t", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
}

}  // namespace
}  // namespace underway::hcl

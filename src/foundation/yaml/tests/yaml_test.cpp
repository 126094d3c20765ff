#include "yaml/yaml.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

namespace underway::yaml {
namespace {

using Kind = Scalar::Kind;

Scalar scalar(std::string_view text) { return scalar_of(parse(text).at(0)); }

TEST(Yaml, ReadsDocumentsAsNodes) {
  const auto documents = parse("a: &x [1, 'two']\nb: *x\n--- |\n  text\n");
  ASSERT_EQ(documents.size(), 2u);
  const Node& mapping = documents[0];
  ASSERT_EQ(mapping.kind, Node::Kind::mapping);
  ASSERT_EQ(mapping.children.size(), 4u);
  EXPECT_EQ(mapping.children[1].anchor, "x");
  EXPECT_TRUE(mapping.children[1].children[1].quoted());
  EXPECT_EQ(mapping.children[3].kind, Node::Kind::alias);
  EXPECT_EQ(documents[1].text, "text\n");
  EXPECT_TRUE(parse("# nothing\n").empty());
}

TEST(Yaml, SaysWhatAScalarIs) {
  for (const char* yes : {"yes", "On", "TRUE", "y"})
    EXPECT_TRUE(scalar(yes).kind == Kind::boolean && scalar(yes).truth) << yes;
  for (const char* no : {"no", "Off", "false", "N"})
    EXPECT_TRUE(scalar(no).kind == Kind::boolean && !scalar(no).truth) << no;
  for (const char* null : {"~", "null", "NULL", "!!null x"}) EXPECT_EQ(scalar(null).kind, Kind::null) << null;
  for (const char* text : {"nULL", "'yes'", "\"1\"", "!!str 1", "x"}) EXPECT_EQ(scalar(text).kind, Kind::text) << text;
  for (const char* number : {".5", "1_000", "0x1F", "-3"}) EXPECT_EQ(scalar(number).kind, Kind::number) << number;
  EXPECT_EQ(scalar("<<").kind, Kind::merge);
  EXPECT_TRUE(scalar("-.inf").negative);
  EXPECT_EQ(scalar(".nan").kind, Kind::not_a_number);
  EXPECT_THROW(scalar("!foo x"), Error);
  EXPECT_THROW(scalar("!!bool x"), Error);
}

TEST(Yaml, ReadsTheTimesOfYaml11) {
  EXPECT_EQ(timestamp("2001-12-14"), "2001-12-14T00:00:00Z");
  EXPECT_EQ(timestamp("2001-1-4"), "2001-01-04T00:00:00Z");
  EXPECT_EQ(timestamp("2001-12-14t21:59:43.10-05:00"), "2001-12-14T21:59:43-05:00");
  EXPECT_EQ(timestamp("2001-12-14 21:59:43.10"), "2001-12-14T21:59:43Z");
  EXPECT_EQ(timestamp("2001-12-14 21:59:43 -5"), std::nullopt);
  EXPECT_EQ(timestamp("2001-02-30"), std::nullopt);
  EXPECT_EQ(timestamp("10:20"), std::nullopt);
}

TEST(Yaml, WritesWhatItReads) {
  Emitter emitter;
  emitter.begin_mapping();
  emitter.scalar("a", Style::double_quoted);
  emitter.begin_sequence();
  emitter.scalar("1", Style::plain);
  emitter.scalar("x\ny\n", Style::literal);
  emitter.end_sequence();
  emitter.scalar("b", Style::double_quoted);
  emitter.begin_mapping();
  emitter.end_mapping();
  emitter.end_mapping();
  EXPECT_EQ(emitter.finish(), "\"a\":\n- 1\n- |\n  x\n  y\n\"b\": {}\n");
}

TEST(Yaml, KeepsItsLimits) {
  EXPECT_THROW(parse(std::string(1000, '[')), Error);
  EXPECT_THROW(parse("[1, 2, 3]", {.nodes = 3}), Error);
  EXPECT_THROW(parse("[1, 2, 3]", {.bytes = 3}), Error);
  try {
    parse("a: 1\nb: [\n");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid);
    EXPECT_NE(e.message().find("line "), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace underway::yaml

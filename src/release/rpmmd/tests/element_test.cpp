#include "rpmmd/element.hpp"

#include "fixture.hpp"
#include "rpmmd/write.hpp"

namespace underway::rpmmd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Description description() {
  Description out;
  out.nevra = {"ant", "0", "1.0", "2", "noarch"};
  out.summary = "A & \"b\" <c>";
  out.relations.entries[static_cast<std::size_t>(Relation::requirements)] = {
      {"bash", "GE", "0", "4.4", "", false}, {"/bin/sh", "", "", "", "", true}, {"q\"t", "", "", "", "", false}};
  out.files = {{"/usr/bin/ant", FileName::Kind::file},
               {"/usr/share/ant", FileName::Kind::directory},
               {"/var/log/ant", FileName::Kind::ghost}};
  return out;
}
const PackageFile kFile{.location = "ant.rpm", .checksum = {"sha256", std::string(64, 'a')}, .size = 7, .timestamp = 8};

TEST(WritePackage, IsReadAgainAsWhatWasWritten) {
  const auto elements = write_package(description(), kFile);
  const auto index = Index::read(
      {.primary = shared(write_elements(Document::primary, std::vector<std::string_view>{elements.primary})),
       .filelists = shared(write_elements(Document::filelists, std::vector<std::string_view>{elements.filelists})),
       .other = shared(write_elements(Document::other, std::vector<std::string_view>{elements.other}))});
  ASSERT_EQ(index.packages().size(), 1U);
  EXPECT_EQ(to_string(index.packages()[0].nevra()), "ant-0:1.0-2.noarch");
  EXPECT_EQ(index.packages()[0].size, 7U);
  EXPECT_EQ(parse_relations(elements.primary).of(Relation::requirements),
            description().relations.of(Relation::requirements));
  EXPECT_EQ(parse_file_names(elements.filelists), description().files);
  EXPECT_THAT(parse_file_names(elements.primary), ElementsAre(FileName{"/usr/bin/ant", FileName::Kind::file}));
}

TEST(WritePackage, EscapesWhatXmlWouldRead) {
  const auto elements = write_package(description(), kFile);
  EXPECT_THAT(elements.primary, HasSubstr("<summary>A &amp; \"b\" &lt;c&gt;</summary>"));
  EXPECT_THAT(elements.primary, HasSubstr("<rpm:entry name=\"q&quot;t\"/>"));
}

TEST(WritePackage, WritesTextThatXmlCanHold) {
  auto d = description();
  d.summary = "caf\xe9\x01 \x1b[2J";
  EXPECT_THAT(write_package(d, kFile).primary, HasSubstr("<summary>caf\xc3\xa9 [2J</summary>"));
}

TEST(WritePackage, HasTheTenNewestChangesInTheirOrder) {
  auto d = description();
  for (int i = 12; i > 0; --i) d.changes.push_back({"a", i > 2 ? 1000 : 500, fmt::format("{}", i)});
  const auto other = write_package(d, kFile).other;
  EXPECT_THAT(other, testing::Not(HasSubstr(">2<")));
  EXPECT_THAT(
      other,
      HasSubstr("<changelog author=\"a\" date=\"1000\">3</changelog>\n  <changelog author=\"a\" date=\"1001\">4<"));
  EXPECT_THAT(other, HasSubstr("date=\"1009\">12</changelog>\n</package>"));
}

TEST(WritePackage, RefusesNamesThatWouldLieElsewhere) {
  auto d = description();
  d.nevra.name = "../ant";
  EXPECT_THAT(refusal([&] { write_package(d, kFile); }), HasSubstr("'../ant' is none"));
  auto file = kFile;
  file.location = "/ant.rpm";
  EXPECT_THAT(refusal([&] { write_package(description(), file); }), HasSubstr("it is absolute"));
}

}  // namespace
}  // namespace underway::rpmmd

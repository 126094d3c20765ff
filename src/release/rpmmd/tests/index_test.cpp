#include "rpmmd/index.hpp"

#include "fixture.hpp"
#include "rpmmd/relation.hpp"

namespace underway::rpmmd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Index, HasEachPackageWithItsElements) {
  const auto index = three();
  ASSERT_EQ(index.packages().size(), 3U);
  const Package& bee = index.packages()[1];
  EXPECT_EQ(to_string(bee.nevra()), "bee-2:1.0-3.el9.x86_64");
  EXPECT_EQ(bee.checksum, (Checksum{"sha256", id_of('b')}));
  EXPECT_EQ(bee.location, "Packages/bee-1.0-3.el9.x86_64.rpm");
  EXPECT_EQ(bee.location_base, "");
  EXPECT_EQ(bee.size, 4711U);
  EXPECT_EQ(bee.source_rpm, "bee-1.0-3.el9.src.rpm");
  EXPECT_EQ(bee.group, "System/Base");
  EXPECT_EQ(bee.primary, primary_element("bee", 'b'));
  EXPECT_EQ(bee.filelists, other_element("bee", 'b'));
  EXPECT_EQ(bee.other, other_element("bee", 'b'));
}

TEST(Index, LivesAsLongAsACopyOfIt) {
  std::vector<Package> packages;
  Index copy;
  {
    const auto index = three();
    copy = index;
  }
  EXPECT_EQ(copy.packages()[2].primary, primary_element("cow", 'c'));
}

TEST(Index, TakesEmptyElementsAndRepositories) {
  const auto id = id_of('a');
  const auto index = Index::read({.primary = shared(primary_of({primary_element("ant", 'a')})),
                                  .filelists = shared(document_of("filelists", {"<package pkgid=\"" + id + "\"/>"})),
                                  .other = nullptr});
  EXPECT_EQ(index.packages()[0].filelists, "<package pkgid=\"" + id + "\"/>");
  EXPECT_EQ(index.packages()[0].other, "");
  EXPECT_TRUE(read_primary(primary_of({})).packages().empty());
}

TEST(Index, HasTheEpochZeroWhereNoneIsWritten) {
  EXPECT_EQ(read_primary(with(primary_of({primary_element("ant", 'a')}), "epoch=\"2\" ", "")).packages()[0].epoch, "0");
  EXPECT_EQ(
      read_primary(with(primary_of({primary_element("ant", 'a')}), "epoch=\"2\"", "epoch=\"\"")).packages()[0].epoch,
      "0");
}

TEST(Index, IsRefusedWholeForWhatIsWrongInIt) {
  struct Case {
    const char *from, *to, *why;
  };
  const std::vector<Case> cases = {
      {"<name>ant</name>", "", "the package name '' is none"},
      {"<name>ant</name>", "<name>a/b</name>", "'a/b' is none"},
      {"<name>ant</name>", "<name>ant</name><name>bee</name>", "has 'name' twice"},
      {"<rpm:group>System/Base</rpm:group>", "<rpm:group>a</rpm:group><rpm:group>b</rpm:group>",
       "has 'rpm:group' twice"},
      {"ver=\"1.0\"", "ver=\"\"", "the version '' is none"},
      {"ver=\"1.0\"", "ver=\"1&#127;[2J\"", "the version '1?[2J' is none"},
      {"epoch=\"2\"", "epoch=\"two\"", "the epoch of 'ant' is no number"},
      {"Packages/ant", "../ant", "it leads out of the repository"},
      {"Packages/ant-1.0-3.el9.x86_64.rpm", "", "it is empty"},
      {"package=\"4711\"", "package=\"-1\"", "the size of 'ant' is no number"},
      {"<name>ant</name>", "<name>&#x61;\xe9</name>", "not well-formed"},
      {"<metadata", "<!DOCTYPE x [<!ENTITY y \"z\">]><metadata", "document type"},
      {"<rpm:license>MIT</rpm:license>", "<suse:eula>x</suse:eula>", "'suse:eula' has a prefix"},
      {"</metadata>", "", "cannot read primary"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.to);
    EXPECT_THAT(refusal([&] { read_primary(with(primary_of({primary_element("ant", 'a')}), c.from, c.to)); }),
                HasSubstr(c.why));
  }
  EXPECT_THAT(refusal([&] { read_primary("<filelists/>"); }), HasSubstr("its root is 'filelists', not 'metadata'"));
}

TEST(Index, NamesTheLineOfWhatIsWrong) {
  const auto text =
      with(primary_of({primary_element("ant", 'a'), primary_element("bee", 'b')}), "<name>bee</name>", "");
  try {
    read_primary(text);
    FAIL() << "it was read";
  } catch (const Error& e) {
    EXPECT_THAT(e.text(), HasSubstr("reading primary, line 54"));
  }
}

TEST(Index, IsRefusedWhenADocumentDoesNotKnowAPackage) {
  const auto primary = shared(primary_of({primary_element("ant", 'a'), primary_element("bee", 'b')}));
  const auto lists = shared(document_of("filelists", {other_element("ant", 'a')}));
  EXPECT_THAT(refusal([&] { Index::read({.primary = primary, .filelists = lists, .other = nullptr}); }),
              HasSubstr("filelists does not know the package 'bee-2:1.0-3.el9.x86_64'"));
  EXPECT_THAT(refusal([&] { Index::read({.primary = primary, .filelists = nullptr, .other = lists}); }),
              HasSubstr("its root is 'filelists', not 'otherdata'"));
}

TEST(Element, SaysWhatAPackageNeedsAndGives) {
  const auto relations = parse_relations(primary_element("ant", 'a'));
  EXPECT_THAT(relations.of(Relation::provides), ElementsAre(Entry{"ant", "EQ", "2", "1.0", "3.el9", false}));
  EXPECT_THAT(relations.of(Relation::requirements),
              ElementsAre(Entry{"/bin/sh", "", "", "", "", true}, Entry{"(a if b)", "", "", "", "", false}));
  EXPECT_TRUE(relations.of(Relation::conflicts).empty());
  EXPECT_EQ(name_of(Relation::requirements), "requires");
}

TEST(Element, SaysWhichFilesThereAre) {
  EXPECT_THAT(
      parse_file_names(primary_element("ant", 'a')),
      ElementsAre(FileName{"/usr/bin/ant", FileName::Kind::file}, FileName{"/etc/ant", FileName::Kind::directory}));
  EXPECT_THAT(parse_file_names(other_element("ant", 'a')),
              ElementsAre(FileName{"/var/log/ant", FileName::Kind::ghost}));
}

}  // namespace
}  // namespace underway::rpmmd

#include "rpmmd/repomd.hpp"

#include "fixture.hpp"

namespace underway::rpmmd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kRepomd = R"(<?xml version="1.0" encoding="UTF-8"?>
<repomd xmlns="http://linux.duke.edu/metadata/repo" xmlns:rpm="http://linux.duke.edu/metadata/rpm">
  <revision>1700000001</revision>
  <tags>
    <repo>baseos</repo>
    <distro cpeid="cpe:/o:rocky:rocky:9">Rocky &amp; Linux 9</distro>
  </tags>
  <data type="primary">
    <checksum type="sha256">aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</checksum>
    <open-checksum type="sha256">bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb</open-checksum>
    <location href="repodata/aaaa-primary.xml.gz"/>
    <timestamp>1700000000.25</timestamp>
    <size>945</size>
    <open-size>2499</open-size>
  </data>
  <data type="productid">
    <checksum type="sha">cccccccccccccccccccccccccccccccccccccccc</checksum>
    <location href="repodata/productid"/>
  </data>
  <data type="primary_db">
    <checksum type="sha256">dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd</checksum>
    <location href="repodata/primary.sqlite.bz2"/>
    <database_version>10</database_version>
  </data>
</repomd>)";

TEST(Repomd, IsReadWithTypesThatNobodyHereKnows) {
  const auto repomd = parse_repomd(kRepomd);
  EXPECT_EQ(repomd.revision, "1700000001");
  EXPECT_THAT(repomd.tags,
              ElementsAre(Tag{"repo", "", "baseos"}, Tag{"distro", "cpe:/o:rocky:rocky:9", "Rocky & Linux 9"}));
  ASSERT_EQ(repomd.data.size(), 3U);
  const Data* const primary = repomd.find("primary");
  ASSERT_NE(primary, nullptr);
  EXPECT_EQ(primary->checksum, (Checksum{"sha256", id_of('a')}));
  EXPECT_EQ(primary->open_checksum, (Checksum{"sha256", id_of('b')}));
  EXPECT_EQ(primary->location, "repodata/aaaa-primary.xml.gz");
  EXPECT_EQ(primary->timestamp, 1700000000);
  EXPECT_EQ(primary->size, 945U);
  EXPECT_EQ(primary->open_size, 2499U);
  EXPECT_EQ(repomd.find("productid")->open_checksum, std::nullopt);
  EXPECT_EQ(repomd.find("productid")->size, std::nullopt) << "absent is not zero";
  EXPECT_EQ(repomd.find("primary_db")->database_version, "10");
  EXPECT_EQ(repomd.find("updateinfo"), nullptr);
}

TEST(Repomd, IsReadAgainAsItWasWritten) {
  auto repomd = parse_repomd(kRepomd);
  repomd.tags.push_back({"distro", "a\"b<c\n", "x > y"});
  EXPECT_EQ(parse_repomd(write_repomd(repomd)), repomd);
}

TEST(Repomd, IsRefusedWhenItsEntitiesCouldGrow) {
  const std::string laughs =
      "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">"
      "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><repomd><revision>&c;</revision></repomd>";
  EXPECT_THAT(refusal([&] { parse_repomd(laughs); }), HasSubstr("it has a document type"));
  EXPECT_THAT(refusal([&] { parse_repomd("<!DOCTYPE repomd SYSTEM \"file:///etc/passwd\"><repomd/>"); }),
              HasSubstr("it has a document type"));
}

TEST(Repomd, IsRefusedWholeForWhatIsWrongInIt) {
  struct Case {
    const char *from, *to, *why;
  };
  const std::vector<Case> cases = {
      {"repodata/productid", "/etc/passwd", "it is absolute"},
      {"repodata/productid", "../../etc/passwd", "leads out of the repository"},
      {"repodata/productid", "repodata/%2e%2E/%2e%2e/x", "leads out of the repository"},
      {"repodata/productid", "http://evil/x", "another server"},
      {"repodata/productid", "a&#9;b", "control characters"},
      {"repodata/productid", "", "it is empty"},
      {"href=\"repodata/productid\"", "xml:base=\"http://evil/\" href=\"x\"", "lies outside"},
      {"type=\"productid\"", "type=\"primary\"", "two files of type 'primary'"},
      {"type=\"productid\"", "type=\"a/b\"", "the type of a file 'a/b' is none"},
      {"cccccccccccc", "CCCCCCCCCCC", "the checksum of productid is no sha"},
      {"type=\"sha\"", "type=\"crc\"", "unknown type"},
      {"<size>945", "<size>many", "'many' is no size"},
      {"<repomd", "<x:repomd", "'x:repomd' has a prefix"},
      {"</repomd>", "", "line 25"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.to);
    auto text = with(kRepomd, c.from, c.to);
    EXPECT_THAT(refusal([&] { parse_repomd(text); }), HasSubstr(c.why));
  }
  EXPECT_THAT(refusal([&] { parse_repomd("<metadata/>"); }), HasSubstr("no repomd.xml"));
  EXPECT_THAT(refusal([&] { parse_repomd(""); }), StartsWith("invalid"));
  std::string deep = "<repomd>";
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_THAT(refusal([&] { parse_repomd(deep); }), HasSubstr("levels"));
}

TEST(Data, IsComparedWithTheFile) {
  Data data{.type = "primary",
            .checksum = {"sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
            .open_checksum = {},
            .location = "repodata/primary.xml",
            .timestamp = {},
            .size = 5,
            .open_size = {},
            .database_version = {}};
  EXPECT_EQ(refusal([&] { check_data(data, "hello"); }), "");
  EXPECT_THAT(refusal([&] { check_data(data, "hallo"); }), HasSubstr("its sha256 is"));
  EXPECT_THAT(refusal([&] { check_data(data, "hello "); }), HasSubstr("it has 6 bytes, not 5"));
  data.size.reset();
  EXPECT_EQ(refusal([&] { check_data(data, "hello"); }), "");
  data.checksum = {"sha", "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"};
  EXPECT_THAT(refusal([&] { check_data(data, "hello"); }), StartsWith("unsupported"));
}

TEST(Location, HasAPlainName) {
  EXPECT_EQ(plain_name("repodata/" + id_of('a') + "-primary.xml.gz"), "primary.xml");
  EXPECT_EQ(plain_name("repodata/" + id_of('0') + "-comps-BaseOS.x86_64.xml"), "comps-BaseOS.x86_64.xml");
  EXPECT_EQ(plain_name("repodata/modules.yaml.zst"), "modules.yaml");
  EXPECT_EQ(plain_name("repodata/face-book.xml"), "face-book.xml") << "too short for a digest";
}

TEST(Type, SaysWhetherItIsDerived) {
  for (const char* type : {"primary_db", "filelists_zck", "group_gz", "prestodelta"})
    EXPECT_TRUE(is_derived(type)) << type;
  for (const char* type : {"primary", "group", "modules", "updateinfo", "productid"})
    EXPECT_FALSE(is_derived(type)) << type;
}

}  // namespace
}  // namespace underway::rpmmd

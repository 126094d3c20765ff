#include "rpmmd/write.hpp"

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "fixture.hpp"

namespace underway::rpmmd {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Write, KeepsTheElementsOfASubsetToTheByte) {
  const auto index = three();
  const std::vector<Package> two = {index.packages()[2], index.packages()[0]};
  EXPECT_EQ(write_document(Document::primary, two),
            primary_of({primary_element("ant", 'a'), primary_element("cow", 'c')}) + "\n");
  const auto lists = write_document(Document::filelists, two);
  EXPECT_THAT(lists, HasSubstr(other_element("ant", 'a') + "\n" + other_element("cow", 'c')));
  EXPECT_THAT(lists, HasSubstr("<filelists xmlns=\"http://linux.duke.edu/metadata/filelists\" packages=\"2\">"));
  EXPECT_THAT(write_document(Document::other, two),
              HasSubstr("<otherdata xmlns=\"http://linux.duke.edu/metadata/other\" packages=\"2\">"));
}

TEST(Write, DoesNotDependOnTheOrderInWhichPackagesCome) {
  const auto index =
      read_primary(primary_of({primary_element("ant", 'a'), primary_element("ant", 'd', "2.0"),
                               with(primary_element("ant", 'b'), "Packages/", "more/"), primary_element("bee", 'c')}));
  auto packages = index.packages();
  const auto first = write_document(Document::primary, packages);
  std::reverse(packages.begin(), packages.end());
  EXPECT_EQ(write_document(Document::primary, packages), first);
  packages.push_back(packages.front());
  EXPECT_EQ(write_document(Document::primary, packages), first) << "one that comes twice is there once";
}

TEST(Write, IsReadAgainAsTheSamePackages) {
  const auto index = three();
  const auto again = Index::read({.primary = shared(write_document(Document::primary, index.packages())),
                                  .filelists = shared(write_document(Document::filelists, index.packages())),
                                  .other = shared(write_document(Document::other, index.packages()))});
  ASSERT_EQ(again.packages().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again.packages()[i].primary, index.packages()[i].primary);
    EXPECT_EQ(again.packages()[i].filelists, index.packages()[i].filelists);
  }
}

TEST(Write, RefusesAPackageThatClientsWouldFetchFromElsewhere) {
  const auto based = with(primary_element("ant", 'a'), "<location ", "<location xml:base=\"http://upstream/\" ");
  const auto index = read_primary(primary_of({based}));
  EXPECT_THAT(refusal([&] { write_document(Document::primary, index.packages()); }),
              HasSubstr("its location is below 'http://upstream/'"));
  const auto other = with(primary_element("bee", 'b'), "Packages/bee", "Packages/ant");
  const auto two = read_primary(primary_of({primary_element("ant", 'a'), other}));
  EXPECT_THAT(refusal([&] { write_document(Document::primary, two.packages()); }),
              HasSubstr("both lie at 'Packages/ant-1.0-3.el9.x86_64.rpm'"));
}

TEST(Write, PutsAPackageElsewhereAndChangesNothingElse) {
  const std::string old = "<location href=\"Packages/ant-1.0-3.el9.x86_64.rpm\"/>";
  const auto element = primary_element("ant", 'a');
  for (const auto& from : {old, std::string("<location xml:base='http://x/' href='a'></location>")}) {
    const auto index = read_primary(primary_of({primary_element("bee", 'b'), with(element, old, from)}));
    EXPECT_EQ(write_at(index.packages()[1], "pool/a&b.rpm"),
              with(element, old, "<location href=\"pool/a&amp;b.rpm\"/>"));
    EXPECT_THAT(refusal([&] { write_at(index.packages()[1], "../x"); }), StartsWith("invalid"));
  }
}

TEST(Write, RefusesAPackageWithoutAnElement) {
  const auto index = read_primary(primary_of({primary_element("ant", 'a')}));
  EXPECT_THAT(refusal([&] { write_document(Document::filelists, index.packages()); }),
              HasSubstr("cannot write 'ant-2:1.0-3.el9.x86_64' into filelists"));
}

std::vector<Part> parts() {
  return {{"primary", "primary.xml", "<metadata/>"}, {"modules", "modules.yaml", "---\n..."}};
}

TEST(Repository, NamesItsFilesByTheirDigests) {
  for (const auto compression : {Compression::zstd, Compression::gzip}) {
    const WriteOptions options{.compression = compression, .revision = "7", .timestamp = 1700000000, .tags = {}};
    const auto files = write_repository(parts(), options);
    ASSERT_EQ(files.size(), 3U);
    EXPECT_EQ(files.back().path, "repodata/repomd.xml") << "last, as it names the others";
    const auto repomd = parse_repomd(files.back().bytes);
    EXPECT_EQ(repomd.revision, "7");
    for (std::size_t i = 0; i < 2; ++i) {
      const auto digest = hex(crypto::sha256(files[i].bytes));
      EXPECT_EQ(files[i].path, fmt::format("repodata/{}-{}{}", digest, parts()[i].name, suffix(compression)));
      const Data* const data = repomd.find(parts()[i].type);
      ASSERT_NE(data, nullptr);
      EXPECT_EQ(data->location, files[i].path);
      EXPECT_EQ(data->timestamp, 1700000000);
      EXPECT_NO_THROW(check_data(*data, files[i].bytes));
      EXPECT_EQ(unpack(files[i].bytes, "it"), parts()[i].text);
      EXPECT_EQ(data->open_size, parts()[i].text.size());
      EXPECT_EQ(data->open_checksum->hex, hex(crypto::sha256(parts()[i].text)));
    }
  }
}

TEST(Repository, IsTheSameBytesForTheSameInput) {
  const WriteOptions options{.revision = "7", .tags = {{"distro", "cpe", "x"}}};
  const auto first = write_repository(parts(), options), second = write_repository(parts(), options);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].bytes, second[i].bytes);
}

TEST(Repository, RefusesNamesThatWouldLieElsewhere) {
  EXPECT_THAT(refusal([] { write_repository(std::vector<Part>{{"x", "../x", ""}}, {}); }), StartsWith("invalid"));
  EXPECT_THAT(refusal([] { write_repository(std::vector<Part>{{"x", "a", ""}, {"x", "b", ""}}, {}); }),
              HasSubstr("two files"));
}

}  // namespace
}  // namespace underway::rpmmd

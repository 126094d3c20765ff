#include "archive/rpm.hpp"

#include <openssl/evp.h>
#include <sys/stat.h>

#include "maker.hpp"

namespace underway::archive {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HeaderMaker header() {
  return HeaderMaker(63)
      .text(1000, "ant")
      .text(1001, "1.0~rc1")
      .text(1002, "3")
      .numbers(1003, {2})
      .add(1004, 9, 2, std::string("Summary\0Zusammenfassung\0", 24))
      .text(1022, "noarch")
      .text(1044, "ant-1.0~rc1-3.src.rpm")
      .text(1024, "true")
      .numbers(1009, {11})
      .texts(1047, {"ant", "virt"})
      .numbers(1112, {8, 0})
      .texts(1113, {"2:1.0~rc1-3", ""})
      .texts(1049, {"/bin/sh", "ant", "bash", "libc.so.6()(64bit)", "libc.so.6(GLIBC_2.14)(64bit)",
                    "libc.so.6(GLIBC_2.4)(64bit)", "rpmlib(X)", "/usr/bin/ant", "/usr/share/ant/x"})
      .numbers(1048, {512, 8, 12, 0, 0, 0, 10, 0, 0})
      .texts(1050, {"", "2:1.0~rc1-3", "4.4", "", "", "", "1-1", "", ""})
      .texts(1117, {"ant", "x", "log", "ln"})
      .texts(1118, {"/usr/bin/", "/usr/share/ant/"})
      .numbers(1116, {0, 1, 1, 0})
      .numbers(1030, {S_IFREG | 04755, S_IFREG | 0644, S_IFREG | 0600, S_IFLNK | 0777}, 2)
      .numbers(1037, {0, 0, 64, 0})
      .numbers(1028, {5, 6, 0, 3})
      .texts(1036, {"", "", "", "ant"})
      .texts(1039, {"root", "root", "ant", "root"})
      .texts(1040, {"root", "adm", "ant", "root"});
}
Rpm rpm_in(const std::string& bytes) { return read_rpm(open_bytes(bytes), "ant.rpm"); }
std::string rpm_refused(const std::string& bytes) {
  return refusal([&] { rpm_in(bytes); });
}

TEST(Rpm, TellsWhatItIs) {
  const auto bytes = rpm_of(header());
  const auto rpm = rpm_in(bytes);
  EXPECT_EQ(to_string(rpm.description.nevra), "ant-2:1.0~rc1-3.noarch");
  EXPECT_EQ(rpm.description.summary, "Summary") << "that of no language";
  EXPECT_EQ(rpm.description.source_rpm, "ant-1.0~rc1-3.src.rpm");
  EXPECT_EQ(rpm.description.installed_size, 11U);
  EXPECT_EQ(rpm.digest, hex(crypto::sha256(bytes)));
  EXPECT_EQ(rpm.size, bytes.size());
  EXPECT_EQ(rpm.description.header_end, bytes.size() - 7);
  EXPECT_THAT(rpm.scripts, ElementsAre("post"));
  EXPECT_FALSE(rpm.weak);
}

TEST(Rpm, TellsItsFiles) {
  EXPECT_THAT(rpm_in(rpm_of(header())).files,
              ElementsAre(File{"/usr/bin/ant", FileKind::regular, 04755, "root", "root", 5, "", false},
                          File{"/usr/share/ant/x", FileKind::regular, 0644, "root", "adm", 6, "", false},
                          File{"/usr/share/ant/log", FileKind::regular, 0600, "ant", "ant", 0, "", true},
                          File{"/usr/bin/ln", FileKind::symlink, 0777, "root", "root", 0, "ant", false}));
}

TEST(Rpm, NeedsWhatOthersHaveToGive) {
  const auto relations = rpm_in(rpm_of(header())).description.relations;
  using rpmmd::Entry;
  EXPECT_THAT(relations.of(rpmmd::Relation::requirements),
              ElementsAre(Entry{"/bin/sh", "", "", "", "", true}, Entry{"bash", "GE", "0", "4.4", "", false},
                          Entry{"/usr/share/ant/x", "", "", "", "", false},
                          Entry{"libc.so.6(GLIBC_2.14)(64bit)", "", "", "", "", false}));
  EXPECT_THAT(relations.of(rpmmd::Relation::provides),
              ElementsAre(Entry{"ant", "EQ", "2", "1.0~rc1", "3", false}, Entry{"virt", "", "", "", "", false}));
}

TEST(Rpm, OfSourceHasNamesAlone) {
  auto source = header().drop(1044).texts(1118, {""}).numbers(1116, {0, 0, 0, 0});
  const auto rpm = rpm_in(rpm_of(source));
  EXPECT_EQ(rpm.description.nevra.arch, "src");
  EXPECT_EQ(rpm.files[1].path, "x");
  EXPECT_THAT(rpm_refused(rpm_of(source.texts(1118, {"../"}))), HasSubstr("denied: 'ant.rpm' holds '../ant'"));
}

TEST(Rpm, IsRefusedWhenADigestDiffers) {
  const auto good = header();
  std::string bytes = rpm_of(good);
  bytes.back() = 'D';
  EXPECT_THAT(rpm_refused(bytes),
              HasSubstr("invalid: 'ant.rpm' is no whole rpm package: the digest of its payload is"));
  bytes = rpm_of(good) + "more";
  EXPECT_THAT(rpm_refused(bytes), HasSubstr("payload"));
  bytes = rpm_of(good);
  bytes[bytes.find("Zusammen")] = 'z';
  EXPECT_THAT(rpm_refused(bytes), HasSubstr("the digest of its header is"));
  EXPECT_THAT(rpm_refused(rpm_file(HeaderMaker(62).numbers(1000, {1}).bytes(), good.bytes(), "")),
              HasSubstr("no digest of its header"));
  const auto sha = hex(crypto::sha256(good.bytes()));
  EXPECT_THAT(rpm_refused(rpm_file(HeaderMaker(62).text(273, sha).bytes(), good.bytes(), "")),
              HasSubstr("no digest of its payload"));
}

TEST(Rpm, OfOldIsWeak) {
  // SHA-1 of the header, and MD5 of header and payload; a wrong one of them is refused as well.
  const auto bytes = header().bytes();
  const std::string payload = "payload";
  const auto digest = [](const EVP_MD* kind, const std::string& of) {
    std::string out(static_cast<std::size_t>(EVP_MD_get_size(kind)), '\0');
    EVP_Digest(of.data(), of.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr, kind, nullptr);
    return hex(out);
  };
  const auto sha1 = digest(EVP_sha1(), bytes), md5 = digest(EVP_md5(), bytes + payload);
  const auto file = [&](const std::string& s, const std::string& m) {
    return rpm_file(HeaderMaker(62).text(269, s).add(1004, 7, 16, *unhex(m)).bytes(), bytes, payload);
  };
  EXPECT_TRUE(rpm_in(file(sha1, md5)).weak);
  EXPECT_THAT(rpm_refused(file(std::string(40, 'a'), md5)), HasSubstr("header"));
  EXPECT_THAT(rpm_refused(file(sha1, std::string(32, 'a'))), HasSubstr("payload"));
}

TEST(Rpm, IsRefusedForAFileThatWouldLieElsewhere) {
  EXPECT_THAT(rpm_refused(rpm_of(header().texts(1117, {"../../x", "x", "log", "ln"}))),
              HasSubstr("denied: 'ant.rpm' holds '/usr/bin/../../x'"));
  EXPECT_THAT(rpm_refused(rpm_of(header().texts(1118, {"usr/bin/", "/usr/share/ant/"}))),
              HasSubstr("a path that is not absolute"));
  EXPECT_THAT(rpm_refused(rpm_of(header().texts(1118, {"/usr//bin/", "/x/"}))), HasSubstr("which could lead anywhere"));
  EXPECT_THAT(rpm_refused(rpm_of(header().texts(1117, {"a\x1b[2J", "x", "log", "ln"}))),
              HasSubstr("control characters"));
  EXPECT_THAT(rpm_refused(rpm_of(header().texts(1118, {"/" + std::string(1U << 20, 'x') + "/", "/y/"}))),
              HasSubstr("more than 4096 bytes"));
  EXPECT_THAT(rpm_refused(rpm_of(header().numbers(1030, {S_IFBLK | 0600, S_IFREG, S_IFREG, S_IFLNK}, 2))),
              HasSubstr("holds '/usr/bin/ant': neither a file nor a directory nor a link"));
  EXPECT_EQ(rpm_refused(rpm_of(header().numbers(1030, {S_IFREG, S_IFREG, S_IFSOCK, S_IFLNK}, 2))), "")
      << "a ghost is not in it";
}

TEST(Rpm, IsRefusedWhenItsHeaderDoesNotFitTogether) {
  EXPECT_THAT(rpm_refused(rpm_of(header().numbers(1116, {0, 2, 1, 0}))), HasSubstr("the file 'x' is in no directory"));
  EXPECT_THAT(rpm_refused(rpm_of(header().numbers(1037, {0}))), HasSubstr("it has 1 flags of files for 4"));
  EXPECT_THAT(rpm_refused(rpm_of(header().texts(1050, {"1"}))), HasSubstr("versions of relations"));
  EXPECT_THAT(rpm_refused(rpm_of(header().text(1000, "a/b"))), HasSubstr("the package name 'a/b' is none"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(1001, 6, 2, std::string("1\0002\0", 4)))),
              HasSubstr("more than one text"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(1009, 4, 0, ""))), HasSubstr("its tag 1009 has no value"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(9000, 77, 1, "x"))), HasSubstr("its tag 9000 has the unknown type 77"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(9000, 8, 1000, "x"))),
              HasSubstr("the value of its tag 9000 is not inside"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(9000, 7, 4000, "x"))),
              HasSubstr("the value of its tag 9000 is not inside"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(9000, 5, 100'000, "x"))),
              HasSubstr("the value of its tag 9000 is not inside"));
  EXPECT_THAT(rpm_refused(rpm_of(header().add(9000, 8, 0x7fffffff, "x"))), HasSubstr("texts"));
}

/// Long before rpm hands a header over.
TEST(Rpm, IsRefusedWhenItIsCutOffOrNone) {
  const auto bytes = rpm_of(header());
  for (const std::size_t left :
       {std::size_t{0}, std::size_t{50}, std::size_t{100}, std::size_t{200}, bytes.size() - 100})
    EXPECT_THAT(rpm_refused(bytes.substr(0, left)), HasSubstr("invalid: ")) << left;
  EXPECT_THAT(rpm_refused("\x7f" + bytes.substr(1)), HasSubstr("it does not begin like an rpm package"));
  auto other = bytes;
  other[4] = 6;
  EXPECT_THAT(rpm_refused(other), HasSubstr("unsupported: "));
}

TEST(Rpm, IsRefusedWhenItsHeaderReachesBeyondItsRegion) {
  const auto changed = [](std::size_t at, const std::string& to) {
    auto bytes = header().bytes();
    bytes.replace(at, to.size(), to);
    return rpm_refused(rpm_file(HeaderMaker(62).text(273, hex(crypto::sha256(bytes))).bytes(), bytes, "payload"));
  };
  EXPECT_THAT(changed(16, HeaderMaker::word(61)), HasSubstr("unsupported: a header of rpm has no region"));
  EXPECT_THAT(changed(24, HeaderMaker::word(0)), HasSubstr("its region does not end where it does"));
  EXPECT_THAT(changed(header().bytes().size() - 8, HeaderMaker::word(0U - 16)),
              HasSubstr("its region does not reach over all of it"));
  EXPECT_THAT(changed(8, HeaderMaker::word(0)), HasSubstr("it has 0 entries"));
  EXPECT_THAT(changed(12, HeaderMaker::word(0x7fffffff)), HasSubstr("too_large"));
  // The tag of the entry after the first is made that of the next one.
  EXPECT_THAT(changed(32, HeaderMaker::word(1001)), HasSubstr("it has the tag 1001 twice"));
  EXPECT_THAT(changed(40, HeaderMaker::word(0x00ffffff)), HasSubstr("lies outside of it"));
}

TEST(ParseRpm, NeedsNoPayload) {
  const auto bytes = rpm_of(header());
  const auto rpm = parse_rpm(std::string_view(bytes).substr(0, bytes.size() - 7), "ant.rpm");
  EXPECT_EQ(rpm.description.nevra.name, "ant");
  EXPECT_EQ(rpm.digest, "");
}

}  // namespace
}  // namespace underway::archive

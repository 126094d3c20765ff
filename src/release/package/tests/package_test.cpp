#include "package/package.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "control/stanza.hpp"
#include "tests/fixture.hpp"

namespace underway::package {
namespace {

using testing::HasSubstr;

const std::string kGood =
    "Package: nginx\nSource: nginx-src (1.0-0)\nVersion: 1:1.2-1\nArchitecture: amd64\nSection: httpd\n"
    "Filename: pool/main/n/nginx_1.2-1_amd64.deb\nsize: 18446744073709551615\n"
    "SHA256: 0123456789abcdefABCDEF00000000000000000000000000000000000000000f\nDescription: web\n";

/// What is said of the stanza with `line` instead of the one that begins like it.
std::string refusal_with(const std::string& line) {
  const std::string field = line.substr(0, line.find(':') + 1);
  std::string text = kGood;
  const std::size_t begin = text.find(field), end = text.find('\n', begin);
  text.replace(begin, end - begin + 1, line.ends_with(": ") ? "" : line + "\n");
  try {
    of_stanza({text, 7});
  } catch (const Error& error) {
    EXPECT_THAT(error.text(), HasSubstr("reading the stanza in line 7"));
    return fmt::format("{}: {}", to_string(error.code()), error.one_line());
  }
  return "taken";
}

TEST(Package, IsReadFromItsStanza) {
  const Package package = of_stanza({kGood});
  EXPECT_EQ(package.format, Format::deb);
  EXPECT_EQ(package.reference(), "nginx_1:1.2-1_amd64");
  EXPECT_EQ(package.source, "nginx-src");
  EXPECT_EQ(package.section, "httpd");
  EXPECT_EQ(package.file, "pool/main/n/nginx_1.2-1_amd64.deb");
  EXPECT_EQ(package.size, UINT64_MAX);
  EXPECT_EQ(hex_digest(package.digest), "0123456789abcdefabcdef00000000000000000000000000000000000000000f");
  EXPECT_EQ(package.description.data(), kGood.data());
  EXPECT_EQ(package.description.size(), kGood.size());
  EXPECT_EQ(of_stanza({text_of({"a", "1"})}).source, "a") << "its own name, where no Source is named";
}

TEST(Package, IsRefusedWithoutWhatEachMustHave) {
  for (const char* field : {"Package", "Version", "Architecture", "Filename", "size", "SHA256"})
    EXPECT_THAT(refusal_with(std::string(field) + ": "),
                HasSubstr("invalid: the index describes a package that is not taken"))
        << field;
  EXPECT_THAT(refusal_with("SHA256: "), HasSubstr("no SHA256"));
  EXPECT_EQ(refusal_with("Section: "), "taken");
  EXPECT_EQ(refusal_with("Source: "), "taken");
}

TEST(Package, IsRefusedWithWhatCouldBreakOutOfAPathOrALine) {
  EXPECT_THAT(refusal_with("Filename: /etc/passwd"), HasSubstr("its path '/etc/passwd' is absolute"));
  EXPECT_THAT(refusal_with("Filename: pool/../../x.deb"), HasSubstr("has '..' in it"));
  EXPECT_THAT(refusal_with("Filename: .."), HasSubstr("has '..' in it"));
  EXPECT_THAT(refusal_with("Filename: pool/%2e%2E/x.deb"), HasSubstr("has '..' in it"));
  EXPECT_EQ(refusal_with("Filename: pool/a_1%3a2.deb"), "taken");
  EXPECT_THAT(refusal_with("Filename: pool/"), HasSubstr("names no file"));
  EXPECT_THAT(refusal_with("Filename: a\x01"), HasSubstr("has a control character"));
  EXPECT_THAT(refusal_with("Filename: a\n b"), HasSubstr("has a control character"));
  EXPECT_EQ(refusal_with("Filename: ./x..deb"), "taken") << "as flat repositories write it";
  EXPECT_THAT(refusal_with("Package: a/b"), HasSubstr("a name has letters"));
  EXPECT_THAT(refusal_with("Package: a b"), HasSubstr("a name has letters"));
  EXPECT_THAT(refusal_with("Package: -a"), HasSubstr("a name has letters"));
  EXPECT_EQ(refusal_with("Package: libstdc++6.x-y_z"), "taken");
  EXPECT_THAT(refusal_with("Version: 1 2"), HasSubstr("'1 2' is no version"));
  EXPECT_THAT(refusal_with("Version: 1/2"), HasSubstr("'1/2' is no version"));
  EXPECT_EQ(refusal_with("Version: 1:2.0+dfsg~rc1-3"), "taken");
  EXPECT_THAT(refusal_with("Architecture: ../x"), HasSubstr("is no architecture"));
  EXPECT_THAT(refusal_with("Section: a\n b"), HasSubstr("its section is no line of text"));
  EXPECT_THAT(refusal_with("Section: \xff"), HasSubstr("its section is no line of text"));
}

TEST(Package, IsRefusedWithANumberOrADigestThatIsNone) {
  EXPECT_THAT(refusal_with("size: -1"), HasSubstr("its Size '-1' is no number of bytes"));
  EXPECT_THAT(refusal_with("size: 18446744073709551616"), HasSubstr("is no number of bytes"));
  EXPECT_THAT(refusal_with("size: 1x"), HasSubstr("is no number of bytes"));
  EXPECT_THAT(refusal_with("SHA256: 12"), HasSubstr("'12' is no SHA-256"));
  EXPECT_THAT(refusal_with("SHA256: " + std::string(63, 'a') + "g"), HasSubstr("is no SHA-256"));
}

TEST(Package, HasLimits) {
  EXPECT_EQ(refusal_with("Package: " + std::string(256, 'a')), "taken");
  EXPECT_THAT(refusal_with("Package: " + std::string(257, 'a')), HasSubstr("too_large: "));
  EXPECT_THAT(refusal_with("Version: " + std::string(257, '1')), HasSubstr("too_large: "));
  EXPECT_THAT(refusal_with("Architecture: " + std::string(65, 'a')), HasSubstr("too_large: "));
  EXPECT_THAT(refusal_with("Filename: " + std::string(4097, 'a')), HasSubstr("too_large: "));
  EXPECT_THAT(refusal_with("Section: " + std::string(257, 'a')), HasSubstr("too_large: "));
}

TEST(Package, OfRpmMayBeNamedOtherwise) {
  EXPECT_EQ(references(rpm_list("_NetworkManager", "0:1.0~rc1^git%-1.el9", "x86_64")),
            "_NetworkManager_0:1.0~rc1^git%-1.el9_x86_64");
  EXPECT_THROW(rpm_list("a", "0:1/2-1", "x86_64"), Error);
  EXPECT_THROW(rpm_list("a/b", "0:1-1", "x86_64"), Error);
}

TEST(Package, HasAType) {
  const auto type = [](const PackageList& list) { return type_of(list.packages().front()); };
  EXPECT_EQ(type(list_of({{.name = "a", .version = "1"}})), "deb");
  EXPECT_EQ(type(list_of({{.name = "a", .version = "1", .file = "a.udeb"}})), "udeb");
  EXPECT_EQ(type(rpm_list("a", "0:1-1", "noarch")), "rpm");
  EXPECT_EQ(type(rpm_list("a", "0:1-1", "src")), "source");
}

}  // namespace
}  // namespace underway::package

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "package/list.hpp"
#include "package/relation.hpp"
#include "rpmmd/index.hpp"
#include "tests/fixture.hpp"

namespace underway::package {
namespace {

using testing::HasSubstr;

/// One package of primary, as createrepo_c writes it.
std::string primary_element(const std::string& name, const std::string& version, const std::string& checksum,
                            const std::string& location) {
  return fmt::format(
      "<package type=\"rpm\"><name>{}</name><arch>x86_64</arch>{}{}<summary>s</summary><size package=\"42\"/>{}<format>"
      "<rpm:group>Unspecified</rpm:group><rpm:sourcerpm>net-tools-src-2.0-1.el9.src.rpm</rpm:sourcerpm><rpm:provides>"
      "<rpm:entry name=\"{}\"/></rpm:provides></format></package>",
      name, version, checksum, location, name);
}

const std::string kVersion = "<version epoch=\"1\" ver=\"2.0\" rel=\"1.el9\"/>";
const std::string kDigest = std::string(63, '0') + "1";
const std::string kChecksum = "<checksum type=\"sha256\" pkgid=\"YES\">" + kDigest + "</checksum>";
const std::string kLocation = "<location href=\"Packages/n/net-tools.rpm\"/>";

PackageList of_primary(const std::string& elements) {
  auto primary = std::make_shared<const std::string>(
      "<?xml version=\"1.0\"?><metadata xmlns=\"http://linux.duke.edu/metadata/common\" "
      "xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\">" +
      elements + "</metadata>");
  return PackageList::of_rpm_index(rpmmd::Index::read({.primary = std::move(primary), .filelists = {}, .other = {}}));
}

TEST(RpmIndex, IsAListOfPackages) {
  const std::string other = primary_element("a", "<version ver=\"1\" rel=\"2\"/>",
                                            "<checksum type=\"sha256\">" + std::string(64, 'f') + "</checksum>",
                                            "<location href=\"a.rpm\"/>");
  const PackageList list = of_primary(primary_element("net-tools", kVersion, kChecksum, kLocation) + other);
  EXPECT_EQ(references(list), "a_0:1-2_x86_64 net-tools_1:2.0-1.el9_x86_64") << "in the order of lists, with an epoch";
  const Package& package = list.packages().back();
  EXPECT_EQ(package.format, Format::rpm);
  EXPECT_EQ(package.source, "net-tools-src");
  EXPECT_EQ(package.section, "Unspecified");
  EXPECT_EQ(package.file, "Packages/n/net-tools.rpm");
  EXPECT_EQ(package.size, 42U);
  EXPECT_EQ(hex_digest(package.digest), kDigest);
  EXPECT_EQ(package.description, primary_element("net-tools", kVersion, kChecksum, kLocation));
  EXPECT_EQ(relations(package, RelationKind::provides).size(), 1U);
}

TEST(RpmIndex, RefusesFilesThatAreNotKnownByTheirSha256) {
  const auto refused = [](const std::string& checksum, const std::string& location) -> std::string {
    try {
      of_primary(primary_element("net-tools", kVersion, checksum, location));
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.one_line());
    }
    return "taken";
  };
  EXPECT_EQ(refused(kChecksum, kLocation), "taken");
  EXPECT_THAT(
      refused("<checksum type=\"sha\">" + std::string(40, '0') + "</checksum>", kLocation),
      HasSubstr(
          "unsupported: the package 'net-tools-1:2.0-1.el9.x86_64' is not taken: its checksum is of the type sha"));
  EXPECT_THAT(refused(kChecksum, "<location xml:base=\"http://elsewhere/\" href=\"a.rpm\"/>"),
              HasSubstr("its file lies in another repository"));
}

}  // namespace
}  // namespace underway::package

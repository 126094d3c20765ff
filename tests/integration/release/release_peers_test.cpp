// Packages and repositories beside the programs that everybody makes and reads them with: rpmbuild, createrepo_c, dnf,
// dpkg-deb. All that they write is below the test's own directory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "archive/deb.hpp"
#include "archive/rpm.hpp"
#include "base/text.hpp"
#include "harness/command.hpp"
#include "os/file.hpp"
#include "rpmmd/modules.hpp"
#include "rpmmd/updateinfo.hpp"
#include "rpmmd/write.hpp"

namespace underway {
namespace {

using harness::read_text;
using harness::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

/// Everything that an element can hold, and what createrepo_c leaves out of it.
constexpr const char* kTree = R"(Name: tree-thing
Epoch: 2
Version: 1.0~rc1
Release: 3
Summary: A <thing> & "more" é
License: MIT
Group: System/Base
Vendor: ACME & Sons
Packager: Me <me@x.org>
URL: https://example.org/?a=1&b=2
BuildArch: noarch
Requires: bash >= 4.4
Requires(pre): shadow-utils
Requires(post): /bin/sh
Requires: /usr/bin/thing
Requires: /usr/share/thing
Requires: tree-thing = 2:1.0~rc1-3
Requires: libc.so.6(GLIBC_2.4)(64bit)
Requires: libc.so.6(GLIBC_2.14)(64bit)
Requires: libc.so.6()(64bit)
Requires: (a if b)
Requires: dup
Requires: dup > 1
Provides: virt = 1.0, virt2, alpha < 3, a"b
Conflicts: foe < 1:2-3
Obsoletes: old <= 7
Recommends: rec
Suggests: sug = 1
Supplements: sup
Enhances: enh >= 0:1
%description
First <line>
  second & "quoted" 'x' line	tab é.

%prep
%build
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/etc/thing %{buildroot}/var/log "%{buildroot}/usr/share/thing/a b"
echo x > %{buildroot}/usr/bin/thing
echo y > %{buildroot}/etc/thing/conf
echo z > "%{buildroot}/usr/share/thing/<&\"x'>"
ln -s thing %{buildroot}/usr/bin/alias
touch %{buildroot}/var/log/thing.log
mkdir %{buildroot}/var/log/thing.d
%post
true
%files
%attr(4755, root, root) /usr/bin/thing
/usr/bin/alias
%dir /etc/thing
%config(noreplace) /etc/thing/conf
/usr/share/thing
%ghost /var/log/thing.log
%ghost %dir /var/log/thing.d
%changelog
* Tue Nov 24 2026 A B <a@b.c>  - 1.0-3
- third <x>
* Tue Nov 24 2026 A B <a@b.c> - 1.0-2
- second
* Tue Nov 24 2026 A B <a@b.c> - 1.0-1
- first
)";

/// As little as rpmbuild takes, in Latin-1.
constexpr const char* kBare =
    "Name: bare\nVersion: 1\nRelease: 1\nSummary: caf\xe9\nLicense: MIT\nBuildArch: noarch\n%description\nx\n%files\n";

std::string simple(const std::string& name, const std::string& version) {
  return "Name: " + name + "\nVersion: " + version + "\nRelease: 1\nSummary: " + name +
         "\nLicense: MIT\nBuildArch: noarch\n%description\nx\n%install\n"
         "mkdir -p %{buildroot}/usr/bin\necho > %{buildroot}/usr/bin/" +
         name + "\n%files\n/usr/bin/" + name + "\n";
}

class Peers : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"rpmbuild", "createrepo_c", "modifyrepo_c", "mergerepo_c", "dnf", "dpkg-deb"})
      if (harness::shell(std::string("command -v ") + program).exit_code != 0)
        GTEST_SKIP() << program << " is not installed";
  }

  std::string at(const std::string& name) const { return directory_.path() + "/" + name; }

  std::string run(std::vector<std::string> argv) const {
    const auto done =
        harness::run({.argv = std::move(argv), .env = {{"HOME", directory_.path()}}, .directory = {}, .input = {}});
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
    return done.out;
  }

  /// Builds the package, binary or source, into `repository`.
  void build(const std::string& spec, const std::string& repository, const char* what = "-bb") const {
    write_text(at("package.spec"), spec);
    run({"rpmbuild", what, "--quiet", "--define", "_topdir " + at("top"), "--define", "_rpmdir " + at(repository),
         "--define", "_srcrpmdir " + at(repository), "--define", "_rpmfilename %%{NAME}-%%{VERSION}.%%{ARCH}.rpm",
         "--define", "_invalid_encoding_terminates_build 0", at("package.spec")});
  }

  /// What createrepo_c has written, or others.
  rpmmd::Index read_repository(const std::string& repository) const {
    const auto repomd = rpmmd::parse_repomd(read_text(at(repository) + "/repodata/repomd.xml"));
    const auto read = [&](const char* type) {
      const auto* const data = repomd.find(type);
      const auto bytes = read_text(at(repository) + "/" + data->location);
      rpmmd::check_data(*data, bytes);
      return std::make_shared<const std::string>(rpmmd::unpack(bytes, type));
    };
    return rpmmd::Index::read({.primary = read("primary"), .filelists = read("filelists"), .other = read("other")});
  }

  archive::Rpm read_rpm(const std::string& path) const {
    return archive::read_rpm(os::open_file(path, O_RDONLY), path);
  }

  rpmmd::Elements elements_of(const std::string& repository, const std::string& location) const {
    const std::string path = at(repository) + "/" + location;
    struct stat st{};
    EXPECT_EQ(::stat(path.c_str(), &st), 0);
    const auto rpm = read_rpm(path);
    return rpmmd::write_package(
        rpm.description,
        {.location = location, .checksum = {"sha256", rpm.digest}, .size = rpm.size, .timestamp = st.st_mtime});
  }

  void put(const std::vector<rpmmd::RepositoryFile>& files, const std::string& repository) const {
    os::make_directories(at(repository) + "/repodata");
    for (const auto& file : files)
      os::write_file(at(repository) + "/" + file.path, file.bytes, 0644, {}, os::Durability::cached);
  }

  /// dnf with a root, a configuration and a cache of its own, and the repository alone.
  std::string dnf(const std::string& repository, const std::vector<std::string>& arguments) const {
    const std::string home = at("dnf");
    for (const char* part : {"root", "log", "vars", "repos"}) os::make_directories(home + "/" + part);
    write_text(home + "/dnf.conf", "[main]\ngpgcheck=0\nplugins=0\n");
    write_text(home + "/repos/ours.repo",
               "[ours]\nname=ours\ngpgcheck=0\nmetadata_expire=0\nbaseurl=file://" + at(repository) + "\n");
    std::vector<std::string> argv = {
        "dnf", "-q", "-y", "--releasever=9", "--config=" + home + "/dnf.conf", "--installroot=" + home + "/root"};
    for (const std::string& setting :
         {"reposdir=" + home + "/repos", "varsdir=" + home + "/vars", "logdir=" + home + "/log",
          std::string("cachedir=/cache"), std::string("persistdir=/persist"),
          std::string("module_platform_id=platform:el9")})
      argv.push_back("--setopt=" + setting);
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run(argv);
  }

 private:
  harness::TemporaryDirectory directory_;
};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.push_back(line);
  return out;
}

TEST_F(Peers, CreaterepoSaysOfAPackageWhatWeSay) {
  build(kTree, "repository");
  build(kTree, "repository", "-bs");
  build(kBare, "repository");
  run({"createrepo_c", "-q", at("repository")});
  const auto index = read_repository("repository");
  ASSERT_EQ(index.packages().size(), 3U);
  for (const auto& package : index.packages()) {
    SCOPED_TRACE(package.location);
    const auto elements = elements_of("repository", package.location);
    // To the byte, so the keys and what they lack are the same.
    EXPECT_EQ(elements.primary, package.primary);
    EXPECT_EQ(elements.filelists, package.filelists);
    EXPECT_EQ(elements.other, package.other);
  }
}

TEST_F(Peers, RpmTellsOfThePackageWhatWeRead) {
  build(kTree, "repository");
  const std::string path = at("repository") + "/tree-thing-1.0~rc1.noarch.rpm";
  const auto rpm = read_rpm(path);
  EXPECT_FALSE(rpm.weak);
  EXPECT_THAT(rpm.scripts, ElementsAre("post"));
  EXPECT_EQ(to_string(rpm.description.nevra) + "\n",
            run({"rpm", "-qp", "--qf", "%{NAME}-%{EPOCH}:%{VERSION}-%{RELEASE}.%{ARCH}\n", path}));
  std::vector<std::string> ours, theirs;
  for (const auto& file : rpm.files)
    ours.push_back(fmt::format("{}|{}|{}|{}|{}", file.path, file.mode, file.owner, file.group, file.target));
  const char* const format = "[%{FILENAMES}|%{FILEMODES}|%{FILEUSERNAME}|%{FILEGROUPNAME}|%{FILELINKTOS}\n]";
  for (const auto& line : lines(run({"rpm", "-qp", "--qf", format, path}))) {
    auto parts = split(line, '|');
    // Without what kind of file it is.
    parts[1] = std::to_string(std::stoul(parts[1]) & 07777U);
    theirs.push_back(join(parts, "|"));
  }
  EXPECT_GT(ours.size(), 8U);
  EXPECT_EQ(ours, theirs);
}

std::vector<rpmmd::Part> parts_of(const std::vector<rpmmd::Package>& packages) {
  std::vector<rpmmd::Part> parts;
  for (const auto document : {rpmmd::Document::primary, rpmmd::Document::filelists, rpmmd::Document::other})
    parts.push_back({.type = std::string(name_of(document)),
                     .name = std::string(name_of(document)) + ".xml",
                     .text = write_document(document, packages)});
  return parts;
}

constexpr const char* kModules = R"(---
document: modulemd
version: 2
data:
  name: bees
  stream: "1"
  version: 1
  context: c0ffee
  arch: noarch
  summary: Bees
  description: Bees
  license:
    module: [MIT]
  artifacts:
    rpms:
    - bee-0:1-1.noarch
    - gone-0:1-1.noarch
...
---
document: modulemd
version: 2
data:
  name: bees
  stream: "2"
  version: 1
  context: c0ffee
  arch: noarch
  summary: Bees
  description: Bees
  license:
    module: [MIT]
  artifacts:
    rpms:
    - bee-0:2-1.noarch
...
---
document: modulemd-defaults
version: 1
data:
  module: bees
  stream: "1"
...
)";

constexpr const char* kUpdates = R"(<?xml version="1.0" encoding="UTF-8"?>
<updates>
  <update from="x" status="final" type="security" version="1">
    <id>ANTS-2026:1</id>
    <title>ants</title>
    <severity>Critical</severity>
    <issued date="2026-01-02 00:00:00"/>
    <description>x</description>
    <references><reference href="https://x" id="CVE-2026-1" type="cve"/></references>
    <pkglist>
      <collection short="x">
        <name>x</name>
        <package name="ant" version="1" release="1" epoch="0" arch="noarch"><filename>ant-1.noarch.rpm</filename></package>
        <package name="bee" version="2" release="1" epoch="0" arch="noarch"><filename>bee-2.noarch.rpm</filename></package>
      </collection>
    </pkglist>
  </update>
  <update from="x" status="final" type="security" version="1">
    <id>BEES-2026:2</id>
    <title>bees</title>
    <issued date="2026-01-02 00:00:00"/>
    <pkglist>
      <collection short="x">
        <package name="bee" version="2" release="1" epoch="0" arch="noarch"><filename>bee-2.noarch.rpm</filename></package>
      </collection>
    </pkglist>
  </update>
</updates>
)";

constexpr const char* kGroups = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE comps PUBLIC "-//Red Hat, Inc.//DTD Comps info//EN" "comps.dtd">
<comps>
  <group>
    <id>insects</id><name>Insects of ours</name><description>x</description><default>true</default><uservisible>true</uservisible>
    <packagelist><packagereq type="mandatory">ant</packagereq></packagelist>
  </group>
</comps>
)";

TEST_F(Peers, DnfReadsARepositoryThatWeWrote) {
  build(simple("ant", "1"), "repository");
  build(simple("bee", "1"), "repository");
  build(simple("bee", "2"), "repository");
  run({"createrepo_c", "-q", at("repository")});
  const auto index = read_repository("repository");
  // All but bee 2, which somebody has excluded.
  std::vector<rpmmd::Package> packages;
  std::set<std::string> there;
  std::set<rpmmd::Nevra> nevras;
  for (const auto& package : index.packages()) {
    if (package.version == "2") continue;
    packages.push_back(package);
    nevras.insert(package.nevra());
    there.insert(to_string(package.nevra()));
  }
  auto parts = parts_of(packages);
  const auto has = [&](const std::string& artifact) { return there.contains(artifact); };
  parts.push_back({"modules", "modules.yaml", write_modules(reduce_modules(rpmmd::parse_modules(kModules), has))});
  const auto keep = [&](const rpmmd::Nevra& nevra) { return nevras.contains(nevra); };
  parts.push_back({"updateinfo", "updateinfo.xml", write_updateinfo(rpmmd::parse_updateinfo(kUpdates), keep)});
  parts.push_back({"group", "comps.xml", kGroups});
  for (const auto compression : {rpmmd::Compression::zstd, rpmmd::Compression::gzip}) {
    SCOPED_TRACE(std::string(suffix(compression)));
    os::remove_tree(at("repository") + "/repodata");
    os::remove_tree(at("dnf"));
    put(write_repository(parts, {.compression = compression, .revision = "7", .timestamp = 1700000000, .tags = {}}),
        "repository");
    EXPECT_THAT(lines(dnf("repository", {"repoquery", "--qf", "%{name}-%{epoch}:%{version}-%{release}.%{arch}"})),
                UnorderedElementsAre("ant-0:1-1.noarch", "bee-0:1-1.noarch"));
    EXPECT_THAT(lines(dnf("repository", {"repoquery", "--whatprovides", "/usr/bin/bee", "--qf", "%{name} %{version}"})),
                ElementsAre("bee 1"));
    EXPECT_THAT(lines(dnf("repository", {"repoquery", "-l", "ant"})), ElementsAre("/usr/bin/ant"));
    const auto modules = dnf("repository", {"module", "list"});
    EXPECT_THAT(modules, HasSubstr("bees"));
    EXPECT_THAT(modules, HasSubstr("1 [d]"));
    EXPECT_THAT(modules, Not(HasSubstr("\nbees 2")));
    EXPECT_THAT(dnf("repository", {"group", "list"}), HasSubstr("Insects of ours"));
    EXPECT_THAT(lines(dnf("repository", {"repoquery", "--advisory=ANTS-2026:1", "--qf", "%{name}"})),
                ElementsAre("ant"));
    EXPECT_THAT(lines(dnf("repository", {"repoquery", "--cve=CVE-2026-1", "--qf", "%{name}"})), ElementsAre("ant"));
    EXPECT_THAT(lines(dnf("repository", {"repoquery", "--advisory=BEES-2026:2"})), IsEmpty());
    dnf("repository", {"install", "--downloadonly", "--destdir=" + at("dnf/got"), "ant", "bee"});
    EXPECT_EQ(read_text(at("dnf/got/ant-1.noarch.rpm")), read_text(at("repository/ant-1.noarch.rpm")));
    EXPECT_TRUE(os::exists(at("dnf/got/bee-1.noarch.rpm")));
  }
}

TEST_F(Peers, CreaterepoReadsARepositoryThatWeWrote) {
  build(kTree, "repository");
  build(simple("ant", "1"), "repository");
  run({"createrepo_c", "-q", at("repository")});
  const auto before = read_repository("repository");
  os::remove_tree(at("repository") + "/repodata");
  // Theirs of Debian 12 reads no zstd.
  put(write_repository(parts_of(before.packages()),
                       {.compression = rpmmd::Compression::gzip, .revision = "7", .tags = {}}),
      "repository");
  run({"mergerepo_c", "--repo", "file://" + at("repository"), "--omit-baseurl", "-o", at("merged")});
  run({"createrepo_c", "-q", "--update", "--skip-stat", at("repository")});
  for (const char* by : {"merged", "repository"}) {
    SCOPED_TRACE(by);
    const auto after = read_repository(by);
    ASSERT_EQ(after.packages().size(), before.packages().size());
    std::map<std::string, rpmmd::Package> found;
    for (const auto& package : after.packages()) found[package.name] = package;
    for (const auto& package : before.packages()) {
      EXPECT_EQ(found[package.name].primary, package.primary);
      EXPECT_EQ(found[package.name].filelists, package.filelists);
      EXPECT_EQ(found[package.name].other, package.other);
    }
  }
}

TEST_F(Peers, ModifyrepoAddsToARepositoryThatWeWrote) {
  build(simple("ant", "1"), "repository");
  run({"createrepo_c", "-q", at("repository")});
  put(write_repository(parts_of(read_repository("repository").packages()),
                       {.compression = rpmmd::Compression::gzip, .revision = "7", .tags = {}}),
      "repository");
  write_text(at("updateinfo.xml"), kUpdates);
  write_text(at("novelty.txt"), "x\n");
  run({"modifyrepo_c", at("updateinfo.xml"), at("repository") + "/repodata"});
  run({"modifyrepo_c", "--mdtype=novelty", at("novelty.txt"), at("repository") + "/repodata"});
  const auto repomd = rpmmd::parse_repomd(read_text(at("repository") + "/repodata/repomd.xml"));
  std::vector<std::string> types;
  for (const auto& data : repomd.data) {
    types.push_back(data.type);
    EXPECT_NO_THROW(check_data(data, read_text(at("repository") + "/" + data.location))) << data.type;
  }
  EXPECT_THAT(types, UnorderedElementsAre("primary", "filelists", "other", "updateinfo", "novelty"));
  const auto* const data = repomd.find("updateinfo");
  EXPECT_EQ(rpmmd::unpack(read_text(at("repository") + "/" + data->location), "updateinfo"), kUpdates);
  EXPECT_EQ(rpmmd::plain_name(data->location), "updateinfo.xml");
}

TEST_F(Peers, DpkgTellsOfAPackageWhatWeRead) {
  const std::string control =
      "Package: ant\nVersion: 1:2.0-3\nArchitecture: all\nMaintainer: x <x@y>\nDescription: ä\n long\n .\n text\n";
  for (const char* part : {"/DEBIAN", "/usr/bin", "/etc", "/usr/share/a b"}) os::make_directories(at("tree") + part);
  write_text(at("tree/DEBIAN/control"), control);
  write_text(at("tree/DEBIAN/conffiles"), "/etc/ant.conf\n");
  write_text(at("tree/DEBIAN/postinst"), "#!/bin/sh\n");
  ASSERT_EQ(::chmod(at("tree/DEBIAN/postinst").c_str(), 0755), 0);
  write_text(at("tree/etc/ant.conf"), "x\n");
  write_text(at("tree/usr/bin/ant"), std::string(100'000, 'x'));
  write_text(at("tree/usr/share/a b/é"), "x");
  ASSERT_EQ(::chmod(at("tree/usr/bin/ant").c_str(), 04755), 0);
  std::filesystem::create_symlink("../../etc/ant.conf", at("tree/usr/share/link"));
  std::filesystem::create_hard_link(at("tree/usr/bin/ant"), at("tree/usr/bin/ants"));
  for (const char* packed : {"-Zgzip", "-Zxz", "-Zzstd", "-Znone"}) {
    SCOPED_TRACE(packed);
    run({"dpkg-deb", "--root-owner-group", packed, "-b", at("tree"), at("ant.deb")});
    const auto deb = archive::read_deb(os::open_file(at("ant.deb"), O_RDONLY), "ant.deb");
    EXPECT_EQ(deb.control, control);
    EXPECT_EQ(deb.control, run({"dpkg-deb", "-f", at("ant.deb")}));
    EXPECT_THAT(deb.conffiles, ElementsAre(archive::Conffile{"/etc/ant.conf", false}));
    EXPECT_THAT(deb.scripts, ElementsAre("postinst"));
    std::vector<std::string> ours, theirs;
    for (const auto& file : deb.files) ours.push_back(file.path);
    // drwxr-xr-x root/root         0 2026-11-28 08:00 ./usr/bin/
    const auto listed =
        harness::shell("dpkg-deb --fsys-tarfile " + at("ant.deb") + " | tar -t --quoting-style=literal");
    for (const auto& line : lines(listed.out)) theirs.push_back(archive::absolute(line, "ant.deb"));
    EXPECT_EQ(ours, theirs);
    std::map<std::string, archive::File> by_path;
    for (const auto& file : deb.files) by_path[file.path] = file;
    EXPECT_EQ(by_path["/usr/bin/ant"],
              (archive::File{"/usr/bin/ant", archive::FileKind::regular, 04755, "root", "root", 100'000, "", false}));
    EXPECT_EQ(by_path["/usr/bin/ants"].target, "/usr/bin/ant");
    EXPECT_EQ(by_path["/usr/share/link"].target, "../../etc/ant.conf");
  }
}

}  // namespace
}  // namespace underway

// Packages, without a network: a repository of two packages is made here, one of them with what a Debian system needs
// at least (dpkg and a shell, this machine's own).
#include "fixture.hpp"
#include "image/payload.hpp"
#include "os/mount.hpp"
#include "os/process/process.hpp"

namespace underway::imagebuild {
namespace {

using testing::HasSubstr;

constexpr const char* kRepository = R"sh(
set -e
cd "$1"
mkdir -p base/DEBIAN base/bin base/usr/bin base/etc base/proc base/sys base/dev base/tmp base/run tool/DEBIAN tool/usr/bin \
         more/DEBIAN mirror/pool mirror/dists/test/main/binary-amd64
for name in dpkg dpkg-deb dpkg-split tar sh rm cat env diff ldconfig start-stop-daemon date; do
  file=$(readlink -f "$(command -v $name)")
  install -D "$file" base/usr/bin/$name
  for library in $(ldd "$file" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*'); do
    install -D "$(readlink -f "$library")" "base$library"
  done
done
cp base/usr/bin/sh base/bin/sh
echo 'root:x:0:0::/root:/bin/sh' > base/etc/passwd
echo 'root:x:0:' > base/etc/group
echo hi > tool/usr/bin/tool
control() {
  printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: x <x@x>\nDescription: x\n%s' "$1" "$2" "$3" > $1/DEBIAN/control
}
control base 1 "Essential: yes
"
control tool 2:1.4-1 ""
control more 7 "Depends: tool
"
printf '#!/bin/sh\necho configured > /etc/tool.conf\ndate > /var/log/tool.log\n' > tool/DEBIAN/postinst
printf '#!/bin/sh\ntest -c /dev/null && test -e /proc/self/exe && cat /proc/self/comm > /etc/more.conf\n' > more/DEBIAN/postinst
chmod 755 tool/DEBIAN/postinst more/DEBIAN/postinst
for name in base tool more; do
  dpkg-deb -Znone --root-owner-group -b $name mirror/pool/$name.deb > build.log
done
cd mirror
dpkg-scanpackages -m pool > dists/test/main/binary-amd64/Packages 2>> ../build.log
cd dists/test
file=main/binary-amd64/Packages
printf 'Suite: test\nCodename: test\nComponents: main\nArchitectures: amd64\nDate: Sat, 01 Nov 2025 00:00:00 UTC\n' > Release
printf 'SHA256:\n %s %s %s\n' "$(sha256sum $file | cut -d' ' -f1)" "$(stat -c %s $file)" $file >> Release
)sh";

class PackageBuilds : public Builds {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (!os::exists("/usr/bin/mmdebstrap") || !os::exists("/usr/bin/dpkg-scanpackages"))
      GTEST_SKIP() << "needs mmdebstrap and dpkg-dev";
    os::SpawnSpec spec;
    spec.argv = {"/bin/sh", "-c", kRepository, "sh", directory_};
    spec.env = {fmt::format("PATH={}", os::kDefaultPath)};
    const auto output = os::run_program(std::move(spec), std::chrono::minutes(1));
    ASSERT_TRUE(output.status.success()) << output.err;
  }
  static constexpr const char* kBase = R"(
    version = "{tool}"
    from debian "test" {
      mirrors = ["mirror"]
      trusted = true
      variant = "essential"
    }
    packages = ["tool"]
    service "tool" { command = ["/usr/bin/tool"] }
  )";
  static constexpr const char* kUpon = R"(
    version  = "{more}"
    packages = ["more"]
    repository "local" {
      url        = "mirror"
      suite      = "test"
      components = ["main"]
      trusted    = true
    }
    service "more" {
      command    = ["/usr/bin/more"]
      depends_on = ["tool"]
    }
  )";
  std::string upon(const std::string& from) const { return from + kUpon; }
};

TEST_F(PackageBuilds, HoldPackagesWithTheirVersionsAndWhatTheirScriptsMade) {
  const auto built = build("base", kBase);
  EXPECT_EQ(built.image.manifest.version, "1.4-1");
  EXPECT_EQ(built.image.manifest.packages,
            (std::vector<image::Package>{{"base", "1", "amd64"}, {"tool", "2:1.4-1", "amd64"}}));
  EXPECT_EQ(built.image.manifest.source, "debian test");
  const auto found = files("base");
  EXPECT_TRUE(found.contains("/etc/tool.conf"));
  EXPECT_FALSE(found.contains("/var/log/tool.log"));
  for (const auto& [path, entry] : found)
    EXPECT_TRUE(entry.kind != image::FileKind::character && entry.kind != image::FileKind::block) << path;
}

TEST_F(PackageBuilds, AreTheSameBytesInAnotherPlace) {
  const auto one = build("base", kBase);
  os::make_directories(at("else/where"));
  ASSERT_EQ(::rename(at("mirror").c_str(), at("else/where/mirror").c_str()), 0);
  const std::string home = directory_;
  directory_ = at("else/where");
  const auto two = build("base", kBase);
  directory_ = home;
  EXPECT_EQ(one.image.digest, two.image.digest);
  EXPECT_EQ(os::read_file(one.path), os::read_file(two.path));
}

TEST_F(PackageBuilds, UponAnotherImageHoldItsPackagesAndServicesToo) {
  build("base", kBase);
  const auto mounts = os::list_mounts().size();
  const auto built = build("more", upon("from image \"base.capsule\" {}\n"));
  EXPECT_EQ(os::list_mounts().size(), mounts);
  EXPECT_EQ(built.image.manifest.reference(), "more:7");
  EXPECT_EQ(built.image.manifest.packages.size(), 3U);
  ASSERT_EQ(built.image.manifest.services.size(), 2U);
  EXPECT_EQ(built.image.manifest.source, "image base:1.4-1, debian test");
  const auto found = files("more");
  EXPECT_TRUE(found.contains("/etc/more.conf")) << "its script saw /dev and /proc";
  EXPECT_TRUE(found.contains("/etc/tool.conf"));
  EXPECT_FALSE(found.contains("/usr/sbin/policy-rc.d"));
  EXPECT_FALSE(found.contains("/dev/null"));
  const std::string bytes = os::read_file(built.path);
  build("more", upon("from image \"base.capsule\" {}\n"));
  EXPECT_EQ(os::read_file(built.path), bytes) << "the same again";
}

TEST_F(PackageBuilds, AreNotMadeUponWhatCannotBeTrusted) {
  const auto base = build("base", kBase);
  auto key =
      std::exchange(key_, std::optional(image::PrivateKeyFile{.name = "other", .key = crypto::SigningKey::generate()}));
  EXPECT_THAT(failure_of([&] { build("more", upon("from image \"base.capsule\" {}\n")); }),
              HasSubstr("is none of the trusted keys"));
  const std::string pinned = "from image \"base.capsule\" { digest = \"" + base.image.digest + "\" }\n";
  EXPECT_EQ(failure_of([&] { build("more", upon(pinned)); }), "no failure") << "its digest says enough";
  EXPECT_THAT(failure_of([&] {
                build("more",
                      upon("from image \"base.capsule\" { digest = \"sha256:" + std::string(64, 'a') + "\" }\n"));
              }),
              HasSubstr("is not the image to build upon"));
  std::string bytes = os::read_file(base.path);
  bytes[9000] = static_cast<char>(bytes[9000] ^ 1);
  os::write_file(base.path, bytes);
  EXPECT_THAT(failure_of([&] { build("more", upon(pinned)); }), HasSubstr("it was changed after it was built"));
  key_ = std::move(key);
  EXPECT_THAT(failure_of([&] { build("more", upon("from image \"base.capsule\" {}\n")); }),
              HasSubstr("it was changed after it was built"));
}

TEST_F(PackageBuilds, OfRpmAreRefusedWhereThereIsNoDnf) {
  if (os::exists("/usr/bin/dnf")) GTEST_SKIP() << "there is a dnf";
  EXPECT_THAT(failure_of([&] {
                build("x",
                      "version = \"1\"\n from rpm \"9\" {\n mirrors = [\"mirror\"]\n trusted = true\n }\n"
                      "packages = [\"bash\"]");
              }),
              HasSubstr("there is no dnf on it"));
}

TEST_F(PackageBuilds, ThatLackAPackageSayWhatAptSaid) {
  EXPECT_THAT(failure_of([&] { build("base", std::string(kBase) + "recommends = true\n"); }), "no failure");
  std::string wrong = kBase;
  wrong.replace(wrong.find("[\"tool\"]"), 8, "[\"tol\"]");
  EXPECT_THAT(failure_of([&] { build("wrong", wrong); }), HasSubstr("tol"));
  std::string upon_it = upon("from image \"base.capsule\" {}\n");
  upon_it.replace(upon_it.find("[\"more\"]"), 8, "[\"moore\"]");
  EXPECT_THAT(failure_of([&] { build("wrong", upon_it); }), HasSubstr("Unable to locate package moore"));
  EXPECT_FALSE(os::exists(at("wrong.capsule")));
}

}  // namespace
}  // namespace underway::imagebuild

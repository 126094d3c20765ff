#include "imagebuild/definition.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "harness/places.hpp"
#include "imagebuild/detail/rpm.hpp"

namespace underway::imagebuild {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> errors_of(const std::string& text) {
  std::vector<std::string> out;
  const auto parsed = parse_definition(text, "x.hcl", "/tmp");
  for (const auto& each : parsed.diagnostics.all()) out.push_back(each.range.where() + " " + each.summary);
  return out;
}

TEST(Definition, IsReadWithAllItsParts) {
  const auto parsed = parse_definition(R"(
variable "mirror" { default = "deb.debian.org" }
image "slurm-services" {
  version    = "{slurmctld}-1"
  size_limit = "200M"
  from debian "bookworm" {
    mirrors  = ["https://${var.mirror}/debian", "/srv/debs"]
    snapshot = "20241101T000000Z"
  }
  repository "site" {
    url     = "debs"
    trusted = true
  }
  packages = ["slurmctld", "munge=0.5.15-2"]
  directory "/var/spool/slurm" {
    user = "slurm"
    mode = "0750"
  }
  file "/etc/motd" { content = "welcome" }
  link "/etc/localtime" { target = "/usr/share/zoneinfo/UTC" }
  remove   = ["/usr/share/doc", "/usr/share/man/*"]
  service "munge" {
    command = ["/usr/sbin/munged", "-F"]
    user    = "munge"
  }
  service "slurmctld" {
    command      = ["/usr/sbin/slurmctld", "-D"]
    depends_on   = ["munge"]
    stop_timeout = "1m"
  }
  step "before_stop" { command = ["/usr/bin/scontrol", "ping"] }
  network "cluster" { ports = ["6817/tcp"] }
  writable = ["/var/spool/slurm"]
}
)",
                                       "x.hcl", "/srv");
  ASSERT_TRUE(parsed.definition) << parsed.diagnostics.render();
  const auto& d = *parsed.definition;
  EXPECT_EQ(d.name, "slurm-services");
  EXPECT_EQ(d.from.base, Base::debian);
  EXPECT_EQ(d.from.source, "bookworm");
  EXPECT_EQ(d.from.mirrors.at(0), "https://deb.debian.org/debian");
  EXPECT_EQ(d.packages.size(), 2U);
  EXPECT_EQ(d.files.at(0).content, "welcome");
  EXPECT_EQ(d.directories.at(0).user, "slurm");
  EXPECT_EQ(d.services.at(1).depends_on, std::vector<std::string>{"munge"});
  EXPECT_EQ(d.services.at(1).stop_timeout, std::chrono::minutes(1));
  EXPECT_EQ(d.steps.at(0).moment, image::Moment::before_stop);
  EXPECT_EQ(d.networks.at(0).ports, std::vector<std::string>{"6817/tcp"});
}

TEST(Definition, TellsAllThatIsWrongEachAtItsPlace) {
  EXPECT_THAT(
      errors_of(R"(image "Web" {
  version    = "1:2"
  created    = "yesterday"
  size_limit = "big"
  packges    = []
  from debian "bookworm" {
    strip    = 1
    variant  = "minbse"
    snapshot = "2024"
  }
  file "etc/motd" {}
  directory "/a" { mode = "rwx" }
  remove   = ["/"]
  writable = ["../x"]
  service "a" {
    command    = ["true"]
    depends_on = ["b"]
  }
}
)"),
      testing::UnorderedElementsAre(
          HasSubstr("x.hcl:1:7 'Web' is no name"), HasSubstr("x.hcl:2:16 '1:2' is no version"),
          HasSubstr("x.hcl:3:16 'yesterday' is no time"), HasSubstr("x.hcl:4:16 'big' is no size"),
          HasSubstr("x.hcl:5:3 unknown attribute 'packges'"),
          HasSubstr("x.hcl:7:5 'strip' has no meaning in `from debian`"),
          HasSubstr("x.hcl:8:16 'minbse' is no variant"), HasSubstr("x.hcl:9:16 '2024' is no time"),
          HasSubstr("x.hcl:11:3 'etc/motd' is no absolute path"), HasSubstr("x.hcl:11:3 file 'etc/motd' needs either"),
          HasSubstr("x.hcl:12:27 'rwx' is no mode"), HasSubstr("x.hcl:13:14 '/' is no absolute path to remove"),
          HasSubstr("x.hcl:14:14 '../x' is no absolute path"), HasSubstr("x.hcl:15:3 service 'a': the program"),
          HasSubstr("x.hcl:15:3 service 'a' depends on 'b'")));
}

TEST(Definition, NeedsAnImageWithAVersionAndABase) {
  EXPECT_THAT(errors_of(""), ElementsAre(HasSubstr("the file defines no image")));
  EXPECT_THAT(errors_of("image \"a\" {}\n"), testing::UnorderedElementsAre(HasSubstr("version"), HasSubstr("from")));
  EXPECT_THAT(errors_of("image \"a\" {\n  version = \"1\"\n  from directory {}\n}\n"),
              Contains(HasSubstr("the block 'from' lacks a label")));
  EXPECT_THAT(errors_of("image \"a\" {\n  version = \"1\"\n  from zip \"x\" {}\n}\n"),
              ElementsAre(HasSubstr("label 'base' of from must be one of")));
}

TEST(Definition, MayDependOnServicesOfTheImageBelow) {
  const std::string rest = "  service \"a\" {\n    command = [\"/a\"]\n    depends_on = [\"below\"]\n  }\n}\n";
  EXPECT_THAT(errors_of("image \"a\" {\n  version = \"1\"\n  from image \"b.capsule\" {}\n" + rest),
              testing::IsEmpty());
}

TEST(Definition, OfRpmPackagesBecomesArgumentsOfDnf) {
  EXPECT_THAT(errors_of("image \"a\" {\n  version = \"1\"\n  from rpm \"9\" {}\n}\n"),
              testing::UnorderedElementsAre(HasSubstr("`from rpm` needs 'mirrors'"), HasSubstr("needs the 'keyring'")));
  Definition definition;
  definition.architecture = "amd64";
  definition.directory = "/srv";
  definition.from = {.base = Base::rpm, .source = "9", .mirrors = {"https://m/os", "extra"}, .keyring = "key.asc"};
  definition.packages = {"slurm"};
  EXPECT_THAT(dnf_arguments(definition, "/tree"),
              ElementsAre("--assumeyes", "--installroot=/tree", "--releasever=9", "--forcearch=x86_64",
                          "--setopt=reposdir=/dev/null", "--setopt=cachedir=/var/cache/dnf", "--setopt=tsflags=nodocs",
                          "--setopt=install_weak_deps=False", "--repofrompath=mirror0,https://m/os",
                          "--setopt=mirror0.gpgcheck=1", "--setopt=mirror0.gpgkey=file:///srv/key.asc",
                          "--repofrompath=mirror1,file:///srv/extra", "--setopt=mirror1.gpgcheck=1",
                          "--setopt=mirror1.gpgkey=file:///srv/key.asc", "install", "slurm"));
}

TEST(Definition, TakesVersionsOfPackages) {
  const auto version = [](const std::string& name) { return "<" + name + ">"; };
  EXPECT_EQ(expand_version("{a}-1+{b}", version), "<a>-1+<b>");
  for (const char* text : {"{", "}", "{}", "{a", "{a{b}}", "a}"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(expand_version(text, version), Error);
  }
}

TEST(Definition, ReadsSizes) {
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("200M"), 200 << 20);
  EXPECT_EQ(parse_size("1.5 GiB"), 3LL << 29);
  EXPECT_FALSE(parse_size("M"));
  EXPECT_FALSE(parse_size("-1M"));
  EXPECT_FALSE(parse_size("1X"));
}

TEST(DefinitionReference, IsWhatTheDescriptionsSay) {
  const auto path = std::filesystem::path(source_dir()) / "docs/reference/capsule-definition.md";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << definition_reference();
  std::ifstream in(path);
  const std::string committed{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(committed, definition_reference()) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

}  // namespace
}  // namespace underway::imagebuild

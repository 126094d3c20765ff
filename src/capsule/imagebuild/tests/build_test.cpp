#include "fixture.hpp"

namespace underway::imagebuild {
namespace {

using testing::HasSubstr;

void write(const std::string& path, const std::string& text, mode_t mode = 0644) {
  os::make_directories(path.substr(0, path.rfind('/')));
  os::write_file(path, text, mode);
}

/// A tree with everything in it that differs from host to host, made in the order that `backwards` says.
void make_tree(const std::string& root, const std::string& noise, bool backwards) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"/etc/hostname", noise},
      {"/etc/machine-id", noise},
      {"/etc/resolv.conf", noise},
      {"/etc/passwd", "root:x:0:0::/root:/bin/sh\nslurm:x:64030:64031::/:/bin/sh\n"},
      {"/etc/passwd-", noise},
      {"/etc/group", "root:x:0:\nslurm:x:64031:\nadm:x:4:\n"},
      {"/etc/shadow", "root:*:" + std::to_string(19000 + noise.size()) + ":0:99999:7:::\nslurm:!:::::::\n"},
      {"/etc/munge/munge.key", noise},
      {"/etc/ssh/ssh_host_rsa_key", noise},
      {"/var/log/apt/history.log", noise},
      {"/var/cache/ldconfig/aux-cache", noise},
      {"/var/cache/debconf/config.dat-old", noise},
      {"/var/lib/apt/lists/x_Packages", noise},
      {"/var/lib/dpkg/status",
       "Package: tool\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2:1.4-1\n\n"
       "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n"},
      {"/usr/lib/python3/x/__pycache__/a.pyc", noise},
      {"/usr/share/doc/tool/README", "read"},
      {"/usr/share/man/man1/tool.1", "man"},
      {"/usr/bin/tool", "#!/bin/sh\n"},
      {"/tmp/.hidden", noise},
      {"/run/x.pid", noise}};
  if (backwards) std::reverse(files.begin(), files.end());
  for (const auto& [path, text] : files) write(root + path, text);
}

constexpr const char* kBody = R"(
  version  = "{tool}"
  from directory "tree" {}
  directory "/var/spool/slurm" {
    user = "slurm"
    mode = "0750"
  }
  file "/etc/tool.conf" {
    content = "a = 1\n"
    group   = "adm"
    mode    = "0640"
  }
  file "/usr/bin/script" { source = "script" }
  link "/etc/alias" { target = "tool.conf" }
  remove = ["/usr/share/doc", "/usr/share/*/man1"]
  service "tool" { command = ["/usr/bin/tool"] }
)";

TEST_F(Builds, HoldWhatTheDefinitionSays) {
  make_tree(at("tree"), "noise", false);
  write(at("script"), "#!/bin/sh\n", 0755);
  const auto built = build("tool", kBody);
  EXPECT_EQ(built.image.manifest.reference(), "tool:1.4-1") << "the package's version without its epoch";
  EXPECT_EQ(built.image.manifest.packages, (std::vector<image::Package>{{"tool", "2:1.4-1", "amd64"}}));
  EXPECT_EQ(built.image.manifest.services.at(0).name, "tool");
  const auto found = files("tool");
  EXPECT_EQ(found.at("/etc/tool.conf").mode, 0640);
  EXPECT_EQ(found.at("/usr/bin/script").mode, 0755);
  EXPECT_EQ(found.at("/etc/alias").target, "tool.conf");
  EXPECT_FALSE(found.contains("/usr/share/doc"));
  EXPECT_FALSE(found.contains("/usr/share/man/man1"));
  EXPECT_TRUE(found.contains("/usr/share/man"));
  if (::geteuid() == 0) {
    EXPECT_EQ(found.at("/etc/tool.conf").gid, 4);
    EXPECT_EQ(found.at("/var/spool/slurm").uid, 64030);
    EXPECT_EQ(found.at("/var/spool/slurm").gid, 64031);
  }
  EXPECT_NO_THROW(image::open_verified(
      built.path, {{.id = key_->key.verifying().id(), .name = "ops", .key = key_->key.verifying()}}, kNow));
}

TEST_F(Builds, HoldNoSecretAndNothingOfTheHost) {
  make_tree(at("tree"), "noise", false);
  write(at("script"), "#!/bin/sh\n", 0755);
  build("tool", kBody);
  const auto found = files("tool");
  for (const char* path :
       {"/etc/munge/munge.key", "/etc/ssh/ssh_host_rsa_key", "/etc/passwd-", "/var/log/apt/history.log", "/tmp/.hidden",
        "/run/x.pid", "/usr/lib/python3/x/__pycache__", "/var/lib/apt/lists/x_Packages"})
    EXPECT_FALSE(found.contains(path)) << path;
  EXPECT_EQ(found.at("/etc/machine-id").size, 0);
  EXPECT_EQ(found.at("/etc/hostname").size, 0);
  EXPECT_TRUE(found.contains("/var/log/apt")) << "directories of logs stay";
}

TEST_F(Builds, AreTheSameBytesWhereverAndWheneverTheyAreMade) {
  make_tree(at("tree"), "noise", false);
  write(at("script"), "#!/bin/sh\n", 0755);
  const auto one = build("tool", kBody);
  const std::string first = os::read_file(one.path);
  ::unlink(one.path.c_str());
  os::remove_tree(at("tree"));
  // Another order of making, another content of what does not count, another place to work in.
  make_tree(at("tree"), "other noise", true);
  os::make_directories(at("elsewhere"));
  const std::string home = directory_;
  ASSERT_EQ(::rename(at("tree").c_str(), at("elsewhere/tree").c_str()), 0);
  ASSERT_EQ(::rename(at("script").c_str(), at("elsewhere/script").c_str()), 0);
  directory_ = at("elsewhere");
  const auto two = build("tool", kBody);
  directory_ = home;
  EXPECT_EQ(two.image.digest, one.image.digest);
  EXPECT_EQ(os::read_file(two.path), first);
}

TEST_F(Builds, FailWithTheirReasonAndLeaveNothing) {
  make_tree(at("tree"), "noise", false);
  const std::string base = "version = \"1\"\n from directory \"tree\" {}\n";
  EXPECT_THAT(failure_of([&] { build("x", "version = \"{none}\"\n from directory \"tree\" {}"); }),
              HasSubstr("there is no package 'none'"));
  EXPECT_THAT(failure_of([&] { build("x", base + "remove = [\"/nothing\"]"); }), HasSubstr("cannot remove '/nothing'"));
  EXPECT_THAT(failure_of([&] { build("x", base + "file \"/a\" {\n content = \"\"\n user = \"nobody2\"\n}"); }),
              HasSubstr("the image has no user 'nobody2'"));
  EXPECT_THAT(failure_of([&] { build("x", base + "file \"/a\" { source = \"gone\" }"); }), HasSubstr("gone"));
  EXPECT_THAT(failure_of([&] { build("x", "version = \"1\"\n from directory \"gone\" {}"); }), HasSubstr("ENOENT"));
  EXPECT_THAT(failure_of([&] { build("x", base + "size_limit = \"1K\""); }), HasSubstr("its size_limit is 1.0 KiB"));
  EXPECT_EQ(os::list_directory(directory_).size(), 2U) << "the key and the tree";
}

TEST_F(Builds, PutNothingOutsideThroughLinksOfTheTree) {
  os::make_directories(at("outside"));
  os::make_directories(at("tree/etc"));
  os::make_directories(at("tree/data"));
  ASSERT_EQ(::symlink(at("outside").c_str(), at("tree/var").c_str()), 0);
  ASSERT_EQ(::symlink("/data", at("tree/srv").c_str()), 0);
  ASSERT_EQ(::symlink(at("outside/file").c_str(), at("tree/etc/conf").c_str()), 0);
  const std::string base = "version = \"1\"\n from directory \"tree\" {}\n";
  EXPECT_THAT(failure_of([&] { build("x", base + "file \"/var/x\" { content = \"x\" }"); }),
              HasSubstr("a link that leads nowhere in the image"));
  build("x",
        base + "file \"/srv/x\" { content = \"x\" }\n file \"/etc/conf\" { content = \"y\" }\n remove = [\"/var/*\"]");
  EXPECT_TRUE(os::list_directory(at("outside")).empty());
  EXPECT_EQ(files("x").at("/etc/conf").size, 1);
  EXPECT_EQ(files("x").at("/data/x").size, 1);
}

}  // namespace
}  // namespace underway::imagebuild

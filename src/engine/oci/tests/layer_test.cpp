// Layers as overlayfs wants them, from archives that mean well and from others.
#include "oci/layer.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "fixture.hpp"
#include "maker.hpp"

namespace underway::oci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Layers : public InDirectory {
 protected:
  /// Unpacks into `name`.
  LayerRecord unpack_bytes(const std::string& bytes, const std::string& diff_id, const std::string& name = "layer",
                           const PullLimits& limits = {}) {
    os::write_file(at("blob"), bytes, 0600, {}, os::Durability::cached);
    const os::Fd file = os::open_file(at("blob"), O_RDONLY);
    os::remove_tree(at(name));
    Allowance allowance{.bytes = limits.unpacked_bytes, .entries = limits.entries};
    return unpack_layer({.file = file, .name = "blob", .digest = digest_of(bytes), .diff_id = diff_id}, at(name), {},
                        limits, allowance);
  }
  LayerRecord unpack_entries(const std::vector<Entry>& entries, const std::string& compression = "gzip",
                             const std::string& name = "layer", const PullLimits& limits = {}) {
    const std::string tar = tar_of(entries);
    return unpack_bytes(compression == "none" ? tar : packed(tar, compression), digest_of(tar), name, limits);
  }
  struct stat look(const std::string& path) const {
    struct stat st{};
    EXPECT_EQ(::lstat(at("layer/" + path).c_str(), &st), 0) << path;
    return st;
  }
  bool opaque(const std::string& path) const {
    return ::lgetxattr(at("layer/" + path).c_str(), "trusted.overlay.opaque", nullptr, 0) == 1;
  }
  bool whiteout(const std::string& path) const {
    struct stat st{};
    return ::lstat(at("layer/" + path).c_str(), &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
  }
};

TEST_F(Layers, KeepOwnersModesDatesAndAttributes) {
  const std::string capability("\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 20);
  for (const char* compression : {"none", "gzip", "zstd"}) {
    SCOPED_TRACE(compression);
    const auto record = unpack_entries({{"./", AE_IFDIR, "", 0755},
                                        {"./usr/", AE_IFDIR, "", 0711, false, 3, 4, 77},
                                        {"./usr/su", AE_IFREG, "program", 04755, false, 1000, 2000},
                                        {"./usr/ping",
                                         AE_IFREG,
                                         "ping",
                                         0755,
                                         false,
                                         0,
                                         0,
                                         99,
                                         {{"security.capability", capability},
                                          {"user.mime", "x"},
                                          {"trusted.overlay.redirect", "/etc"},
                                          {"user.overlay.opaque", "y"}}},
                                        {"./usr/same", AE_IFREG, "usr/su", 0644, true},
                                        {"./usr/link", AE_IFLNK, "/usr/su"},
                                        {"./usr/pipe", AE_IFIFO, "", 0600},
                                        {"./usr/null", AE_IFCHR},
                                        {"./dev/sda", AE_IFBLK}},
                                       compression);
    EXPECT_EQ(look("usr").st_mode & 07777, 0711U);
    EXPECT_EQ(look("usr").st_uid, 3U);
    EXPECT_EQ(look("usr").st_mtim.tv_sec, 77);
    EXPECT_EQ(look("usr/su").st_mode & 07777, 04755U);
    EXPECT_EQ(look("usr/su").st_gid, 2000U);
    EXPECT_EQ(look("usr/su").st_ino, look("usr/same").st_ino);
    EXPECT_EQ(look("usr/ping").st_mtim.tv_sec, 99);
    EXPECT_EQ(::lgetxattr(at("layer/usr/ping").c_str(), "security.capability", nullptr, 0), 20);
    EXPECT_EQ(::lgetxattr(at("layer/usr/ping").c_str(), "user.mime", nullptr, 0), 1);
    EXPECT_LT(::lgetxattr(at("layer/usr/ping").c_str(), "trusted.overlay.redirect", nullptr, 0), 0);
    EXPECT_LT(::lgetxattr(at("layer/usr/ping").c_str(), "user.overlay.opaque", nullptr, 0), 0);
    EXPECT_TRUE(S_ISLNK(look("usr/link").st_mode));
    EXPECT_TRUE(S_ISFIFO(look("usr/pipe").st_mode));
    EXPECT_FALSE(os::exists(at("layer/usr/null"))) << "no device of an image is made";
    EXPECT_FALSE(os::exists(at("layer/dev/sda")));
    EXPECT_EQ(record.bytes, 11);
    EXPECT_EQ(record.entries, 9);
    EXPECT_TRUE(record.implied.empty());
  }
}

TEST_F(Layers, MayNameTheirRootAsTheRoot) {
  unpack_entries({{"/", AE_IFDIR, "", 0750}, {"bin/", AE_IFDIR, "", 0755}, {"bin/sh", AE_IFREG, "shell", 0755}});
  EXPECT_EQ(look("bin/sh").st_size, 5);
}

TEST_F(Layers, HideWhatLiesBelow) {
  unpack_entries({{"a/.wh.gone", AE_IFREG},
                  {"b/", AE_IFDIR, "", 0755},
                  {"b/.wh..wh..opq", AE_IFREG},
                  {"b/new", AE_IFREG, "n"},
                  {"c/.wh.again", AE_IFREG},
                  {"c/again", AE_IFREG, "file"},
                  {"d/.wh.dir", AE_IFREG},
                  {"d/dir/", AE_IFDIR, "", 0700},
                  {"d/dir/x", AE_IFREG, "x"},
                  {"e/dir/", AE_IFDIR, "", 0700},
                  {"e/.wh.dir", AE_IFREG},
                  {".wh..wh.plnk", AE_IFREG}});
  EXPECT_TRUE(whiteout("a/gone"));
  EXPECT_TRUE(opaque("b"));
  EXPECT_TRUE(os::exists(at("layer/b/new")));
  EXPECT_TRUE(S_ISREG(look("c/again").st_mode));
  EXPECT_TRUE(opaque("d/dir"));
  EXPECT_TRUE(opaque("e/dir")) << "in either order";
  EXPECT_EQ(os::list_directory(at("layer")).size(), 5U);
}

TEST_F(Layers, AreLaidOverEachOtherByTheKernel) {
  unpack_entries({{"etc/", AE_IFDIR, "", 0755},
                  {"etc/a", AE_IFREG, "a"},
                  {"etc/b", AE_IFREG, "b"},
                  {"old/", AE_IFDIR, "", 0755},
                  {"old/x", AE_IFREG, "x"}},
                 "gzip", "lower");
  unpack_entries({{"etc/", AE_IFDIR, "", 0755},
                  {"etc/.wh.a", AE_IFREG},
                  {"etc/b", AE_IFREG, "B"},
                  {"old/", AE_IFDIR, "", 0755},
                  {"old/.wh..wh..opq", AE_IFREG},
                  {"old/y", AE_IFREG, "y"}});
  os::make_directories(at("root"));
  const std::string options = fmt::format("lowerdir={}:{}", at("layer"), at("lower"));
  if (::mount("overlay", at("root").c_str(), "overlay", MS_RDONLY, options.c_str()) != 0)
    GTEST_SKIP() << "no overlay here: " << errno_name(errno);
  EXPECT_FALSE(os::exists(at("root/etc/a")));
  EXPECT_EQ(os::read_file(at("root/etc/b")), "B");
  EXPECT_FALSE(os::exists(at("root/old/x")));
  EXPECT_TRUE(os::exists(at("root/old/y")));
  EXPECT_EQ(::umount2(at("root").c_str(), 0), 0);
}

TEST_F(Layers, TellWhichDirectoriesTheyOnlyImply) {
  unpack_entries({{"tmp/", AE_IFDIR, "", 01777}, {"srv/", AE_IFDIR, "", 0700, false, 5, 6}}, "gzip", "lower");
  const auto record = unpack_entries({{"tmp/a/b/file", AE_IFREG, "x"},
                                      {"usr/", AE_IFDIR, "", 0755},
                                      {"usr/x", AE_IFREG, "x"},
                                      {"srv/.wh.y", AE_IFREG},
                                      {"lib", AE_IFLNK, "usr"},
                                      {"lib/z", AE_IFREG, "z"}});
  EXPECT_THAT(record.implied, ElementsAre("srv", "tmp", "tmp/a", "tmp/a/b"));
  const auto adopted = adopted_looks(record.implied, {at("lower")});
  EXPECT_EQ(adopted.size(), 2U);
  EXPECT_EQ(adopted.at("tmp"), (DirectoryAttributes{01777, 0, 0}));
  EXPECT_EQ(adopted.at("srv"), (DirectoryAttributes{0700, 5, 6}));
  EXPECT_NE(layer_name(record.diff_id, adopted), layer_name(record.diff_id, {}));
}

TEST_F(Layers, NeverReachOutside) {
  os::make_directories(at("outside"));
  os::write_file(at("outside/victim"), "safe");
  const std::string outside = at("outside");
  const std::string up = "../../../../../../../.." + outside;
  struct Case {
    const char* name;
    std::vector<Entry> entries;
    const char* why;  ///< empty: it is unpacked, inside
  };
  const std::vector<Case> cases = {
      {"above", {{"../victim", AE_IFREG, "x"}}, "a path with '..'"},
      {"above, deeper", {{"a/../../victim", AE_IFREG, "x"}}, "a path with '..'"},
      {"absolute", {{outside + "/victim", AE_IFREG, "x"}}, "an absolute path"},
      {"hard link above", {{"a", AE_IFREG, "../outside/victim", 0644, true}}, "a path with '..'"},
      {"absolute hard link", {{"a", AE_IFREG, outside + "/victim", 0644, true}}, "an absolute path"},
      {"hard link to nothing", {{"a", AE_IFREG, "etc/passwd", 0644, true}}, "which is not in the image"},
      {"hard link through a link",
       {{"d", AE_IFLNK, outside}, {"a", AE_IFREG, "d/victim", 0644, true}},
       "which is not in the image"},
      {"through a link", {{"d", AE_IFLNK, outside}, {"d/victim", AE_IFREG, "x"}}, "leads nowhere in the image"},
      {"through a relative link", {{"d", AE_IFLNK, up}, {"d/victim", AE_IFREG, "x"}}, "leads nowhere in the image"},
      {"through a link in place of a directory",
       {{"d/", AE_IFDIR, "", 0755}, {"d/a", AE_IFREG, "a"}, {"d", AE_IFLNK, outside}, {"d/victim", AE_IFREG, "x"}},
       "leads nowhere in the image"},
      {"over a link", {{"victim", AE_IFLNK, outside + "/victim"}, {"victim", AE_IFREG, "x"}}, ""},
      {"mode of a link's target", {{"victim", AE_IFLNK, outside + "/victim", 0777}}, ""},
      {"directory over a link",
       {{"d", AE_IFLNK, outside}, {"d/", AE_IFDIR, "", 0777}, {"d/victim", AE_IFREG, "x"}},
       ""},
      {"whiteout through a link", {{"d", AE_IFLNK, outside}, {"d/.wh.victim", AE_IFREG}}, "leads nowhere"},
      {"opaque through a link", {{"d", AE_IFLNK, outside}, {"d/.wh..wh..opq", AE_IFREG}}, "leads nowhere"},
      {"whiteout of the parent", {{"d/.wh...", AE_IFREG}}, "a whiteout of nothing"},
      {"whiteout of nothing", {{".wh.", AE_IFREG}}, "a whiteout of nothing"},
      {"through a file", {{"a", AE_IFREG, "x"}, {"a/b", AE_IFREG, "x"}}, "something on the way is no directory"},
      {"long name", {{std::string(5000, 'n'), AE_IFREG, "x"}}, "File name too long"},
      {"a link to itself", {{"l", AE_IFLNK, "l"}, {"l/x", AE_IFREG, "x"}}, "something on the way"},
      {"twice", {{"a", AE_IFREG, "1"}, {"a", AE_IFREG, "2"}, {"a/", AE_IFDIR, "", 0755}, {"a/b", AE_IFREG, "3"}}, ""}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string said = failure_of([&] { unpack_entries(c.entries); });
    if (*c.why == '\0')
      EXPECT_EQ(said, "no failure");
    else
      EXPECT_THAT(said, HasSubstr(c.why));
    EXPECT_EQ(os::read_file(at("outside/victim")), "safe");
    struct stat st{};
    EXPECT_EQ(::stat(at("outside/victim").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0644U);
    EXPECT_EQ(st.st_nlink, 1U);
    EXPECT_EQ(os::list_directory(outside).size(), 1U);
    EXPECT_FALSE(os::exists(at("victim")));
  }
}

TEST_F(Layers, ThatAreDamagedOrLieAreRefused) {
  const std::string tar = tar_of({{"a", AE_IFREG, noise(300'000)}});
  const std::string id = digest_of(tar);
  for (const char* compression : {"gzip", "zstd"}) {
    SCOPED_TRACE(compression);
    const std::string blob = packed(tar, compression);
    EXPECT_THAT(failure_of([&] { unpack_bytes(blob.substr(0, blob.size() / 2), id); }), HasSubstr("cannot read the"));
    EXPECT_THAT(failure_of([&] { unpack_bytes(blob.substr(0, blob.size() - 3), id); }), HasSubstr("it ends too early"));
    std::string bad = blob;
    bad[blob.size() / 2] = static_cast<char>(bad[blob.size() / 2] ^ 1);
    EXPECT_NE(failure_of([&] { unpack_bytes(bad, id); }), "no failure");
    EXPECT_THAT(failure_of([&] { unpack_bytes(blob, digest_of("other")); }), HasSubstr("it unpacks to"));
    EXPECT_EQ(failure_of([&] { unpack_bytes(blob, id); }), "no failure");
  }
  EXPECT_NE(failure_of([&] { unpack_bytes(tar.substr(0, 100'000), digest_of(tar.substr(0, 100'000))); }), "no failure");
  EXPECT_NE(failure_of([&] { unpack_bytes(std::string(3000, 'x'), digest_of(std::string(3000, 'x'))); }), "no failure");
}

TEST_F(Layers, OfSeveralMembersAreRead) {
  const std::string tar = tar_of({{"a", AE_IFREG, noise(3'000'000)}, {"b", AE_IFREG, "b"}});
  for (const char* compression : {"gzip", "zstd"}) {
    SCOPED_TRACE(compression);
    const auto half = tar.size() / 3;
    EXPECT_EQ(failure_of([&] {
                unpack_bytes(packed(tar.substr(0, half), compression) + packed(tar.substr(half), compression),
                             digest_of(tar));
              }),
              "no failure");
    EXPECT_EQ(look("a").st_size, 3'000'000);
  }
}

TEST_F(Layers, ThatGrowTooMuchAreRefused) {
  const std::vector<Entry> bomb = {{"a", AE_IFREG, std::string(8 << 20, '\0')}};
  PullLimits small;
  small.unpacked_bytes = 1 << 20;
  PullLimits ratio;
  ratio.ratio_from = 1 << 20;
  PullLimits few;
  few.entries = 2;
  EXPECT_THAT(failure_of([&] { unpack_entries(bomb, "gzip", "layer", small); }), HasSubstr("more bytes than an image"));
  EXPECT_THAT(failure_of([&] { unpack_entries(bomb, "zstd", "layer", ratio); }), HasSubstr("200 times as much"));
  EXPECT_THAT(failure_of([&] { unpack_entries(bomb, "gzip", "layer", ratio); }), HasSubstr("200 times as much"));
  EXPECT_THAT(
      failure_of([&] { unpack_entries({{"a", AE_IFREG}, {"b", AE_IFREG}, {"c", AE_IFREG}}, "gzip", "layer", few); }),
      HasSubstr("more entries"));
}

}  // namespace
}  // namespace underway::oci

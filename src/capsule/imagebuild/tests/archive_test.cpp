#include "crypto/digest.hpp"
#include "fixture.hpp"

namespace underway::imagebuild {
namespace {

using testing::HasSubstr;

class Archives : public Builds {
 protected:
  Built from_tar(const std::vector<Entry>& entries, const std::string& compression = "none",
                 std::int64_t limit = 1 << 30) const {
    os::write_file(at("in.tar"), tar_of(entries, compression));
    return build("x", "version = \"1\"\n from tar \"in.tar\" {}", limit);
  }

  /// A layout with one image of these layers.
  void layout(const std::vector<std::string>& layers, const std::string& compression = "gzip") const {
    os::make_directories(at("oci/blobs/sha256"));
    std::string list;
    for (const auto& layer : layers) {
      if (!list.empty()) list += ",";
      list += blob(layer, "application/vnd.oci.image.layer.v1.tar+" + compression);
    }
    const std::string manifest = blob("{\"layers\":[" + list + "]}", "application/vnd.oci.image.manifest.v1+json",
                                      ",\"annotations\":{\"org.opencontainers.image.ref.name\":\"v1\"}");
    os::write_file(at("oci/index.json"), "{\"schemaVersion\":2,\"manifests\":[" + manifest + "]}");
    os::write_file(at("oci/oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}");
  }
  std::string blob(const std::string& bytes, const std::string& type, const std::string& more = {}) const {
    const std::string digest = hex(crypto::sha256(bytes));
    os::write_file(at("oci/blobs/sha256/" + digest), bytes);
    return fmt::format(R"({{"mediaType":"{}","digest":"sha256:{}","size":{}{}}})", type, digest, bytes.size(), more);
  }
  Built from_layout(const std::string& rest = "{}") const {
    return build("x", "version = \"1\"\n from oci \"oci\" " + rest);
  }
};

TEST_F(Archives, BecomeImages) {
  for (const char* compression : {"none", "gzip", "zstd"}) {
    SCOPED_TRACE(compression);
    from_tar({{"./", AE_IFDIR, "", 0755},
              {"./usr/bin/tool", AE_IFREG, "#!/bin/sh\n", 0755},
              {"bin", AE_IFLNK, "usr/bin"},
              {"bin/more", AE_IFREG, "more"},
              {"usr/bin/same", AE_IFREG, "usr/bin/tool", 0755, true}},
             compression);
    const auto found = files("x");
    EXPECT_EQ(found.at("/usr/bin/tool").mode, 0755);
    EXPECT_EQ(found.at("/usr/bin/more").size, 4) << "links within the archive are followed, within the image";
    EXPECT_EQ(found.at("/bin").target, "usr/bin");
    EXPECT_EQ(found.at("/usr/bin/same").digest, found.at("/usr/bin/tool").digest);
  }
}

TEST_F(Archives, AreRefusedWhenTheyWouldLeaveTheImage) {
  struct Case {
    const char* name;
    std::vector<Entry> entries;
    const char* why;
  };
  const std::vector<Case> cases = {
      {"above", {{"../escaped", AE_IFREG, "x"}}, "a path with '..'"},
      {"above, deeper", {{"a/../../escaped", AE_IFREG, "x"}}, "a path with '..'"},
      {"absolute", {{"/escaped", AE_IFREG, "x"}}, "an absolute path"},
      {"hard link out", {{"a", AE_IFREG, "../../etc/passwd", 0644, true}}, "a path with '..'"},
      {"absolute hard link", {{"a", AE_IFREG, "/etc/passwd", 0644, true}}, "an absolute path"},
      {"hard link to nothing", {{"a", AE_IFREG, "etc/passwd", 0644, true}}, "which is not in the image"},
      {"device", {{"disk", AE_IFBLK}}, "a device node"},
      {"fifo", {{"pipe", AE_IFIFO}}, "neither a file nor a directory nor a link"},
      {"through a file", {{"a", AE_IFREG, "x"}, {"a/b", AE_IFREG, "x"}}, "something on the way is no directory"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(failure_of([&] { from_tar(c.entries); }), HasSubstr(c.why));
    EXPECT_FALSE(os::exists(at("x.capsule")));
    EXPECT_FALSE(os::exists(at("escaped")));
  }
  EXPECT_EQ(os::list_directory(directory_).size(), 2U) << "the key and the archive: no tree is left behind";
}

TEST_F(Archives, WithLinksThatPointOutsideWriteInTheImageNevertheless) {
  os::make_directories(at("outside"));
  from_tar({{at("outside").substr(1) + "/", AE_IFDIR, "", 0755},
            {"srv/", AE_IFDIR, "", 0755},
            {"etc", AE_IFLNK, at("outside")},
            {"etc/passwd", AE_IFREG, "x"},
            {"up", AE_IFLNK, "../../../../../../../.." + at("outside")},
            {"up/more", AE_IFREG, "y"},
            {"opt", AE_IFLNK, "/srv"},
            {"opt/web", AE_IFREG, "w"},
            {"top", AE_IFLNK, "../../../../srv"},
            {"top/mail", AE_IFREG, "m"},
            {"file", AE_IFLNK, at("outside/file")},
            {"file", AE_IFREG, "z"}});
  EXPECT_TRUE(os::list_directory(at("outside")).empty());
  const auto found = files("x");
  EXPECT_TRUE(found.contains("/srv/web")) << "as its own processes would see it";
  EXPECT_TRUE(found.contains("/srv/mail"));
  EXPECT_EQ(found.at("/file").kind, image::FileKind::regular) << "a file replaces a link and is not written through it";
}

TEST_F(Archives, CannotUseLinksThatLeadNowhereInTheImage) {
  EXPECT_THAT(
      failure_of([&] { from_tar({{"etc", AE_IFLNK, "/"}, {"var", AE_IFLNK, at("")}, {"var/x", AE_IFREG, "x"}}); }),
      HasSubstr("a link that leads nowhere in the image"));
}

TEST_F(Archives, ThatGrowTooMuchAreRefused) {
  EXPECT_THAT(failure_of([&] { from_tar({{"bomb", AE_IFREG, std::string(8 << 20, '\0')}}, "gzip", 1 << 20); }),
              HasSubstr("unpacks to more than is allowed"));
  EXPECT_THAT(failure_of([&] {
                from_tar({{"a", AE_IFREG, std::string(600 << 10, '\0')}, {"b", AE_IFREG, std::string(600 << 10, '\0')}},
                         "gzip", 1 << 20);
              }),
              HasSubstr("unpacks to more than is allowed"));
}

TEST_F(Archives, ThatAreDamagedOrNoneAreRefused) {
  os::write_file(at("in.tar"), tar_of({{"a", AE_IFREG, std::string(100'000, 'x')}}).substr(0, 60'000));
  EXPECT_THAT(failure_of([&] { build("x", "version = \"1\"\n from tar \"in.tar\" {}"); }),
              HasSubstr("cannot read the archive"));
  os::write_file(at("in.tar"), std::string(5000, 'x'));
  EXPECT_THAT(failure_of([&] { build("x", "version = \"1\"\n from tar \"in.tar\" {}"); }),
              HasSubstr("cannot read the archive"));
}

TEST_F(Archives, LoseLeadingDirectoriesAndDevices) {
  os::write_file(at("in.tar"), tar_of({{"root/", AE_IFDIR, "", 0755},
                                       {"root/etc/motd", AE_IFREG, "x"},
                                       {"root/dev/null", AE_IFCHR},
                                       {"top", AE_IFREG, "y"}}));
  build("x", "version = \"1\"\n from tar \"in.tar\" {\n strip = 1\n }");
  EXPECT_TRUE(files("x").contains("/etc/motd"));
  EXPECT_FALSE(files("x").contains("/dev/null"));
  EXPECT_FALSE(files("x").contains("/top"));
}

TEST_F(Archives, OfAnOciLayoutAreLaidUponEachOther) {
  layout({tar_of({{"etc/a", AE_IFREG, "a"},
                  {"etc/b", AE_IFREG, "b"},
                  {"var/old/x", AE_IFREG, "x"},
                  {"opt", AE_IFLNK, "/usr/opt"}},
                 "gzip"),
          tar_of({{"etc/.wh.a", AE_IFREG, ""},
                  {"var/old/new", AE_IFREG, "n"},
                  {"var/old/.wh..wh..opq", AE_IFREG, ""},
                  {"etc/b", AE_IFREG, "b2"},
                  {"opt/", AE_IFDIR, "", 0755}},
                 "gzip")});
  from_layout();
  const auto found = files("x");
  EXPECT_FALSE(found.contains("/etc/a"));
  EXPECT_EQ(found.at("/etc/b").size, 2);
  EXPECT_FALSE(found.contains("/var/old/x"));
  EXPECT_TRUE(found.contains("/var/old/new"));
  EXPECT_FALSE(found.contains("/etc/.wh.a"));
  EXPECT_EQ(found.at("/opt").kind, image::FileKind::directory);
}

TEST_F(Archives, OfAnOciArchiveAreTheSame) {
  layout({tar_of({{"etc/a", AE_IFREG, "a"}}, "zstd")}, "zstd");
  const auto one = from_layout();
  std::vector<Entry> entries;
  for (const auto& blob : os::list_directory(at("oci/blobs/sha256")))
    entries.push_back({"blobs/sha256/" + blob.name, AE_IFREG, os::read_file(at("oci/blobs/sha256/" + blob.name))});
  entries.push_back({"index.json", AE_IFREG, os::read_file(at("oci/index.json"))});
  os::remove_tree(at("oci"));
  os::write_file(at("oci"), tar_of(entries));
  EXPECT_EQ(from_layout().image.digest, one.image.digest);
}

TEST_F(Archives, OfAnOciLayoutAreComparedWithTheirDigests) {
  const std::string layer = tar_of({{"etc/a", AE_IFREG, "a"}}, "gzip");
  layout({layer});
  EXPECT_THAT(failure_of([&] { from_layout("{\n tag = \"v2\"\n }"); }), HasSubstr("its tags are v1"));
  EXPECT_EQ(failure_of([&] { from_layout("{\n tag = \"v1\"\n }"); }), "no failure");
  const std::string path = at("oci/blobs/sha256/" + hex(crypto::sha256(layer)));
  std::string bytes = layer;
  bytes[20] = static_cast<char>(bytes[20] ^ 1);
  os::write_file(path, bytes);
  EXPECT_THAT(failure_of([&] { from_layout(); }), HasSubstr("its bytes have another digest"));
  os::write_file(path, layer.substr(1));
  EXPECT_THAT(failure_of([&] { from_layout(); }), HasSubstr("is not what the layout says"));
  ::unlink(path.c_str());
  EXPECT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  EXPECT_THAT(failure_of([&] { from_layout(); }), HasSubstr("cannot open the blob"));
}

TEST_F(Archives, OfAnOciLayoutCannotEscapeByWhiteoutsEither) {
  os::make_directories(at("outside/keep"));
  layout({tar_of({{"d", AE_IFLNK, at("outside")}}, "gzip"),
          tar_of({{"d/.wh.keep", AE_IFREG, ""}, {"d/.wh..wh..opq", AE_IFREG, ""}}, "gzip")});
  from_layout();
  EXPECT_TRUE(os::exists(at("outside/keep")));
  layout({tar_of({{".wh...", AE_IFREG, ""}}, "gzip")});
  EXPECT_THAT(failure_of([&] { from_layout(); }), HasSubstr("a whiteout of nothing"));
}

}  // namespace
}  // namespace underway::imagebuild

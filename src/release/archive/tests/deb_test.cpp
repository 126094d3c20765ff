#include "archive/deb.hpp"

#include "maker.hpp"

namespace underway::archive {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kControl = "Package: ant\nVersion: 1.0\nArchitecture: all\nDescription: x\n y\n";

std::vector<Made> control() { return {{"./", "", AE_IFDIR, 0755}, {"./control", kControl}}; }
std::vector<Made> data() {
  return {{"./", "", AE_IFDIR, 0755},
          {"./usr/", "", AE_IFDIR, 0755},
          {"./usr/bin/ant", "#!/bin/sh\n", AE_IFREG, 04755},
          {"./usr/bin/ants", "./usr/bin/ant", AE_IFREG, 04755, true},
          {"./etc/alternatives/ant", "/usr/bin/ant", AE_IFLNK, 0777}};
}
Members members(const std::vector<Made>& inner_control, const std::vector<Made>& inner_data,
                const std::string& packed = ".gz") {
  return {{"debian-binary", "2.0\n"},
          {"control.tar" + packed, tar_of(inner_control, packed)},
          {"data.tar" + packed, tar_of(inner_data, packed)}};
}
Deb deb_of(const std::string& bytes, const DebLimits& limits = {}) {
  return read_deb(open_bytes(bytes), "ant.deb", limits);
}
std::string deb_refused(const std::string& bytes, const DebLimits& limits = {}) {
  return refusal([&] { deb_of(bytes, limits); });
}

TEST(Deb, IsReadWhicheverWayItIsPacked) {
  for (const char* packed : {"", ".gz", ".xz", ".zst"}) {
    SCOPED_TRACE(packed);
    const auto deb = deb_of(ar_of(members(control(), data(), packed)));
    EXPECT_EQ(deb.control, kControl);
    ASSERT_EQ(deb.files.size(), 5U);
    EXPECT_EQ(deb.files[0].path, "/");
    EXPECT_EQ(deb.files[1], (File{"/usr", FileKind::directory, 0755, "root", "adm", 0, "", false}));
    EXPECT_EQ(deb.files[2], (File{"/usr/bin/ant", FileKind::regular, 04755, "root", "adm", 10, "", false}));
    EXPECT_EQ(deb.files[3],
              (File{"/usr/bin/ants", FileKind::hardlink, 04755, "root", "adm", 0, "/usr/bin/ant", false}));
    EXPECT_EQ(deb.files[4],
              (File{"/etc/alternatives/ant", FileKind::symlink, 0777, "root", "adm", 0, "/usr/bin/ant", false}));
  }
}

TEST(Deb, TellsItsScriptsAndConffiles) {
  auto inner = control();
  inner.push_back({"./postinst", "#!/bin/sh\n", AE_IFREG, 0755});
  inner.push_back({"./config", "#!/bin/sh\n", AE_IFREG, 0755});
  inner.push_back({"./md5sums", "…\n"});
  inner.push_back({"./conffiles", "/etc/ant.conf\nremove-on-upgrade /etc/old.conf\n"});
  const auto deb = deb_of(ar_of(members(inner, data())));
  EXPECT_THAT(deb.scripts, ElementsAre("config", "postinst"));
  EXPECT_THAT(deb.conffiles, ElementsAre(Conffile{"/etc/ant.conf", false}, Conffile{"/etc/old.conf", true}));
}

TEST(Deb, SkipsMembersThatALaterVersionAdds) {
  auto all = members(control(), data());
  all.insert(all.begin() + 1, {"_extra", "odd"});
  all.push_back({"_gpgorigin", "signature"});
  all[0].second = "2.7\nmore\n";
  EXPECT_EQ(deb_of(ar_of(all)).files.size(), 5U);
}

TEST(Deb, IsRefusedForAFileThatWouldLieElsewhere) {
  struct Case {
    Made made;
    const char* why;
  };
  const std::vector<Case> cases = {
      {{"../etc/passwd", "x"}, "denied: 'ant.deb' holds '../etc/passwd': a path with '..'"},
      {{"./usr/../../x", "x"}, "holds './usr/../../x': a path with '..'"},
      {{"/etc/passwd", "x"}, "holds '/etc/passwd': an absolute path"},
      {{"./a\nb", "x"}, "holds './a?b': a path with control characters"},
      {{"./dev/sda", "", AE_IFBLK}, "holds '/dev/sda': neither a file nor a directory nor a link"},
      {{"./dev/null", "", AE_IFCHR}, "holds '/dev/null': neither"},
      {{"./run/pipe", "", AE_IFIFO}, "holds '/run/pipe': neither"},
      {{"./usr/bin/x", "../../etc/shadow", AE_IFREG, 0644, true}, "holds '../../etc/shadow': a path with '..'"},
      {{"./usr/bin/x", "/etc/shadow", AE_IFREG, 0644, true}, "holds '/etc/shadow': an absolute path"},
      {{"./usr/bin/x", "./etc/shadow", AE_IFREG, 0644, true},
       "it is a hard link to '/etc/shadow', which is no file before it"},
      {{"./etc/alternatives/ant/x", "x"}, "'/etc/alternatives/ant' of the same package is a link"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.why);
    auto inner = data();
    inner.push_back(c.made);
    EXPECT_THAT(deb_refused(ar_of(members(control(), inner))), HasSubstr(c.why));
  }
  auto inner = control();
  inner.push_back({"./x/y", "x"});
  EXPECT_THAT(deb_refused(ar_of(members(inner, data()))), HasSubstr("in control.tar there are plain files"));
  inner = control();
  inner.push_back({"./conffiles", "/etc/../x\n"});
  EXPECT_THAT(deb_refused(ar_of(members(inner, data()))), HasSubstr("holds '/etc/../x'"));
}

TEST(Deb, IsRefusedForWhatIsNoDeb) {
  const auto good = members(control(), data());
  const auto changed = [&](auto change) {
    auto all = good;
    change(all);
    return deb_refused(ar_of(all));
  };
  EXPECT_THAT(deb_refused(""), HasSubstr("invalid: 'ant.deb' is no Debian package: it is no archive of ar"));
  EXPECT_THAT(deb_refused(ar_of({})), HasSubstr("it is empty"));
  EXPECT_THAT(changed([](auto& all) { all[0].second = "3.0\n"; }), HasSubstr("unsupported: "));
  EXPECT_THAT(changed([](auto& all) { all[0].second = "2.0"; }), HasSubstr("its version is none"));
  EXPECT_THAT(changed([](auto& all) { all[0].first = "debian"; }), HasSubstr("not 'debian-binary'"));
  EXPECT_THAT(changed([](auto& all) { std::swap(all[1], all[2]); }), HasSubstr("second member is not 'control.tar'"));
  EXPECT_THAT(changed([](auto& all) { all[1].first = "control.tar.bz2"; }), HasSubstr("second member"));
  EXPECT_THAT(changed([](auto& all) { all[2].first = "data.zip"; }), HasSubstr("third member"));
  EXPECT_THAT(changed([](auto& all) { all.pop_back(); }), HasSubstr("it has no 'control.tar' and 'data.tar'"));
  EXPECT_THAT(changed([](auto& all) { all.push_back({"more", "x"}); }), HasSubstr("a member 'more' behind its data"));
  EXPECT_THAT(changed([](auto& all) { all[1].second = tar_of({{"./postinst", "x"}}, ".gz"); }),
              HasSubstr("it has no 'control'"));
  EXPECT_THAT(changed([](auto& all) { all[2].first = "data.tar.xz"; }), HasSubstr("invalid: cannot read"));
  const auto bytes = ar_of(good);
  for (const std::size_t left : {bytes.size() - 100, std::size_t{100}, std::size_t{30}})
    EXPECT_THAT(deb_refused(bytes.substr(0, left)), HasSubstr("invalid: ")) << left;
}

TEST(Deb, IsRefusedBeyondItsLimits) {
  const auto bytes = ar_of(members(control(), data()));
  EXPECT_THAT(deb_refused(bytes, {.data_bytes = 9}), HasSubstr("too_large: "));
  EXPECT_EQ(deb_refused(bytes, {.data_bytes = 10}), "");
  EXPECT_THAT(deb_refused(bytes, {.control_bytes = 10}), HasSubstr("too_large: "));
  EXPECT_THAT(deb_refused(bytes, {.files = 4}), HasSubstr("holds too many files"));
}

}  // namespace
}  // namespace underway::archive

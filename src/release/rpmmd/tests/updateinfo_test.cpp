#include "rpmmd/updateinfo.hpp"

#include "fixture.hpp"

namespace underway::rpmmd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string package(const std::string& name, const std::string& attributes = "epoch=\"1\"") {
  return fmt::format(
      "\n        <package name=\"{0}\" version=\"1.0\" release=\"2\" {1} arch=\"noarch\" src=\"{0}.src.rpm\">\n"
      "          <filename>{0}-1.0-2.noarch.rpm</filename>\n        </package>",
      name, attributes);
}
std::string collection(const std::string& packages) {
  return "\n      <collection short=\"x\">\n        <name>x &amp; y</name>" + packages + "\n      </collection>";
}
std::string advisory(const std::string& id, const std::string& collections) {
  return fmt::format(R"(<update from="a@b" status="final" type="security" version="2">
    <id>{}</id>
    <title>Mends a &lt;hole&gt;</title>
    <severity>Critical</severity>
    <issued date="2026-01-02"/>
    <updated date="2026-01-03"/>
    <references>
      <reference href="https://x/CVE-1?a=1&amp;b=2" id="CVE-1" type="cve"/>
    </references>
    <pkglist>{}
    </pkglist>
  </update>)",
                     id, collections);
}
std::string updates(const std::vector<std::string>& all) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<updates>\n";
  for (const auto& each : all) out += "  " + each + "\n";
  return out + "</updates>\n";
}
/// Keeps the packages whose names are in `names`.
auto packages_named(std::vector<std::string> names) {
  return [names = std::move(names)](const Nevra& n) {
    return std::find(names.begin(), names.end(), n.name) != names.end();
  };
}

TEST(Updateinfo, SaysWhatAnAdvisoryMends) {
  const auto text =
      updates({advisory("A-1", collection(package("ant") + package("bee", "")) + collection(package("cow")))});
  const auto all = parse_updateinfo(text);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, "A-1");
  EXPECT_EQ(all[0].type, "security");
  EXPECT_EQ(all[0].severity, "Critical");
  EXPECT_EQ(all[0].title, "Mends a <hole>");
  EXPECT_EQ(all[0].issued, "2026-01-02");
  EXPECT_EQ(all[0].updated, "2026-01-03");
  EXPECT_THAT(all[0].references, ElementsAre(Reference{"cve", "CVE-1", "https://x/CVE-1?a=1&b=2"}));
  ASSERT_EQ(all[0].packages.size(), 3U);
  EXPECT_EQ(to_string(all[0].packages[0].nevra), "ant-1:1.0-2.noarch");
  EXPECT_EQ(all[0].packages[0].file, "ant-1.0-2.noarch.rpm");
  EXPECT_EQ(to_string(all[0].packages[1].nevra), "bee-0:1.0-2.noarch");
  EXPECT_EQ(all[0].packages[2].collection, 1U);
}

TEST(Updateinfo, IsTheSameTextWhenAllPackagesStay) {
  const auto text = updates({advisory("A-1", collection(package("ant"))), advisory("A-2", collection(package("bee")))});
  EXPECT_EQ(write_updateinfo(parse_updateinfo(text), [](const Nevra&) { return true; }), text);
}

TEST(Updateinfo, LosesWhatIsNotThereAndNothingElse) {
  const auto text = updates({advisory("A-1", collection(package("ant") + package("bee")) + collection(package("cow"))),
                             advisory("A-2", collection(package("dog"))), advisory("A-3", collection(package("elk")))});
  const auto all = parse_updateinfo(text);
  EXPECT_EQ(write_updateinfo(all, packages_named({"bee", "elk"})),
            updates({advisory("A-1", collection(package("bee"))), advisory("A-3", collection(package("elk")))}));
  EXPECT_EQ(write_updateinfo(all, packages_named({"ant", "cow"})),
            updates({advisory("A-1", collection(package("ant")) + collection(package("cow")))}));
  EXPECT_EQ(write_updateinfo(all, packages_named({})), updates({}));
}

TEST(Updateinfo, LosesAnAdvisoryThatNamesNoPackage) {
  EXPECT_EQ(write_updateinfo(parse_updateinfo(updates({advisory("A-1", "")})), [](const Nevra&) { return true; }),
            updates({}));
}

TEST(Updateinfo, AsksForTheWholeBuild) {
  const auto text = updates({advisory("A-1", collection(package("ant", "epoch=\"7\"")))});
  const auto all = parse_updateinfo(text);
  const Nevra there{"ant", "0", "1.0", "2", "noarch"};
  EXPECT_EQ(write_updateinfo(all, [&](const Nevra& n) { return n == there; }), updates({}))
      << "another epoch is another build";
}

TEST(Updateinfo, IsRefusedWholeForWhatIsWrongInIt) {
  const auto text = updates({advisory("A-1", collection(package("ant")))});
  struct Case {
    const char *from, *to, *why;
  };
  const std::vector<Case> cases = {
      {"<id>A-1</id>", "", "an advisory has no id"},
      {"name=\"ant\"", "name=\"\"", "the package name '' is none"},
      {"arch=\"noarch\"", "arch=\"a b\"", "the architecture 'a b' is none"},
      {"epoch=\"1\"", "epoch=\"x\"", "the epoch of 'ant' is no number"},
      {"<updates>", "<!DOCTYPE u><updates>", "document type"},
      {"</updates>", "", "cannot read updateinfo"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.from);
    EXPECT_THAT(refusal([&] { parse_updateinfo(with(text, c.from, c.to)); }), HasSubstr(c.why));
  }
  EXPECT_THAT(refusal([&] { parse_updateinfo("<comps/>"); }), HasSubstr("its root is 'comps'"));
}

}  // namespace
}  // namespace underway::rpmmd

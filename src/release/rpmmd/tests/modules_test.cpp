#include "rpmmd/modules.hpp"

#include "fixture.hpp"

namespace underway::rpmmd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string modulemd(const std::string& name, const std::string& stream, const std::string& artifacts) {
  std::string out = fmt::format(
      "---\ndocument: modulemd\nversion: 2\ndata:\n  name: {}\n  stream: \"{}\"\n  version: 820190101\n  context: "
      "c0ffee\n"
      "  description: >-\n    Text with --- in it\n    ... and more\n",
      name, stream);
  if (!artifacts.empty()) out += "  artifacts:\n    rpms:\n" + artifacts;
  return out;
}
std::string rpm(const std::string& name) { return fmt::format("    - {}-0:1.0-1.module.x86_64\n", name); }
std::string defaults(const std::string& module, const std::string& stream) {
  return fmt::format("---\ndocument: modulemd-defaults\nversion: 1\ndata:\n  module: {}\n{}", module,
                     stream.empty() ? "" : fmt::format("  stream: \"{}\"\n", stream));
}
std::string obsoletes(const std::string& module, const std::string& stream) {
  return fmt::format("---\ndocument: modulemd-obsoletes\nversion: 1\ndata:\n  module: {}\n  stream: \"{}\"\n", module,
                     stream);
}
const std::string kEnd = "...\n";

auto artifacts_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& artifact) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return artifact.starts_with(name + "-0:"); });
  };
}
std::vector<std::string> texts(const std::vector<ModuleDocument>& documents) {
  std::vector<std::string> out;
  for (const auto& d : documents) out.emplace_back(d.text);
  return out;
}

TEST(Modules, AreReadDocumentByDocument) {
  const auto text = modulemd("perl", "5.30", rpm("perl") + rpm("perl-libs")) + kEnd + defaults("perl", "5.30") + kEnd;
  const auto all = parse_modules(text);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].kind, "modulemd");
  EXPECT_EQ(all[0].module, "perl");
  EXPECT_EQ(all[0].stream, "5.30");
  EXPECT_EQ(all[0].version, "820190101");
  EXPECT_EQ(all[0].context, "c0ffee");
  EXPECT_THAT(all[0].artifacts, ElementsAre("perl-0:1.0-1.module.x86_64", "perl-libs-0:1.0-1.module.x86_64"));
  EXPECT_EQ(all[0].text, modulemd("perl", "5.30", rpm("perl") + rpm("perl-libs")));
  EXPECT_EQ(all[1].kind, "modulemd-defaults");
  EXPECT_EQ(all[1].stream, "5.30");
  EXPECT_EQ(write_modules(all), text);
  EXPECT_THAT(parse_modules("# nothing\n"), IsEmpty());
}

TEST(Modules, StayWhileOneOfTheirPackagesIsThere) {
  const auto text = modulemd("perl", "5.30", rpm("perl") + rpm("perl-libs")) + modulemd("perl", "5.26", rpm("old")) +
                    modulemd("empty", "1", "");
  const auto all = parse_modules(text);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(texts(reduce_modules(all, artifacts_of({"perl-libs"}))),
              ElementsAre(modulemd("perl", "5.30", rpm("perl") + rpm("perl-libs")), modulemd("empty", "1", "")));
  EXPECT_THAT(texts(reduce_modules(all, artifacts_of({}))), ElementsAre(modulemd("empty", "1", "")));
}

TEST(Modules, TakeWhatIsSaidOfThemWithThem) {
  const auto unknown = std::string("---\ndocument: novelty\nversion: 1\ndata:\n  x: 1\n");
  const auto text = modulemd("perl", "5.30", rpm("perl")) + modulemd("perl", "5.26", rpm("old")) +
                    modulemd("go", "1", rpm("go")) + defaults("perl", "5.30") + defaults("go", "") +
                    obsoletes("perl", "5.26") + obsoletes("perl", "5.30") + unknown;
  const auto all = parse_modules(text);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_THAT(texts(reduce_modules(all, artifacts_of({"old", "go"}))),
              ElementsAre(modulemd("perl", "5.26", rpm("old")), modulemd("go", "1", rpm("go")), defaults("go", ""),
                          obsoletes("perl", "5.26"), unknown));
  EXPECT_THAT(
      texts(reduce_modules(all, artifacts_of({"perl"}))),
      ElementsAre(modulemd("perl", "5.30", rpm("perl")), defaults("perl", "5.30"), obsoletes("perl", "5.30"), unknown));
}

TEST(Modules, AreRefusedWholeForWhatIsWrongInThem) {
  EXPECT_THAT(refusal([] { parse_modules("---\nversion: 2\n"); }), HasSubstr("says nothing of its kind"));
  EXPECT_THAT(refusal([] { parse_modules("---\ndocument: modulemd\ndata: {}\n"); }),
              HasSubstr("a modulemd names no module"));
  EXPECT_THAT(refusal([] { parse_modules("---\n: [\n"); }), HasSubstr("invalid"));
  EXPECT_THAT(refusal([] { parse_modules("---\ndocument: x\r---\rdocument: modulemd\r"); }),
              HasSubstr("has another one in it"));
}

}  // namespace
}  // namespace underway::rpmmd

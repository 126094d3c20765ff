// The functions as data: their reference is made of them.
#include "support.hpp"

#include "base/text.hpp"
#include "harness/places.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace underway::gotemplate {
namespace {

std::string row(const Function& function, std::string_view name) {
  std::string meaning = function.meaning;
  for (std::size_t at = 0; (at = meaning.find('|', at)) != std::string::npos; at += 2) meaning.insert(at, "\\");
  return fmt::format("| `{}` | {} | {} |\n", name, function.parameters, meaning);
}

/// The part of the reference below `heading`, one row for each function that `wanted` picks.
template <class F>
std::string table(std::string_view heading, std::string_view columns, const FunctionSet& set, F wanted) {
  std::string out = fmt::format("\n## {}\n\n{}\n", heading, columns);
  for (const auto& [name, function] : set.all())
    if (wanted(function)) out += row(function, name);
  return out;
}

std::string tables() {
  constexpr std::string_view kColumns = "| name | arguments | meaning |\n| --- | --- | --- |";
  const auto from = [](Origin origin) { return [origin](const Function& f) { return f.origin == origin; }; };
  std::string out;
  out += table("In every template", kColumns, job_functions(), from(Origin::go));
  out += table("In job templates", kColumns, job_functions(), from(Origin::consul));
  out += table("In overlays; in job templates with `sprig_` before the name", kColumns, overlay_functions(),
               from(Origin::sprig));
  out += "\n## Refused\n\nThose with `sprig_` before the name are refused in overlays too, without it.\n";
  out += "\n| name | why, and what to use |\n| --- | --- |\n";
  for (const auto& [name, function] : job_functions().all())
    if (function.origin == Origin::refused) out += fmt::format("| `{}` | {} |\n", name, function.meaning);
  return out;
}

TEST(Functions, AreAllInTheReference) {
  const std::string path = source_dir() + "/docs/reference/templates.md";
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t begin = text.find("\n## In every template");
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << text.substr(0, begin) + tables();
  EXPECT_EQ(text.substr(begin), tables()) << "run this test with UNDERWAY_ACCEPT=1";
}

TEST(Functions, OfSprigHaveAPrefixInJobs) {
  for (const auto& [name, function] : overlay_functions().all()) {
    if (function.origin != Origin::sprig && function.origin != Origin::refused) continue;
    EXPECT_NE(job_functions().find("sprig_" + name), nullptr) << name;
  }
  EXPECT_EQ(overlay_functions().find("nomadVar"), nullptr);
  EXPECT_EQ(job_functions().find("nindent"), nullptr);
}

// All of sprig v3.2.3's TxtFuncMap and of consul-template v0.33.0's funcMap: each is offered, or refused by its name.
TEST(Functions, OfSprigAndConsulTemplateAreAllKnown) {
  constexpr std::string_view kSprig =
      "hello ago date date_in_zone date_modify dateInZone dateModify duration durationRound htmlDate htmlDateInZone "
      "must_date_modify mustDateModify mustToDate now toDate unixEpoch abbrev abbrevboth trunc trim upper lower title "
      "untitle substr repeat trimall trimAll trimSuffix trimPrefix nospace initials randAlphaNum randAlpha randAscii "
      "randNumeric swapcase shuffle snakecase camelcase kebabcase wrap wrapWith contains hasPrefix hasSuffix quote "
      "squote cat indent nindent replace plural sha1sum sha256sum adler32sum toString atoi int64 int float64 seq "
      "toDecimal split splitList splitn toStrings until untilStep add1 add sub div mod mul randInt add1f addf subf "
      "divf "
      "mulf biggest max min maxf minf ceil floor round join sortAlpha default empty coalesce all any compact "
      "mustCompact fromJson toJson toPrettyJson toRawJson mustFromJson mustToJson mustToPrettyJson mustToRawJson "
      "ternary deepCopy mustDeepCopy typeOf typeIs typeIsLike kindOf kindIs deepEqual env expandenv getHostByName base "
      "dir clean ext isAbs osBase osClean osDir osExt osIsAbs b64enc b64dec b32enc b32dec tuple list dict get set "
      "unset "
      "hasKey pluck keys pick omit merge mergeOverwrite mustMerge mustMergeOverwrite values append push mustAppend "
      "mustPush prepend mustPrepend first mustFirst rest mustRest last mustLast initial mustInitial reverse "
      "mustReverse "
      "uniq mustUniq without mustWithout has mustHas slice mustSlice concat dig chunk mustChunk bcrypt htpasswd "
      "genPrivateKey derivePassword buildCustomCert genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey "
      "genSignedCert genSignedCertWithKey encryptAES decryptAES randBytes uuidv4 semver semverCompare fail regexMatch "
      "mustRegexMatch regexFindAll mustRegexFindAll regexFind mustRegexFind regexReplaceAll mustRegexReplaceAll "
      "regexReplaceAllLiteral mustRegexReplaceAllLiteral regexSplit mustRegexSplit regexQuoteMeta urlParse urlJoin";
  constexpr std::string_view kConsul =
      "datacenters file key keyExists keyOrDefault ls safeLs node nodes secret secrets service connect services tree "
      "safeTree caRoots caLeaf pkiCert nomadServices nomadService nomadVarList nomadVarListSafe nomadVar "
      "nomadVarExists "
      "scratch base64Decode base64Encode base64URLDecode base64URLEncode byKey byTag contains containsAll containsAny "
      "containsNone containsNotAll env mustEnv envOrDefault executeTemplate explode explodeMap mergeMap "
      "mergeMapWithOverride in indent loop join trim trimPrefix trimSuffix trimSpace parseBool parseFloat parseInt "
      "parseJSON parseUint parseYAML plugin regexReplaceAll regexMatch replaceAll sha256Hex md5sum hmacSHA256Hex "
      "timestamp toLower toJSON toJSONPretty toUnescapedJSON toUnescapedJSONPretty toTitle toTOML toUpper toYAML split "
      "splitToMap byMeta sockaddr writeToFile add subtract multiply divide modulo minimum maximum spew_dump "
      "spew_printf "
      "spew_sdump spew_sprintf";
  for (const auto& name : split(kSprig, ' ')) {
    EXPECT_NE(overlay_functions().find(name), nullptr) << name;
    EXPECT_NE(job_functions().find("sprig_" + name), nullptr) << name;
  }
  for (const auto& name : split(kConsul, ' ')) EXPECT_NE(job_functions().find(name), nullptr) << name;
}

TEST(Functions, RefuseWrongArgumentsBeforeTheyRun) {
  FakeSource source;
  for (const auto& [name, function] : job_functions().all()) {
    if (function.origin == Origin::refused) continue;
    SCOPED_TRACE(name);
    if (!function.variadic) {
      std::string text = "{{ " + name;
      for (std::size_t i = 0; i <= function.fixed.size(); ++i) text += " 1";
      EXPECT_THAT(message_of([&] { return render_job(text + " }}", source).text.value_or(""); }),
                  ::testing::HasSubstr(fmt::format("wrong number of args for {}: want {} got {}", name,
                                                   function.fixed.size(), function.fixed.size() + 1)));
    }
    if (!function.fixed.empty() && function.fixed[0] == Type::text) {
      std::string text = "{{ " + name + " (sprig_list 1)";
      for (std::size_t i = 1; i < function.fixed.size(); ++i) text += " .";
      EXPECT_THAT(message_of([&] { return render_job(text + " }}", source).text.value_or(""); }),
                  ::testing::HasSubstr("expected string; got []interface {}"));
    }
  }
}

TEST(Functions, MayBeAddedToASet) {
  auto list = overlay_function_list();
  list.push_back({"greet", "name string", "A greeting.", Origin::sprig,
                  [](const Call& c) -> Value { return "hello " + c.string(0); }});
  const FunctionSet set(std::move(list));
  EXPECT_EQ(render(parse("t", "{{ \"ann\" | greet | upper }}", set), {}).text, "HELLO ANN");
}

TEST(Functions, AsValuesAreCalled) {
  const FunctionSet set(
      {{"twice", "text string", "", Origin::sprig, [](const Call& c) -> Value { return c.string(0) + c.string(0); }}});
  Inputs inputs;
  inputs.data = Value::map({{"F", Value::function(*set.find("twice"))}});
  const auto rendered = [&](const std::string& text) {
    return message_of([&] { return render(parse("t", text, overlay_functions()), inputs).text.value_or(""); });
  };
  EXPECT_EQ(rendered("{{ call .F \"ab\" }}"), "no error: abab");
  EXPECT_THAT(rendered("{{ call .F }}"), ::testing::HasSubstr("wrong number of args for .F: got 0 want 1"));
  EXPECT_THAT(rendered("{{ .F }}"), ::testing::HasSubstr("can't print {{.F}} of type func"));
}

}  // namespace
}  // namespace underway::gotemplate

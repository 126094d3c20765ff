#include "package/query.hpp"

#include <gmock/gmock.h>

#include "base/allowance.hpp"
#include "base/error.hpp"
#include "tests/fixture.hpp"

namespace underway::package {
namespace {

using testing::HasSubstr;

const PackageList& site() {
  static const PackageList list =
      list_of({{"nginx", "1.2-1", "amd64",
                "Section: httpd\nPriority: optional\nProvides: httpd, www (= 2)\nDepends: libc6 (>= 2),\n zlib\n"},
               {"nginx", "1.10-1", "arm64", "Section: non-free/httpd\nPriority: required\nSource: nginx-src (1.9-1)\n"},
               {"nginx-doc", "1.10-1", "all", "Priority: optional\nDescription: pages\n of nginx\n .\n more\n"},
               {"apache2", "2.4", "amd64", "Provides: httpd-x\nPriority: standard\n"},
               {.name = "disk", .version = "1", .file = "x.udeb"}});
  return list;
}

std::string selected(std::string_view query, const PackageList& list = site()) {
  return references(select(list, parse_query(query)));
}

void expect_selected(const std::vector<std::pair<std::string, std::string>>& cases, const PackageList& list = site()) {
  for (const auto& [query, expected] : cases) EXPECT_EQ(selected(query, list), expected) << query;
}

TEST(Query, NamesPackagesAndWhatTheyProvide) {
  expect_selected({{"nginx", "nginx_1.2-1_amd64 nginx_1.10-1_arm64"},
                   {"httpd", "nginx_1.2-1_amd64"},
                   {"www", "nginx_1.2-1_amd64"},
                   {"http", ""},
                   {"nginx (1.2-1)", "nginx_1.2-1_amd64"},
                   {"nginx (= 1.02-1)", "nginx_1.2-1_amd64"},
                   {"nginx(>=1.9)", "nginx_1.10-1_arm64"},
                   {"nginx (> 1.10-1)", "nginx_1.10-1_arm64"},
                   {"nginx (>> 1.10-1)", ""},
                   {"nginx (< 1.2-1)", "nginx_1.2-1_amd64"},
                   {"nginx (<< 1.2-1)", ""},
                   {"nginx (% 1.?-*)", "nginx_1.2-1_amd64"},
                   {"nginx (~ ^1.1)", "nginx_1.10-1_arm64"},
                   {"httpd (>= 1)", ""},
                   {"nginx {amd64}", "nginx_1.2-1_amd64"},
                   {"nginx-doc {amd64}", "nginx-doc_1.10-1_all"},
                   {"nginx-doc {source}", ""},
                   {"nginx (>= 1) {arm64}", "nginx_1.10-1_arm64"},
                   {"nginx_1.2-1_amd64", "nginx_1.2-1_amd64"},
                   {"nginx_1.02-1_amd64", ""},
                   {"nginx_1.2-1", ""}});
}

TEST(Query, AsksForFieldsAsText) {
  expect_selected(
      {{"Priority (required)", "nginx_1.10-1_arm64"},
       {"priority (required)", ""},
       {"PRIORITY (required)", "nginx_1.10-1_arm64"},
       {"Priority (>= required)", "apache2_2.4_amd64 nginx_1.10-1_arm64"},
       {"Priority (>> required)", "apache2_2.4_amd64"},
       {"Priority (<= optional)", "disk_1_amd64 nginx_1.2-1_amd64 nginx-doc_1.10-1_all"},
       {"Priority (<< optional)", "disk_1_amd64"},
       {"Provides", "apache2_2.4_amd64 nginx_1.2-1_amd64"},
       {"Priority (= '')", "disk_1_amd64"},
       {"Version (>= 1.9)", "apache2_2.4_amd64 nginx_1.10-1_arm64 nginx-doc_1.10-1_all"},
       {"Version (= 1.02-1)", "nginx_1.2-1_amd64"},
       {"Version", "apache2_2.4_amd64 disk_1_amd64 nginx_1.2-1_amd64 nginx_1.10-1_arm64 nginx-doc_1.10-1_all"},
       {"Size (>= 9)", "apache2_2.4_amd64 disk_1_amd64 nginx_1.2-1_amd64 nginx_1.10-1_arm64 nginx-doc_1.10-1_all"},
       {"Size (= 010)", ""},
       {"Name (= disk-0)", ""},
       {"Name (% nginx*)", "nginx_1.2-1_amd64 nginx_1.10-1_arm64 nginx-doc_1.10-1_all"},
       {"Package (disk)", "disk_1_amd64"},
       {"Section (% *httpd)", "nginx_1.2-1_amd64"},
       {"Section (~ httpd$)", "nginx_1.2-1_amd64 nginx_1.10-1_arm64"},
       {"Depends (= 'libc6 (>= 2), zlib')", "nginx_1.2-1_amd64"},
       {"Description (~ ^pages)", "nginx-doc_1.10-1_all"},
       {"Description (~ more$)", "nginx-doc_1.10-1_all"},
       {"Filename (% *.udeb)", "disk_1_amd64"},
       {"Source (= 'nginx-src (1.9-1)')", "nginx_1.10-1_arm64"},
       {"Priority (optional) {arm64}", "nginx-doc_1.10-1_all"}});
}

TEST(Query, HasSpecialFields) {
  expect_selected({{"$Version (>= 1.9)", "apache2_2.4_amd64 nginx_1.10-1_arm64 nginx-doc_1.10-1_all"},
                   {"$Version (% 2*)", "apache2_2.4_amd64"},
                   {"$Architecture (arm64)", "nginx_1.10-1_arm64 nginx-doc_1.10-1_all"},
                   {"$Architecture (source)", ""},
                   {"$Architecture (% a*64)", "apache2_2.4_amd64 disk_1_amd64 nginx_1.2-1_amd64 nginx_1.10-1_arm64"},
                   {"$Source (nginx)", "nginx_1.2-1_amd64"},
                   {"$Source (nginx-src)", "nginx_1.10-1_arm64"},
                   {"$SourceVersion (1.9-1)", "nginx_1.10-1_arm64"},
                   {"$SourceVersion (>= 1.10)", "apache2_2.4_amd64 nginx-doc_1.10-1_all"},
                   {"$PackageType (udeb)", "disk_1_amd64"},
                   {"$PackageType (deb), Name (~ 2)", "apache2_2.4_amd64"}});
}

TEST(Query, CombinesConditions) {
  const std::string nginx = "nginx_1.2-1_amd64 nginx_1.10-1_arm64";
  expect_selected({{"nginx, Priority (optional)", "nginx_1.2-1_amd64"},
                   {"disk | apache2", "apache2_2.4_amd64 disk_1_amd64"},
                   {"disk | nginx, Priority (required)", "disk_1_amd64 nginx_1.10-1_arm64"},
                   {"(disk | nginx), Priority (required)", "nginx_1.10-1_arm64"},
                   {"!Name (~ ^n)", "apache2_2.4_amd64 disk_1_amd64"},
                   {"!!disk", "disk_1_amd64"},
                   {"!(disk|apache2),!nginx-doc", nginx},
                   {"  ( ( nginx ) )  ", nginx},
                   {"'nginx'", nginx},
                   {"Priority ('opt' )", ""},
                   {R"(Priority ("o\ptional"))", "nginx_1.2-1_amd64 nginx-doc_1.10-1_all"}});
}

TEST(Query, SelectsRpmPackagesToo) {
  const std::string inner =
      "<summary>The "
      "&lt;manager&gt;</summary><packager>EL</packager><format><rpm:license>GPLv2+</rpm:license><rpm:sourcerpm>"
      "NetworkManager-src-1.40-2.el9.src.rpm</rpm:sourcerpm><rpm:provides><rpm:entry name=\"NetworkManager\" "
      "flags=\"EQ\" "
      "ver=\"1\"/><rpm:entry name=\"libnm.so()(64bit)\"/></rpm:provides><rpm:requires><rpm:entry name=\"glib\" "
      "flags=\"GE\" "
      "ver=\"2\"/></rpm:requires></format>";
  const PackageList list = rpm_list("NetworkManager", "1:1.40-2.el9", "x86_64", inner);
  const std::string it = "NetworkManager_1:1.40-2.el9_x86_64";
  expect_selected({{"NetworkManager", it},
                   {"NetworkManager (>= 1:1.40)", it},
                   {"NetworkManager (= 1:1.40)", it},
                   {"NetworkManager (>> 1:1.40)", ""},
                   {"NetworkManager (<< 1:1.40-10)", it},
                   {"NetworkManager (>= 2)", it},
                   {"NetworkManager (>= 2:0)", ""},
                   {"NetworkManager {aarch64}", ""},
                   {"Network", ""},
                   {"'libnm.so()(64bit)'", it},
                   {"License (% GPL*)", it},
                   {"Summary (~ '<manager>')", it},
                   {"Maintainer (EL)", it},
                   {"Vendor", ""},
                   {"Requires (= 'glib (>= 2)')", it},
                   {"Depends (% glib*)", it},
                   {"$Source (NetworkManager)", it},
                   {"$SourceVersion (= 1.40-2.el9)", it},
                   {"$PackageType (rpm)", it},
                   {"$Version (~ el9$)", it},
                   {"NetworkManager_1:1.40-2.el9_x86_64", it}},
                  list);
  EXPECT_EQ(selected("mod_auth_x", rpm_list("mod_auth_x", "0:1-1", "x86_64")), "mod_auth_x_0:1-1_x86_64");
  EXPECT_EQ(selected("x {s390x}", rpm_list("x", "0:1-1", "noarch")), "x_0:1-1_noarch");
  EXPECT_EQ(selected("x {source}", rpm_list("x", "0:1-1", "noarch")), "");
  EXPECT_EQ(selected("x {source}", rpm_list("x", "0:1-1", "src")), "x_0:1-1_src");
}

std::string query_refusal(std::string_view query) {
  try {
    parse_query(query);
  } catch (const Error& error) {
    return fmt::format("{}: {}{}", to_string(error.code()), error.reasons().front(),
                       error.advice().empty() ? "" : "; " + error.advice());
  }
  return "read";
}

TEST(Query, IsRefusedWithWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "column 1: it is empty; to select every package, write: Name"},
      {"  ", "column 3: it is empty; to select every package, write: Name"},
      {"a b", "column 3: ',' or '|' is missing before 'b'"},
      {"a,", "column 3: a package or a field is missing before the end"},
      {"a | )", "column 5: a package or a field is missing before ')'"},
      {"(a", "column 3: ')' is missing before the end"},
      {"a)", "column 2: ',' or '|' is missing before ')'"},
      {"a (>= )", "column 7: a version is missing before ')'"},
      {"Name (% )", "column 9: a value is missing before ')'"},
      {"a (>= 1", "column 8: ')' is missing before the end; a value with blanks or any of ()|,!{} stands in quotes"},
      {"ä, a (1 2)", "column 9: ')' is missing before '2'; a value with blanks or any of ()|,!{} stands in quotes"},
      {"a {}", "column 4: an architecture is missing before '}'"},
      {"a {x", "column 5: '}' is missing before the end"},
      {"a_1_x (1)", "read"},
      {"a_1_x {y}", "read"},
      {"'a", "column 1: the quote ' that begins here has no end"},
      {"a, \"b\\", "column 4: the quote \" that begins here has no end"},
      {"''", "column 1: an empty name"},
      {"$version (1)", "column 1: there is no special field '$version'; did you mean '$Version'?"},
      {"!$X",
       "column 2: there is no special field '$X'; use one of $Architecture, $PackageType, $Source, $SourceVersion, "
       "$Version"},
      {"Name (~ '(')", "column 9: '(' is no regular expression: missing ): ("},
      {"Name (% [a)", "column 9: '[a' is no pattern: ']' is missing"},
      {"Name (% [])", "column 9: '[]' is no pattern: a character is missing between '[' and ']'"},
      {"Name (% [a-])", "column 9: '[a-]' is no pattern: a character is missing behind '-'"},
      {"Name (% a\\)", "column 9: 'a\\' is no pattern: it ends with a backslash"}};
  for (const auto& [query, expected] : cases)
    EXPECT_EQ(query_refusal(query), expected == "read" ? expected : "invalid: " + expected) << query;
  EXPECT_THAT(query_refusal("\xff"), HasSubstr("it is not UTF-8"));
}

TEST(Query, HasLimits) {
  const auto times = [](std::size_t count, std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += text;
    return out;
  };
  EXPECT_EQ(query_refusal(times(64, "(") + "a" + times(64, ")")), "read");
  EXPECT_THAT(query_refusal(times(65, "(") + "a" + times(65, ")")),
              HasSubstr("too_large: column 65: more than 64 parentheses"));
  EXPECT_EQ(query_refusal(times(63, "(a)|") + "a"), "read") << "beside one another";
  EXPECT_EQ(query_refusal(times(255, "a,") + "a"), "read");
  EXPECT_THAT(query_refusal(times(256, "a,") + "a"), HasSubstr("too_large: column 513: more than 256 conditions"));
  EXPECT_EQ(query_refusal(times(16000, "!") + "a"), "read");
  EXPECT_THAT(query_refusal(times(16385, "a")), HasSubstr("too_large: it has 16385 bytes"));
  EXPECT_THAT(query_refusal("Name (% " + times(1025, "a") + ")"), HasSubstr("a pattern has 1025 bytes"));
  EXPECT_THAT(query_refusal("Name (~ '((a{100}){100}){100}')"), HasSubstr("is no regular expression"));
}

TEST(Query, IsOfLinearTimeWhateverItsPattern) {
  const std::string name(250, 'a');
  const PackageList list = list_of({{.name = name, .version = "1", .file = "x"}});
  const Allowance allowance("this", std::chrono::seconds(5));
  EXPECT_EQ(selected("Name (~ '^(a+)+$'), Name (~ '(a|a)*b')", list), "");
  EXPECT_EQ(selected("Name (% *a*a*a*a*a*a*a*a*a*a*a*a*b)", list), "");
  EXPECT_LT(allowance.spent(), std::chrono::seconds(1));
}

TEST(Query, SpendsWhatItsCallerAllows) {
  const Allowance allowance("selecting packages", std::chrono::nanoseconds(0));
  const Query query = parse_query("a");
  EXPECT_THROW(for (int i = 0; i < 1000000; ++i) { query.matches(site().packages().front()); }, Error);
}

TEST(Glob, MatchesAsAShellDoes) {
  const auto matches = [](std::string_view glob, const std::string& value) {
    const PackageList list = list_of({{.name = "a", .version = "1", .more = "X: " + value + "\n"}});
    return !select(list, parse_query(fmt::format("X (% '{}')", glob))).empty();
  };
  EXPECT_TRUE(matches("a.c", "a.c"));
  EXPECT_FALSE(matches("a.c", "abc")) << "a point is a point";
  EXPECT_FALSE(matches("b", "abc")) << "it is the whole text";
  EXPECT_TRUE(matches("a?c", "a€c"));
  EXPECT_FALSE(matches("a?c", "a/c"));
  EXPECT_FALSE(matches("*", "a/c"));
  EXPECT_TRUE(matches("*/*", "a/c"));
  EXPECT_TRUE(matches("[a-c]x", "bx"));
  EXPECT_FALSE(matches("[^a-c]x", "bx"));
  EXPECT_TRUE(matches("[^a-c]x", "dx"));
  EXPECT_TRUE(matches("[*]", "*"));
  EXPECT_FALSE(matches("[*]", "a"));
  EXPECT_TRUE(matches("\\\\*", "*")) << "the quotes take one of the backslashes";
  EXPECT_FALSE(matches("\\\\*", "a"));
  EXPECT_TRUE(matches("[\\\\]a]", "]"));
}

}  // namespace
}  // namespace underway::package

#include "tests/support.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace underway::hcl {
namespace {

using namespace test;

void check_calls(std::initializer_list<Pair> cases) {
  for (const auto& c : cases) EXPECT_EQ(eval(c.text), c.expect) << c.text;
}

TEST(Function, NumbersAreRoundedComparedAndRaised) {
  check_calls({{"abs(-2.5)", "2.5"},
               {"ceil(1.2)", "2"},
               {"ceil(-1.2)", "-1"},
               {"floor(-1.2)", "-2"},
               {"floor(7)", "7"},
               {"log(8, 2)", "3"},
               {"max(1, \"7\", 3)", "7"},
               {"min(4, 2)", "2"},
               {"parseint(\"ff\", 16)", "255"},
               {"parseint(\"-101\", 2)", "-5"},
               {"parseint(\"FF\", 16)", "255"},
               {"parseint(\"z\", 10)", "error: parseint(): \"z\" is no integer in base 10"},
               {"pow(2, 100)", "1267650600228229400000000000000"},
               {"pow(2, -2)", "0.25"},
               {"pow(9, 0.5)", "3"},
               {"signum(-4)", "-1"},
               {"log(0, 2)", "error: log(): the result is no finite number"},
               {"signum(0.5)", "error: signum(): an integer is required, this is 0.5"},
               {"parseint(7, 10)", "error: parseint(): a string is required"},
               {"strlen(\"a\") / strlen(\"abc\")", "0.33333333333333333334"}});
}

TEST(Function, StringsAreCutJoinedAndReplaced) {
  check_calls(
      {{"chomp(\"a\\n\\r\\n\")", "\"a\""},
       {"indent(2, \"a\\nb\")", R"("a\n  b")"},
       {"join(\", \", [\"a\", \"b\"], [\"c\"])", "\"a, b, c\""},
       {"lower(\"ÄB\")", "\"äb\""},
       {"upper(\"straße\")", "\"STRAßE\""},
       {"title(\"hello world\")", "\"Hello World\""},
       {R"x(regex_replace("a1b22", "[0-9]+", "<$0>"))x", "\"a<1>b<22>\""},
       {R"x(regex_replace("john smith", "(?P<f>\\w+) (\\w+)", "$2 $${f}"))x", "\"smith john\""},
       {R"(regex_replace("abc", "", "-"))", "\"-a-b-c-\""},
       {R"x(regex_replace("x", "(", ""))x", "error: regex_replace(): this is no regular expression: missing ): ("},
       {R"(replace("a.b.c", ".", "-"))", "\"a-b-c\""},
       {R"(reverse("aäb"))", "\"bäa\""},
       {R"(strrev("ab"))", "\"ba\""},
       {R"(split(",", "a,b,"))", R"(["a", "b", ""])"},
       {R"(split("", "ab"))", R"(["a", "b"])"},
       {R"(strlen("äöü"))", "3"},
       {R"(substr("hello", 1, 3))", "\"ell\""},
       {R"(substr("hello", -3, -1))", "\"llo\""},
       {R"(trim("?!hi?!", "!?"))", "\"hi\""},
       {R"(trimprefix("hello", "he"))", "\"llo\""},
       {R"(trimsuffix("hello", "lo"))", "\"hel\""},
       {R"(trimspace("  a \n"))", "\"a\""}});
}

TEST(Function, FormatFollowsItsVerbs) {
  check_calls({{R"(format("%s is %d", "x", 5))", "\"x is 5\""},
               {R"(format("%05d|%-5d|%+d|% d", 42, 42, 42, 42))", "\"00042|42   |+42| 42\""},
               {R"(format("%x %X %o %b %#x", 255, 255, 8, 5, 255))", "\"ff FF 10 101 0xff\""},
               {R"(format("%.2f %f %8.3f", 3.14159, 1, 2.5))", "\"3.14 1.000000    2.500\""},
               {R"(format("%e", 1234.5))", "\"1.234500e+03\""},
               {R"(format("%g", 0.5))", "\"0.5\""},
               {R"(format("%t %v %v %v", true, 1.5, [1, "a"], null))", R"("true 1.5 [1,\"a\"] null")"},
               {R"(format("%q %#v", "a\"b", {a = 1}))", R"("\"a\\\"b\" {\"a\":1}")"},
               {R"(format("%[2]s %[1]s", "a", "b"))", "\"b a\""},
               {R"(format("100%%"))", "\"100%\""},
               {R"(format("%d"))", "error: format(): the format needs argument 1, 0 given"},
               {R"(format("x", 1))", "error: format(): there are 1 arguments, the format uses 0"},
               {R"(format("%z", 1))", "error: format(): '%z' is no verb"},
               {R"(format("%d", "x"))", "error: format(): '%d' needs a number, this is \"x\""},
               {R"(formatlist("%s-%d", ["a", "b"], 3))", R"(["a-3", "b-3"])"},
               {R"(formatlist("%s%s", ["a"], ["b", "c"]))", "error: formatlist(): the lists have 1 and 2 elements"}});
}

TEST(Function, CollectionsAreSearchedAndReshaped) {
  check_calls({{"chunklist([1, 2, 3], 2)", "[[1, 2], [3]]"},
               {"coalesce(null, \"a\", \"b\")", "\"a\""},
               {"coalescelist([], [1])", "[1]"},
               {"compact([\"a\", \"\", null])", "[\"a\"]"},
               {"concat([1], [\"a\"])", "[1, \"a\"]"},
               {"contains([\"a\"], \"a\")", "true"},
               {"contains([1], 2)", "false"},
               {"contains([1], \"1\")", "false"},
               {"distinct([2, 1, 2])", "[2, 1]"},
               {"distinct([1, \"1\", null])", "[\"1\", null]"},
               {"coalesce(null, 1, \"a\")", "\"1\""},
               {"element([1, 2, 3], 4)", "2"},
               {"flatten([[1], [[2, 3]], []])", "[1, 2, 3]"},
               {"index(convert({a = 1}, map(number)), \"a\")", "1"},
               {"index({a = 1}, \"a\")", "error: index(): a list, a tuple or a map is required"},
               {"index([5], \"0\")", "error: index(): a number is required for a list"},
               {"index([5, 6], 1)", "6"},
               {"keys({b = 1, a = 2})", "[\"a\", \"b\"]"},
               {"length([1, 2])", "2"},
               {"length(convert({a = 1}, map(number)))", "1"},
               {"length({a = 1})", "error: length(): a list or a map is required; an object has a fixed shape"},
               {"length(\"äb\")", "error: length(): a list is required, this is \"äb\""},
               {"lookup({a = 1}, \"b\", 9)", "9"},
               {"lookup({a = 1}, \"b\")", "error: lookup(map, key, default) takes 3 arguments, 2 given"},
               {"lookup(convert({a = \"x\"}, map(string)), \"b\", 9)", "\"9\""},
               {"merge({a = 1, b = 1}, null, {b = 2})", "{a = 1, b = 2}"},
               {"merge()", "{}"},
               {"range(3)", "[0, 1, 2]"},
               {"range(1, 4)", "[1, 2, 3]"},
               {"range(4, 1)", "[4, 3, 2]"},
               {"range(1, 8, 2)", "[1, 3, 5, 7]"},
               {"range(0, 1, 0.25)", "[0, 0.25, 0.5, 0.75]"},
               {"range(0, 3, -1)", "error: range(): the step leads away from the end"},
               {"range(3, 3)", "[]"},
               {"setunion([1, 2], [2, 3])", "[1, 2, 3]"},
               {"setintersection([1, 2], [2, 3])", "[2]"},
               {"setproduct([1, 2], [\"a\"])", "[[1, \"a\"], [2, \"a\"]]"},
               {"setproduct([1], [])", "[]"},
               {"setproduct([1, \"a\"], [true])", "[[\"1\", true], [\"a\", true]]"},
               {"setintersection([true], [1])", "error: setintersection(): the sets' elements have no common type"},
               {"convert([[true], [\"a\"]], list(list(any)))", "[[\"true\"], [\"a\"]]"},
               {"range(3, 3, 0)", "[]"},
               {"abs(-0)", "0"},
               {"ceil(-0)", "0"},
               {"pow(2, 62)", "4611686018427388000"},
               {"range(1025)", "error: range(): a range has at most 1024 numbers"},
               {"length(range(1024))", "1024"},
               {"slice([1, 2, 3], 1, 3)", "[2, 3]"},
               {"slice([1], 0, 2)", "error: slice(): an end from 0 to 1 is required"},
               {"sort([\"b\", \"a\"])", "[\"a\", \"b\"]"},
               {"values({b = 1, a = 2})", "[2, 1]"},
               {"zipmap([\"a\", \"b\"], [1, 2])", "{a = 1, b = 2}"}});
}

TEST(Function, EncodingsGoThereAndBack) {
  check_calls(
      {{R"(base64encode("hé"))", "\"aMOp\""},
       {R"(base64decode("aMOp"))", "\"hé\""},
       {R"(base64decode("/w=="))", "error: base64decode(): the decoded bytes are not UTF-8, so they are no string"},
       {R"(csvdecode("a,b\n1,\"x,y\"\n2,\"q\"\"q\"\n"))", R"([{a = "1", b = "x,y"}, {a = "2", b = "q\"q"}])"},
       {R"(csvdecode("a,b\n1\n"))", "error: csvdecode(): the record before line 3 has 1 fields, the header 2"},
       {R"(jsondecode("{\"a\": [1, null, true, 2.5]}"))", "{a = [1, null, true, 2.5]}"},
       {R"(jsonencode({a = [1, null, 0.1], b = "<"}))", R"("{\"a\":[1,null,0.1],\"b\":\"\\u003c\"}")"},
       {R"(jsondecode("{"))", "error: jsondecode(): this is no JSON: incomplete JSON"},
       {R"(urlencode("a b&ü"))", "\"a+b%26%C3%BC\""},
       {R"(yamldecode("a: 1\nb: [x, \"2\", true, ~]\nc:\n  - d: 1.5\n"))",
        R"({a = 1, b = ["x", "2", true, null], c = [{d = 1.5}]})"},
       {R"(yamlencode({a = 1, b = ["x", {c = true}], d = [], e = {f = null}}))",
        R"("\"a\": 1\n\"b\":\n- \"x\"\n- \"c\": true\n\"d\": []\n\"e\":\n  \"f\": null\n")"},
       {R"(yamldecode(yamlencode({a = [[1, 2], [{x = {y = "z"}}]], s = "a\nb"})))",
        R"({a = [[1, 2], [{x = {y = "z"}}]], s = "a\nb"})"}});
}

TEST(Function, YamlIsThatOfVersion11) {
  const std::string broken = eval(R"(yamldecode("a: [1"))");
  EXPECT_NE(broken.find("did not find expected ',' or ']'"), std::string::npos) << broken;
  check_calls(
      {{R"(yamldecode("a: yes\nb: Off\nc: ~\nd: .5\ne: 0x1F\nf: 017\ng: 1_000"))",
        "{a = true, b = false, c = null, d = 0.5, e = 31, f = 17, g = 1000}"},
       {R"(yamldecode("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2001-12-14"))",
        R"({a = {b = 1}, c = {b = 1, d = "2001-12-14T00:00:00Z"}})"},
       {R"(yamldecode("a: 'yes'\n1.50: 18446744073709551616"))", R"({1.5 = 18446744073709551616, a = "yes"})"},
       {R"(yamldecode("--- 1\n--- 2"))",
        "error: yamldecode(): this is no YAML: this YAML has several documents, one is read"},
       {R"(yamldecode(""))", "error: yamldecode(): this is no YAML: this YAML is empty"},
       {R"(yamldecode("a: !foo x"))", "error: yamldecode(): this is no YAML: line 1: the tag '!foo' is not known"},
       {R"(yamldecode("%YAML 1.2\n---\na: 1"))", "error: yamldecode(): this is no YAML: this is YAML 1.2, 1.1 is read"},
       {R"(yamlencode(7))", R"("7\n...\n")"},
       {R"(yamldecode("a: .nan"))", "error: yamldecode(): this is no YAML: line 1: '.nan' is no finite number"},
       {R"(yamlencode({a = "x\ny", b = []}))", R"("\"a\": |-\n  x\n  y\n\"b\": []\n")"}});
}

TEST(Function, PatternsMayMatchNothing) {
  check_calls({{R"(regex_replace("abc", ".*", "x"))", "\"x\""},
               {R"(regex_replace("日本", "", "-"))", "\"-日-本-\""},
               {R"(regex_replace("äb", "x*", "-"))", "\"-ä-b-\""},
               {R"(regex_replace("bé", "\\B", "-"))", "\"bé-\""},
               {R"(regex_replace("baac", "a*", "x"))", "\"xbxcx\""},
               {R"(regex_replace("é", "\\C", "x"))",
                "error: regex_replace(): this is no regular expression: \\C matches half a character"},
               {R"(regex_replace("ab", "(a)(x)?", "$2$10$${1}!"))", "\"a!b\""}});
}

TEST(Function, CharactersAreGraphemeClusters) {
  check_calls({{R"(strlen("e\u0301"))", "1"},
               {R"("e\u0301" == "\u00e9")", "true"},
               {R"(strlen("👩‍👩‍👧🇩🇪"))", "2"},
               {R"(reverse("xe\u0323\u0301"))", "\"ẹ́x\""},
               {R"(substr("👩‍👩‍👧bc", 0, 2))", "\"👩‍👩‍👧b\""},
               {R"(substr("hello", -2, 0))", "\"lo\""},
               {R"(trimspace("\u2003x\u00a0"))", "\"x\""},
               {R"(title("o'neil ǆu"))", "\"O'Neil ǅu\""},
               {R"(format("%-3s|%.1s", "é", "👩‍👩‍👧b"))", "\"é  |👩‍👩‍👧\""}});
}

TEST(Function, FormatIsAsStrictAsItsModel) {
  check_calls({{R"(format("%d", 1.5))", "error: format(): '%d' needs an integer, this is 1.5"},
               {R"(format("%v %v", 1000000, 0.1))", "\"1e+06 0.1\""},
               {R"(format("%05s|%-05d|%.3d", "a", 7, 7))", "\"0000a|7    |007\""},
               {R"(format("%s", null))", "error: format(): '%s' needs a value, this is null"},
               {R"(format("%3[1]d", 1))", "\"  1\""},
               {R"(format("%[0]d", 1))", "error: format(): '[' in the format needs an argument's number and ']'"},
               {R"(format("%.17g %e", 0.1, 18446744073709551617))", "\"0.1 1.844674e+19\""},
               {R"(csvdecode("a,a\n1,2"))", "error: csvdecode(): this CSV has two columns named \"a\""}});
}

TEST(Function, TimesAreFormattedAndMoved) {
  check_calls(
      {{R"(formatdate("YYYY-MM-DD'T'hh:mm:ssZ", "2026-11-21T09:05:03+01:00"))", "\"2026-11-21T09:05:03+01:00\""},
       {R"(formatdate("EEE, D MMM YY h:mm AA", "2026-01-02T15:04:05Z"))", "\"Fri, 2 Jan 26 15:04 PM\""},
       {R"(formatdate("EEEE DD MMMM H aa ZZZ ''", "2026-11-21T00:00:00Z"))", "\"Saturday 21 November 12 am UTC '\""},
       {R"(timeadd("2026-12-31T23:59:30Z", "1m"))", "\"2027-01-01T00:00:30Z\""},
       {R"(timeadd("2026-11-21T00:00:00+02:00", "-1h"))", "\"2026-11-20T23:00:00+02:00\""},
       {R"(timeadd("2026-11-22T1:00:00,5Z", "9223372036854775807ns"))", "\"2319-03-04T00:47:17Z\""},
       {R"(timeadd("yesterday", "1h"))",
        "error: timeadd(): \"yesterday\" is no time such as 2026-11-21T12:30:00Z (RFC 3339)"},
       {R"(formatdate("Q", "2026-11-21T00:00:00Z"))",
        "error: formatdate(): 'Q' in the format has no meaning: put text in single quotes"}});
}

TEST(Function, HashesAndIdsMatchTheirStandards) {
  check_calls({{R"(md5("abc"))", "\"900150983cd24fb0d6963f7d28e17f72\""},
               {R"(sha1("abc"))", "\"a9993e364706816aba3e25717850c26c9cd0d89d\""},
               {R"(sha256("abc"))", "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\""},
               {R"(substr(sha512("abc"), 0, 16))", "\"ddaf35a193617aba\""},
               {R"(uuidv5("dns", "www.example.com"))", "\"2ed6657d-e927-568b-95e1-2665a8aea6a2\""},
               {R"(uuidv5("nope", "x"))", "error: uuidv5(): a namespace is dns, url, oid, x500 or a UUID"},
               {"strlen(uuidv4())", "36"},
               {R"(substr(bcrypt("secret", 4), 0, 7))", "\"$2a$04$\""},
               {R"(rsadecrypt("aGk=", "no key"))",
                "error: rsadecrypt(): this is no RSA private key in PEM without passphrase"}});
}

TEST(Function, AddressesAreCountedInBothFamilies) {
  check_calls(
      {{R"(cidrhost("10.12.112.0/20", 16))", "\"10.12.112.16\""},
       {R"(cidrhost("10.0.0.0/24", -1))", "\"10.0.0.255\""},
       {R"(cidrhost("fd00::/64", 34))", "\"fd00::22\""},
       {R"(cidrhost("10.0.0.0/30", 4))", "error: cidrhost(): a /30 prefix has no host 4"},
       {R"(cidrnetmask("172.16.0.0/12"))", "\"255.240.0.0\""},
       {R"(cidrsubnet("172.16.0.0/12", 4, 2))", "\"172.18.0.0/16\""},
       {R"(cidrsubnet("fd00::/48", 16, 162))", "\"fd00:0:0:a2::/64\""},
       {R"(cidrsubnet("10.0.0.0/24", 4, 16))", "error: cidrsubnet(): 4 more bits have no subnet 16"},
       {R"(cidrsubnets("10.1.0.0/16", 4, 4, 8, 4))",
        R"(["10.1.0.0/20", "10.1.16.0/20", "10.1.32.0/24", "10.1.48.0/20"])"},
       {R"(cidrsubnets("10.0.0.0/31", 1, 1, 1))", "error: cidrsubnets(): no room is left in 10.0.0.0/31 for a /32"},
       {R"(cidrhost("10.0.0", 1))",
        "error: cidrhost(): \"10.0.0\" is no prefix such as 10.0.0.0/8: '/' and a length are missing"}});
}

TEST(Function, AllOfNomadsAreThere) {
  const auto names = file_functions(".").names();
  EXPECT_EQ(names.size(), 84U);  // 83 and templatefile
  const auto pure = pure_functions().names();
  for (const auto& name : file_function_names()) EXPECT_EQ(std::count(pure.begin(), pure.end(), name), 0) << name;
}

class FileFunction : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("hcl_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_ / "sub/deep");
    write("a.txt", "hello\n");
    write("sub/b.cfg", "b");
    write("sub/deep/c.cfg", "c");
    write("bad.bin", "\xff");
    write("t.tpl", "%{ for n in names ~}\nnode ${n} ${upper(kind)}\n%{ endfor ~}\n");
    write("broken.tpl", "${nmae}");
    write("self.tpl", "${templatefile(\"self.tpl\", {})}");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }
  std::string run(const std::string& text) { return eval(text, plain_context().functions(file_functions(directory_))); }

  std::filesystem::path directory_;
};

TEST_F(FileFunction, ReadsBelowItsBase) {
  EXPECT_EQ(run("file(\"a.txt\")"), R"("hello\n")");
  EXPECT_EQ(run("filebase64(\"bad.bin\")"), "\"/w==\"");
  EXPECT_NE(run("file(\"bad.bin\")").find("is not UTF-8: use filebase64()"), std::string::npos);
  EXPECT_NE(run("file(\"none\")").find("(ENOENT)"), 0U);
  EXPECT_EQ(run("fileexists(\"a.txt\")"), "true");
  EXPECT_EQ(run("fileexists(\"none\")"), "false");
  EXPECT_EQ(run("fileset(\".\", \"**/*.cfg\")"), R"(["sub/b.cfg", "sub/deep/c.cfg"])");
  EXPECT_EQ(run("fileset(\".\", \"*.{txt,bin}\")"), R"(["a.txt", "bad.bin"])");
  EXPECT_EQ(run("basename(\"/a/b.txt\")"), "\"b.txt\"");
  EXPECT_EQ(run("dirname(\"/a/b.txt\")"), "\"/a\"");
  EXPECT_EQ(run("dirname(\"b.txt\")"), "\".\"");
  EXPECT_EQ(run("abspath(\"/a/../b\")"), "\"/b\"");
}

TEST_F(FileFunction, RendersTemplates) {
  EXPECT_EQ(run("templatefile(\"t.tpl\", {names = [\"a\", \"b\"], kind = \"x\"})"), R"("node a X\nnode b X\n")");
  const std::string broken = run("templatefile(\"broken.tpl\", {name = 1})");
  EXPECT_NE(broken.find("cannot render"), std::string::npos) << broken;
  EXPECT_NE(run("templatefile(\"self.tpl\", {})").find("cannot render"), std::string::npos);
}

TEST(Function, DerivesNoKeysForStrangers) {
  // Encrypted with an empty passphrase; the text says how many rounds it takes to find out.
  const std::string sealed_key =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\\n"
      "MIIBvTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIex8jsqcV74wCAggA\\n"
      "MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBDl2RUo8TogNqUEWQgUH9kQBIIB\\n"
      "YEs/a/zWJId/66BlfJ2+/iXvfPcmwu7UHyKNx02RUBHymcrL8pw0ViEBkZA6dYjL\\n"
      "8tTaQYYJQenohx+m4taw3lHlglAL0h7TDTMQdPBOgDH+VhnkvR/RVvw+vSzIoVC4\\n"
      "cArk5tQGrdS3DiKiAwsVauiPannvVebziatlWIJPGi7+jop81U1iIRI6cbB8pABO\\n"
      "7Jhxncz742bdkOAGhFwmym8BzdwteaEaK+gO41jPmeMQO3liFpFIP9+9ppQbPlSh\\n"
      "qFX+rRkhkf1ucfDvzAnIjAYcV1Yb2MtxXDcgTPyuwj+gA+Gv8LzKpWHLK7+1ec03\\n"
      "cBVAY5e7jMM+Za68WuJ30FuRYNeOPTDrt9vBI7WcBtWnUvTcKu0+1UVkGdqEK4Ci\\n"
      "yrE890d9acsg89jI5h7mCdSNys2/P6r1lm4oTxgYmNi15BamvsjHq0QSjUL6kLBE\\n"
      "vhm7WmoM6OO2ABHy609dXIU=\\n"
      "-----END ENCRYPTED PRIVATE KEY-----\\n";
  EXPECT_EQ(eval("rsadecrypt(\"aGk=\", \"" + sealed_key + "\")"),
            "error: rsadecrypt(): this is no RSA private key in PEM without passphrase");
}

}  // namespace
}  // namespace underway::hcl

#include "openpgp/clearsigned.hpp"

#include <gmock/gmock.h>

#include "fixture.hpp"

namespace underway::openpgp {
namespace {

using testing::HasSubstr;

const std::string kBlock = "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n";

std::string signed_text(const std::string& body) {
  return "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + body + kBlock;
}

TEST(Clearsigned, GivesTheLinesThatWereSignedAndTheBlock) {
  const auto text = signed_text("Origin: x\n\n- -----BEGIN\n- - a\n- From here\nlast\n");
  const auto parts = split_clearsigned(text);
  EXPECT_EQ(parts.content, "Origin: x\n\n-----BEGIN\n- a\nFrom here\nlast\n");
  EXPECT_EQ(parts.signed_bytes(), "Origin: x\n\n-----BEGIN\n- a\nFrom here\nlast");
  EXPECT_EQ(parts.signature, kBlock);
  EXPECT_EQ(split_clearsigned(signed_text("")).signed_bytes(), "");
}

TEST(Clearsigned, LeavesOutWhatNoSignatureCovers) {
  std::string text = signed_text("a \t\n  b\n\n");
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  EXPECT_EQ(split_clearsigned(text).content, "a\n  b\n\n") << "however its lines end";
}

TEST(Clearsigned, RefusesAllThatIsNotOneSignedText) {
  const auto good = signed_text("a\n");
  const struct Case {
    const char* name;
    std::string text;
    const char* why;
  } cases[] = {
      {"nothing", "", "it ends before"},
      {"no signed text", "Origin: x\n", "line 1 cannot"},
      {"text before", "x\n" + good, "line 1 cannot"},
      {"an empty line before", "\n" + good, "line 1 cannot"},
      {"text behind", good + "x\n", "line 9 cannot"},
      {"a second text", good + good, "line 9 cannot"},
      {"a second block", good + kBlock, "line 9 cannot"},
      {"a block within the block", signed_text("a\n" + kBlock.substr(0, 30)), "line 6 cannot"},
      {"another header", "-----BEGIN PGP SIGNED MESSAGE-----\nComment: x\n\na\n" + kBlock, "line 2 cannot"},
      {"text for a header", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\nSuite: evil\n\na\n" + kBlock,
       "line 3 cannot"},
      {"a dash without its escape", signed_text("-a\n"), "line 4 cannot"},
      {"a nested text", signed_text(good), "line 4 cannot"},
      {"NUL", signed_text(std::string("a\0b\n", 4)), "line 4 cannot"},
      {"no signature", good.substr(0, good.find("-----BEGIN PGP SIGNATURE")),
       "it ends before -----BEGIN PGP SIGNATURE"},
      {"half a signature", good.substr(0, good.size() - 20), "line 8 cannot"},
      {"no end", good.substr(0, good.find("-----END")), "it ends before -----END"},
      {"a line that gpg would cut", signed_text(std::string(kLongestLine + 1, 'a') + "\n"), "line 4 cannot"},
      {"such a line behind", good + std::string(kLongestLine + 1, ' '), "line 9 cannot"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(failure_of([&] { split_clearsigned(c.text); }), HasSubstr(c.why));
  }
  EXPECT_EQ(split_clearsigned(good + "\n \r\n").content, "a\n") << "blank lines are no text";
  EXPECT_EQ(split_clearsigned(signed_text(std::string(kLongestLine, 'a') + "\n")).content.size(), kLongestLine + 1);
}

TEST(Clearsigned, RefusesATextThatIsTooLarge) {
  const std::string huge(kLargestClearsigned + 1, '\n');
  EXPECT_THAT(failure_of([&] { split_clearsigned(huge); }), HasSubstr("64.0 MiB is too large"));
  EXPECT_THAT(failure_of([&] { check_clearsignable(huge); }), HasSubstr("64.0 MiB is too large"));
}

TEST(Clearsigned, TellsWhichTextsComeBackAsTheyWere) {
  check_clearsignable("a\n- b\n\n c\n");
  for (const std::string text : {"", "a", "a \n", "a\t\nb\n", "a\r\n"})
    EXPECT_NE(failure_of([&] { check_clearsignable(text); }), "no failure") << text;
  EXPECT_NE(failure_of([] { check_clearsignable(std::string("a\0\n", 3)); }), "no failure");
  EXPECT_THAT(failure_of([] { check_clearsignable("a\nb \n"); }), HasSubstr("line 2"));
  EXPECT_NE(failure_of([] { check_clearsignable(std::string(kLongestLine + 1, 'a') + "\n"); }), "no failure");
}

TEST(Clearsigned, KnowsTextsThatAreTheOnlyOnesOfTheirLines) {
  for (const std::string text : {"", "a", "a\n", "a\n\nb\n", " a", "a\rb"})
    EXPECT_TRUE(is_canonical_text(text)) << text;
  for (const std::string text : {"a\r\n", "a \n", "a\n\t", " ", "\r"}) EXPECT_FALSE(is_canonical_text(text)) << text;
  EXPECT_TRUE(is_canonical_text(std::string(kLongestLine, 'a')));
  EXPECT_FALSE(is_canonical_text(std::string(kLongestLine + 1, 'a')));
}

}  // namespace
}  // namespace underway::openpgp

#include "crypto/digest.hpp"

#include "base/text.hpp"
#include "crypto/hasher.hpp"
#include "testing.hpp"

namespace underway::crypto {
namespace {

TEST(Digest, GivesThePublishedAnswers) {
  // FIPS 180-2, appendix B.1; RFC 4231, test case 2.
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, InPiecesIsThatOfTheWhole) {
  Hasher hasher;
  for (const char* piece : {"a", "", "bc"}) hasher.add(piece);
  EXPECT_EQ(hasher.finish(), sha256("abc"));
}

TEST(Digest, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("same", "same"));
  EXPECT_FALSE(equal_in_constant_time("same", "samf"));
  EXPECT_FALSE(equal_in_constant_time("same", "sam"));
}

TEST(Base64Url, GoesThereAndBack) {
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"), std::string("foo"),
                                   std::string("\xfb\xff\xfe"), std::string(200, '\0')}) {
    const std::string text = base64url_encode(bytes);
    EXPECT_EQ(text.find_first_of("+/="), std::string::npos) << text;
    EXPECT_EQ(base64url_decode(text), bytes);
  }
  EXPECT_EQ(base64url_encode("\xfb\xff\xfe"), "-__-");
}

TEST(Base64Url, RefusesWhatItWouldNotWrite) {
  for (const char* text : {"Zg==", "Zh", "Z", "a b", "+/8", "Zm9v\n"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(failure_of([&] { base64url_decode(text); }), testing::StartsWith("invalid: "));
  }
}

}  // namespace
}  // namespace underway::crypto

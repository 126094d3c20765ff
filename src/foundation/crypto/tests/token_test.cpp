#include "crypto/token.hpp"

#include "testing.hpp"

namespace underway::crypto {
namespace {

TEST(Token, IsKnownByItsHashAlone) {
  const Secret token = make_token();
  EXPECT_EQ(token.size(), 43u);
  const std::string hash = hash_token(token.bytes());
  EXPECT_EQ(hash.find(token.bytes()), std::string::npos);
  EXPECT_TRUE(token_matches(token.bytes(), hash));
  EXPECT_FALSE(token_matches(make_token().bytes(), hash));
  EXPECT_FALSE(token_matches("", hash));
  EXPECT_NE(hash_token(token.bytes()), hash) << "the salt is fresh each time";
}

TEST(Token, MatchesNothingThatIsNoHash) {
  for (const char* hash : {"", "$", "salt$", "salt", "$$$"}) EXPECT_FALSE(token_matches("token", hash)) << hash;
}

}  // namespace
}  // namespace underway::crypto

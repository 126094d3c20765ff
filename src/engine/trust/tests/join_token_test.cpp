#include "trust/join_token.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::trust {
namespace {

JoinToken make() {
  return {.id = "7f3a-41", .secret = crypto::Secret("s-e_cret"), .authority_fingerprint = std::string(64, 'a')};
}

TEST(JoinToken, GoesThereAndBack) {
  const auto text = to_text(make());
  EXPECT_EQ(text.bytes().substr(0, 21), "uj1.7f3a-41.s-e_cret.");
  const JoinToken read = parse_join_token(std::string(text.bytes()) + "\n");
  EXPECT_EQ(read.id, "7f3a-41");
  EXPECT_EQ(read.secret.bytes(), "s-e_cret");
  EXPECT_EQ(read.authority_fingerprint, std::string(64, 'a'));
}

TEST(JoinToken, RefusesOtherTextsWithoutRepeatingThem) {
  const std::string good(to_text(make()).bytes());
  for (const std::string& text :
       {std::string(), std::string("secret-of-something-else"), good.substr(1), good.substr(0, good.size() - 1),
        good + ".more", "uj1..s." + good.substr(21), std::string(1000, 'x')}) {
    try {
      parse_join_token(text);
      ADD_FAILURE() << "took '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_EQ(error.one_line(), "this is no join token");
    }
  }
}

}  // namespace
}  // namespace underway::trust

#include "crypto/secret.hpp"

#include "testing.hpp"

namespace underway::crypto {
namespace {

TEST(Secret, IsMovedAndCopiedByNameOnly) {
  static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
  Secret first("munge key");
  const Secret copy = first.copy();
  const Secret second = std::move(first);
  EXPECT_EQ(second.bytes(), "munge key");
  EXPECT_EQ(copy.bytes(), "munge key");
}

TEST(Secret, OverwritesWhereItCameFromAndWhatItHeld) {
  std::string source(64, 's');
  const char* where = source.data();
  Secret secret = Secret::take(std::move(source));
  EXPECT_EQ(secret.bytes(), std::string(64, 's'));
  // The string still owns this allocation.
  EXPECT_EQ(std::string(where, 64), std::string(64, '\0'));  // NOLINT(clang-analyzer-cplusplus.InnerPointer)

  std::string text(64, 't');
  where = text.data();
  wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string(where, 64), std::string(64, '\0'));
}

TEST(Secret, RandomOnesDiffer) {
  const Secret a = Secret::random(32), b = Secret::random(32);
  EXPECT_EQ(a.size(), 32u);
  EXPECT_NE(a.bytes(), b.bytes());
}

}  // namespace
}  // namespace underway::crypto

#include "http/plain_error.hpp"

#include <gtest/gtest.h>

namespace underway::http {
namespace {

TEST(PlainError, HasItsAdviceOnALineOfItsOwnAfterTheText) {
  const auto error = Error(Code::invalid, "job 'web' is not valid").because("count is 0").advise("give it one");
  EXPECT_EQ(plain_text(error), "job 'web' is not valid: count is 0\ndo: give it one");
  EXPECT_EQ(plain_text(Error(Code::not_found, "job not found")), "job not found") << "as Nomad says it";
}

TEST(PlainError, IsReadBackWithItsAdvice) {
  const auto read = parse_plain_error(400, "job 'web' is not valid: count is 0\ndo: give it one\n");
  EXPECT_EQ(read.code(), Code::invalid);
  EXPECT_EQ(read.message(), "job 'web' is not valid: count is 0");
  EXPECT_EQ(read.advice(), "give it one");
  EXPECT_EQ(parse_plain_error(404, "job not found").advice(), "");
  EXPECT_EQ(parse_plain_error(404, "job not found\n").message(), "job not found");
}

}  // namespace
}  // namespace underway::http

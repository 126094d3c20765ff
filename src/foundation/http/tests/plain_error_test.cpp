#include "http/plain_error.hpp"

#include <gtest/gtest.h>

namespace underway::http {
namespace {

TEST(PlainError, HasItsAdviceOnALineOfItsOwnAfterTheText) {
  const auto error = Error(Code::invalid, "job 'web' is not valid").because("count is 0").advise("give it one");
  EXPECT_EQ(plain_text(error), "job 'web' is not valid: count is 0\ndo: give it one");
  EXPECT_EQ(plain_text(Error(Code::not_found, "job not found")), "job not found") << "as Nomad says it";
}

TEST(ErrorResponse, IsATextUnlessProblemDetailsAreAskedFor) {
  const auto error = Error(Code::conflict, "job 'web' was not changed")
                         .because("its index is 7")
                         .advise("read it again")
                         .while_doing("registering job 'web'");
  for (const Headers& asked : {Headers{}, Headers{{"Accept", "*/*"}}, Headers{{"Accept", "application/json"}},
                               Headers{{"Accept", "application/problem+json;q=0"}}}) {
    const auto response = error_response(error, error_form(asked));
    EXPECT_EQ(response.status, 409);
    EXPECT_EQ(response.body, "job 'web' was not changed: its index is 7\ndo: read it again");
  }
  const Headers asked{{"Accept", "application/json, application/problem+json"}};
  const auto response = error_response(error, error_form(asked));
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.headers.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(
      response.body,
      R"({"type":"about:blank","title":"Conflict","status":409,"detail":"job 'web' was not changed: its index is 7",)"
      R"("code":"conflict","reasons":["its index is 7"],"activities":["registering job 'web'"],)"
      R"("advice":"read it again"})");
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

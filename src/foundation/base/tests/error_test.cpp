#include "base/error.hpp"

#include <cerrno>

namespace underway {
namespace {

TEST(Error, PrintsWhatWhyWhileAndDo) {
  Error e = errno_error(ENOENT, "cannot open 'x.hcl'");
  e.while_doing("reading examples/slurm").advise("check the path");
  EXPECT_EQ(e.text(),
            "error: cannot open 'x.hcl'\n  why:   No such file or directory (ENOENT)\n  while: reading examples/slurm\n"
            "  do:    check the path");
  EXPECT_EQ(e.code(), Code::not_found);
  EXPECT_STREQ(e.what(), "cannot open 'x.hcl': No such file or directory (ENOENT)");
}

TEST(Error, TakesSeveralReasonsAtOnce) {
  const std::vector<std::string> reasons = {"one", "another"};
  EXPECT_EQ(Error(Code::invalid, "it is wrong").because(reasons).because("a third").one_line(),
            "it is wrong: one: another: a third");
}

TEST(Error, MapsEveryReactionToOneHttpStatus) {
  EXPECT_EQ(http_status(Code::invalid), 400);
  EXPECT_EQ(http_status(errno_error(ENOSPC, "x").code()), 507);
  EXPECT_EQ(http_status(errno_error(ECONNREFUSED, "x").code()), 503);
}

}  // namespace
}  // namespace underway
